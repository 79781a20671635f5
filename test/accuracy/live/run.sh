#!/usr/bin/env bash
# How close the gateway comes to what real clients see: real clients and servers in network namespaces, the gateway between
# them, truth from the clients' own clocks. Needs root; six minutes at most.
#
#   test/accuracy/live/run.sh [--short] [--json FILE] [WORKLOAD…]     --list names the workloads
#
# In slices: run it with some of the workloads and the same FILE again; what the file holds of the others stays.
#
# TIDEGATE_BUILD: the build folder (default build). --short: three workloads within 60 s. Exit code: 0 all ran, 1 a client
# or a server failed, 77 nothing could run here.
set -u

if [ -z "${TIDEGATE_LIVE_SESSION:-}" ]; then
	TIDEGATE_LIVE_SESSION=yes setsid "$0" "$@" &
	child=$!
	trap 'kill "$child" && wait "$child"; exit 130' INT TERM HUP
	wait "$child"
	exit
fi
unset TIDEGATE_LIVE_SESSION
here=$(cd "$(dirname "$0")" && pwd)
short='' json='' wanted=()
while [ $# -gt 0 ]; do
	case $1 in
	--short) short=yes ;;
	--json)
		json=$2
		shift
		;;
	--list) exec sed -n "/^WORKLOADS=/,/^)/s/^\t'\([^|]*\)|\([^|]*\)|.*/\1: \2/p" "$here/workloads.sh" ;;
	-h | --help) exec sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" ;;
	-*)
		echo "run.sh: unknown option '$1'" >&2
		exit 2
		;;
	*) wanted+=("$1") ;;
	esac
	shift
done
# shellcheck disable=SC2034 # case.sh reads it
CASE_NAME=live
# shellcheck source=../../live/case.sh
. "$here/../../live/case.sh"
# shellcheck source=net.sh
. "$here/net.sh"
# shellcheck source=workloads.sh
. "$here/workloads.sh"
need_commands tcpdump

is_wanted() {
	local name=$1 one
	if [ ${#wanted[@]} -eq 0 ]; then
		[ -z "$short" ] || [ -n "$(field "$name" 4)" ]
		return
	fi
	for one in "${wanted[@]}"; do
		[ "$one" != "$name" ] || return 0
	done
	return 1
}

missing_command() {
	local tool
	for tool in $(field "$1" 6); do
		command -v "$tool" >/dev/null || echo "$tool"
	done | head -n 1
}

services=() chosen=()
for line in "${WORKLOADS[@]}"; do
	name=${line%%|*}
	is_wanted "$name" || continue
	missing=$(missing_command "$name")
	if [ -n "$missing" ]; then
		echo "SKIPPED live, $(field "$name" 1): the command $missing is missing (drivers-conf/install-deps.sh test)"
		continue
	fi
	chosen+=("$name")
	services+=("$(service "$name" "$VIP4" "$(field "$name" 2)" "$(port_of "$name")" l2 round-robin "$(server "$(field "$name" 3)")")")
done
[ ${#chosen[@]} -gt 0 ] || skip "no workload is left to run; --list names them"

# On a shared host: the clients' clocks are the truth of clients that need not wait for a processor. The kernel weighs
# sessions against each other: this is one of its own (see the top).
{ renice -n -20 -p $$ && echo -20 >/proc/self/autogroup; } >/dev/null 2>&1
live_net_up
gateway_config two-arm "${services[@]}"
gateway_start
start poll cli "${CPUS[0]}" /usr/bin/python3 "$here/poll.py" "$WORK/control.sock"
for name in "${chosen[@]}"; do
	begin=$SECONDS
	"w_$name"
	echo "$((SECONDS - begin)) s  $(field "$name" 1)" >&2
done
stop poll
gateway_stop
stop relay
FIGURES+=("${#chosen[@]} workloads in $SECONDS s")
/usr/bin/python3 "$here/live.py" "$WORK" "${json:-$WORK/cases.json}" || die "live.py failed"
verdict
