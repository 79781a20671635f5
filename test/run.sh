#!/usr/bin/env bash
# Build tidegate and run its tests.
#
#   test/run.sh                  everything, about 20 minutes on two cores (downloads not counted)
#   test/run.sh --quick          what to run before every commit, at most 60 s
#   test/run.sh --only SUITE…    these suites only; --list names them
#   -v                           shows each suite's output as it comes, not only a failing one's
#
# TIDEGATE_CAPTURES names a folder of captures with index.tsv; without it that suite is SKIPPED.
# Full output of each suite: build/test-logs/SUITE.log. Exit code 0 when nothing failed and
# something passed. The last line reads: N passed, N failed, N skipped (N counts cases).
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export TIDEGATE_BUILD=$top/build TIDEGATE_BUILD_ASAN=$top/build-asan
logs=$TIDEGATE_BUILD/test-logs
passed=0 failed=0 skipped=0
failed_suites=()

# name, seconds allowed, in --quick or not; in the order they run. suite_NAME below does the work.
suites=(
	build:600:quick build-asan:600:full
	unit:120:quick unit-asan:240:full
	lint:120:quick drivers:180:full
	vdev:420:quick peers:240:full sim:360:full accuracy:180:full choice:180:full captures:180:full live:420:full fuzz:200:full bench:90:full perf:240:full
)

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

list_suites() {
	local suite
	for suite in "${suites[@]}"; do
		echo "${suite%%:*}"
	done
}

die() {
	echo "run.sh: $*" >&2
	exit 1
}

# configure DIR OPTION…: sets a build folder up, or brings its options up to date.
configure() {
	local dir=$1 wanted="${*:2}" marker=$1/test-options verb=configure said
	[ -e "$dir/build.ninja" ] || verb=setup
	[ "$(cat "$marker" 2>/dev/null)" != "$wanted" ] || return 0
	said=$(meson $verb "$dir" "${@:2}" 2>&1) || {
		echo "$said"
		return 1
	}
	echo "$wanted" >"$marker"
}

# build DIR: quiet unless something is wrong; a build is one case.
build() {
	if ninja --quiet -k 0 -C "$1"; then
		echo "1 passed, 0 failed, 0 skipped"
	else
		echo "0 passed, 1 failed, 0 skipped"
		return 1
	fi
}

suite_build() {
	CC=gcc configure build -Dwerror=true && build build
}

suite_build-asan() {
	CC=clang configure build-asan -Dwerror=true -Dfuzz=true -Dbuildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false && build build-asan
}

# A unit test is a `check` program that closes with "N%: Checks: N, Failures: N, Errors: N", or a
# script that closes as this one does; a program that says nothing of the kind is one case.
meson_tests() {
	local dir=$1 code=0
	shift
	"$@" meson test -C "$dir" --no-rebuild --print-errorlogs --no-suite sim ${quick:+--no-suite long} || code=$?
	grep '^ *SKIPPED' "$dir/meson-logs/testlog.txt" || true
	awk -v code=$code '
		function counted(good, bad) {
			programs++; passed += good; failed += bad
			if (bad > 0) bad_programs++
		}
		/^[0-9]+%: Checks: / {gsub(",", ""); counted($3 - $5 - $7, $5 + $7)}
		/^[0-9]+ passed, [0-9]+ failed/ {
			counted($1, $3); skipped += $5
			if ($1 + $3 == 0) skipped_programs++
		}
		/^Ok: / {ok = $2}
		/^(Fail|Timeout|Unexpected Pass): / {fail += $NF}
		/^Skipped: / {skip = $2}
		END {
			silent_bad = fail - bad_programs
			if (silent_bad < 0) silent_bad = 0
			silent = ok + fail + skip - programs - silent_bad
			silent_skipped = skip > skipped_programs ? skip - skipped_programs : 0
			passed += silent > silent_skipped ? silent - silent_skipped : 0
			failed += silent_bad
			if (code != 0 && failed == 0) failed = 1
			printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped + silent_skipped
		}' "$dir/meson-logs/testlog.txt"
	return $code
}

# quick: every test, in one process a program instead of one each; of the sweep over configurations every eighth.
suite_unit() {
	meson_tests build env ${quick:+CK_FORK=no TIDEGATE_QUICK=1}
}

suite_unit-asan() {
	meson_tests build-asan env ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
		UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
}

suite_lint() {
	test/lint.sh
}

suite_drivers() {
	test/drivers.sh
}

suite_vdev() {
	test/vdev/run.sh ${quick:+--quick}
}

suite_peers() {
	test/peers/run.sh
}

