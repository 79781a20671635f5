#!/usr/bin/env bash
# Burst isolation with real clients and servers in network namespaces: a table, and whether the calm keep their latency.
#
#   test/admit/live.sh [ROUNDS [SECONDS]]    of each of six policies: 3 of 6 s; needs root and two idle cores
#
# TIDEGATE_BUILD: the build folder (default build). Exit code: 0 no calm request was lost, with two levels their P95 is
# clearly below that without admission in the same run, the servers' queues are shorter, and valuable clients wait less
# than others, 1 not so, 77 this machine cannot run it.
set -u
case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac
export TIDEGATE_TABLE=1
exec bash "$(dirname "$0")/../live/case/admission.sh" "${1:-3}" "${2:-6}" \
	none bucket cap two-level work-conserving values
