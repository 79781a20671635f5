#!/usr/bin/env bash
# live-case.sh FOLDER FAULT POLICY [--short]: one run of live.sh. Writes FOLDER/FAULT-POLICY.log, a line a request as
# visitors.c has it, and FOLDER/FAULT-POLICY.json: when the fault was there, the gateway's own report and, by server, its
# telemetry.
set -u
folder=$1 fault=$2 policy=$3 short=${4:-}
set --
# shellcheck source=../live/case.sh
. "$(dirname "$0")/../live/case.sh"
VISITORS=$BUILD/test/choice/visitors
[ -x "$VISITORS" ] || skip "$VISITORS is not built (meson setup build && ninja -C build)"
SERVERS=(a b c d)
CASE=$fault-$policy
# uniform in 10 to 30 ms, as good as
NORMAL=set:10625,11875,13125,14375,15625,16875,18125,19375,20625,21875,23125,24375,25625,26875,28125,29375
SLOW=set:53125,59375,65625,71875,78125,84375,90625,96875,103125,109375,115625,121875,128125,134375,140625,146875
visitors=(--visitors 60 --requests 10 --think-us 100000 --timeout-ms 3000)
group='' began=() ended=()

# The processor quota is the fault of `throttled`: control groups of version 1 or 2.
group_up() {
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
		group=/sys/fs/cgroup/cpu/$NET_ID
	elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		group=/sys/fs/cgroup/$NET_ID
	else
		skip "no control group with a processor quota can be made here (neither /sys/fs/cgroup/cpu/cpu.cfs_quota_us nor cpu in /sys/fs/cgroup/cgroup.subtree_control)"
	fi
	mkdir "$group" 2>/dev/null || skip "this host does not allow control groups: mkdir $group failed"
	trap 'net_clean_up; rmdir "$group"' EXIT
	echo "${PID[server-d]}" >"$group/cgroup.procs"
}

# quota some|all: three thousandths of a processor are less than its usual requests take.
quota() {
	if [ -e "$group/cpu.cfs_quota_us" ]; then
		echo 1000000 >"$group/cpu.cfs_period_us"
		[ "$1" = some ] && echo 3000 >"$group/cpu.cfs_quota_us" || echo -1 >"$group/cpu.cfs_quota_us"
	else
		[ "$1" = some ] && echo "3000 1000000" >"$group/cpu.max" || echo "max 1000000" >"$group/cpu.max"
	fi
}

# Mean service times in µs as an oracle knows them. A throttled server stands still for most of every second.
truth() {
	case $fault-$1 in
	throttled-ill) echo 500000 ;;
	*-ill) echo 100000 ;;
	*) echo 20000 ;;
	esac
}

configure() {
	local name rows=() more kept=$policy
	for name in "${SERVERS[@]}"; do
		more="\"workers\": 4"
		if [ "$policy" = latency-told ]; then
			kept=latency
			more+=", \"service_time_us\": $([ "$name" = d ] && truth "$1" || truth well)"
		fi
		rows+=("$(server "$name" "$more")")
	done
	gateway_config two-arm "$(service web "$VIP4" tcp 8080 l2 "$kept" "${rows[@]}")"
}

# turn well|ill: the fault goes or comes, and the oracle is told.
turn() {
	local share=all delay=$NORMAL
	if [ "$1" = ill ]; then
		share=some delay=$SLOW
		began+=("$(judge now)")
	else
		ended+=("$(judge now)")
	fi
	if [ "$fault" = throttled ]; then
		quota $share
	else
		echo "$delay" >"$WORK/delay"
		kill -HUP "${PID[server-d]}"
	fi
	[ "$policy" != latency-told ] || {
		configure "$1"
		ctl config reload >/dev/null || die "the reload failed"
	}
}

net_up two-arm
echo $NORMAL >"$WORK/delay"
for name in "${SERVERS[@]}"; do
	echo_server "$name" $NORMAL --workers 4 --delay-file "$WORK/delay"
done
[ "$fault" != throttled ] || group_up
configure well
gateway_start

# seconds: healthy, then ill and well in turn
case $fault${short:+-short} in
slow) times=(3 7 11) ;;
throttled) times=(3 7 8) ;;
periodic) times=(2 4 4 4 4) ;;
*-short) times=(2 5 5) ;;
esac
total=0
for t in "${times[@]}"; do
	total=$((total + t))
done
start visitors cli "${CPUS[0]}" "$VISITORS" "${visitors[@]}" --duration-ms $((total * 1000)) "$VIP4" 8080
sleep "${times[0]}"
now=ill
for t in "${times[@]:1}"; do
	turn $now
	if [ $now = ill ]; then now=well; else now=ill; fi
	sleep "$t"
done
finish visitors || die "the visitors failed: $(tail -n 1 "$WORK/visitors.err")"
gateway_stats
load=$(/usr/bin/python3 "$LIVE/../telemetry.py" "$NET_ID" "${SERVERS[@]/#//tidegate/latency,web,}") || die "no telemetry"
gateway_stop
cp "$WORK/visitors.out" "$folder/$CASE.log"
cat >"$folder/$CASE.json" <<END
{"fault": "$fault", "policy": "$policy", "began_ns": $(list "${began[@]}"), "ended_ns": $(list "${ended[@]}"),
 "visitors": $(tail -n 1 "$WORK/visitors.err"), "report": $(cat "$WORK/stats.json"), "load": $load}
END
FIGURES+=("$(tail -n 1 "$WORK/visitors.err")")
verdict
