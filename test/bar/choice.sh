#!/usr/bin/env bash
# Are servers chosen well? Every policy in the simulator, against what is asked of `latency`. Ten minutes on two cores.
# The last line is one JSON object; exit code 0 only when every bar holds.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec test/choice/run.sh --bars "$@"
