#!/usr/bin/env bash
# The choice of a server live: four real HTTP servers, one of which ails, real clients that reconnect, policy by policy.
#
#   test/choice/live.sh [--out FOLDER] [--svg FILE] [FAULT…]   every policy; slow (times 5), periodic, throttled: 5 minutes
#   test/choice/live.sh --short                                `maglev` and `latency`, slow: 40 seconds, part of the tests
#
# Needs root, for network namespaces, and two processors. TIDEGATE_BUILD: the build folder (default build). The table goes
# to stdout; the last line is one JSON object, before it stands: N passed, N failed, N skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
short='' out='' svg='' faults=()
while [ $# -gt 0 ]; do
	case $1 in
	--short) short=--short ;;
	--out | --svg)
		[ $# -gt 1 ] || { echo "live.sh: $1 wants a name" >&2 && exit 2; }
		[ "$1" = --out ] && out=$2 || svg=$2
		shift
		;;
	slow | periodic | throttled) faults+=("$1") ;;
	*)
		sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
		[ "$1" = --help ] || exit 2
		exit 0
		;;
	esac
	shift
done
policies=(maglev least-connections latency latency-told)
[ -z "$short" ] || policies=(maglev latency) faults=(slow)
[ ${#faults[@]} -gt 0 ] || faults=(slow periodic throttled)
if [ -z "$out" ]; then
	out=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-choice.XXXXXX")
	trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
trap '[ -z "${child:-}" ] || { kill "$child" && wait "$child"; }; exit 130' INT TERM HUP
skipped=0 failed=0
for fault in "${faults[@]}"; do
	for policy in "${policies[@]}"; do
		timeout -k 10 90 bash "$here/live-case.sh" "$out" "$fault" "$policy" $short &
		child=$!
		wait $child
		case $? in
		0) ;;
		77)
			skipped=$((skipped + 1))
			break
			;;
		*) failed=$((failed + 1)) ;;
		esac
	done
done
[ "$skipped" -lt ${#faults[@]} ] || {
	echo "0 passed, $failed failed, $skipped skipped"
	exit 77
}
exec /usr/bin/python3 "$here/live.py" --folder "$out" --failed $failed --skipped $skipped ${svg:+--svg "$svg"} $short
