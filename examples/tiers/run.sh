#!/usr/bin/env bash
# Local, edge and cloud behind one service, in the simulator: no network, no root. Takes about a minute.
#
#   examples/tiers/run.sh
#
# The same tasks at a rising load, placed by `latency` and by the edge alone; see doc/tiers.md.
set -euo pipefail

cd "$(dirname "$0")/../.."
scenario=examples/tiers/tiers.json
sim=${TIDEGATE_BUILD:-build}/app/tidegate-sim/tidegate-sim
results=$(mktemp "${TMPDIR:-/tmp}/tidegate-tiers.XXXXXX")
trap 'rm -f "$results"' EXIT
edge_only=(--policy maglev --set 'config.services[0].servers[0].weight=0' --set 'config.services[0].servers[2].weight=0')

if [ ! -x "$sim" ]; then
	drivers-conf/install-deps.sh build
	[ -e build/build.ninja ] || meson setup build >/dev/null
	ninja --quiet -C build app/tidegate-sim/tidegate-sim
fi

# row LABEL RATE OPTION…
row() {
	local label=$1 rate=$2
	shift 2
	"$sim" $scenario --quiet --results "$results" --set "clients[0].rate=$rate" "$@"
	/usr/bin/python3 - "$label" "$rate" "$results" <<-'END'
		import json, sys
		label, rate, path = sys.argv[1:]
		r = json.load(open(path, encoding="utf-8"))
		c = r["clients"][0]
		asked, failed = c["requests"]["mean"], c["failed"]["mean"]
		print(f"{rate:>6}/s  {label:10}", *(f"{c['latency_ns'][k]['mean'] / 1e6:9.1f}" for k in ("mean", "p95")),
		      f"{100 * failed / max(1, asked):8.1f} % ", *(f"{100 * s['share']['mean']:8.1f} %" for s in r["servers"]))
	END
}

printf '%8s  %-10s %9s %9s %9s  %10s %10s %10s\n' tasks policy mean,ms p95,ms failed local edge cloud
for rate in 50 200 800 1600; do
	row latency $rate
	row edge-only $rate "${edge_only[@]}"
done
