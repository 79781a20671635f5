# shellcheck shell=bash
# shellcheck disable=SC2034 # what test/live reads
# Sourced by the examples: a small network on this host, the one that the live tests use
# (test/live/net.sh draws it): a client, a switch, three nginx servers with the VIP on their
# loopback, and a place for the gateway.

LIVE=test/live
TIDEGATE=$PWD/build/app/tidegate/tidegate
TIDEGATECTL=$PWD/build/app/tidegatectl/tidegatectl
SOCKET=/run/tidegate-example.sock
# shellcheck source-path=SCRIPTDIR/.. source=test/live/net.sh
. $LIVE/net.sh
# shellcheck source-path=SCRIPTDIR/.. source=test/live/daemons.sh
. $LIVE/daemons.sh

die() {
	echo "$(basename "$(dirname "$0")"): $*" >&2
	exit 1
}

skip() {
	die "$*"
}

say() {
	printf '\n# %s\n' "$*"
}

# show ctl ARG…: the command as an operator would type it, and its output.
show() {
	echo "\$ tidegatectl ${*:2}"
	"$@"
}

ctl() {
	timeout 5 "$TIDEGATECTL" --socket "$SOCKET" "$@"
}

# gateway_up CONFIG INTERFACES [OPTION…]: over af_packet, without hugepages, one worker.
gateway_up() {
	local eal ports
	read -ra ports <<<"$2"
	read -ra eal < <(drivers-conf/eal-args.sh af_packet "${ports[@]}" 2>/dev/null)
	say "The gateway: interfaces $2, one worker, configuration $1"
	start gateway gw "${CPUS[0]},${CPUS[1]}" "$TIDEGATE" -l "${CPUS[1]}" --file-prefix "$NET_ID" "${eal[@]}" \
		-- --config "$1" "${@:3}"
	wait_for 10 "the gateway" ctl service list
}

gateway_end() {
	say "The end: the gateway's totals"
	stop gateway || die "the gateway ended with exit code $?: $(tail -n 3 "$WORK/gateway.err")"
	cat "$WORK/gateway.out"
}

# lab_start two-arm|one-arm|direct: builds what is missing, brings the network and the servers up.
lab_start() {
	local name
	[ "$(id -u)" = 0 ] || die "needs root, for network namespaces; run as root: $0"
	drivers-conf/install-deps.sh build test
	[ -e build/build.ninja ] || meson setup build >/dev/null
	ninja --quiet -C build app/tidegate/tidegate app/tidegatectl/tidegatectl >/dev/null ||
		die "the build failed; see: ninja -C build"
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-example.XXXXXX")
	trap net_clean_up EXIT
	trap 'exit 143' INT TERM HUP
	net_possible || die "$WHY_NOT"
	say "The network: client, switch, servers a, b, c with $VIP4 on their loopback"
	net_up "$1"
	for name in "${SERVERS[@]}"; do
		nginx_server "$name"
	done
}