suite_sim() {
	test/sim/run.sh
}

suite_accuracy() {
	test/accuracy/run.sh --short --live
}

suite_choice() {
	test/choice/run.sh --short
}

suite_captures() {
	/usr/bin/python3 test/captures/made.py || return
	if [ -z "${TIDEGATE_CAPTURES:-}" ]; then
		echo "SKIPPED captures: TIDEGATE_CAPTURES names no folder"
		echo "0 passed, 0 failed, 1 skipped"
		return
	fi
	/usr/bin/python3 test/captures/run.py
}

suite_live() {
	test/live/run.sh
}

suite_fuzz() {
	test/fuzz/run.sh
}

suite_bench() {
	test/bench.sh
}

suite_perf() {
	test/perf.py
}

# Sum of the closing lines in a log; false when there is none.
count() {
	awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {seen = 1; p += $1; f += $3; s += $5}
		END {print p + 0, f + 0, s + 0; exit !seen}' "$1"
}

# Runs one suite in a subshell with its time limit and adds up what it says.
run_suite() {
	local name=$1 seconds=$2 log=$logs/$1.log start=$SECONDS code=0 p f s took note=''
	if [ -n "$verbose" ]; then
		echo "--- $name"
		timeout --kill-after=15 "$seconds" "$0" --inside "$name" ${quick:+--quick} 2>&1 </dev/null | tee "$log" || code=$?
	else
		timeout --kill-after=15 "$seconds" "$0" --inside "$name" ${quick:+--quick} >"$log" 2>&1 </dev/null || code=$?
	fi
	took=$((SECONDS - start))
	if read -r p f s < <(count "$log") && [ "$((p + f + s))" -gt 0 ]; then
		# 77: nothing could run here, which the suite has counted as skipped
		[ $code -eq 0 ] || [ "$f" -gt 0 ] || [ "$code:$p" = 77:0 ] || { f=1; note=" (ended with code $code)"; }
	else
		p=0 f=1 s=0 note=" (ended with code $code and no count)"
	fi
	[ $code -ne 124 ] || note=" (stopped after $seconds s)"
	if [ "$f" -gt 0 ]; then
		failed_suites+=("$name")
		[ -n "$verbose" ] || cat "$log"
	fi
	printf '%-11s %4d passed, %d failed, %d skipped %5d s%s\n' "$name" "$p" "$f" "$s" "$took" "$note"
	[ -n "$verbose" ] || [ "$f" -gt 0 ] || grep -h '^ *SKIPPED' "$log" | sed 's/^ */    /' || true
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

quick='' verbose='' inside='' only=()
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=yes ;;
	-v | --verbose) verbose=yes ;;
	--list) list_suites && exit 0 ;;
	-h | --help) usage && exit 0 ;;
	--inside)
		inside=$2
		shift
		;;
	--only)
		[ $# -gt 1 ] || die "--only wants the names of suites; there are: $(list_suites | paste -sd ' ')"
		while [ $# -gt 1 ] && [[ $2 != -* ]]; do
			list_suites | grep -xF -e "$2" >/dev/null ||
				die "there is no suite '$2'; there are: $(list_suites | paste -sd ' ')"
			only+=("$2")
			shift
		done
		;;
	*)
		echo "run.sh: unknown option '$1'" >&2
		usage >&2
		exit 2
		;;
	esac
	shift
done

if [ -n "$inside" ]; then
	"suite_$inside"
	exit
fi

"$top/drivers-conf/install-deps.sh" build test
mkdir -p "$logs"
exec 9>"$logs/lock"
flock -n 9 || die "another test run is going on in this checkout"

# Chosen suites bring the build that they test.
case " ${only[*]} " in
*" unit-asan "* | *" fuzz "*) only+=(build-asan) ;;
esac
case " ${only[*]} " in
*" unit "* | *" vdev "* | *" peers "* | *" sim "* | *" accuracy "* | *" choice "* | *" captures "* | *" live "* | *" bench "* | *" perf "*) only+=(build) ;;
esac

for suite in "${suites[@]}"; do
	IFS=: read -r name seconds when <<<"$suite"
	if [ ${#only[@]} -gt 0 ]; then
		[[ " ${only[*]} " == *" $name "* ]] || continue
	elif [ -n "$quick" ] && [ "$when" != quick ]; then
		continue
	fi
	run_suite "$name" "$seconds" 9>&-
	# Without a program there is nothing to test.
	[[ $name != build || $failed -eq 0 ]] || break
done

echo "logs: $logs; time: $SECONDS s"
[ ${#failed_suites[@]} -eq 0 ] || echo "failed: ${failed_suites[*]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
