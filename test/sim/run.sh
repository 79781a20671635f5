#!/usr/bin/env bash
# The simulator: its parts (check programs), then the whole program against what theory says.
#
#   test/sim/run.sh [CASE…]     cases of check.py; without any, everything
#
# TIDEGATE_BUILD: the build folder (default build). The last line reads: N passed, N failed, N skipped
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
python=/usr/bin/python3
passed=0 failed=0 skipped=0

# add FILE CODE: counts from "N%: Checks: N, Failures: N, Errors: N" or "N passed, N failed, N skipped".
add() {
	local p f s
	read -r p f s < <(awk '
		/^[0-9]+%: Checks: / {gsub(",", ""); p += $3 - $5 - $7; f += $5 + $7}
		/^[0-9]+ passed, [0-9]+ failed/ {p += $1; f += $3; s += $5}
		END {print p + 0, f + 0, s + 0}' "$1")
	[ "$2" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

said=$(mktemp "${TMPDIR:-/tmp}/tidegate-sim.XXXXXX")
trap 'rm -f "$said"' EXIT
if [ $# -eq 0 ]; then
	for program in "$TIDEGATE_BUILD"/test/sim/sim-*; do
		[ -f "$program" ] && [ -x "$program" ] || continue
		code=0
		timeout 60 "$program" >"$said" 2>&1 || code=$?
		if [ $code -eq 0 ]; then tail -n 1 "$said" | sed "s|^|$(basename "$program"): |"; else cat "$said"; fi
		add "$said" $code
	done
fi
code=0
"$python" test/sim/check.py "$@" >"$said" 2>&1 || code=$?
grep -v '^[0-9]* passed, [0-9]* failed' "$said"
add "$said" $code
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
