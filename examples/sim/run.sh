#!/usr/bin/env bash
# Three scenarios in the simulator, in virtual time: no network, no root. Takes about a minute.
#
#   examples/sim/run.sh [policies|slow-server|bad-weather]…
#
# Results (JSON) and pictures (SVG, where python3-matplotlib is installed) land in build/examples-sim.
set -euo pipefail

cd "$(dirname "$0")/../.."
here=examples/sim
out=build/examples-sim
sim=${TIDEGATE_BUILD:-build}/app/tidegate-sim/tidegate-sim

say() {
	printf '\n%s\n\n' "$*"
}

show() {
	printf '$ tidegate-sim'
	printf ' %s' "$@"
	echo
	"$sim" "$@"
}

plot() {
	/usr/bin/python3 app/tidegate-sim/plot.py "$@" || true
}

policies() {
	local policy
	say "Three places, near and small to far and large, and four ways to choose among them."
	for policy in round-robin maglev least-connections latency; do
		show $here/policies.json --policy $policy --results "$out/policies-$policy.json"
		say "-----"
	done
	plot --out "$out/policies.svg" "$out"/policies-*.json
}

slow-server() {
	say "One of three servers is five times slower for ten seconds, and later answers nothing for two."
	show $here/slow-server.json --results "$out/slow-server.json"
	show $here/slow-server.json --policy round-robin --quiet --results "$out/slow-server-round-robin.json"
	plot --out "$out/slow-server.svg" "$out/slow-server.json=latency" "$out/slow-server-round-robin.json=round-robin"
}

bad-weather() {
	say "Loss, jitter, bursts, stalls of the host, a gateway that fails and returns: everything is accounted for."
	show $here/bad-weather.json --results "$out/bad-weather.json"
}

if [ ! -x "$sim" ]; then
	drivers-conf/install-deps.sh build
	[ -e build/build.ninja ] || meson setup build >/dev/null
	ninja --quiet -C build app/tidegate-sim/tidegate-sim
fi
mkdir -p "$out"
[ $# -gt 0 ] || set -- policies slow-server bad-weather
for example in "$@"; do
	case $example in
	policies | slow-server | bad-weather) "$example" ;;
	*)
		echo "run.sh: there is no example '$example'; there are policies, slow-server, bad-weather" >&2
		exit 2
		;;
	esac
done
