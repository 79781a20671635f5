# shellcheck shell=bash
# survive.sh restart|saved|killed|rehash: long connections to six servers go on while
#   restart   the gateway ends and starts again, without a file of its flows
#   saved     the same with flow_table.snapshot
#   killed    the gateway is killed (SIGKILL) and starts with the file of the second before
#   rehash    a second gateway takes half of them over, then all; the two know nothing of each other
# Every connection is open before it happens, and asks once more when all is over: one that opened later, or had nothing
# more to say, would live without a way to.
# Without a file, a connection lives if its server is where the gateway looks for it: the flow's first candidate; with
# GUE one of the three that its header names. Each connection is judged by its own.
# SURVIVE_ROWS: file that a line for each service is added to.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
# shellcheck source=../gue.sh
. "$LIVE/gue.sh"
event=$1
TG_CANDIDATES=$BUILD/test/live/tg-candidates
need_commands clang tc
[ -x "$TG_CANDIDATES" ] || skip "$TG_CANDIDATES is not built"
SERVERS=(a b c d e f)
CONNECTIONS=80
# name, VIP, forward, policy
KINDS=("l2 maglev:192.0.2.10:l2:maglev" "l2 latency:192.0.2.11:l2:latency" "l2 round-robin:192.0.2.12:l2:round-robin"
	"gue latency:192.0.2.13:gue:latency" "gue round-robin:192.0.2.14:gue:round-robin")

# configuration FILE CONTROL-SOCKET FRONT-ADDRESS BACK-ADDRESS
configuration() {
	local kind name vip forward policy keep='' services=() servers=()
	for name in "${SERVERS[@]}"; do
		servers+=("$(server "$name")")
	done
	for kind in "${KINDS[@]}"; do
		IFS=: read -r name vip forward policy <<<"$kind"
		services+=("$(service "$forward-$policy" "$vip" tcp 8080 "$forward" "$policy" "${servers[@]}")")
	done
	case $event in
	saved) keep=", \"snapshot\": \"$WORK/flows\", \"snapshot_s\": 0" ;;
	killed) keep=", \"snapshot\": \"$WORK/flows\", \"snapshot_s\": 1" ;;
	esac
	cat >"$1" <<-END
		{"version": 1,
		 "flow_table": {"slots_per_worker": 65536$keep},
		 "control": {"socket": "$2"},
		 "ports": [{"name": "front", "port": "net_af_packet0", "role": "client", "addresses": ["$3/24"]},
			{"name": "back", "port": "net_af_packet1", "role": "server", "mtu": 1600, "addresses": ["$4/24"]}],
		 "services": $(list "${services[@]}")}
	END
}

network() {
	local name kind vip
	net_up two-arm
	for name in "${SERVERS[@]}"; do
		addresses "$(server_ns "$name")" lo 192.0.2.{11,12,13,14}/32
	done
	for kind in "${KINDS[@]}"; do
		IFS=: read -r _ vip _ <<<"$kind"
		in_ns cli ip route replace "$vip" via 198.51.100.2 mtu 1400
	done
	in_ns cli ip neigh replace 198.51.100.2 lladdr 02:00:00:00:01:02 dev vip0
	gue_up 2>"$WORK/gue.err" || skip "cannot load the server's side of GUE: $(tail -n 1 "$WORK/gue.err")"
	# apart enough that the policy `latency` does not leave all to the hash
	for name in "${SERVERS[@]}"; do
		echo_server "$name" "const:$((500 + 700 * $(server_index "$name")))"
	done
}

second_gateway() {
	namespace gw2
	mute gw2
	to_switch gw2 gw1 02:00:00:00:00:03
	wire cli vip1 02:00:00:00:01:03 gw2 gw0 02:00:00:00:01:04
	in_ns cli ethtool -K vip1 tx off >/dev/null
	addresses cli vip1 198.51.101.1/24
	in_ns cli ip neigh replace 198.51.101.2 lladdr 02:00:00:00:01:04 dev vip1
	configuration "$WORK/gateway2.json" "$WORK/control2.sock" 198.51.101.2 10.0.0.3
	start gateway2 gw2 "${CPUS[0]},${CPUS[1]}" "$TIDEGATE" -l "${CPUS[1]}" --no-pci --no-huge -m 256 \
		--file-prefix "$NET_ID-2" "${GATEWAY_VDEVS[@]}" -- --config "$WORK/gateway2.json"
	wait_for 20 "the second gateway" "$TIDEGATECTL" --socket "$WORK/control2.sock" service list
}

