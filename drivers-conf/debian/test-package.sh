#!/usr/bin/env bash
# Tries the Debian package in a clean Debian 12: installs it, starts what its unit starts, sees it ready, reads
# telemetry, reloads, stops, removes, purges.
#
#   drivers-conf/debian/test-package.sh [PACKAGE.deb]   without one: built first
#
# Needs root, debootstrap and a Debian mirror, 2 GB under $TMPDIR and some minutes. There is no systemd in such a root:
# ExecStart is run as it stands in the unit, with the unit's environment (run_unit.py). Everything runs in mount and
# process namespaces of its own. The last line is `package: ok`; exit 1 otherwise.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac
# shellcheck source=test/clean-root.sh
. "$top/test/clean-root.sh"

# What is in the root now: in_root COMMAND…
in_root() {
	chroot "$root" env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@" </dev/null
}

# step WHAT COMMAND…: prints WHAT; the output only when the command fails.
step() {
	local what=$1 start=$SECONDS
	shift
	if "$@" >"$root/tmp/step.log" 2>&1; then
		echo "ok   $what ($((SECONDS - start)) s)"
	else
		tail -n 30 "$root/tmp/step.log"
		die "$what: failed (above)"
	fi
}

is_gone() {
	local left
	left=$(in_root find /etc/tidegate /var/lib/tidegate /usr/bin/tidegate /usr/share/tidegate \
		/lib/systemd/system/tidegate.service /etc/default/tidegate 2>/dev/null || true)
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

is_removed() {
	in_root test ! -e /usr/bin/tidegate && in_root test -e /etc/tidegate/tidegate.json
}

pages_are_there() {
	local page files
	files=$(dpkg-deb -c "$deb")
	for page in tidegate.8 tidegatectl.8 tidegate.json.5 tidegate-bidder.8 tidegate-sim.1 tidegate-bench.1; do
		# a minimal root leaves documentation out: the package itself is asked
		grep -q "/man/man[158]/$page.gz" <<<"$files" || { echo "no page $page"; return 1; }
	done
}

# Of each program: position independent, its tables read-only and bound at the start, stack protected, fortified calls.
is_hardened() {
	local program symbols
	dpkg-deb -x "$deb" "$root/tmp/deb"
	for program in "$root"/tmp/deb/usr/bin/*; do
		symbols=$(readelf -W --dyn-syms "$program")
		{ readelf -hW "$program" | grep -q 'Type: *DYN' && readelf -lW "$program" | grep -q GNU_RELRO &&
			readelf -dW "$program" | grep -q BIND_NOW && [[ $symbols == *__stack_chk_fail* && $symbols == *_chk@* ]]; } ||
			{ echo "$program lacks one of PIE, RELRO, BIND_NOW, stack protector, fortify"; return 1; }
	done
}

# The package brings the driver of each preset that runs without a card.
brings_drivers() {
	local preset
	for preset in $(grep -l '^RUN=yes' "$top"/drivers-conf/*.conf); do
		preset=$(basename "$preset" .conf)
		in_root sh -c "ls /usr/lib/*/dpdk/pmds-*/librte_net_$preset.so.*" || { echo "no driver $preset"; return 1; }
	done
}

# Runs as process 1 of the namespaces.
inside() {
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
	cp "$deb" "$root/tmp/tidegate.deb"
	step "man pages" pages_are_there
	step "hardened programs" is_hardened
	step "lists of packages" in_root apt-get -q update
	step "install" in_root apt-get -q -y --no-install-recommends install /tmp/tidegate.deb
	step "drivers" brings_drivers
	step "versions" in_root sh -c 'tidegate --version && tidegatectl --version && tidegate-sim --version'
	step "group" in_root getent group tidegate
	step "unit, telemetry, reload, stop" /usr/bin/python3 "$here/run_unit.py" "$root"
	step "install over itself" in_root dpkg -i /tmp/tidegate.deb
	step "remove" in_root apt-get -q -y remove tidegate
	step "the program is gone, its settings are there" is_removed
	step "purge" in_root apt-get -q -y purge tidegate
	step "nothing is left" is_gone
}

if [ "${1:-}" = --inside ]; then
	root=$2 deb=$3
	inside
	exit
fi

[ "$(id -u)" = 0 ] || die "needs root, to make a clean system in a folder; run as root: $0"
"$top/drivers-conf/install-deps.sh" package
deb=${1:-}
[ -n "$deb" ] || deb=$("$here/build.sh" | tail -n 1)
[ -f "$deb" ] || die "$deb: no such package"
deb=$(realpath "$deb")
clean_root_begin
unshare --mount --pid --fork --kill-child -- "$0" --inside "$root" "$deb"
echo "package: ok"
