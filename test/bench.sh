#!/usr/bin/env bash
# Does the bench run, and does its JSON hold what it promises? Figures are shown, not judged: a
# shared machine is no place for that.
# The last line reads: N passed, N failed, N skipped
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
bench=${TIDEGATE_BUILD:-$top/build}/app/tidegate-bench/tidegate-bench
loop=${TIDEGATE_BUILD:-$top/build}/test/loop
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# measured GLOB NAME…: these cases, short, must appear with sane figures.
measured() {
	local glob=$1
	shift
	if "$bench" --json --runs 3 --seconds 0.6 --only "$glob" >"$work/json" 2>"$work/table" &&
		/usr/bin/python3 - "$work/json" "$@" >"$work/verdict" <<'END'
import json, sys

report = json.load(open(sys.argv[1]))
cases = {case["name"]: case for case in report["cases"]}
assert report["host"], "no host"
for name in sys.argv[2:]:
    case = cases[name]
    assert 0.1 < case["ns_per_packet"] < 1e5, case
    assert abs(case["mpps"] * case["ns_per_packet"] / 1000 - 1) < 0.02, case
    assert len(case["runs"]) == 3, case
    print(f"     {name}: {case['ns_per_packet']:.1f} ns a packet")
END
	then
		passed=$((passed + 1))
		echo "ok   $glob"
		cat "$work/verdict"
	else
		failed=$((failed + 1))
		echo "FAIL $glob"
		sed 's/^/     /' "$work/table" "$work/verdict" "$work/json"
	fi
}

if [ ! -x "$bench" ]; then
	echo "FAIL $bench is missing: ninja -C build"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
# The programs behind test/bar/loop.sh and doc/loop.md: do they run, and does every packet come through?
ran() {
	local name=$1
	shift
	if "$@" >"$work/json" 2>"$work/table"; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		sed 's/^/     /' "$work/table" "$work/json"
	fi
}

ran loop "$loop/bar-loop" --flows 20000 --seconds 0.1
ran idle "$loop/bar-idle" 0.2
measured io io
measured 'pipeline/established/1k' pipeline/established/1k
measured 'hash/*/1k' hash/own/1k hash/rte/1k
measured 'pipeline/[gm]*/1k' pipeline/gue/1k pipeline/gre/1k pipeline/mixed/1k

# judged GLOB BAR: the bar is judged, and the exit code is its verdict. Whether it is met is no matter here.
judged() {
	local code=0
	test/bar/speed.sh --runs 1 --seconds 0.1 --only "$1" >"$work/json" 2>"$work/table" || code=$?
	/usr/bin/python3 - "$work/json" "$2" $code >"$work/verdict" 2>&1 <<'END'
import json, sys

bars = json.load(open(sys.argv[1]))["bars"]
bar = {bar["name"]: bar for bar in bars}[sys.argv[2]]
assert bar["most"] > 0 and bar["met"] == (bar["figure"] <= 1.1 * bar["most"]), bar
assert (sys.argv[3] == "0") == all(bar["met"] for bar in bars), sys.argv[3]
END
}

cd "$top"
ran 'bar of the gate' judged stage/gate stage/gate
ran 'bar of memory' judged stage/gate memory/slot
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
