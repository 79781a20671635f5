#!/usr/bin/env bash
# Three nginx servers behind tidegate, answering the client directly, on this host: every part runs
# in a network namespace of its own and is gone afterwards. Needs root; takes about 15 s.
set -euo pipefail

cd "$(dirname "$0")/../.."
. examples/lab.sh
lab_start two-arm

gateway_up examples/dsr-nginx/tidegate.json "gw0 gw1"
show ctl server list web

say "Six requests to the VIP, each on a connection of its own: the name is the server that answered"
for _ in 1 2 3 4 5 6; do
	in_ns cli curl -s --max-time 5 "http://$VIP4/"
done | paste -sd ' '

say "Load for four seconds on a page that takes 5 ms, and what the client saw"
in_ns cli wrk -t1 -c12 -d4s --latency "http://$VIP4/slow" | grep -E 'Requests/sec|50%|99%|errors' || true

say "What the gateway saw, from the clients' packets alone"
show ctl stats show

say "Server a is drained: it keeps its connections and gets no new one"
show ctl server drain web a
for _ in 1 2 3 4 5 6; do
	in_ns cli curl -s --max-time 5 "http://$VIP4/"
done | paste -sd ' '
show ctl server list web

gateway_end
