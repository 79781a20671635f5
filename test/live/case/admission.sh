# shellcheck shell=bash
# Burst isolation with real clients: one network's clients ask all at once, twice a second, while calm clients of
# another network go on. The same without admission and with it, in turn, through one gateway.
#
#   admission.sh [ROUNDS [SECONDS [POLICY…]]]    of each policy: 2 rounds of 4 s, none and two-level
#
# test/admit/live.sh has more policies and shows the table.
#
# A service a policy, in front of the same machines, each with a port and server processes of its own: 3 servers, 4
# workers each, 10 ms a request on the average: 1200 requests a second.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
ROUNDS=${1:-2} SECONDS_EACH=${2:-4}
POLICIES=("${@:3}")
[ ${#POLICIES[@]} -gt 0 ] || POLICIES=(none two-level)
CALM=3 SPIKE=240
declare -A PORT=([none]=8080 [bucket]=8081 [cap]=8082 [two-level]=8083 [work-conserving]=8084)
# The budget is nine tenths of the capacity; a calm network asks for 3 an interval, a spike for 240. For one bucket
# all is one segment and of one class; the cap is a third of the capacity for any network.
declare -A ADMISSION=(
	[bucket]='"budget_per_s": 1080, "auxiliary_percent": 0, "segments": {"by": "service", "hi_per_s": 100, "calm_intervals": 10000}'
	[cap]='"budget_per_s": 1000000, "segments": {"hi_per_s": 2000, "max_per_s": 400}'
	[two-level]='"budget_per_s": 1080, "segments": {"hi_per_s": 1080}'
	[work-conserving]='"budget_per_s": 1080, "variant": "work-conserving", "segments": {"hi_per_s": 1080}'
)

# The bursting clients' network lies behind the client machine, which routes for it.
burst_clients_up() {
	namespace far
	wire far eth0 02:00:00:00:02:02 cli far0 02:00:00:00:02:01
	in_ns far ethtool -K eth0 tx off >/dev/null
	in_ns cli ethtool -K far0 tx off >/dev/null
	in_ns far ip link set eth0 mtu 1500
	addresses cli far0 203.0.113.1/24
	addresses far eth0 203.0.113.2/24
	in_ns far ip route add default via 203.0.113.1
	in_ns cli sysctl -qw net.ipv4.ip_forward=1
}

servers_up() {
	local policy name ns
	for policy in "${POLICIES[@]}"; do
		for name in "${SERVERS[@]}"; do
			ns=$(server_ns "$name")
			start "server-$policy-$name" "$ns" "${CPUS[0]}" "$TG_SERVER" --name "$name" --workers 4 \
				--port "${PORT[$policy]}" --delay set:6000,8000,10000,12000,14000
			wait_for 5 "server $name, $policy" listening "$ns" "${PORT[$policy]}"
		done
	done
}

# round POLICY NUMBER: calm clients, and in the middle of it those that burst. Closed loops, 10 a program, which do not
# start together; 240 connections that ask at the same moment, twice a second.
round() {
	local policy=$1 n=$2 i ms=$((SECONDS_EACH * 1000))
	for ((i = 0; i < CALM; i++)); do
		start "calm-$policy-$n-$i" cli "${CPUS[0]}" "$TG_CLIENT" --connections 10 --parallel 10 \
			--requests 1000000 --think-ms 90 --duration-ms "$ms" --timeout-ms 5000 \
			--exchanges "$WORK/calm-$policy-$n-$i.times" "$VIP4" "${PORT[$policy]}"
		sleep 0.03
	done
	start "burst-$policy-$n" far "${CPUS[0]}" "$TG_CLIENT" --connections "$SPIKE" --parallel "$SPIKE" \
		--requests 1000000 --every-ms 500 --duration-ms "$((ms - 500))" --timeout-ms 5000 \
		--exchanges "$WORK/burst-$policy-$n.times" "$VIP4" "${PORT[$policy]}"
	for ((i = 0; i < CALM; i++)); do
		finish "calm-$policy-$n-$i" || die "a calm client failed: $(tail -n 1 "$WORK/calm-$policy-$n-$i.err")"
	done
	finish "burst-$policy-$n" || die "the bursting client failed: $(tail -n 1 "$WORK/burst-$policy-$n.err")"
}

net_up two-arm
burst_clients_up
servers_up
services=()
for policy in "${POLICIES[@]}"; do
	rule=${ADMISSION[$policy]:-}
	# shellcheck disable=SC2034 # service() reads it
	SERVICE_MORE=${rule:+"\"admission_wait_max_us\": 1000000, \"admission\": {$rule}"}
	services+=("$(service "$policy" "$VIP4" tcp "${PORT[$policy]}" l2 round-robin \
		"$(server a)" "$(server b)" "$(server c)")")
done
gateway_config two-arm "${services[@]}"
gateway_start
for ((r = 1; r <= ROUNDS; r++)); do
	for policy in "${POLICIES[@]}"; do
		round "$policy" "$r"
	done
done
ctl admission list --json >"$WORK/pools.json" || die "tidegatectl admission list --json failed"
for policy in "${POLICIES[@]}"; do
	for name in "${SERVERS[@]}"; do
		stop "server-$policy-$name"
	done
done
check /usr/bin/python3 "$LIVE/admission.py" "$WORK" "$((ROUNDS * SECONDS_EACH))" "${POLICIES[@]}"
gateway_stop
[ -z "${TIDEGATE_TABLE:-}" ] || cat "$WORK/table"
verdict
