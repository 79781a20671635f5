#!/usr/bin/env bash
# Print what a driver preset needs, for the ports that are named.
#
#   drivers-conf/eal-args.sh PRESET PORT…            EAL arguments, one line:
#     tidegate -l 0-1 $(drivers-conf/eal-args.sh af_packet gw0 gw1) -- --config gw.json
#   drivers-conf/eal-args.sh --ports PRESET PORT…    the "ports" list for the configuration file
#   drivers-conf/eal-args.sh --list                  the presets
#   options: --queues N   receive queues a port, instead of the preset's
#
# PORT is an interface (af_packet, af_xdp), a PCI address (mlx5, ice, i40e, iavf, ena, virtio), the
# interface to create (tap), a socket path (memif), a capture file (pcap) or any word (null, ring).
# One port: it serves clients and servers alike. Two: the first faces clients, the second servers.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
nodes=${TIDEGATE_SYS_NODES:-/sys/devices/system/node}

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

die() {
	echo "eal-args: $*" >&2
	exit 1
}

list_presets() {
	local file
	for file in "$here"/*.conf; do
		basename "$file" .conf
	done
}

# Fills the template $1: %n port number, %p port as given, %q receive queues.
fill() {
	local text=$1
	text=${text//%n/$2}
	text=${text//%q/$RX_QUEUES}
	echo "${text//%p/$3}"
}

# A port name ends up in a comma-separated device string and in an unquoted command line.
check_port() {
	[[ $1 =~ ^[A-Za-z0-9_./:@-]+$ ]] ||
		die "port '$1' has characters that a device string cannot carry; allowed: A-Z a-z 0-9 _ . / : @ -"
	case $PORT_IS in
	pci)
		[[ $1 =~ ^([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$ ]] ||
			die "preset $preset wants a PCI address such as 0000:03:00.0, not '$1'; drivers-conf/bind.sh show lists them"
		;;
	interface)
		[ ${#1} -le 15 ] || die "interface name '$1' is longer than 15 characters"
		;;
	esac
}

free_pages() {
	cat "$nodes"/node*/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null |
		awk '{sum += $1} END {print sum + 0}'
}

print_eal() {
	local n=0 port words=()
	if [ "$(free_pages)" -ge 64 ]; then
		words+=(--in-memory)
	else
		words+=(--no-huge -m 512)
		echo "eal-args: fewer than 64 free 2-MiB pages, so --no-huge: half the speed; drivers-conf/hugepages.sh set 512 reserves some" >&2
	fi
	[ "$PORT_IS" = pci ] || words+=(--no-pci)
	for port in "$@"; do
		if [ "$PORT_IS" = pci ]; then
			words+=(-a "$(fill "$DEVICE" "$n" "$port")")
		else
			words+=("--vdev=$(fill "$DEVICE" "$n" "$port")")
		fi
		n=$((n + 1))
	done
	echo "${words[*]}"
}

print_ports() {
	local n=0 port role name last=$(($# - 1)) comma
	[ $# -le 2 ] || die "--ports knows one port (both roles) or two (client side, server side), not $#"
	echo '"ports": ['
	for port in "$@"; do
		role=both name=port comma=
		if [ $# -eq 2 ]; then
			[ $n -eq 0 ] && role=client name=front || role=server name=back
		fi
		[ $n -eq $last ] || comma=,
		printf '  {"name": "%s", "port": "%s", "role": "%s", "rx_queues": %s, "rx_descriptors": %s, "tx_descriptors": %s}%s\n' \
			"$name" "$(fill "$ETHDEV" "$n" "$port")" "$role" "$RX_QUEUES" "$RX_DESCRIPTORS" "$TX_DESCRIPTORS" "$comma"
		n=$((n + 1))
	done
	echo ']'
}

show=print_eal queues='' preset=''
while [ $# -gt 0 ]; do
	case $1 in
	--ports) show=print_ports ;;
	--list) list_presets && exit 0 ;;
	--queues)
		[[ ${2:-} =~ ^[1-9][0-9]{0,2}$ ]] || die "--queues wants a number from 1 to 999, not '${2:-}'"
		queues=$2
		shift
		;;
	-h | --help) usage && exit 0 ;;
	-*) die "unknown option '$1'; allowed: --ports, --queues N, --list, --help" ;;
	*) break ;;
	esac
	shift
done
if [ $# -lt 2 ]; then
	usage >&2
	exit 2
fi
preset=$1
shift
if [[ " $(list_presets | paste -sd ' ') " != *" $preset "* ]]; then
	die "there is no preset '$preset'; there are: $(list_presets | paste -sd ' ')"
fi

PORT_IS='' DEVICE='' ETHDEV='' RX_QUEUES='' RX_DESCRIPTORS='' TX_DESCRIPTORS='' QUEUES_MAX='' RUN=''
# shellcheck source=/dev/null
. "$here/$preset.conf"
if [ -n "$queues" ]; then
	[ "$queues" -le "$QUEUES_MAX" ] ||
		die "preset $preset takes at most $QUEUES_MAX receive queues a port, not $queues"
	RX_QUEUES=$queues
fi
for port in "$@"; do
	check_port "$port"
done
[ "$RUN" = yes ] ||
	echo "eal-args: preset $preset was written from the driver's documentation; it was not run on its hardware" >&2
$show "$@"
