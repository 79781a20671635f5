#!/usr/bin/env bash
# What becomes of long connections when the gateway restarts, is killed, or hands them to another one.
# Needs root; takes about a minute. Prints a table, and last
# {"restart": {event: {kind: share}}, "rehash": {kind: share}}.
#
#   first, named   connections whose server is the flow's first candidate, or one of the three in a GUE header
#   can            those that have a way to live on; live on: those that did
#
# TIDEGATE_BUILD: the build folder (default build). Exit code: 0 each connection fared as it can, 1 not, 77 nothing could run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
SURVIVE_ROWS=$(mktemp)
export SURVIVE_ROWS
trap 'rm -f "$SURVIVE_ROWS"' EXIT
worst=0
for event in restart saved killed rehash; do
	timeout -k 10 90 bash "$here/case/survive.sh" $event
	code=$?
	[ $code != 77 ] || exit 77
	[ $code = 0 ] || worst=1
done
/usr/bin/python3 "$here/survive.py" table "$SURVIVE_ROWS"
exit $worst
