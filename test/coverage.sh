#!/usr/bin/env bash
# Which lines the unit tests reach: builds build-cov/, runs them, prints a table (gcovr).
#   test/coverage.sh [--html]     --html: also build-cov/coverage/index.html
set -euo pipefail

cd "$(dirname "$0")/.."
drivers-conf/install-deps.sh build test dev
if [ ! -e build-cov/build.ninja ]; then
	CC=gcc meson setup build-cov -Db_coverage=true -Dbuildtype=debug >/dev/null
fi
ninja --quiet -C build-cov
find build-cov -name '*.gcda' -delete
meson test -C build-cov --no-rebuild --quiet
html=()
if [ "${1:-}" = --html ]; then
	mkdir -p build-cov/coverage
	html=(--html-details build-cov/coverage/index.html)
fi
gcovr --root . --filter lib/ --filter app/ --exclude-unreachable-branches --print-summary \
	"${html[@]}" build-cov
