#!/usr/bin/env bash
# Tests of drivers-conf: its scripts on made-up hosts, its presets against the installed drivers,
# and the presets that need no NIC with real packets (testpmd, in namespaces of their own).
# The last line reads: N passed, N failed, N skipped
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
conf=$top/drivers-conf
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-drivers.XXXXXX")
pmds=$(echo "$(pkg-config --variable=libdir libdpdk 2>/dev/null)"/dpdk/pmds-*)
space=tgdrv$$
passed=0 failed=0 skipped=0
declare -A processes=()

end_jobs() {
	local job
	for job in $(jobs -p); do
		kill "$job" 2>/dev/null || true
	done
	wait
}

clean_up() {
	ip netns del "$space" 2>/dev/null || true
	rm -rf "$work" /run/dpdk/"tgdrv$$"[ab]
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# check NAME COMMAND…: a case that passes when the command succeeds; its output is shown when not.
check() {
	local name=$1 code
	shift
	# Not as a condition: there the shell would not stop at the command that fails.
	set +e
	(
		trap 'end_jobs' EXIT
		set -e
		"$@"
	) >"$work/log" 2>&1
	code=$?
	set -e
	if [ $code -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		sed 's/^/     /' "$work/log"
	fi
}

skip() {
	skipped=$((skipped + 1))
	echo "SKIPPED $1: $2"
}

# refuses CODE TEXT COMMAND…: the command must end with CODE and say TEXT.
refuses() {
	local code=$1 text=$2 got=0 said
	shift 2
	said=$("$@" 2>&1) || got=$?
	echo "exit $got: $said"
	[ "$got" = "$code" ] && [[ $said == *"$text"* ]]
}

# prints TEXT COMMAND…: standard output must be exactly TEXT.
prints() {
	local text=$1 said
	shift
	said=$("$@" 2>"$work/err")
	diff <(echo "$text") <(echo "$said")
}

# --- presets ------------------------------------------------------------------------------------

preset_is_whole() {
	local file=$1 key
	(
		# shellcheck source=/dev/null
		. "$file"
		for key in PORT_IS DEVICE ETHDEV RX_QUEUES QUEUES_MAX RX_DESCRIPTORS TX_DESCRIPTORS RUN; do
			[ -n "${!key:-}" ] || { echo "$key is missing"; exit 1; }
		done
		[[ $PORT_IS =~ ^(pci|interface|path|word)$ && $RUN =~ ^(yes|no)$ ]]
		[ "$RX_QUEUES" -ge 1 ] && [ "$RX_QUEUES" -le "$QUEUES_MAX" ]
	)
	grep -q '^# Run: ' "$file"
	grep -q "^| \`$(basename "$file" .conf)\`" "$conf/README.md"
}

# Every device argument must be a name that the installed driver knows.
arguments_are_known() {
	local name=$1 device words word library
	device=$(sed -n "s/^DEVICE='\(.*\)'$/\1/p" "$conf/$name.conf")
	library=$pmds/librte_net_$name.so
	IFS=, read -r -a words <<<"$device"
	for word in "${words[@]:1}"; do
		grep -qaF -- "${word%%=*}" "$library" || { echo "$library does not know ${word%%=*}"; return 1; }
	done
}

ports_are_json() {
	"$conf/eal-args.sh" --ports "$@" 2>/dev/null | sed '1s/^/{/; $s/$/}/' | /usr/bin/python3 -c '
import json, sys
ports = json.load(sys.stdin)["ports"]
assert [p["role"] for p in ports] == (["both"] if len(ports) == 1 else ["client", "server"]), ports'
}

fake_pages() {
	mkdir -p "$1/node0/hugepages/hugepages-2048kB" "$1/node1/hugepages/hugepages-2048kB"
	for node in node0 node1; do
		echo "$2" >"$1/$node/hugepages/hugepages-2048kB/nr_hugepages"
		echo "$2" >"$1/$node/hugepages/hugepages-2048kB/free_hugepages"
	done
}

test_presets() {
	local file name
	for file in "$conf"/*.conf; do
		name=$(basename "$file" .conf)
		check "preset $name has every key and a line in the README" preset_is_whole "$file"
		if [ -e "$pmds/librte_net_$name.so" ]; then
			check "preset $name: its driver knows the arguments" arguments_are_known "$name"
		else
			skip "preset $name: its driver knows the arguments" "no $name driver under '$pmds'"
		fi
	done
	fake_pages "$work/full" 512
	export TIDEGATE_SYS_NODES=$work/full
	check "eal-args: one vdev an interface" prints \
		"--in-memory --no-pci --vdev=net_tap0,iface=a --vdev=net_tap1,iface=b" \
		"$conf/eal-args.sh" tap a b
	check "eal-args: a PCI port is allowed by address" prints \
		"--in-memory -a 0000:03:00.0,support-multi-driver=1" \
		"$conf/eal-args.sh" i40e 0000:03:00.0
	check "eal-args: the number of queues reaches the driver" prints \
		"--in-memory --no-pci --vdev=net_af_xdp0,iface=x,start_queue=0,queue_count=2" \
		"$conf/eal-args.sh" --queues 2 af_xdp x
	fake_pages "$work/none" 0
	export TIDEGATE_SYS_NODES=$work/none
	check "eal-args: without pages --no-huge" prints \
		"--no-huge -m 512 --no-pci --vdev=net_ring0" "$conf/eal-args.sh" ring r
	check "eal-args: unmeasured hardware says so" refuses 0 "was not run on its hardware" \
		"$conf/eal-args.sh" mlx5 0000:03:00.0
	check "eal-args: unknown preset" refuses 1 "there is no preset 'e1000'" "$conf/eal-args.sh" e1000 x
	check "eal-args: a path is not a preset" refuses 1 "there is no preset" "$conf/eal-args.sh" ../x y
	check "eal-args: a port with a comma" refuses 1 "cannot carry" "$conf/eal-args.sh" tap a,b
	check "eal-args: not a PCI address" refuses 1 "wants a PCI address" "$conf/eal-args.sh" ice eth0
	check "eal-args: a long interface name" refuses 1 "longer than 15" \
		"$conf/eal-args.sh" tap interface0123456
	check "eal-args: more queues than the driver has" refuses 1 "at most 1 " \
		"$conf/eal-args.sh" --queues 2 tap a
	check "eal-args: no port" refuses 2 "eal-args.sh PRESET" "$conf/eal-args.sh" tap
	check "eal-args --ports: two ports" ports_are_json af_packet gw0 gw1
	check "eal-args --ports: one port" ports_are_json virtio 0000:00:04.0
	check "eal-args --ports: three ports" refuses 1 "not 3" "$conf/eal-args.sh" --ports tap a b c
	unset TIDEGATE_SYS_NODES
}

# --- host scripts -------------------------------------------------------------------------------

pages_of() {
	cat "$work"/pages/node{0,1}/hugepages/hugepages-2048kB/nr_hugepages | paste -sd ' '
}

test_hugepages() {
	fake_pages "$work/pages" 7
	export TIDEGATE_SYS_NODES=$work/pages TIDEGATE_RUN_DIR=$work
	check "hugepages: show" refuses 0 "node1: 7 pages of 2 MiB reserved, 7 free" "$conf/hugepages.sh" show
	check "hugepages: set" refuses 0 "node0: reserved 7 -> 9" "$conf/hugepages.sh" set 9
	check "hugepages: set reaches each node" prints "9 9" pages_of
	check "hugepages: set again" refuses 0 "node1: reserved 9 -> 12" "$conf/hugepages.sh" set 12
	check "hugepages: undo" refuses 0 "node1: reserved 12 -> 7" "$conf/hugepages.sh" undo
	check "hugepages: undo goes back before the first set" prints "7 7" pages_of
	check "hugepages: nothing to undo" refuses 0 "nothing to undo" "$conf/hugepages.sh" undo
	check "hugepages: not a number" refuses 1 "'many' is not a number" "$conf/hugepages.sh" set many
	check "hugepages: no verb" refuses 2 "hugepages.sh show" "$conf/hugepages.sh"
	TIDEGATE_SYS_NODES=$work/nowhere
	check "hugepages: a kernel without" refuses 1 "offers no 2-MiB pages" "$conf/hugepages.sh" show
	unset TIDEGATE_SYS_NODES TIDEGATE_RUN_DIR
}

# A made-up host: ports 01 (mlx5, interface m0), 02 (ice, i0), 03 (ice, i1 with the default route),
# a virtio port 04 (v0), and the interface nopci.
fake_host() {
	local sys=$work/sys port driver
	mkdir -p "$sys"/drivers/{mlx5_core,ice,virtio-pci,vfio-pci} "$sys/net/nopci" "$work/bin"
	for port in 01:mlx5_core 02:ice 03:ice 04:virtio-pci; do
		driver=${port#*:} port=0000:${port%:*}:00.0
		mkdir -p "$sys/devices/$port"
		ln -s "$sys/drivers/$driver" "$sys/devices/$port/driver"
	done
	for port in m0:01 i0:02 i1:03; do
		mkdir -p "$sys/devices/0000:${port#*:}:00.0/net/${port%:*}" "$sys/net/${port%:*}"
		ln -s "$sys/devices/0000:${port#*:}:00.0" "$sys/net/${port%:*}/device"
	done
	mkdir -p "$sys/devices/0000:04:00.0/virtio0/net/v0" "$sys/net/v0"
	ln -s "$sys/devices/0000:04:00.0/virtio0" "$sys/net/v0/device"
	cat >"$work/bin/ip" <<-'END'
		#!/bin/sh
		[ "$1" = -6 ] || echo "default via 192.0.2.1 dev i1"
	END
	cat >"$work/bin/devbind" <<-'END'
		#!/bin/sh
		echo "devbind $*"
	END
	chmod +x "$work/bin/ip" "$work/bin/devbind"
}

test_bind() {
	fake_host
	local bind=(env "PATH=$work/bin:$PATH" "TIDEGATE_SYS_PCI=$work/sys/devices"
		"TIDEGATE_SYS_NET=$work/sys/net" "TIDEGATE_DEVBIND=$work/bin/devbind" "$conf/bind.sh")
	check "bind: show" refuses 0 "devbind --status-dev net" "${bind[@]}" show
	check "bind: never mlx5" refuses 1 "do not bind" "${bind[@]}" dpdk --force m0
	check "bind: not the default route" refuses 1 "which carries the default route" "${bind[@]}" dpdk 03:00.0
	check "bind: an interface that is no PCI port" refuses 1 "not a PCI device" "${bind[@]}" dpdk nopci
	check "bind: unknown port" refuses 1 "there is no port '09:00.0'" "${bind[@]}" dpdk 09:00.0
	check "bind: kernel driver missing" refuses 1 "say the port and the kernel driver" "${bind[@]}" kernel i0
	check "bind: no devbind" refuses 1 "apt-get install --no-install-recommends dpdk" \
		"${bind[@]:0:5}" TIDEGATE_DEVBIND=/nowhere "$conf/bind.sh" show
	if [ "$(id -u)" != 0 ]; then
		check "bind: not root" refuses 1 "only root can bind" "${bind[@]}" dpdk i0
		return
	fi
	check "bind: by interface, undo is told" refuses 0 "undo: $conf/bind.sh kernel 0000:02:00.0 ice" \
		"${bind[@]}" dpdk i0
	check "bind: by address" refuses 0 "devbind --bind=vfio-pci 0000:02:00.0" "${bind[@]}" dpdk 02:00.0
	check "bind: virtio by interface" refuses 0 "devbind --bind=vfio-pci 0000:04:00.0" "${bind[@]}" dpdk v0
	check "bind: the default route by force" refuses 0 "devbind --force --bind=vfio-pci 0000:03:00.0" \
		"${bind[@]}" dpdk --force i1
	check "bind: back to the kernel" refuses 0 "devbind --bind=ice 0000:02:00.0" "${bind[@]}" kernel i0 ice
}

no_package_twice() {
	local twice
	twice=$("$conf/install-deps.sh" --list build test dev | sort | uniq -d)
	echo "named twice: $twice"
	[ -z "$twice" ]
}

test_install_deps() {
	local tool
	check "install-deps: no package twice" no_package_twice
	check "install-deps: unknown group" refuses 2 "unknown group 'tests'" "$conf/install-deps.sh" tests
	check "install-deps: nothing to do says nothing" prints "" "$conf/install-deps.sh" build
	mkdir -p "$work/plain"
	for tool in bash env mktemp id awk sed; do
		ln -sf "$(command -v $tool)" "$work/plain/$tool"
	done
	check "install-deps: not Debian" refuses 1 "it is not Debian" \
		env "PATH=$work/plain" bash "$conf/install-deps.sh"
	# dpkg-query that knows nothing and a user who is not root
	printf '#!/bin/sh\nexit 1\n' >"$work/plain/dpkg-query"
	printf '#!/bin/sh\nexit 1\n' >"$work/plain/apt-get"
	printf '#!/bin/sh\necho 1000\n' >"$work/plain/id.new"
	mv "$work/plain/id.new" "$work/plain/id"
	chmod +x "$work"/plain/{dpkg-query,apt-get,id}
	check "install-deps: not root, the command is named" \
		refuses 1 "run as root: apt-get install --no-install-recommends meson ninja-build" \
		env "PATH=$work/plain" bash "$conf/install-deps.sh"
}

# --- packets ------------------------------------------------------------------------------------

# pmd NAME CPU WORD…: testpmd in the namespace, in the background, counting into $work/NAME once a
# second. Sets pmd_NAME to its process.
pmd() {
	local name=$1 cpu=$2
	shift 2
	timeout 40 nsenter --net="/run/netns/$space" dpdk-testpmd --lcores "0@$cpu,1@$cpu" \
		--file-prefix "tgdrv$$$name" --no-telemetry "$@" --total-num-mbufs=20000 \
		--stats-period=1 >"$work/$name" 2>&1 </dev/null &
	processes[$name]=$!
}

# moved COUNT RX|TX NAME: waits until a port of it has moved so many packets, at most 15 s.
moved() {
	local count=$1 key=$2-packets: name=$3
	for _ in $(seq 150); do
		awk -v key="$key" -v least="$count" '
			{for (i = 1; i < NF; i++) if ($i == key && $(i + 1) >= least) found = 1}
			END {exit !found}' "$work/$name" && return
		sleep 0.1
	done
	echo "wanted $count packets $2; testpmd says:"
	tail -n 40 "$work/$name"
	return 1
}

# ended NAME: asks it to end; it must end well.
ended() {
	local code=0
	kill -TERM "${processes[$1]}"
	wait "${processes[$1]}" || code=$?
	[ "$code" = 0 ] || { echo "testpmd ended with code $code"; tail -n 20 "$work/$1"; return 1; }
}

# Both ends of a veth pair, packets going round.
veth_goes_round() {
	local args
	args=$("$conf/eal-args.sh" "$1" tga tgb 2>/dev/null)
	# shellcheck disable=SC2086 # the arguments are words by contract
	pmd a 0 $args -- --tx-first
	moved 100 RX a
	ended a
}

# One port that is fed by itself.
port_feeds_itself() {
	local args
	args=$("$conf/eal-args.sh" "$1" x 2>/dev/null)
	# shellcheck disable=SC2086
	pmd a 0 $args -- --tx-first --port-topology=loop
	moved 100 RX a
	ended a
}

# Three packets of 60 bytes in a capture file must come out of the other file.
file_to_file() {
	local args
	{
		printf '\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0'
		for _ in 1 2 3; do
			printf '\1\0\0\0\0\0\0\0\x3c\0\0\0\x3c\0\0\0'
			head -c 60 /dev/zero
		done
	} >"$work/in.pcap"
	args=$("$conf/eal-args.sh" pcap "$work/in.pcap" 2>/dev/null)
	# shellcheck disable=SC2086
	pmd a 0 $args -- --port-topology=loop --no-flush-rx
	moved 3 TX a
	ended a
	[ "$(stat -c %s "$work/in.pcap.out.pcap")" = "$(stat -c %s "$work/in.pcap")" ]
}

# The kernel sends 20 datagrams to the port; testpmd sends them back.
tap_is_reached() {
	local args
	args=$("$conf/eal-args.sh" tap tgtap 2>/dev/null)
	# shellcheck disable=SC2086
	pmd a 0 $args -- --port-topology=loop
	moved 0 RX a
	nsenter --net="/run/netns/$space" ip addr add 198.18.0.1/24 dev tgtap
	nsenter --net="/run/netns/$space" ip link set tgtap up
	nsenter --net="/run/netns/$space" ip neigh replace 198.18.0.2 lladdr 02:00:00:00:00:02 dev tgtap
	for _ in $(seq 20); do
		nsenter --net="/run/netns/$space" bash -c 'echo x >/dev/udp/198.18.0.2/9'
	done
	moved 20 RX a
	moved 20 TX a
	ended a
}

# The server, ours, ends first: the driver does not bear well that its peer leaves.
memif_is_reached() {
	local args
	args=$("$conf/eal-args.sh" memif "$work/memif.sock" 2>/dev/null)
	# shellcheck disable=SC2086
	pmd a 0 $args -- --forward-mode=rxonly
	moved 0 RX a
	pmd b "$(($(nproc) > 1))" --no-huge -m 128 --no-pci \
		"--vdev=net_memif0,role=client,id=0,socket=$work/memif.sock,socket-abstract=no" \
		-- --forward-mode=txonly
	moved 100 RX a
	ended a
}

packets_possible() {
	if [ "$(id -u)" != 0 ]; then
		echo "needs root"
	elif ! command -v dpdk-testpmd >/dev/null; then
		echo "dpdk-testpmd is missing; run as root: $conf/install-deps.sh test"
	elif ! ip netns add "$space" 2>/dev/null; then
		echo "this kernel or container makes no network namespaces"
	fi
}

test_packets() {
	local name why
	why=$(packets_possible)
	if [ -n "$why" ]; then
		for name in null ring pcap af_packet af_xdp tap memif; do
			skip "preset $name moves packets" "$why"
		done
		return
	fi
	# No answers, no chatter of the kernel: only what the test sends.
	nsenter --net="/run/netns/$space" sysctl -qw net.ipv6.conf.default.disable_ipv6=1 || true
	nsenter --net="/run/netns/$space" ip link add tga type veth peer name tgb
	nsenter --net="/run/netns/$space" ip link set tga up
	nsenter --net="/run/netns/$space" ip link set tgb up
	check "preset null moves packets" port_feeds_itself null
	check "preset ring moves packets" port_feeds_itself ring
	check "preset pcap moves packets" file_to_file
	check "preset af_packet moves packets" veth_goes_round af_packet
	check "preset af_xdp moves packets" veth_goes_round af_xdp
	if [ -e /dev/net/tun ]; then
		check "preset tap moves packets" tap_is_reached
	else
		skip "preset tap moves packets" "there is no /dev/net/tun"
	fi
	check "preset memif moves packets" memif_is_reached
}

test_presets
test_hugepages
test_bind
test_install_deps
test_packets
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
