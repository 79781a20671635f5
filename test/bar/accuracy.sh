#!/usr/bin/env bash
# Are the estimators as close to the truth as they must be? Simulated, known and captured traffic, and real clients where root
# runs it: eleven minutes.
# TIDEGATE_CAPTURES names the captures: without them their bars are not met. The last line is one JSON object; exit code 0
# when every bar that can be measured here holds.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec test/accuracy/run.sh --bars --live "$@"
