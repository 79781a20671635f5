#!/usr/bin/env bash
# The choice of a server, policy by policy: in virtual time, in tiers, and live.
#
#   test/choice/run.sh             every scenario and policy in virtual time, against the bars; 15 minutes on two idle cores
#   test/choice/run.sh --short     a few of them with wider bounds, and two policies live; up to 90 seconds
#
# Parts by themselves: run.py, tiers.py (virtual time), live.sh, emulate.py (live, need root). More options: their --help.
# TIDEGATE_BUILD: the build folder (default build). Each part ends in a line: N passed, N failed, N skipped
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
code=0
/usr/bin/python3 test/choice/run.py "$@" || code=$?
if [ "${1:-}" = --short ]; then
	/usr/bin/python3 test/choice/tiers.py --short || code=1
	test/choice/live.sh --short || [ $? = 77 ] || code=1
fi
exit $code
