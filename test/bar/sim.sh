#!/usr/bin/env bash
# Is the simulator right, fast, and like a live run? Waits against closed forms, packets a second on one core, and the
# same workload here in network namespaces and simulated. The live part needs root. Takes three minutes.
# The last line is one JSON object; exit code 0 when everything holds.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
exec /usr/bin/python3 test/bar/sim.py "$@"
