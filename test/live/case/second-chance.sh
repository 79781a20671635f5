# shellcheck shell=bash
# A connection at server b, of which the gateway knows nothing any more: its packets go to a first, whose header names c
# and b. A stand-in for such a gateway, so that it is the servers' side that is judged.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
# shellcheck source=../gue.sh
. "$LIVE/gue.sh"
need_commands clang tcpdump nginx curl tc nstat
net_up two-arm
gue_up 2>"$WORK/gue.err" || skip "cannot load the server's side of GUE: $(tail -n 1 "$WORK/gue.err")"
for name in a b c; do
	nginx_server "$name"
done
in_ns cli ip neigh replace 198.51.100.2 lladdr 02:00:00:00:01:02 dev vip0
in_ns cli ip neigh replace 2001:db8:1::2 lladdr 02:00:00:00:01:02 dev vip0

# forgetful 4|6 HOME FIRST NEXT…: the outer version, and servers by name
forgetful() {
	local outer=$1 own=10.0.0.2 name named=()
	[ "$outer" = 4 ] || own=2001:db8:2::2
	for name in "${@:4}"; do
		named+=("$("server_address$outer" "$name")")
	done
	start chance gw "${CPUS[0]}" /usr/bin/python3 "$LIVE/chance.py" gw0 gw1 "$own" \
		"$("server_address$outer" "$2")=$(server_mac "$2")" "$("server_address$outer" "$3")=$(server_mac "$3")" "${named[@]}"
	wait_for 5 "the stand-in for the gateway" grep -q ready "$WORK/chance.out"
}

# Eight connections of three requests each, all of which b must answer.
answered_by_b() {
	local url=$1 i
	for ((i = 0; i < 8; i++)); do
		in_ns cli curl -sS --max-time 3 "$url" "$url" "$url"
	done | sort | uniq -c
}

survives() {
	local what=$1 url=$2 seen
	seen=$(answered_by_b "$url" 2>&1 | tr -s ' \n' ' ')
	[ "$seen" = " 24 b " ] && echo "$what: 24 of 24" && return
	echo "$what: not 24 answers of b but$seen"
	return 1
}

# A server that keeps no half-open connections: what the client's ACK says is all there is.
by_cookies() {
	local before after
	in_ns s2 sysctl -qw net.ipv4.tcp_syncookies=2
	before=$(cookies_taken)
	survives "$@"
	after=$(cookies_taken)
	in_ns s2 sysctl -qw net.ipv4.tcp_syncookies=1
	[ $((after - before)) = 8 ] || echo "$1: $((after - before)) of 8 connections by cookie"
	[ $((after - before)) = 8 ]
}

cookies_taken() { in_ns s2 nstat -asz TcpExtSyncookiesRecv | awk '/Recv/ {print $2}'; }

# What was marked on the outer header is marked on what b's stack sees.
marked() {
	local what=$1 url=$2 filter=$3
	in_ns cli sysctl -qw net.ipv4.tcp_ecn=1
	sniff inner s2 eth0 "tcp and $filter"
	survives "$what" "$url"
	stop inner
	in_ns cli sysctl -qw net.ipv4.tcp_ecn=2
	# what is lost comes again unmarked: a broken checksum must not hide behind that
	tcpdump -vn -r "$WORK/inner.pcap" >"$WORK/inner.txt" 2>/dev/null
	[ "$(sniffed inner)" -ge 24 ] && ! grep -q 'bad cksum' "$WORK/inner.txt" && return
	echo "$what: $(sniffed inner) marked packets, $(grep -c 'bad cksum' "$WORK/inner.txt") with a broken checksum"
	return 1
}

for outer in 4 6; do
	forgetful $outer b a c b
	sniff wire$outer sw br0 'udp dst port 6080' -s 200
	check survives "IPv4 in IPv$outer over two hops" "http://$VIP4/"
	check survives "IPv6 in IPv$outer over two hops" "http://[$VIP6]/"
	check marked "congestion, IPv4 in IPv$outer" "http://$VIP4/" 'ip[1] & 3 = 3'
	check marked "congestion, IPv6 in IPv$outer" "http://[$VIP6]/" 'ip6[1] & 0x30 = 0x30'
	stop chance || true
	forgetful $outer b b c a
	check survives "first choice in IPv$outer" "http://$VIP4/"
	stop chance || true
	stop wire$outer
	# what a passed on, what c passed on: six packets a connection at least; and that b passed nothing
	for pair in a=c c=b; do
		from=$("server_address$outer" "${pair%=*}") to=$("server_address$outer" "${pair#*=}")
		count=$(sniffed wire$outer "src host $from and dst host $to")
		FIGURES+=("IPv$outer ${pair%=*} to ${pair#*=}: $count packets")
		check test "$count" -ge 192
	done
	check test "$(sniffed wire$outer "src host $("server_address$outer" b)")" = 0
	# not the last one in the list: it has to know what is its own
	forgetful $outer b a b c
	check survives "the second of three in IPv$outer" "http://$VIP4/"
	check by_cookies "SYN cookies, IPv4 in IPv$outer" "http://$VIP4/"
	check by_cookies "SYN cookies, IPv6 in IPv$outer" "http://[$VIP6]/"
	stop chance || true
done

# Nobody whom the header names knows it: the last one of them answers with a reset, at once and not with silence.
forgetful 4 b a c
sniff reset s3 eth0 "src host $VIP4 and tcp[tcpflags] & tcp-rst != 0" -Q out
in_ns cli curl -sS --max-time 3 "http://$VIP4/" >"$WORK/reset.out" 2>&1
check test $? != 28
stop chance || true
stop reset
check test "$(sniffed reset)" -ge 1
verdict
