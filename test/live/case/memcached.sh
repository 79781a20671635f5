# shellcheck shell=bash
# memcached over TCP and UDP. Each server's cache holds its own name, so an answer tells who gave it.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands memcached
net_up two-arm
for name in a b c; do
	memcached_server "$name"
	in_ns "$(server_ns "$name")" /usr/bin/python3 "$LIVE/memcache.py" set "$VIP4" "$name" || die "cannot fill memcached $name"
done
three=("$(server a)" "$(server b)" "$(server c)")
gateway_config two-arm \
	"$(service cache "$VIP4" tcp 11211 l2 maglev "${three[@]}")" \
	"$(service cache-udp "$VIP4" udp 11211 l2 maglev "${three[@]}")"
gateway_start
for protocol in tcp udp; do
	load $protocol /usr/bin/python3 "$LIVE/memcache.py" "$protocol" "$VIP4" 300 5
	check judge client $protocol "$WORK/$protocol.out" 1500
	check judge shares 1e-6 "$WORK/$protocol.out" a=1 b=1 c=1
done
gateway_stats
check judge totals "$WORK/stats.json" 4000
gateway_stop
verdict
