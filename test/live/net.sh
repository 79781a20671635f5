# shellcheck shell=bash
# Sourced by the cases: a network of namespaces in which the gateway, its clients and its servers run.
#
#   two-arm   cli:vip0 ── gw0:gw:gw1 ─┐            the client reaches the VIP through the gateway;
#             cli:eth0 ───────────────┤ sw:br0     servers answer on the switch, past the gateway
#             s1,s2,s3:eth0 ──────────┘
#   one-arm   the same without cli:vip0 and gw0: requests come to the gateway on the switch too
#   direct    the same without a gateway: the client's own kernel spreads connections over the servers
#
# Every namespace's name begins with NET_ID, unique to this process. All that was started with start() is ended and
# all namespaces are deleted when the process exits, for whatever reason; nothing else is touched.

NET_ID=tg$$
VIP4=192.0.2.10
VIP6=2001:db8:f::10
SERVERS=(a b c)
declare -A PID=()
NAMESPACES=()

# The first allowed processor carries the load, the second one the gateway's worker.
read_cpus() {
	local list
	list=$(taskset -pc $$ | sed 's/.*: //')
	mapfile -t CPUS < <(echo "$list" | tr ',' '\n' |
		awk -F- '{last = NF > 1 ? $2 : $1; for (i = $1; i <= last; i++) print i}')
}

# Sets WHY_NOT and fails where this machine cannot run the live tests.
net_possible() {
	local tool
	WHY_NOT=''
	for tool in ip nsenter taskset ethtool timeout python3; do
		command -v "$tool" >/dev/null || WHY_NOT="the command $tool is missing (drivers-conf/install-deps.sh test)"
	done
	[ -z "$WHY_NOT" ] || return 1
	if [ "$(id -u)" != 0 ]; then
		WHY_NOT="needs root for network namespaces: run it with sudo"
	elif ! ip netns add "$NET_ID-try" 2>/dev/null; then
		WHY_NOT="this kernel or container grants no network namespaces (ip netns add failed)"
	elif ! nsenter --net="/run/netns/$NET_ID-try" ip link add try0 type veth peer name try1 2>/dev/null; then
		WHY_NOT="this kernel has no veth interfaces"
	fi
	ip netns del "$NET_ID-try" 2>/dev/null || true
	[ -n "$WHY_NOT" ] || read_cpus
	if [ -z "$WHY_NOT" ] && [ "${#CPUS[@]}" -lt 2 ]; then
		WHY_NOT="needs two processors, one for the gateway's worker; this process may use ${#CPUS[@]}"
	fi
	[ -z "$WHY_NOT" ]
}

in_ns() {
	local ns=$1
	shift
	nsenter --net="/run/netns/$NET_ID-$ns" "$@"
}

# start LABEL NAMESPACE PROCESSORS COMMAND…: in the background, output to $WORK/LABEL.out and .err.
# Each of these commands becomes the next by exec, so that PID is the program's own.
start() {
	local label=$1 ns=$2 cpus=$3
	shift 3
	taskset -c "$cpus" nsenter --net="/run/netns/$NET_ID-$ns" "$@" \
		>"$WORK/$label.out" 2>"$WORK/$label.err" </dev/null &
	PID[$label]=$!
}

running() {
	[ -n "${PID[$1]:-}" ] && kill -0 "${PID[$1]}" 2>/dev/null
}

# stop LABEL [SIGNAL]: ends it and returns its exit code; 137 if it had to be killed after 5 s.
stop() {
	local label=$1 pid=${PID[$1]:-} code=0 i
	[ -n "$pid" ] || return 0
	unset "PID[$label]"
	kill -s "${2:-TERM}" "$pid"
	for ((i = 0; i < 100; i++)); do
		kill -0 "$pid" || break
		sleep 0.05
	done
	kill -KILL "$pid"
	wait "$pid" || code=$?
	return "$code"
} 2>/dev/null # where the shell would tell of every end

# finish LABEL: waits until it has ended by itself.
finish() {
	local code=0
	wait "${PID[$1]}" || code=$?
	unset "PID[$1]"
	return "$code"
}

net_clean_up() {
	local label ns
	trap '' INT TERM HUP
	[ ${#PID[@]} -eq 0 ] || kill "${PID[@]}" 2>/dev/null
	for label in "${!PID[@]}"; do
		stop "$label" || true
	done
	for ns in "${NAMESPACES[@]}"; do
		ip netns del "$ns" 2>/dev/null
	done
	[ -z "${WORK:-}" ] || [ -n "${KEEP_WORK:-}" ] || rm -rf "$WORK"
}

namespace() {
	ip netns add "$NET_ID-$1" || return 1
	NAMESPACES+=("$NET_ID-$1")
	in_ns "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
		net.ipv6.conf.all.accept_ra=0 net.ipv6.conf.default.accept_ra=0 \
		net.ipv6.conf.all.router_solicitations=0 net.ipv6.conf.default.router_solicitations=0 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	in_ns "$1" ip link set lo up
}

# wire NS NAME MAC PEER-NS PEER-NAME [PEER-MAC]: 1600 bytes of MTU leave room for encapsulation.
wire() {
	in_ns "$1" ip link add "$2" mtu 1600 address "$3" type veth \
		peer name "$5" netns "$NET_ID-$4" mtu 1600 ${6:+address "$6"}
	in_ns "$1" ip link set "$2" up
	in_ns "$4" ip link set "$5" up
}

addresses() {
	local ns=$1 dev=$2 address
	shift 2
	for address in "$@"; do
		case $address in
		*:*) in_ns "$ns" ip address add "$address" dev "$dev" nodad ;;
		*) in_ns "$ns" ip address add "$address" dev "$dev" ;;
		esac
	done
}

