# shellcheck shell=bash
# TCP over IPv6 at 5 ms, with uploads that take many full packets.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up two-arm
for name in a b c; do
	echo_server "$name" const:5000
done
gateway_config two-arm \
	"$(service web "$VIP6" tcp 8080 l2 maglev "$(server6 a)" "$(server6 b)" "$(server6 c)")"
gateway_start
load tcp "$TG_CLIENT" --connections 600 --parallel 20 --requests 6 "$VIP6" 8080
gateway_stats
check judge client tcp "$WORK/tcp.out" 3600
check judge shares 1e-6 "$WORK/tcp.out" a=1 b=1 c=1
check judge p50 "$WORK/stats.json" web "$WORK/tcp.out" 5
load up "$TG_CLIENT" --connections 60 --parallel 10 --requests 2 --upload 50000 "$VIP6" 8080
check judge client uploads "$WORK/up.out" 120
gateway_stats
check judge totals "$WORK/stats.json" 8000
gateway_stop
verdict
