#!/usr/bin/env bash
# Faults that other balancers had, each as one named test: its input, and what must come of it.
#
#   test/peers/run.sh [--list] [NAME…]        needs root for taps, and python3-scapy
#
# A test is a case of its own (own.py), or one that the suites have already: of test/vdev, or of a unit program.
# The last line reads: N passed, N failed, N skipped
set -euo pipefail
cd "$(dirname "$0")/../.."
exec /usr/bin/python3 test/peers/peers.py "$@"
