#!/usr/bin/env bash
# sim_live.sh: the live side of sim.sh. Three servers of four workers each, exponential 20 ms, 24 connections that ask again
# as soon as they are answered, round robin. Prints what the client saw as one JSON object. Needs root.
set -u
set --
# shellcheck source=../live/case.sh
. "$(dirname "$0")/../live/case.sh"
net_up two-arm
for name in a b c; do
	echo_server $name exp:20000 --workers 4
done
gateway_config two-arm "$(service web "$VIP4" tcp 8080 l2 round-robin "$(server a)" "$(server b)" "$(server c)")"
gateway_start
load web "$TG_CLIENT" --connections 24 --parallel 24 --requests 1000000 --duration-ms 12000 "$VIP4" 8080
check judge client web "$WORK/web.out" 4000
gateway_stop
[ ${#FAULTS[@]} -eq 0 ] || verdict
tail -n 1 "$WORK/web.out"