first_gateway() {
	gateway_start
	# servers' link addresses: what comes before they are known is dropped
	wait_for 5 "the gateway's way to its servers" in_ns cli "$TG_CLIENT" --connections 12 --timeout-ms 500 192.0.2.12 8080
}

clients_start() {
	local kind name vip
	for kind in "${KINDS[@]}"; do
		IFS=: read -r name vip _ <<<"$kind"
		start "client-${name/ /-}" cli "${CPUS[0]}" "$TG_CLIENT" --connections $CONNECTIONS --parallel $CONNECTIONS \
			--requests 1000000 --think-ms 200 --timeout-ms 15000 \
			--log "$WORK/${name/ /-}.log" "$vip" 8080
	done
}

# all_open VIP: so many sockets are established.
all_open() { [ "$(in_ns cli ss -Htn state established dst "$1" | wc -l)" = $CONNECTIONS ]; }

clients_open() {
	local kind name vip
	for kind in "${KINDS[@]}"; do
		IFS=: read -r name vip _ <<<"$kind"
		wait_for 10 "$name: $CONNECTIONS connections" all_open "$vip"
	done
}

clients_end() {
	local kind name
	for kind in "${KINDS[@]}"; do
		IFS=: read -r name _ <<<"$kind"
		kill -s TERM "${PID[client-${name/ /-}]}"
	done
}

routes() {
	local kind vip
	for kind in "${KINDS[@]}"; do
		IFS=: read -r _ vip _ <<<"$kind"
		in_ns cli ip route replace "$vip" mtu 1400 "$@"
	done
}

again() {
	gateway_start
	cp "$WORK/gateway.out" "$WORK/gateway-again.out"
}

written_since() { [ "$(stat -c %Y "$WORK/flows")" -gt "$1" ]; }

happen() {
	case $event in
	restart | saved)
		gateway_stop
		again
		;;
	killed)
		wait_for 10 "a snapshot" written_since "$(date +%s)"
		stop gateway KILL
		again
		;;
	rehash)
		routes nexthop via 198.51.100.2 dev vip0 nexthop via 198.51.101.2 dev vip1
		sleep 1.5
		routes via 198.51.101.2 dev vip1
		sleep 1
		;;
	esac
}

lived() {
	/usr/bin/python3 "$LIVE/survive.py" judge "$event" "$1" "$2" "$3" "$3.candidates" 2>>"${SURVIVE_ROWS:-/dev/null}"
}

judge_all() {
	local kind name vip forward rule log servers=() s
	for s in "${SERVERS[@]}"; do
		servers+=("$s=$(server_address4 "$s")")
	done
	for kind in "${KINDS[@]}"; do
		IFS=: read -r name vip forward _ <<<"$kind"
		log=$WORK/${name/ /-}.log
		case $event:$forward in
		saved:* | killed:*) rule=all ;;
		*:gue) rule=named ;;
		*) rule=first ;;
		esac
		[ "$name" != 'l2 maglev' ] || rule=all
		finish "client-${name/ /-}" || FAULTS+=("$name: the client failed")
		[ "$(wc -l <"$log")" = $CONNECTIONS ] || FAULTS+=("$name: not $CONNECTIONS connections")
		awk '{print $2}' "$log" | "$TG_CANDIDATES" 198.51.100.1 8080 "${servers[@]}" >"$log.candidates" 2>"$WORK/candidates.err"
		check lived "$name" "$rule" "$log"
	done
}

network
GATEWAY_VDEVS=("--vdev=net_af_packet0,iface=gw0" "--vdev=net_af_packet1,iface=gw1")
configuration "$WORK/gateway.json" "$WORK/control.sock" 198.51.100.2 10.0.0.2
first_gateway
[ "$event" != rehash ] || second_gateway
for vip in 192.0.2.11 192.0.2.13; do
	load warm "$TG_CLIENT" --connections 100000 --parallel 6 --requests 4 --duration-ms 1000 "$vip" 8080
done
clients_start
clients_open
sleep .5
happen
clients_end
judge_all
restored=$(sed -n 's/^tidegate: \(.* flows restored\).*/\1/p' "$WORK/gateway-again.out" 2>/dev/null)
[ -z "$restored" ] || FIGURES+=("$restored")
gateway_stop
verdict
