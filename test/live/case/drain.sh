# shellcheck shell=bash
# A server is drained under load: no request fails, its long connections go on, no new one goes there; then it returns.
# Slow start lets one new connection in a hundred go there at first: they are counted for four seconds.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up two-arm
for name in a b c; do
	echo_server "$name" const:5000
done
gateway_config two-arm \
	"$(service web "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")"
gateway_start
start short cli "${CPUS[0]}" "$TG_CLIENT" --connections 1000000 --parallel 12 --requests 4 \
	--duration-ms 7000 --log "$WORK/short.log" "$VIP4" 8080
start long cli "${CPUS[0]}" "$TG_CLIENT" --connections 12 --parallel 12 --requests 1000000 \
	--duration-ms 7000 --log "$WORK/long.log" "$VIP4" 8080
sleep 1
check quiet ctl server drain web a
sleep 0.2
drained=$(judge now)
sleep 1.3
back=$(judge now)
check quiet ctl server enable web a
sleep 0.2
enabled=$(judge now)
finish short
finish long
check judge client short "$WORK/short.out" 1000
check judge client long "$WORK/long.out" 1000
check judge between "$WORK/short.log" "$drained" "$back" a none
check judge between "$WORK/short.log" "$enabled" "$(judge now)" a some
check grep -q ' a [0-9]* ok$' "$WORK/long.log"
gateway_stats
check judge totals "$WORK/stats.json" 2000
gateway_stop
verdict
