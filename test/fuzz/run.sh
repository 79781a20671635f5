#!/usr/bin/env bash
# Fuzzes everything that reads bytes from outside: test/fuzz/run.sh [SECONDS a target, default 60].
# Two at a time. Targets are built by clang in build-asan/; seeds are made by seeds.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
targets=(parse capture config snapshot)
build=${TIDEGATE_BUILD_ASAN:-build-asan}
passed=0 failed=0

if ! command -v clang >/dev/null; then
	echo "SKIPPED fuzz: clang is missing (drivers-conf/install-deps.sh test)"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi
[ -e $build/build.ninja ] || CC=clang meson setup $build -Dfuzz=true -Dwerror=true \
	-Db_sanitize=address,undefined -Db_lundef=false >/dev/null
ninja --quiet -C $build "${targets[@]/#/test/fuzz/fuzz-}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 test/fuzz/seeds.py "$work"

# fuzz TARGET: one line in TARGET.result
fuzz() {
	local target=$1 dict=() log=$work/$1.log
	[ ! -e "test/fuzz/fuzz_$target.dict" ] || dict=("-dict=test/fuzz/fuzz_$target.dict")
	mkdir -p "$work/$target"
	# undefined behaviour is only printed unless told to halt
	if UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
		timeout $((seconds + 60)) "$build/test/fuzz/fuzz-$target" -max_total_time="$seconds" -rss_limit_mb=2048 \
		-timeout=20 -max_len=16384 -print_final_stats=1 -artifact_prefix="$work/$target-" "${dict[@]}" \
		"$work/$target" >"$log" 2>&1; then
		echo "PASS fuzz-$target: $(awk '/number_of_executed_units/ {print $2}' "$log") runs, $(grep -o 'cov: [0-9]*' \
			"$log" | tail -n 1)" >"$work/$target.result"
	else
		{
			echo "FAIL fuzz-$target"
			tail -n 60 "$log"
			for f in "$work/$target-"*; do
				[ ! -e "$f" ] || echo "input $(basename "$f"), base64: $(base64 -w 0 "$f" | head -c 4000)"
			done
		} >"$work/$target.result"
	fi
}

for ((i = 0; i < ${#targets[@]}; i += 2)); do
	fuzz "${targets[i]}" &
	[ -z "${targets[i + 1]:-}" ] || fuzz "${targets[i + 1]}" &
	wait
done
for target in "${targets[@]}"; do
	cat "$work/$target.result"
	if grep -q ^PASS "$work/$target.result"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
