#!/usr/bin/env bash
# Live tests: real clients and servers in network namespaces, the gateway between them. Needs root.
#
#   test/live/run.sh [--smoke] [CASE…]     a case is a name of case/ with its argument: nginx-maglev, redis, …
#
# TIDEGATE_BUILD: the build folder (default build); TIDEGATE, TIDEGATECTL: other programs than those in it. Prints PASS, FAIL or SKIPPED and figures for each case.
# Exit code: 0 no failure, 1 failures; 77 when nothing could run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
all=(topology 'nginx maglev' 'nginx round-robin' redis memcached udp ip6 'tunnel ipip' 'tunnel gre' gue second-chance 'survive killed' 'survive rehash' admission budget one-arm kernel bgp drain reload 'health tcp' 'health http' sigterm)
passed=0 failed=0 skipped=0 child=
trap '[ -z "$child" ] || { kill "$child" && wait "$child"; }; exit 130' INT TERM HUP

case ${1:-} in
--smoke)
	all=('nginx maglev 3')
	shift
	;;
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac

wanted() {
	local name=$1 one
	shift
	[ $# -gt 0 ] || return 0
	for one in "$@"; do
		[ "$one" != "$name" ] || return 0
	done
	return 1
}

for words in "${all[@]}"; do
	read -ra argv <<<"$words"
	wanted "${argv[0]}${argv[1]:+-${argv[1]}}" "$@" || continue
	# the whole group is told to end, so that traps of the case run; the case ends what it started
	timeout -k 10 60 bash "$here/case/${argv[0]}.sh" "${argv[@]:1}" &
	child=$!
	wait "$child"
	case $? in
	0) passed=$((passed + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	78) passed=$((passed + 1)) skipped=$((skipped + 1)) ;; # a part could not be judged, and said so
	124 | 137 | 143)
		echo "FAIL ${words// /-}: did not end within 60 s"
		failed=$((failed + 1))
		;;
	*) failed=$((failed + 1)) ;;
	esac
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] || exit 1
[ $((passed + skipped)) -gt 0 ] || { echo "no such case; there are: ${all[*]// /-}" >&2 && exit 1; }
[ "$passed" -gt 0 ] || exit 77
