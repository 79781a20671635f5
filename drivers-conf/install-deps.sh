#!/usr/bin/env bash
# Install the Debian 12 packages that tidegate needs. Silent and quick when all are there.
#
#   drivers-conf/install-deps.sh [GROUP…]        GROUP: build (default), test, package, dev
#   drivers-conf/install-deps.sh --list [GROUP…] print the packages, one a line, install nothing
#
# Installs without recommended packages, starts no daemon and asks no question.
# Exit code: 0 all there, 1 something is missing and could not be installed, 2 wrong usage.
set -euo pipefail

declare -A packages
# To compile and run the gateway. libdpdk-dev depends on every driver of DPDK 22.11.
packages[build]="meson ninja-build gcc libc6-dev pkgconf
	libdpdk-dev libnuma-dev libpcap-dev libjansson-dev libxxhash-dev libcap-ng-dev libmicrohttpd-dev libmnl-dev libnftnl-dev
	check"
# To run test/run.sh: second compiler and sanitizers, real clients and servers, tools they use.
packages[test]="clang llvm libclang-rt-14-dev clang-format shellcheck doxygen libbpf-dev
	python3 python3-jsonschema python3-scapy python3-matplotlib python3-prometheus-client
	iproute2 ethtool nftables tcpdump procps util-linux
	nginx-light libnginx-mod-http-echo wrk curl redis-server redis-tools memcached bird2
	openssl chromium nghttp2-client libmemcached-tools ngtcp2-client ngtcp2-server wireguard-go wireguard-tools
	dpdk dpdk-dev valgrind binutils"
# To develop: lint, coverage, documentation, profiles, the clean-root trial.
packages[dev]="gcovr graphviz gdb git debootstrap"
# To build the Debian package and to try it in a clean root.
packages[package]="build-essential debhelper dpkg-dev debootstrap mandoc man-db python3"

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

die() {
	echo "install-deps: $*" >&2
	exit 1
}

list_only=no
groups=()
for arg in "$@"; do
	case $arg in
	build | test | package | dev) groups+=("$arg") ;;
	--list) list_only=yes ;;
	-h | --help) usage && exit 0 ;;
	*)
		echo "install-deps: unknown group '$arg'; allowed: build, test, package, dev, --list, --help" >&2
		exit 2
		;;
	esac
done
[ ${#groups[@]} -gt 0 ] || groups=(build)

wanted=()
for group in "${groups[@]}"; do
	read -ra members <<<"${packages[$group]//[$'\n\t']/ }"
	wanted+=("${members[@]}")
done

if [ "$list_only" = yes ]; then
	printf '%s\n' "${wanted[@]}"
	exit 0
fi

# Sets `missing` to those of `wanted` that dpkg does not have installed.
find_missing() {
	local installed package
	installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
		awk '$2 == "installed" {print $1}') || true
	missing=()
	for package in "${wanted[@]}"; do
		[[ $'\n'$installed$'\n' == *$'\n'$package$'\n'* ]] || missing+=("$package")
	done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	die "this host has no apt-get: it is not Debian. tidegate is built and tested on Debian 12;" \
		"install the counterparts of these packages by hand: ${wanted[*]}"
fi

find_missing
[ ${#missing[@]} -gt 0 ] || exit 0

command_line="apt-get install --no-install-recommends ${missing[*]}"
if [ "$(id -u)" != 0 ]; then
	die "packages are missing and only root can install them; run as root: $command_line"
fi

log=$(mktemp "${TMPDIR:-/tmp}/tidegate-apt.XXXXXX")
policy=/usr/sbin/policy-rc.d
own_policy=no

clean_up() {
	rm -f "$log"
	[ "$own_policy" = no ] || rm -f "$policy"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# While a policy-rc.d that answers 101 is in place, no package starts its daemon.
forbid_daemons() {
	[ -e "$policy" ] && return
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	own_policy=yes
	chmod 755 "$policy"
}

apt() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y \
		-o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
		"$@" >>"$log" 2>&1 </dev/null
}

# True when apt's lists know every missing package; a fresh image comes with no lists at all.
lists_known() {
	local known
	known=$(LC_ALL=C apt-cache show --no-all-versions "${missing[@]}" 2>/dev/null |
		grep -c '^Package: ' || true)
	[ "$known" -ge ${#missing[@]} ]
}

install_missing() {
	apt install --no-install-recommends "${missing[@]}"
}

explain_failure() {
	grep -E '^(E|W|Err:[0-9]+|dpkg): ?' "$log" | awk '!seen[$0]++' | tail -n 15 >&2
	if grep -qE 'Temporary failure|Could not (resolve|connect)|Connection (failed|timed out)' "$log"; then
		die "apt-get cannot reach its package mirrors: check the network and /etc/apt, then run as root: $command_line"
	elif grep -q 'Unable to locate package' "$log"; then
		die "apt-get does not know some packages (above): /etc/apt must name Debian 12's main archive; then run as root: $command_line"
	fi
	die "apt-get failed (above); mend that, then run as root: $command_line"
}

echo "install-deps: installing ${#missing[@]} Debian packages (${groups[*]}): ${missing[*]}"
forbid_daemons
# A source that cannot be refreshed need not matter: the installation decides.
lists_known || apt update || true
if ! install_missing; then
	# The lists may be older than the mirror.
	apt update || true
	install_missing || explain_failure
fi

find_missing
[ ${#missing[@]} -eq 0 ] || die "apt-get ended well, yet these are not installed: ${missing[*]}"
