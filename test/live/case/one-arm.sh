# shellcheck shell=bash
# One interface for both sides. The client finds the VIP by ARP on the switch, where only the gateway answers for it.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up one-arm
for name in a b c; do
	echo_server "$name" const:5000
done
three=("$(server a)" "$(server b)" "$(server c)")
gateway_config one-arm \
	"$(service web4 "$VIP4" tcp 8080 l2 maglev "${three[@]}")" \
	"$(service web6 "$VIP6" tcp 8080 l2 maglev "$(server6 a)" "$(server6 b)" "$(server6 c)")" \
	"$(service echo4 "$VIP4" udp 8080 l2 maglev "${three[@]}")"
gateway_start
load tcp4 "$TG_CLIENT" --connections 400 --parallel 20 --requests 4 "$VIP4" 8080
load tcp6 "$TG_CLIENT" --connections 400 --parallel 20 --requests 4 "$VIP6" 8080
load udp4 "$TG_CLIENT" --udp --connections 400 --parallel 20 --requests 4 "$VIP4" 8080
gateway_stats
for kind in tcp4 tcp6 udp4; do
	check judge client "$kind" "$WORK/$kind.out" 1600
	check judge shares 1e-6 "$WORK/$kind.out" a=1 b=1 c=1
done
# UDP latency is the udp case's
for kind in tcp4:web4 tcp6:web6; do
	check judge p50 "$WORK/stats.json" "${kind#*:}" "$WORK/${kind%:*}.out" 5
done
check judge totals "$WORK/stats.json" 6000
gateway_stop
verdict
