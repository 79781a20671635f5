#!/usr/bin/env bash
# Do calm segments keep their latency while another one bursts, and is no capacity wasted for it?
#
#   test/bar/bursts.sh [--calm N] [--out FILE] [--from FILE]     half an hour on two idle cores
#
# --calm: calm requests a policy (10000000). --out: all figures as JSON, for test/admit/pictures.py. --from: simulates
# nothing; judges the figures of an earlier run, with an admitted packet's cost as it is now (half a minute).
# The last line is one JSON object: calm_p99999_ms and unused_share by policy, admit_ns. Exit code 0 only when calm
# segments' P99.999 under bursts is at least 59.7 % below that without isolation and no request waits longer at the
# servers for it, at most 2 % of what is offered without bursts goes unserved, no calm request is lost, none leaves late,
# an admitted packet costs at most 5 ns, and no policy had fewer than ten million calm requests.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
calm=10000000 out="" from=""
while [ $# -gt 0 ]; do
	case $1 in
	--calm) calm=${2:?bursts.sh: --calm wants a number} ;;
	--out) out=${2:?bursts.sh: --out wants a file} ;;
	--from) from=${2:?bursts.sh: --from wants a file} ;;
	*)
		sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
		[ "$1" = --help ] || exit 2
		exit 0
		;;
	esac
	shift 2
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-bar.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ -n "$from" ]; then
	out=$from
else
	/usr/bin/python3 test/admit/experiment.py --calm "$calm" --out "${out:=$work/figures}"
fi
# The least disturbed of three counts.
for i in 1 2 3; do
	"$TIDEGATE_BUILD/app/tidegate-bench/tidegate-bench" --json --only 'stage/admit/*' >"$work/bench$i" 2>"$work/table"
	tail -n 1 "$work/table"
done
/usr/bin/python3 test/bar/bursts.py "$out" "$work"/bench[123]
