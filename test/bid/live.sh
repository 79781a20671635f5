#!/usr/bin/env bash
# Servers that bid, in network namespaces: three real servers of unequal and changing load, their bidders, the gateway.
#
#   test/bid/live.sh [PHASE…]     phases: many compare follow delay wire all-traffic kill restart (default: all). Needs root.
#
# The last line but the verdict is the figures as one JSON object. Exit code: 0 passed, 1 failed, 77 skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
phases=" ${*:-many compare follow delay wire all-traffic kill restart} "
set --
# shellcheck source=test/live/case.sh
. "$here/../live/case.sh"
BIDDER=${TIDEGATE_BIDDER:-$BUILD/app/tidegate-bidder/tidegate-bidder}
need_commands nft ss
[ -x "$BIDDER" ] || skip "$BIDDER is not built"
declare -A FIRST=([a]=5000 [b]=10000 [c]=20000) THEN=([a]=20000 [b]=5000 [c]=10000)
JSON=()
connections=0 lost=0

phase() { [[ $phases == *" $1 "* ]]; }
figures() { JSON+=("\"$1\":$2"); }
on_server() {
	local name=$1
	shift
	in_ns "$(server_ns "$name")" "$@"
}

# Servers 8080 (bid), 8081 (round-robin), 8082 (least-connections), 8083 (bid, the first answer wins), each one request
# at a time.
server_start() {
	local name=$1 port
	for port in 8080 8081 8082 8083; do
		start "server-$name-$port" "$(server_ns "$name")" "${CPUS[0]}" "$TG_SERVER" --name "$name" --port $port \
			--workers 1 --delay "const:${FIRST[$name]}" --delay-file "$WORK/delay-$name"
		wait_for 5 "server $name" listening "$(server_ns "$name")" $port
	done
}

delays() {
	local name port
	for name in a b c; do
		eval "echo const:\${$1[$name]}" >"$WORK/delay-$name"
		for port in 8080 8081 8082 8083; do
			kill -HUP "${PID[server-$name-$port]}"
		done
	done
}

