# shellcheck shell=bash
# Burst isolation with real clients: two networks' clients ask all at once, twice a second, while calm clients of
# another network go on. The same without admission and with it, in turn, through one gateway; with values one of the
# two networks that burst is worth more than the other.
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
CALM=10 SPIKE=120 # clients of the calm network, of each that bursts
declare -A PORT=([none]=8080 [bucket]=8081 [cap]=8082 [two-level]=8083 [work-conserving]=8084 [values]=8085)
# The budget is nine tenths of the capacity. A network is in burst from its 11th request of an interval on, which ten
# clients never get to, whatever the host does to them. For one bucket all is one segment and of one class; the cap is a
# third of the capacity for any network.
declare -A ADMISSION=(
	[bucket]='"budget_per_s": 1080, "auxiliary_percent": 0, "segments": {"by": "service", "hi_per_s": 100, "calm_intervals": 10000}'
	[cap]='"budget_per_s": 1000000, "segments": {"hi_per_s": 2000, "max_per_s": 400}'
	[two-level]='"budget_per_s": 1080, "segments": {"hi_per_s": 1080}'
	[values]='"budget_per_s": 1080, "segments": {"hi_per_s": 1080}, "match": [{"prefix": "203.0.113.0/24", "value": "gold"}, {"prefix": "203.0.114.0/24", "value": "best-effort"}]'
	[work-conserving]='"budget_per_s": 1080, "variant": "work-conserving", "segments": {"hi_per_s": 1080}'
)

# burst_clients_up NAMESPACE N NETWORK: clients that burst, in a network behind the client machine, which routes for it.
burst_clients_up() {
	local ns=$1 n=$2 network=$3
	namespace "$ns"
	wire "$ns" eth0 "02:00:00:00:0$n:02" cli "${ns}0" "02:00:00:00:0$n:01"
	in_ns "$ns" ethtool -K eth0 tx off >/dev/null
	in_ns cli ethtool -K "${ns}0" tx off >/dev/null
	in_ns "$ns" ip link set eth0 mtu 1500
	addresses cli "${ns}0" "$network.1/24"
	addresses "$ns" eth0 "$network.2/24"
	in_ns "$ns" ip route add default via "$network.1"
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

# round POLICY NUMBER: ten calm clients, closed loops, and in the middle of it those that burst: 120 connections of each
# network that ask at the same moment, twice a second.
round() {
	local policy=$1 n=$2 who ms=$((SECONDS_EACH * 1000))
	start "calm-$policy-$n" cli "${CPUS[0]}" "$TG_CLIENT" --connections "$CALM" --parallel "$CALM" \
		--requests 1000000 --think-ms 30 --duration-ms "$ms" --timeout-ms 5000 \
		--exchanges "$WORK/calm-$policy-$n.times" "$VIP4" "${PORT[$policy]}"
	sleep 0.1
	for who in first second; do
		start "$who-$policy-$n" "$who" "${CPUS[0]}" "$TG_CLIENT" --connections "$SPIKE" --parallel "$SPIKE" \
			--requests 1000000 --every-ms 500 --duration-ms "$((ms - 500))" --timeout-ms 5000 \
			--exchanges "$WORK/$who-$policy-$n.times" "$VIP4" "${PORT[$policy]}"
	done
	finish "calm-$policy-$n" || die "the calm client failed: $(tail -n 1 "$WORK/calm-$policy-$n.err")"
	for who in first second; do
		finish "$who-$policy-$n" || die "a bursting client failed: $(tail -n 1 "$WORK/$who-$policy-$n.err")"
	done
}

net_up two-arm
burst_clients_up first 2 203.0.113
burst_clients_up second 3 203.0.114
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
gateway_stats
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
