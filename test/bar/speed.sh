#!/usr/bin/env bash
# The bars of speed: one JSON object on standard output, the table on standard error; ends with 1 where a
# bar is missed by more than its margin. Options of tidegate-bench may follow.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
exec "${TIDEGATE_BUILD:-$top/build}/app/tidegate-bench/tidegate-bench" --json --check "$@"