# The kernel of the gateway's namespace must stay silent: the gateway answers for its addresses.
mute() {
	in_ns "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}

# kernel_up NS INTERFACE…: the kernel takes part, by the gateway's tap; what comes in by these interfaces themselves,
# which it would see too, is not for it. The packet sockets of the gateway look before that.
kernel_up() {
	local ns=$1 dev
	shift
	in_ns "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
	for dev in "$@"; do
		in_ns "$ns" sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
		in_ns "$ns" nft add table netdev "$dev" &&
			in_ns "$ns" nft add chain netdev "$dev" ingress \
				"{ type filter hook ingress device $dev priority 0; policy drop; }" || return 1
	done
}

switch_up() {
	namespace sw
	mute sw
	in_ns sw ip link add br0 mtu 1600 type bridge
	in_ns sw ip link set br0 up
}

to_switch() {
	wire "$1" "$2" "$3" sw "p-$1"
	in_ns sw ip link set "p-$1" master br0
}

server_address4() { echo "10.0.0.$((11 + $(server_index "$1")))"; }
server_address6() { echo "2001:db8:2::$((11 + $(server_index "$1")))"; }
server_mac() { echo "02:00:00:00:00:$((11 + $(server_index "$1")))"; }
server_ns() { echo "s$(($(server_index "$1") + 1))"; }

server_index() {
	local i
	for i in "${!SERVERS[@]}"; do
		[ "${SERVERS[i]}" != "$1" ] || echo "$i"
	done
}

# A server has the VIP on its loopback and does not speak of it on the switch.
server_up() {
	local name=$1 ns
	ns=$(server_ns "$name")
	namespace "$ns"
	in_ns "$ns" sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
	to_switch "$ns" eth0 "$(server_mac "$name")"
	addresses "$ns" eth0 "$(server_address4 "$name")/24" "$(server_address6 "$name")/64"
	addresses "$ns" lo "$VIP4/32" "$VIP6/128"
	in_ns "$ns" ip route add default via 10.0.0.1
	in_ns "$ns" ip route add default via 2001:db8:2::1
}

# Partial checksums do not survive a raw socket: client interfaces compute whole ones.
client_up() {
	namespace cli
	in_ns cli sysctl -qw net.ipv4.ip_local_port_range='10000 60999' \
		net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1
	to_switch cli eth0 02:00:00:00:00:01
	in_ns cli ethtool -K eth0 tx off >/dev/null
	addresses cli eth0 10.0.0.1/24 2001:db8:2::1/64
}

front_up() {
	wire cli vip0 02:00:00:00:01:01 gw gw0 02:00:00:00:01:02
	in_ns cli ethtool -K vip0 tx off >/dev/null
	in_ns cli ip link set vip0 mtu 1500
	addresses cli vip0 198.51.100.1/24 2001:db8:1::1/64
	in_ns cli ip route add "$VIP4" via 198.51.100.2
	in_ns cli ip route add "$VIP6" via 2001:db8:1::2
}

# net_up two-arm|one-arm|direct
net_up() {
	local form=$1 name hops4=() hops6=()
	switch_up
	client_up
	for name in "${SERVERS[@]}"; do
		server_up "$name"
		hops4+=(nexthop via "$(server_address4 "$name")")
		hops6+=(nexthop via "$(server_address6 "$name")")
	done
	if [ "$form" = direct ]; then
		in_ns cli ip route add "$VIP4" "${hops4[@]}"
		in_ns cli ip route add "$VIP6" "${hops6[@]}"
		return
	fi
	namespace gw
	mute gw
	to_switch gw gw1 02:00:00:00:00:02
	if [ "$form" = two-arm ]; then
		front_up
	else
		# on the switch the gateway has to answer ARP for the VIP itself
		in_ns cli ip route add "$VIP4" dev eth0 mtu 1500
		in_ns cli ip route add "$VIP6" via 2001:db8:2::2 mtu 1500
	fi
}

# Takes the outer header of IP-in-IP packets off on every server.
decap_up() {
	local name
	clang -O2 -Wall -Werror -target bpf -idirafter "/usr/include/$(uname -m)-linux-gnu" \
		-c "$LIVE/decap.bpf.c" -o "$WORK/decap.o" || return 1
	for name in "${SERVERS[@]}"; do
		in_ns "$(server_ns "$name")" ip link set dev eth0 xdp obj "$WORK/decap.o" sec xdp || return 1
	done
}
