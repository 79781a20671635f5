# shellcheck shell=bash
# UDP over IPv4 and IPv6 at 5 ms: each client port stays on one server, and the gateway's median is the client's.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up two-arm
for name in a b c; do
	echo_server "$name" const:5000
done
gateway_config two-arm \
	"$(service echo4 "$VIP4" udp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")" \
	"$(service echo6 "$VIP6" udp 8080 l2 maglev "$(server6 a)" "$(server6 b)" "$(server6 c)")"
gateway_start
for version in 4 6; do
	vip=VIP$version
	load udp "$TG_CLIENT" --udp --connections 600 --parallel 20 --requests 6 "${!vip}" 8080
	check judge client "IPv$version" "$WORK/udp.out" 3600
	check judge shares 1e-6 "$WORK/udp.out" a=1 b=1 c=1
	# pauses tell nothing of a flow of six packets: an epoch of the gap rule takes 64
	load long "$TG_CLIENT" --udp --connections 24 --parallel 12 --requests 150 "${!vip}" 8080
	gateway_stats
	check judge client "long IPv$version" "$WORK/long.out" 3600
	# By pauses alone, of which a host's stalls are part: with a fifth of its time taken away +20 %, with more no figure.
	# Rules that take such stalls for the servers' time are wrong by ten times.
	check judge p50 "$WORK/stats.json" "echo$version" "$WORK/long.out" 50 allowed
done
check judge totals "$WORK/stats.json" 14400
gateway_stop
verdict
