#!/usr/bin/env bash
# Packets a second of the whole binary, net_pcap infinite_rx to net_null, beside testpmd io on the same
# capture in the same run. Needs root, huge pages (drivers-conf/hugepages.sh) and dpdk-testpmd.
# The last line is one JSON object.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec /usr/bin/python3 test/bar/pps.py "$@"
