#!/usr/bin/env bash
# Show, reserve and give back 2-MiB pages.
#
#   drivers-conf/hugepages.sh show    pages reserved and free on each NUMA node (no root needed)
#   drivers-conf/hugepages.sh set N   reserve N pages on each NUMA node; remembers what was before
#   drivers-conf/hugepages.sh undo    put back what was there before the first `set`
#
# A flow table of 2^20 slots takes about 130 MiB a worker; the packet pools about 64 MiB a port:
# `set 512` (1 GiB a node) is enough to begin with. Without pages start tidegate with --no-huge:
# everything works, at about half the speed. Reservations last until the next boot.
set -euo pipefail

nodes=${TIDEGATE_SYS_NODES:-/sys/devices/system/node}
memory=${TIDEGATE_RUN_DIR:-/run}/tidegate-hugepages

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

die() {
	echo "hugepages: $*" >&2
	exit 1
}

# Prints the folder of 2-MiB pages of every node.
page_folders() {
	local folder found=no
	for folder in "$nodes"/node*/hugepages/hugepages-2048kB; do
		[ -d "$folder" ] || continue
		found=yes
		echo "$folder"
	done
	[ "$found" = yes ] ||
		die "this kernel offers no 2-MiB pages under $nodes; start tidegate with --no-huge"
}

node_of() {
	local path=${1#"$nodes"/}
	echo "${path%%/*}"
}

show() {
	local folder folders
	folders=$(page_folders)
	for folder in $folders; do
		echo "$(node_of "$folder"): $(<"$folder/nr_hugepages") pages of 2 MiB reserved," \
			"$(<"$folder/free_hugepages") free"
	done
}

# Asks for $2 pages in folder $1 and says so; the kernel may grant fewer.
reserve() {
	local before granted
	before=$(<"$1/nr_hugepages")
	[ -w "$1/nr_hugepages" ] || die "cannot write $1/nr_hugepages: run as root: $0 $action"
	echo "$2" >"$1/nr_hugepages"
	granted=$(<"$1/nr_hugepages")
	echo "$(node_of "$1"): reserved $before -> $granted pages of 2 MiB"
	if [ "$granted" -lt "$2" ]; then
		echo "hugepages: the kernel granted $granted of $2: memory is short or in fragments;" \
			"free some, or reserve early after boot (vm.nr_hugepages in sysctl.d)" >&2
		short=yes
	fi
}

set_pages() {
	local folder folders
	[[ $1 =~ ^[0-9]{1,7}$ ]] || die "'$1' is not a number of pages (0…9999999)"
	folders=$(page_folders)
	if [ ! -e "$memory" ]; then
		[ -w "${memory%/*}" ] || die "cannot write $memory: run as root: $0 $action"
		for folder in $folders; do
			echo "$folder $(<"$folder/nr_hugepages")"
		done >"$memory"
	fi
	for folder in $folders; do
		reserve "$folder" "$1"
	done
	echo "to give them back: $0 undo"
}

undo() {
	local folder pages
	if [ ! -e "$memory" ]; then
		echo "hugepages: nothing to undo, no pages were reserved by this script since boot"
		return
	fi
	while read -r folder pages; do
		reserve "$folder" "$pages"
	done <"$memory"
	rm -f "$memory"
}

action="$*"
short=no
case ${1:-} in
show) show ;;
set)
	[ $# -eq 2 ] || die "set needs the number of pages, for example: $0 set 512"
	set_pages "$2"
	;;
undo) undo ;;
-h | --help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
[ "$short" = no ]
