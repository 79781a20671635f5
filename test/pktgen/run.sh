#!/usr/bin/env bash
# Drives tidegate with Pktgen over memif, as operators do: packets in by one port, out by another, Pktgen at both ends.
#
#   test/pktgen/run.sh [SOURCE]   SOURCE: a folder with Pktgen-DPDK's source, version 23.03.1; without one it is
#                                 cloned from GitHub. Built once into build-pktgen, without Lua.
#
# Needs root and 2500 free 2-MiB pages (drivers-conf/hugepages.sh set 2500), for Pktgen takes 1.7 GB a port; without
# them both run on ordinary memory, slower. Takes about 40 s when Pktgen is built. doc/pktgen.md has its figures.
# The last line is JSON; exit code 0 when every packet arrived that Pktgen sent and the gateway did not drop by name.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac
commit=20f0571
built=$top/build-pktgen

die() {
	echo "pktgen: $*" >&2
	exit 1
}

get_source() {
	mkdir -p "$built"
	if [ -n "$1" ]; then
		[ -f "$1/app/pktgen.c" ] || die "$1 has no app/pktgen.c: name a folder with Pktgen-DPDK's source"
		cp -r "$1" "$built/source"
	else
		git clone --quiet https://github.com/pktgen/Pktgen-DPDK "$built/source" ||
			die "GitHub is not reached; name a folder: $0 SOURCE"
		git -C "$built/source" checkout --quiet $commit
	fi
	rm -rf "$built/source/build"
	# It gives up on a port whose MTU cannot be set, which memif's cannot: such a port keeps the one it has.
	sed -i '/rte_eth_dev_set_mtu(pid, pktgen.eth_mtu)) < 0)$/s/< 0)$/< 0 \&\& ret != -ENOTSUP)/' \
		"$built/source/app/pktgen-port-cfg.c"
	grep -q 'ret != -ENOTSUP' "$built/source/app/pktgen-port-cfg.c" ||
		die "pktgen-port-cfg.c is not that of version 23.03.1: check out $commit"
}

[ "$(id -u)" = 0 ] || die "needs root, for DPDK's memory: sudo $0"
if [ ! -x "$built/pktgen" ]; then
	rm -rf "$built"
	get_source "${1:-}"
	if ! (meson setup "$built/source/build" "$built/source" -Dwerror=false && ninja -C "$built/source/build") >"$built/log" 2>&1; then
		tail -n 20 "$built/log" >&2
		die "Pktgen does not build; the log: $built/log"
	fi
	cp "$built/source/build/app/pktgen" "$built/pktgen"
fi
pages=$(awk '$1 == "HugePages_Free:" {print $2}' /proc/meminfo)
[ "$pages" -ge 2500 ] || echo "pktgen: $pages free 2-MiB pages, 2500 are needed: on ordinary memory, slower" >&2
exec timeout --kill-after=10 120 /usr/bin/python3 "$top/test/pktgen/drive.py" "$built/pktgen" \
	"$([ "$pages" -ge 2500 ] && echo huge || echo ordinary)"
