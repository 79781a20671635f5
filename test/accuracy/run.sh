#!/usr/bin/env bash
# How close every estimator comes to the truth, by workload: simulated clients, paths and servers, arrivals whose latency is
# known, and real captures, beside methods published before.
#
#   test/accuracy/run.sh                      everything, at most 5 minutes on one core; prints the tables of doc/accuracy.md
#   test/accuracy/run.sh --short              a few workloads with asserted bounds, within 30 s
#   test/accuracy/run.sh --json FILE --picture FILE.svg
#   test/accuracy/run.sh --live [--short]     with real clients and servers in namespaces: root, six minutes more (--short: one)
#
# TIDEGATE_BUILD: the build folder (default build). TIDEGATE_CAPTURES: captures with truth.tsv; without them that part is
# SKIPPED. With --short the last line reads: N passed, N failed, N skipped
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
exec /usr/bin/python3 test/accuracy/accuracy.py "$@"
