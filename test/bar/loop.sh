#!/usr/bin/env bash
# Does the worker's loop keep packets from waiting behind background work, and background work from
# starving? The product's worker with a million flows that age, once with its scheduler and once with
# rounds that run to completion, on a clock that the code itself moves (test/loop/loop.c). A minute.
# The last line is one JSON object; exit code 0 when the bars hold: p99.9 of the sojourn at low load
# at least 22 % lower (stretch: 50 %), and no task later than 10 ms under full load.
set -euo pipefail
cd "$(dirname "$0")/../.."
"${TIDEGATE_BUILD:-$PWD/build}/test/loop/bar-loop" "$@" | /usr/bin/python3 test/bar/loop.py
