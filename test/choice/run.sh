#!/usr/bin/env bash
# The choice of a server, policy by policy, in virtual time.
#
#   test/choice/run.sh             every scenario and policy, against the bars; up to 10 minutes on two cores
#   test/choice/run.sh --short     a few of them, wider bounds; up to 40 seconds
#
# More options: run.py --help. TIDEGATE_BUILD: the build folder (default build). The last line reads: N passed, N failed,
# N skipped
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
exec /usr/bin/python3 test/choice/run.py "$@"
