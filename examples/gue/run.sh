#!/usr/bin/env bash
# Three nginx servers behind GUE with second chances, on this host, in network namespaces that are
# gone afterwards: the gateway is replaced under load, by one that knows none of its connections.
# Needs root; takes about 20 s.
set -euo pipefail

cd "$(dirname "$0")/../.."
TOP=$PWD
. examples/lab.sh
# shellcheck source-path=SCRIPTDIR/../.. source=test/live/gue.sh
. $LIVE/gue.sh
lab_start two-arm
say "The servers' side: gue.bpf.c on the interface of each"
gue_up || die "the programs cannot be loaded here (see above)"

gateway_up examples/gue/tidegate.json "gw0 gw1"

say "Six requests to the VIP, each on a connection of its own: the name is the server that answered"
for _ in 1 2 3 4 5 6; do
	in_ns cli curl -s --max-time 5 "http://$VIP4/"
done | paste -sd ' '

say "Twelve connections that stay open; after three seconds the gateway is replaced"
in_ns cli wrk -t1 -c12 -d9s --timeout 9s --latency "http://$VIP4/slow" >"$WORK/wrk.out" &
load=$!
sleep 3
gateway_end
gateway_up examples/gue/tidegate.json "gw0 gw1"
wait "$load"
say "What the client saw: its requests waited for the new gateway, none of its connections broke"
grep -E 'requests in|50%|99%|Socket errors' "$WORK/wrk.out"
! grep -q 'Socket errors' "$WORK/wrk.out" || die "connections broke"

# the new gateway's table names first candidates: whom a server passed a packet on to, it cannot see
gateway_end
