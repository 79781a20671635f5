# shellcheck shell=bash
# Sourced after test/live/case.sh: its network, with our relay before two of the three servers.
#
#   a   on the switch
#   b   behind 2.5 ms each way, for daemons that answer at once
#   c   the same, with jitter, 1 % lost and 25 % that may overtake, each way

RELAY=$BUILD/test/accuracy/live/relay
CALM=delay_us=2500
FAR=delay_us=9000,jitter_us=1000
ROUGH=delay_us=2250,jitter_us=250,loss=1,reorder=25,early_us=250

# Takes the place of the one in test/live/net.sh.
to_switch() {
	case $1 in
	s2 | s3)
		wire "$1" eth0 "$3" rl "r-$1"
		wire rl "w-$1" "02:00:00:00:02:0${1#s}" sw "p-$1"
		in_ns "$1" ethtool -K eth0 tx off tso off gso off >/dev/null
		;;
	*) wire "$1" "$2" "$3" sw "p-$1" ;;
	esac
	in_ns sw ip link set "p-$1" master br0
}

relay_up() {
	start relay rl "${CPUS[0]}" "$RELAY" 11 "r-s2,w-s2,$CALM" "w-s2,r-s2,$CALM" \
		"r-s3,w-s3,$ROUGH" "w-s3,r-s3,$ROUGH" "r-far,w-far,$FAR" "w-far,r-far,$FAR"
	wait_for 5 "the relay" grep -q ready "$WORK/relay.out"
}

# home: a client behind a router, which is the namespace cli. It has one interface, as clients do: WireGuard answers there
# where it heard its peer. far: the same behind 10 ms each way with jitter.
homes_up() {
	in_ns cli sysctl -qw net.ipv4.ip_forward=1
	namespace home
	wire home eth0 02:00:00:00:03:01 cli home0
	namespace far
	wire far eth0 02:00:00:00:03:02 rl r-far
	wire rl w-far 02:00:00:00:03:03 cli far0
	addresses cli home0 203.0.113.1/25
	addresses cli far0 203.0.113.129/25
	addresses home eth0 203.0.113.2/25
	addresses far eth0 203.0.113.130/25
	in_ns home ip route add default via 203.0.113.1
	in_ns far ip route add default via 203.0.113.129
	in_ns home ethtool -K eth0 tx off >/dev/null
	in_ns far ethtool -K eth0 tx off tso off gso off >/dev/null
	in_ns cli ethtool -K far0 tx off tso off gso off >/dev/null
}

live_net_up() {
	namespace rl
	mute rl
	net_up two-arm
	homes_up
	relay_up
}
