# shellcheck shell=bash
# Redis over TCP: redis-benchmark fails if a connection breaks or changes its server.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands redis-server redis-benchmark redis-cli
net_up two-arm
for name in a b c; do
	redis_server "$name"
done
gateway_config two-arm \
	"$(service cache "$VIP4" tcp 6379 l2 round-robin "$(server a)" "$(server b)" "$(server c)")"
gateway_start
load redis redis-benchmark -h "$VIP4" -p 6379 -c 12 -n 8000 -t set,get -q --csv
FIGURES+=("redis-benchmark $(awk -F'"' '/^"(SET|GET)"/ {printf "%s %s/s ", $2, $4}' "$WORK/redis.out")")
check test "$(grep -c '^"[SG]ET"' "$WORK/redis.out")" = 2
for name in a b c; do
	# one connection more for the question itself
	count=$(in_ns "$(server_ns "$name")" redis-cli -h "$VIP4" info stats |
		sed -n 's/\r//; s/^total_connections_received://p')
	FIGURES+=("$name $((count - 1)) connections")
	check test "$count" -ge 6
done
gateway_stats
check judge totals "$WORK/stats.json" 16000
gateway_stop
verdict