# bidders SOURCE [OPTION…]: one a server, instead of the one it has.
bidders() {
	local name source=$1
	shift
	[ $# -gt 0 ] || set -- --port 8080
	for name in a b c; do
		stop "bidder-$name" || true
		start "bidder-$name" "$(server_ns "$name")" "${CPUS[0]}" "$BIDDER" --source "${source/NAME/$name}" "$@"
	done
	sleep 0.2
}

# patient OUT COMMAND…: load() for a host that is busy with other things.
patient() {
	local out=$1
	shift
	timeout --foreground -k 2 60 taskset -c "${CPUS[0]}" nsenter --net="/run/netns/$NET_ID-cli" "$@" \
		>"$WORK/$out.out" 2>"$WORK/$out.err" ||
		die "$(basename "$1") failed or took over 60 s: $(tail -n 1 "$WORK/$out.err" "$WORK/$out.out")"
}

# run NAME ADDRESS PORT CONNECTIONS [OPTION…]: a client; its connections count.
run() {
	local name=$1 address=$2 port=$3 n=$4
	shift 4
	patient "$name" "$TG_CLIENT" --connections "$n" --timeout-ms 5000 "$@" "$address" "$port"
	connections=$((connections + n))
	lost=$((lost + $(value "$name" failures) + $(value "$name" moved)))
}
value() { /usr/bin/python3 "$here/live.py" value "$WORK/$1.out" "$2"; }

half_open() {
	local name n=0
	for name in a b c; do
		n=$((n + $(on_server "$name" ss -Htn state syn-recv | wc -l)))
	done
	echo "$n"
}

# Nothing half open on any server.
none_half_open() {
	local n
	sleep 0.3
	n=$(half_open)
	[ "$n" = 0 ] || echo "$n half-open connections on the servers"
	[ "$n" = 0 ]
}

is() { [ "$2" = "$3" ] || { echo "$1 is $2, not $3" && return 1; }; }

net_up two-arm
for name in a b c; do
	# SYN-ACKs pass the gateway, by a raw socket: whole checksums
	on_server "$name" ethtool -K eth0 tx off >/dev/null
	on_server "$name" "$TOP/examples/bidding/detour.sh" up 10.0.0.2 "$VIP4" 8080,8083 || die "detour.sh failed"
	on_server "$name" "$TOP/examples/bidding/detour.sh" up 2001:db8:2::2 "$VIP6" 8080,8083 || die "detour.sh failed"
	echo "const:${FIRST[$name]}" >"$WORK/delay-$name"
	server_start "$name"
done
# shellcheck disable=SC2034 # gateway.sh reads it
SERVICE_MORE='"bid": {"window_us": 20000, "probe_s": 1}'
v4=("$(server a)" "$(server b)" "$(server c)")
gateway_config two-arm "$(service bid "$VIP4" tcp 8080 l2 bid "${v4[@]}")" \
	"$(service bid6 "$VIP6" tcp 8080 l2 bid "$(server6 a)" "$(server6 b)" "$(server6 c)")" \
	"$(SERVICE_MORE='"bid": {"window_us": 0}' service first "$VIP4" tcp 8083 l2 bid "${v4[@]}")" \
	"$(SERVICE_MORE='' service rr "$VIP4" tcp 8081 l2 round-robin "${v4[@]}")" \
	"$(SERVICE_MORE='' service lc "$VIP4" tcp 8082 l2 least-connections "${v4[@]}")"
bidders connections
# bit 12, CAP_NET_ADMIN, is all that it keeps
sleep 1
check grep -q '^CapPrm:.*[[:space:]]0000000000001000$' "/proc/${PID[bidder-a]}/status"
gateway_start
sleep 0.5

# many NAME:PORT: the same load by each of them in turn; in the middle of it the servers change their speed.
many() {
	local kind name port
	for kind in "$@"; do
		IFS=: read -r name port <<<"$kind"
		delays FIRST
		(sleep 1.5 && for server in a b c; do
			echo "const:${THEN[$server]}" >"$WORK/delay-$server"
			kill -HUP "${PID[server-$server-$port]}"
		done) &
		run "$name" "$VIP4" "$port" 1000 --parallel 24
		wait $!
		check judge client "$name" "$WORK/$name.out" 1000
	done
}

# Servers whose speed differs by four, 24 clients at a time: round-robin gives all the same, and the slowest one's queue
# decides.
if phase many; then
	many bid:8080 rr:8081
	delays FIRST
	run bid6 "$VIP6" 8080 300 --parallel 12
	check judge client bid6 "$WORK/bid6.out" 300
	run first "$VIP4" 8083 300 --parallel 12
	check judge client first-answer-wins "$WORK/first.out" 300
	check none_half_open
	check /usr/bin/python3 "$here/live.py" better 0.8 "$WORK"/{bid,rr}.out
	figures many "$(/usr/bin/python3 "$here/live.py" figures "$WORK"/{bid,rr}.out)"
fi

# hidden SERVER MS: so long clients of another way ask this server for as much as it can do, by its own address, at
# each policy's port.
hidden() {
	local name=$1 port
	for port in 8080 8081 8082; do
		start "hidden-$port" cli "${CPUS[0]}" "$TG_CLIENT" --connections 10 --parallel 10 --requests 1000000 \
			--duration-ms "$2" --timeout-ms 10000 "$(server_address4 "$name")" "$port"
	done
	for port in 8080 8081 8082; do
		finish "hidden-$port" || true
	done
}

# The same connections at the same moments by each policy, all at once: what the host takes, it takes from all. The
# servers sleep 50, 75 and 100 ms a request, so little of the processor is needed, and are asked for three tenths of what
# they can do; one of them, another one halfway, has a load besides that the gateway does not see.
if phase compare; then
	echo const:50000 >"$WORK/delay-a"
	echo const:75000 >"$WORK/delay-b"
	echo const:100000 >"$WORK/delay-c"
	for name in a b c; do
		for port in 8080 8081 8082; do
			kill -HUP "${PID[server-$name-$port]}"
		done
	done
	bidders connections
	for kind in bid:8080 rr:8081 lc:8082; do
		start "sessions-${kind%:*}" cli "${CPUS[0]}" /usr/bin/python3 "$here/live.py" sessions "$VIP4" "${kind#*:}" 12 240
	done
	hidden a 10000
	hidden b 10000
	for name in bid rr lc; do
		finish "sessions-$name" || FAULTS+=("the clients of $name failed: $(tail -n 1 "$WORK/sessions-$name.err")")
		connections=$((connections + 240))
		lost=$((lost + $(value "sessions-$name" failures)))
	done
	check none_half_open
	check /usr/bin/python3 "$here/live.py" better 0.8 "$WORK"/sessions-{bid,rr,lc}.out
	figures compare "$(/usr/bin/python3 "$here/live.py" figures "$WORK"/sessions-{bid,rr,lc}.out)"
fi

if phase follow; then
	for name in a b c; do echo 0.5 >"$WORK/load-$name"; done
	bidders "file:$WORK/load-NAME"
	patient follow /usr/bin/python3 "$here/live.py" follow "$WORK" "$VIP4" 8080 60
	check cat "$WORK/follow.out"
	connections=$((connections + 60))
	check none_half_open
fi

# The first answer wins: SYN-ACKs wait for as long as the load says. At first nothing but that: who asks a server itself
# waits. Then single connections with loads that change, then many at a time; a bidder is killed, with SYN-ACKs that wait.
if phase delay; then
	for name in a b c; do echo 0.5 >"$WORK/load-$name"; done
	bidders "file:$WORK/load-NAME" --port 8083 --delay 60000
	check on_server a /usr/bin/python3 "$here/live.py" waits "$WORK/load-a" 8083 60
	patient follow-delay /usr/bin/python3 "$here/live.py" follow "$WORK" "$VIP4" 8083 60
	check cat "$WORK/follow-delay.out"
	connections=$((connections + 60))
	delays FIRST
	bidders connections --port 8083 --full 16 --delay 20000
	run delay "$VIP4" 8083 600 --parallel 12
	check judge client first-answer-wins-delayed "$WORK/delay.out" 600
	check none_half_open
	for name in a b c; do echo 0.5 >"$WORK/load-$name"; done
	bidders "file:$WORK/load-NAME" --port 8083 --delay 60000
	(sleep 0.5 && kill -KILL "${PID[bidder-b]}") &
	run delay-killed "$VIP4" 8083 200 --parallel 4
	wait $!
	unset "PID[bidder-b]"
	check judge client bidder-killed "$WORK/delay-killed.out" 200
	check none_half_open
	figures delay "$(/usr/bin/python3 "$here/live.py" figures "$WORK"/delay.out)"
fi

if phase wire; then
	for name in a b c; do echo 0.5 >"$WORK/load-$name"; done
	bidders "file:$WORK/load-NAME"
	for name in a b c; do
		echo const:100 >"$WORK/delay-$name"
		kill -HUP "${PID[server-$name-8080]}"
	done
	start ttl cli "${CPUS[0]}" /usr/bin/python3 "$here/live.py" ttls 8080 vip0 eth0
	start hammer cli "${CPUS[0]}" "$TG_CLIENT" --connections 100000 --duration-ms 9000 --parallel 4 --timeout-ms 5000 \
		"$VIP4" 8080
	sleep 0.3
	check on_server a timeout 8 /usr/bin/python3 "$here/live.py" wire "$(server_address4 a)" 8080 "$WORK/load-a" 100
	stop hammer || true
	stop ttl || true
	check quiet grep -q . "$WORK/ttl.out"
	check /usr/bin/python3 "$here/live.py" ttls-judge "$WORK/ttl.out"
fi

if phase all-traffic; then
	for name in a b c; do
		on_server "$name" "$TOP/examples/bidding/detour.sh" down
		on_server "$name" "$TOP/examples/bidding/all-traffic.sh" up 10.0.0.2 "$VIP4" || die "all-traffic.sh failed"
		on_server "$name" "$TOP/examples/bidding/all-traffic.sh" up 2001:db8:2::2 "$VIP6" || die "all-traffic.sh failed"
	done
	bidders connections
	run all4 "$VIP4" 8080 400 --parallel 16 --requests 2
	run all6 "$VIP6" 8080 200 --parallel 16 --requests 2
	check judge client all-traffic4 "$WORK/all4.out" 800
	check judge client all-traffic6 "$WORK/all6.out" 400
	check none_half_open
	for name in a b c; do
		on_server "$name" "$TOP/examples/bidding/all-traffic.sh" down "$VIP4"
		on_server "$name" "$TOP/examples/bidding/all-traffic.sh" down "$VIP6"
		on_server "$name" "$TOP/examples/bidding/detour.sh" up 10.0.0.2 "$VIP4" 8080,8083
		on_server "$name" "$TOP/examples/bidding/detour.sh" up 2001:db8:2::2 "$VIP6" 8080,8083
	done
fi

if phase kill; then
	bidders connections
	delays FIRST
	(sleep 0.7 && kill -KILL "${PID[server-a-8080]}") &
	patient kill "$TG_CLIENT" --connections 800 --parallel 16 --requests 2 --timeout-ms 5000 --log "$WORK/kill.log" "$VIP4" 8080
	wait $!
	unset "PID[server-a-8080]"
	check /usr/bin/python3 "$here/live.py" killed "$WORK/kill.log" a 16
	# the host is gone, not only the program: nobody answers its SYNs
	on_server a ip link set eth0 down
	run gone "$VIP4" 8080 300 --parallel 8
	check judge client 'host-gone' "$WORK/gone.out" 300
	on_server a ip link set eth0 up
	on_server a ip route replace default via 10.0.0.1
	on_server a "$TOP/examples/bidding/detour.sh" up 10.0.0.2 "$VIP4" 8080,8083
	on_server a "$TOP/examples/bidding/detour.sh" up 2001:db8:2::2 "$VIP6" 8080,8083
	start server-a-8080 "$(server_ns a)" "${CPUS[0]}" "$TG_SERVER" --name a --port 8080 --workers 1 \
		--delay const:2000 --delay-file "$WORK/delay-a"
	wait_for 5 "server a" listening "$(server_ns a)" 8080
	sleep 1.5
	run back "$VIP4" 8080 300 --parallel 8
	check judge client back "$WORK/back.out" 300
	check /usr/bin/python3 "$here/live.py" served "$WORK/back.out" a
	check none_half_open
fi

# TCP asks again after 0.2, 0.4, 0.8 … s, doubled each time: a client may notice that the gateway is back only as long
# after it as it was away. A host that was busy at the start took 5.3 s for it, so 8 s were too few: the retransmission
# after the one at 6.2 s is at 12.6 s. How long it was away is measured, and what a connection may take follows from it.
if phase restart; then
	bidders connections
	delays FIRST
	start long cli "${CPUS[0]}" "$TG_CLIENT" --connections 24 --parallel 24 --requests 60 --think-ms 50 \
		--timeout-ms 60000 --exchanges "$WORK/long.times" --log "$WORK/long.log" "$VIP4" 8080
	sleep 1
	away=$(date +%s%N)
	gateway_stop
	gateway_start
	away=$(($(date +%s%N) - away))
	finish long || true
	check /usr/bin/python3 "$here/live.py" restarted "$WORK/long.log" "$WORK/long.times" 24 "$away"
	run after "$VIP4" 8080 300 --parallel 8
	check judge client after-restart "$WORK/after.out" 300
	check none_half_open
fi

ctl bid list --json >"$WORK/bids.json" || true
n=$(half_open)
gateway_stop
figures connections "$connections"
figures lost "$lost"
figures half_open "$n"
IFS=,
echo "{${JSON[*]}}"
unset IFS
verdict
