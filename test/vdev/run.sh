#!/usr/bin/env bash
# The whole binary on virtual devices: test/vdev/run.sh [--quick] [CASE...]. Needs python3-scapy.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=/usr/bin/python3
if ! "$python" -c 'import scapy' 2>/dev/null; then
	echo "SKIPPED vdev: python3-scapy is missing (drivers-conf/install-deps.sh test)"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi
exec "$python" test/vdev/cases.py "$@"
