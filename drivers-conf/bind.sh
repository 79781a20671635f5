#!/usr/bin/env bash
# Give a PCI network port to DPDK and back to the kernel, over dpdk-devbind.py.
#
#   drivers-conf/bind.sh show                     ports, their kernel interface and driver
#   drivers-conf/bind.sh dpdk [--force] PORT…     bind to vfio-pci; PORT: 0000:03:00.0 or an interface
#   drivers-conf/bind.sh kernel PORT DRIVER       back to the kernel driver, for example `ice`
#
# Ports of mlx4/mlx5 and of the software drivers stay with the kernel: there is nothing to bind.
# An interface that carries the default route is refused without --force: you would lose this login.
set -euo pipefail

pci=${TIDEGATE_SYS_PCI:-/sys/bus/pci/devices}
net=${TIDEGATE_SYS_NET:-/sys/class/net}
devbind=${TIDEGATE_DEVBIND:-dpdk-devbind.py}

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

die() {
	echo "bind: $*" >&2
	exit 1
}

need_devbind() {
	command -v "$devbind" >/dev/null ||
		die "$devbind is missing; run as root: apt-get install --no-install-recommends dpdk"
}

# PCI address of an interface or of an address that may lack the domain.
address_of() {
	local port=$1 path
	if [ -e "$net/$port" ]; then
		# A virtio interface hangs one level below its PCI device.
		path=$(readlink -f "$net/$port/device" || true)
		while [ -n "$path" ] && [ ! -e "$pci/${path##*/}" ]; do
			path=${path%/*}
		done
		[ -n "$path" ] ||
			die "$port is not a PCI device: use the af_xdp or af_packet preset for it"
		port=${path##*/}
	fi
	[ -e "$pci/$port" ] || port=0000:$port
	[ -e "$pci/$port" ] || die "there is no port '$1'; '$0 show' lists them"
	echo "$port"
}

driver_of() {
	[ -e "$pci/$1/driver" ] || return 0
	basename "$(readlink -f "$pci/$1/driver")"
}

# Interfaces of the port, one a line; virtio has them one folder deeper.
interfaces_of() {
	local path
	for path in "$pci/$1"/net/* "$pci/$1"/virtio*/net/*; do
		[ -e "$path" ] && basename "$path"
	done
	return 0
}

has_default_route() {
	local family
	for family in -4 -6; do
		ip "$family" route show default 2>/dev/null | grep -qw "dev $1" && return 0
	done
	return 1
}

check_bindable() {
	local port=$1 interface driver
	driver=$(driver_of "$port")
	case $driver in
	mlx4_core | mlx5_core)
		die "$port is driven by $driver: DPDK works beside it, do not bind; use the mlx5 preset"
		;;
	vfio-pci)
		return
		;;
	esac
	for interface in $(interfaces_of "$port"); do
		if [ "$force" = no ] && has_default_route "$interface"; then
			die "$port is $interface, which carries the default route: binding it cuts this host off; if that is meant: $0 dpdk --force $port"
		fi
	done
}

to_dpdk() {
	local port ports=()
	[ $# -gt 0 ] || die "name the ports to bind; '$0 show' lists them"
	for port in "$@"; do
		port=$(address_of "$port")
		check_bindable "$port"
		ports+=("$port")
	done
	need_devbind
	[ "$(id -u)" = 0 ] || die "only root can bind a port; run as root: $0 dpdk $*"
	if [ ! -e "${pci%/devices}/drivers/vfio-pci" ] && ! modprobe vfio-pci 2>/dev/null; then
		die "the kernel has no vfio-pci: enable the IOMMU in the firmware and boot with intel_iommu=on (Intel), then: modprobe vfio-pci"
	fi
	for port in "${ports[@]}"; do
		echo "bind: $port: $(driver_of "$port") -> vfio-pci; undo: $0 kernel $port $(driver_of "$port")"
	done
	"$devbind" ${forced:+--force} --bind=vfio-pci "${ports[@]}"
}

to_kernel() {
	[ $# -eq 2 ] || die "say the port and the kernel driver, for example: $0 kernel 0000:03:00.0 ice"
	local port
	port=$(address_of "$1")
	need_devbind
	[ "$(id -u)" = 0 ] || die "only root can bind a port; run as root: $0 kernel $*"
	"$devbind" --bind="$2" "$port"
	echo "bind: $port: now $(driver_of "$port")"
}

action=${1:-}
shift || true
force=no forced=
if [ "${1:-}" = --force ]; then
	force=yes forced=yes
	shift
fi
case $action in
show)
	need_devbind
	"$devbind" --status-dev net 2>/dev/null
	;;
dpdk) to_dpdk "$@" ;;
kernel) to_kernel "$@" ;;
-h | --help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
