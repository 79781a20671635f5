# shellcheck shell=bash
# A server is added by a reload under load: no request fails, no connection moves, new ones go there. A reload with a
# bad file is refused and changes nothing.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up two-arm
for name in a b c; do
	echo_server "$name" const:5000
done
gateway_config two-arm "$(service web "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)")"
gateway_start
start short cli "${CPUS[0]}" "$TG_CLIENT" --connections 1000000 --parallel 12 --requests 4 \
	--duration-ms 4000 --log "$WORK/short.log" "$VIP4" 8080
start long cli "${CPUS[0]}" "$TG_CLIENT" --connections 12 --parallel 12 --requests 1000000 \
	--duration-ms 4000 --log "$WORK/long.log" "$VIP4" 8080
sleep 1
sed -i 's/"maglev"/"maglef"/' "$WORK/gateway.json"
refusal=$(ctl config reload 2>&1) && FAULTS+=("a reload with a bad file succeeded: $refusal")
check grep -q maglef <<<"$refusal"
gateway_config two-arm "$(service web "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")"
check quiet ctl config reload
sleep 0.2
added=$(judge now)
finish short
finish long
check judge client short "$WORK/short.out" 1000
check judge client long "$WORK/long.out" 1000
check judge between "$WORK/short.log" "$added" "$(judge now)" c some
gateway_stats
check judge totals "$WORK/stats.json" 2000
gateway_stop
verdict
