# shellcheck shell=bash
# SIGTERM under load: the gateway ends within 5 s, exit code 0, prints its totals and leaves nothing behind.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
net_up two-arm
for name in a b c; do
	echo_server "$name" const:5000
done
gateway_config two-arm \
	"$(service web "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")"
gateway_start
start load cli "${CPUS[0]}" "$TG_CLIENT" --connections 1000000 --parallel 12 --requests 4 --timeout-ms 500 \
	--duration-ms 2000 "$VIP4" 8080
sleep 1
gateway_stats
check judge totals "$WORK/stats.json" 1000
gateway_stop
stop load
least=$(/usr/bin/python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["packets"]["forwarded"])' "$WORK/stats.json")
# the last words name the packets that were received and forwarded, no fewer than a moment before
last=$(cat "$WORK/gateway.out" "$WORK/gateway.err" | grep -iE 'forwarded' | tail -n 1)
check test -n "$last"
check awk -v least="$least" '{for (i = 1; i <= NF; i++) if ($i + 0 >= least) found = 1} END {exit !found}' <<<"$last"
FIGURES+=("last words: $last")
check test ! -e "$WORK/control.sock"
verdict
