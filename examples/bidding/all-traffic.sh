#!/usr/bin/env bash
# On a server: all that it sends from a service's address goes by the gateway.
#
#   all-traffic.sh up   GATEWAY VIP     GATEWAY: its address on the servers' network; VIP: the service's
#   all-traffic.sh down VIP
#
# One policy rule by source address: no marks, no nftables. For networks in which the servers have no way
# to the clients of their own; the gateway then carries the answers too. Run as root, or in the server's
# network namespace.
set -euo pipefail
table=117

family_of() {
	case $1 in
	*:*) echo -6 ;;
	*) echo -4 ;;
	esac
}

case ${1:-}:$# in
up:3)
	family=$(family_of "$3")
	ip "$family" route replace default via "$2" table $table
	ip "$family" rule list | grep -q "from $3 lookup $table" || ip "$family" rule add from "$3" lookup $table
	;;
down:2)
	family=$(family_of "$2")
	ip "$family" rule del from "$2" lookup $table 2>/dev/null || true
	ip "$family" route flush table $table 2>/dev/null || true
	;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2 && exit 2 ;;
esac
