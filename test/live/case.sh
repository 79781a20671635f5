# shellcheck shell=bash
# Sourced first by every case: its name, its working folder, its figures and its one line at the end.
#
# A case calls check() for everything it asserts and verdict last. Exit code: 0 passed, 1 failed, 77 skipped.

set -u
LIVE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$LIVE/../.." && pwd)
BUILD=${TIDEGATE_BUILD:-$TOP/build}
TIDEGATE=${TIDEGATE:-$BUILD/app/tidegate/tidegate}
TIDEGATECTL=${TIDEGATECTL:-$BUILD/app/tidegatectl/tidegatectl}
TG_SERVER=$BUILD/test/live/tg-server
TG_CLIENT=$BUILD/test/live/tg-client
CASE=${CASE_NAME:-$(basename "$0" .sh)${1:+-$1}}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-live.XXXXXX")
FIGURES=()
FAULTS=()
UNJUDGED=() # what the host did not allow to judge

. "$LIVE/net.sh"
. "$LIVE/daemons.sh"
. "$LIVE/gateway.sh"
trap net_clean_up EXIT
trap 'exit 143' INT TERM HUP

judge() { /usr/bin/python3 "$LIVE/judge.py" "$@"; }

skip() {
	echo "SKIPPED $CASE: $*"
	exit 77
}

# What a command says is a figure if it succeeds, a fault if not, and 77: what could not be judged here. The case goes
# on in any case.
check() {
	local text code=0
	text=$("$@" 2>&1) || code=$?
	case $code in
	0) [ -z "$text" ] || FIGURES+=("$text") ;;
	77) UNJUDGED+=("$text") ;;
	*) FAULTS+=("${text:-$* failed}") ;;
	esac
}

# load OUT COMMAND…: a client's run on the load's processor, output to $WORK/OUT.out; the case ends if it fails.
# In the foreground group, so that what ends the case ends it too.
load() {
	local out=$1
	shift
	timeout --foreground -k 2 20 taskset -c "${CPUS[0]}" nsenter --net="/run/netns/$NET_ID-cli" "$@" \
		>"$WORK/$out.out" 2>"$WORK/$out.err" ||
		die "$(basename "$1") failed or took over 20 s: $(tail -n 1 "$WORK/$out.err" "$WORK/$out.out")"
}

quiet() { "$@" >/dev/null; }

join() {
	local first=$1
	shift
	printf '%s' "$first" "${@/#/; }"
}

verdict() {
	if [ ${#FAULTS[@]} -eq 0 ]; then
		echo "PASS $CASE: $(join "${FIGURES[@]}")"
		[ ${#UNJUDGED[@]} -gt 0 ] || exit 0
		echo "SKIPPED $CASE, a part of it: $(join "${UNJUDGED[@]}")"
		exit 78 # run.sh counts one passed and one skipped
	fi
	echo "FAIL $CASE: $(join "${FAULTS[@]}")${FIGURES[*]:+ | sound: $(join "${FIGURES[@]}")}"
	show_logs
	exit 1
}

die() {
	FAULTS+=("$*")
	verdict
}

show_logs() {
	local file
	for file in "$WORK"/gateway.err "$WORK"/*.err; do
		[ ! -s "$file" ] || tail -n 8 "$file" | sed "s|^|  $(basename "$file"): |"
	done | awk '!seen[$0]++' >&2
	if [ -n "${TIDEGATE_LIVE_KEEP:-}" ]; then
		KEEP_WORK=1
		echo "  kept: $WORK" >&2
	else
		echo "  TIDEGATE_LIVE_KEEP=1 keeps the folder with all logs" >&2
	fi
}

net_possible || skip "$WHY_NOT"
for program in "$TG_SERVER" "$TG_CLIENT" "$TIDEGATE" "$TIDEGATECTL"; do
	[ -x "$program" ] || skip "$program is not built (meson setup build && ninja -C build)"
done
