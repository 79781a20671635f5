# shellcheck shell=bash
# A budget derived from what the servers are measured to take follows them, faster and slower; where the model does not
# fit them there are no extra tokens, and a configured budget stays. Clients ask, wait for the answer, and think.
#
# Two services in front of the same machines, each with server processes of its own (32 workers each): one without a
# budget, whose servers take 80, then 40, then 160 ms a request, and one with a budget, whose servers are configured to take
# 0.1 ms, so that no forecast of them is right. Times this long, as a shared host that keeps a server from running for some
# milliseconds makes it slower in truth, and its budget lower.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
declare -A PORT=([derived]=8080 [misfit]=8081)

servers_up() {
	local service=$1 name ns
	echo const:80000 >"$WORK/delay-$service"
	for name in a b; do
		ns=$(server_ns "$name")
		start "server-$service-$name" "$ns" "${CPUS[0]}" "$TG_SERVER" --name "$name" --workers 32 \
			--port "${PORT[$service]}" --delay const:80000 \
			--delay-file "$WORK/delay-$service"
		wait_for 5 "server $name, $service" listening "$ns" "${PORT[$service]}"
	done
}

net_up two-arm
servers_up derived
servers_up misfit
SERVICE_MORE='"admission_wait_max_us": 1000000, "admission": {}'
derived=$(service derived "$VIP4" tcp "${PORT[derived]}" l2 round-robin \
	"$(server a '"workers": 32')" "$(server b '"workers": 32')")
# shellcheck disable=SC2034 # service() reads it
SERVICE_MORE='"admission_wait_max_us": 1000000, "admission": {"budget_per_s": 5000}'
misfit=$(service misfit "$VIP4" tcp "${PORT[misfit]}" l2 round-robin \
	"$(server a '"workers": 32, "service_time_us": 100')" "$(server b '"workers": 32, "service_time_us": 100')")
gateway_config two-arm "$derived" "$misfit"
gateway_start
for service in derived misfit; do
	start "client-$service" cli "${CPUS[0]}" "$TG_CLIENT" --connections 64 --parallel 64 --requests 1000000 \
		--think-ms 5 --duration-ms 80000 "$VIP4" "${PORT[$service]}"
done
check /usr/bin/python3 "$LIVE/budget.py" "$WORK" \
	"${PID[server-derived-a]}" "${PID[server-derived-b]}"
for service in derived misfit; do
	stop "client-$service"
done
gateway_stop
verdict
