# shellcheck shell=bash
# Two gateways behind an equal-cost route of a router, which learns the service's address from a BIRD beside each, by
# the tap (examples/bgp). One gateway ends, and later dies; then all servers die.
#
#   cli ── rt ─┬─ gw0:gw:gw1 ─────┬─ sw ── servers, which answer the client on the switch
#              └─ gw0:gw2:gw1 ────┘
#
# LIVE_JSON: file that a line {"event", "requests", "failed"} for each event is added to.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands nft bird ip
[ -e /dev/net/tun ] || skip "/dev/net/tun is missing"
HEALTH='"announce": true, "health": {"type": "tcp", "interval_ms": 300, "timeout_ms": 200, "rise": 1, "fall": 2}'

# gateway NUMBER: its namespace, its wire to the router, its configuration, its BIRD
gateway() {
	local n=$1 ns=gw net=198.51.10$(($1 - 1)) front front_name
	[ "$n" = 1 ] || ns=gw2
	front_name=front
	namespace "$ns"
	to_switch "$ns" gw1 "02:00:00:00:00:0$((n + 1))"
	wire rt "r$n" "02:00:00:00:0$n:01" "$ns" gw0 "02:00:00:00:0$n:02"
	in_ns rt ethtool -K "r$n" tx off >/dev/null
	addresses rt "r$n" "$net.1/24"
	kernel_up "$ns" gw0 gw1 2>"$WORK/nft.err" || skip "nft cannot drop at ingress: $(tail -n 1 "$WORK/nft.err")"
	front="{\"name\": \"$front_name\", \"port\": \"net_af_packet0\", \"role\": \"client\", \"kernel\": \"net_tap0\",
		\"addresses\": [\"$net.2/24\"], \"gateways\": [\"$net.1\"]}"
	# shellcheck disable=SC2034
	SERVICE_MORE=$HEALTH
	cat >"$WORK/gateway$n.json" <<-END
		{"version": 1, "flow_table": {"slots_per_worker": 65536}, "control": {"socket": "$WORK/control$n.sock"},
		 "workers": {"idle": "sleep"},
		 "ports": [$front, {"name": "back", "port": "net_af_packet1", "role": "server", "mtu": 1600,
			"addresses": ["10.0.0.$((n + 1))/24"]}],
		 "services": [$(service web "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")]}
	END
	sed "s/198\.51\.100\./$net./g" "$TOP/examples/bgp/gateway.conf" >"$WORK/bird$n.conf"
}

gateway_on() {
	local n=$1 ns=gw
	[ "$n" = 1 ] || ns=gw2
	start "gateway$n" "$ns" "${CPUS[0]},${CPUS[1]}" "$TIDEGATE" -l "${CPUS[1]}" --no-pci --no-huge -m 256 \
		--file-prefix "$NET_ID-$n" --vdev=net_af_packet0,iface=gw0 --vdev=net_af_packet1,iface=gw1 \
		--vdev=net_tap0,iface=tgk0 -- --config "$WORK/gateway$n.json"
	wait_for 20 "gateway $n" "$TIDEGATECTL" --socket "$WORK/control$n.sock" service list
}

router() {
	namespace rt
	in_ns rt sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.send_redirects=0
	wire cli up0 02:00:00:00:09:01 rt c0 02:00:00:00:09:02
	in_ns cli ethtool -K up0 tx off >/dev/null
	in_ns cli ip link set up0 mtu 1500
	addresses cli up0 203.0.113.1/24
	addresses rt c0 203.0.113.2/24
	in_ns cli ip route add "$VIP4" via 203.0.113.2
}

bird_on() { start "bird$1" "$2" "${CPUS[0]}" bird -f -c "$WORK/bird$1.conf" -s "$WORK/bird$1.ctl"; }
hops() { in_ns rt ip route show "$VIP4" | grep -o 'via [0-9.]*' | sort -u | wc -l; }
hops_are() { [ "$(hops)" = "$1" ]; }
servers_on() {
	local name
	for name in "$@"; do
		echo_server "$name" const:1000
	done
}

# How long until the router has so many next hops, ms.
took() {
	local from
	from=$(date +%s%N)
	wait_for 10 "$2 next hops after $1" hops_are "$2"
	FIGURES+=("$1: $2 next hops after $((($(date +%s%N) - from) / 1000000)) ms")
}

# during EVENT FAILED-AT-MOST COMMAND…: long connections and new ones go on while the command runs
during() {
	local event=$1 most=$2 requests failed
	shift 2
	start long cli "${CPUS[0]}" "$TG_CLIENT" --connections 60 --parallel 60 --requests 1000000 --think-ms 100 \
		--duration-ms 4000 --timeout-ms 8000 "$VIP4" 8080
	start short cli "${CPUS[0]}" "$TG_CLIENT" --connections 100000 --parallel 4 --requests 4 --think-ms 5 \
		--duration-ms 4000 --timeout-ms 8000 "$VIP4" 8080
	sleep 1
	"$@"
	finish long || FAULTS+=("$event: long connections failed")
	finish short || FAULTS+=("$event: new connections failed")
	read -r requests failed < <(/usr/bin/python3 "$LIVE/judge.py" counts "$WORK/long.out" "$WORK/short.out")
	FIGURES+=("$event: $requests requests, $failed failed")
	[ "$requests" -ge 1500 ] || FAULTS+=("$event: only $requests requests")
	[ "$failed" -le "$most" ] || FAULTS+=("$event: $failed requests failed, $most may")
	[ -z "${LIVE_JSON:-}" ] || echo "{\"event\": \"$event\", \"requests\": $requests, \"failed\": $failed}" >>"$LIVE_JSON"
}

gateway_ends() {
	local code=0
	stop gateway1 || code=$?
	check test "$code" = 0
	took "a gateway told to end" 1
}

gateway_dies() {
	stop gateway2 KILL || true
	took "a gateway killed" 1
}

switch_up
client_up
for name in "${SERVERS[@]}"; do
	server_up "$name"
done
router
gateway 1
gateway 2
cp "$TOP/examples/bgp/router.conf" "$WORK/birdr.conf"
servers_on a b c
gateway_on 1
gateway_on 2
bird_on r rt
bird_on 1 gw
bird_on 2 gw2
wait_for 20 "a route over both gateways" hops_are 2
for n in 1 2; do
	check quiet "$TIDEGATECTL" --socket "$WORK/control$n.sock" service list
done
load warm "$TG_CLIENT" --connections 20 --parallel 4 --timeout-ms 3000 "$VIP4" 8080

during "a gateway told to end" 0 gateway_ends
gateway_on 1
took "it starts again" 2
sleep 1
during "a gateway killed" 0 gateway_dies
gateway_on 2
took "it starts again" 2

for name in a b; do
	stop "server-$name" KILL || true
done
sleep 1.5
check hops_are 2
stop server-c KILL || true
took "the last server dead" 0
servers_on b
took "one server back" 2
load after "$TG_CLIENT" --connections 20 --parallel 4 --timeout-ms 3000 "$VIP4" 8080
check judge client "then" "$WORK/after.out" 20
for n in 1 2; do
	stop "gateway$n" || FAULTS+=("gateway $n did not end well")
done
verdict
