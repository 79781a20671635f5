#!/usr/bin/env bash
# Do calm segments keep their latency while another one bursts, and is no capacity wasted for it?
#
#   test/bar/bursts.sh [--calm N]     half an hour on two idle cores; N: calm requests a policy (10000000)
#
# The last line is one JSON object: calm_p99999_ms and unused_share by policy, admit_ns. Exit code 0 only when calm
# segments' P99.999 under bursts is at least 59.7 % below that without isolation, at most 2 % of what is offered without
# bursts goes unserved, an admitted packet costs at most 5 ns, and no policy had fewer than ten million calm requests.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
calm=10000000
case ${1:-} in
--calm) calm=${2:?bursts.sh: --calm wants a number} ;;
'') ;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	[ "$1" = --help ] || exit 2
	exit 0
	;;
esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-bar.XXXXXX")
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 test/admit/experiment.py --short --calm "$calm" | tee "$work/figures"
"$TIDEGATE_BUILD/app/tidegate-bench/tidegate-bench" --json --only 'stage/admit/*' >"$work/bench"
/usr/bin/python3 test/bar/bursts.py "$work/figures" "$work/bench"
