#!/usr/bin/env bash
# On a server: SYN-ACKs and RSTs of a service go to the client by the gateway, everything else as before.
#
#   detour.sh up   GATEWAY VIP PORT[,PORT…]     GATEWAY: its address on the servers' network; VIP: the service's
#   detour.sh down
#
# A SYN-ACK gets a mark, the mark another route. So does a RST: a server where nobody listens would refuse, straight to
# the client, what another one accepts. Only what comes from the VIP: who asks the server by its own address is answered
# directly. Nothing but nftables and a policy rule; run as root, or in the server's network namespace. Both families:
# call `up` once for each.
set -euo pipefail
mark=116 table=116

family_of() {
	case $1 in
	*:*) echo -6 ;;
	*) echo -4 ;;
	esac
}

up() {
	local gateway=$1 vip=$2 ports=$3 family ip=ip
	family=$(family_of "$gateway")
	[ "$family" = -4 ] || ip=ip6
	nft -f - <<-END
		table inet tidegate_detour {
			chain synack_$ip {
				type route hook output priority mangle + 1; policy accept;
			}
		}
		flush chain inet tidegate_detour synack_$ip
		add rule inet tidegate_detour synack_$ip $ip saddr $vip tcp sport { $ports } tcp flags & (syn | ack | rst) == syn | ack meta mark set $mark
		add rule inet tidegate_detour synack_$ip $ip saddr $vip tcp sport { $ports } tcp flags & rst == rst meta mark set $mark
	END
	ip "$family" route replace default via "$gateway" table $table
	ip "$family" rule list | grep -q "fwmark 0x74 lookup $table" || ip "$family" rule add fwmark $mark lookup $table
}

down() {
	local family
	nft delete table inet tidegate_detour 2>/dev/null || true
	for family in -4 -6; do
		ip "$family" rule del fwmark $mark lookup $table 2>/dev/null || true
		ip "$family" route flush table $table 2>/dev/null || true
	done
}

case ${1:-} in
up)
	[ $# -eq 4 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2 && exit 2; }
	up "$2" "$3" "$4"
	;;
down) down ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2 && exit 2 ;;
esac
