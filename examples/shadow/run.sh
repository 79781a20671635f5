#!/usr/bin/env bash
# tidegate on a mirror port: it sees copies of what clients send, decides and measures, and sends
# nothing. The traffic itself reaches the servers by the client's own routes, as it did before.
# Needs root; takes about 15 s.
set -euo pipefail

cd "$(dirname "$0")/../.."
. examples/lab.sh
lab_start direct

# The mirror port: a copy of every frame that the client sends into the switch.
namespace gw
mute gw
wire gw mir0 02:00:00:00:02:01 sw p-mir
in_ns sw tc qdisc add dev p-cli clsact
in_ns sw tc filter add dev p-cli ingress protocol all u32 match u32 0 0 \
	action mirred egress mirror dev p-mir

gateway_up examples/shadow/tidegate.json mir0 --shadow

say "Load for four seconds on a page that takes 5 ms, and what the client saw"
in_ns cli wrk -t1 -c12 -d4s --latency "http://$VIP4/slow" | grep -E 'Requests/sec|50%|99%|errors' || true

say "What the gateway saw on the mirror port; the servers are those it would have picked"
show ctl stats show

say "Nothing was forwarded: packets that left the mirror port"
in_ns gw ip -s link show mir0 | awk 'tx {print "packets sent:", $2; exit} /TX:/ {tx = 1}'
gateway_end
