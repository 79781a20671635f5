#!/usr/bin/env bash
# The bar of bidding: the model (doc/bid.md), bidding against least connections and dynamic weighted round robin, and
# real servers in network namespaces (needs root). Last line: {"live":{…},"sim":{policy:{…}}}; exit 0 only when
#   active sessions are at least 2 times, turnaround over requested time at least 3 times, waiting at least 1.2 times
#   less than with either of them, intervals disjoint; no connection lost, none half open; a packet of an established flow
#   takes at most 1 % more instructions than with other policies.
#
#   test/bar/bidding.sh [--sim]     --sim: the model alone; the live part is then null, and the exit code is 1
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${TIDEGATE_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$build/test/bid/bid-model
[ -x "$model" ] || { echo "bidding.sh: $model is not built: ninja -C $build" >&2 && exit 1; }

"$model" --runs 10 --time 1500 compare >"$work/sim.json"
/usr/bin/python3 test/bid/instructions.py "$build" || touch "$work/dearer"
echo null >"$work/live.json"
if [ "${1:-}" != --sim ]; then
	TIDEGATE_BUILD=$build test/bid/live.sh | tee "$work/live.out" || true
	grep '^{' "$work/live.out" | tail -n 1 >"$work/live.json" || echo null >"$work/live.json"
	grep -q '^PASS' "$work/live.out" || touch "$work/live-failed"
fi
exec /usr/bin/python3 test/bid/bar.py "$work"
