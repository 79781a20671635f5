# shellcheck shell=bash
# nginx.sh maglev|round-robin [SECONDS]: real servers that answer the client directly, wrk through the gateway at 5 ms.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands nginx wrk tcpdump
policy=$1 seconds=${2:-4}
# Maglev minds weights, round robin has none
[ "$policy" = maglev ] && weights=(a=1 b=1 c=2) || weights=(a=1 b=1 c=1)
net_up two-arm
servers=()
for pair in "${weights[@]}"; do
	nginx_server "${pair%=*}"
	servers+=("$(server "${pair%=*}" "\"weight\": ${pair#*=}")")
done
gateway_config two-arm "$(service web "$VIP4" tcp 80 l2 "$policy" "${servers[@]}")"
gateway_start
from_server="(tcp or udp) and (src host $VIP4 or src host $VIP6)"
sniff front gw gw0 "$from_server"
sniff back gw gw1 "$from_server"
sniff direct cli eth0 "$from_server" -c 1

load wrk wrk -t1 -c12 -d"${seconds}s" -s "$LIVE/wrk.lua" "http://$VIP4/slow"
gateway_stats
check judge client wrk "$WORK/wrk.out" $((seconds * 1000))
check judge nginx 12 "$WORK"/nginx-{a,b,c}/access.log
check judge p50 "$WORK/stats.json" web "$WORK/wrk.out" 5

spread() {
	load client "$TG_CLIENT" --connections 1500 --parallel 32 --requests 2 "$VIP4" 80
	check judge client tg-client "$WORK/client.out" 3000
	judge shares 0.001 "$WORK/client.out" "${weights[@]}" >"$WORK/shares"
}
# a fair policy misses p > 0.001 once in a thousand runs, but not twice in a row
spread || spread || FAULTS+=("twice")
check cat "$WORK/shares"
gateway_stats
check judge totals "$WORK/stats.json" 9000
for eye in front back direct; do
	stop $eye
done
check test "$(sniffed direct)" = 1
seen=$(($(sniffed front) + $(sniffed back)))
check eval "echo $seen packets from servers passed the gateway; test $seen = 0"
gateway_stop
verdict
