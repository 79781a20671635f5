/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/remedy.h"

#include <string.h>

#define DAMAGED                                                                                        \
	"a damaged or forged frame; many of them: a cable, or a card's offload (ethtool -k): capture " \
	"start, and look"

/* By reason; one that has no place here has no remedy, and the test says so. */
static const char *const remedy[TG_DROP_REASON_COUNT] = {
	[TG_DROP_NONE] = "nothing to do",
	[TG_DROP_FRAME_SHORT] = DAMAGED,
	[TG_DROP_NOT_IP] = "nothing: spanning tree, LLDP and the like",
	[TG_DROP_VLAN_DEPTH] = "take tags off before: at most two are read",
	[TG_DROP_MPLS] = "end the MPLS path before the gateway",
	[TG_DROP_IP_HEADER] = DAMAGED,
	[TG_DROP_CHECKSUM] = DAMAGED,
	[TG_DROP_SOURCE] = "a forged source: filter it at the border (RFC 2827)",
	[TG_DROP_IP_LENGTH] = DAMAGED
	"; or frames joined by receive coalescing: ethtool -K INTERFACE gro off lro off",
	[TG_DROP_IP_OPTIONS] = "nothing: source routes are refused (RFC 7126)",
	[TG_DROP_IP6_HEADERS] =
		"nothing, unless a client of yours sends such: capture start, and look",
	[TG_DROP_L4_HEADER] = DAMAGED,
	[TG_DROP_SEGMENTED] =
		"frames longer than a buffer: ports[].mtu as large as the link's, or receive coalescing "
		"off: ethtool -K INTERFACE gro off lro off",
	[TG_DROP_NOT_OURS] =
		"frames for others: a mirror without --shadow, a switch that floods, or an address that "
		"is in no service: service list",
	[TG_DROP_MULTICAST] = "nothing: what a link has besides",
	[TG_DROP_NO_SERVICE] =
		"service list: protocol or port are in none; with ports[].kernel it goes there instead",
	[TG_DROP_ACCESS] = "access list: which rule denies it",
	[TG_DROP_NEW_RATE] = "limit list: a flood, or services[].limits.new_drop_per_s is too low",
	[TG_DROP_PACKET_RATE] = "limit list: a flood, or a limit of services[].limits is too low",
	[TG_DROP_FRAGMENT] =
		"later fragments whose first one was not seen: let clients send what fits (path MTU)",
	[TG_DROP_ICMP] = "nothing: a message about no flow of ours",
	[TG_DROP_PING_RATE] = "nothing: echo requests beyond 100 a second and worker",
	[TG_DROP_NEIGHBOUR] = "nothing: read and done with",
	[TG_DROP_TCP_STRAY] = "nothing: a port scan",
	[TG_DROP_NO_SERVER] =
		"server list: all are down, drained or of weight 0; server enable SERVICE SERVER",
	[TG_DROP_TTL] = "a loop of routes, or a client's traceroute",
	[TG_DROP_NO_ROUTE] =
		"neighbour list: the next hop answers neither ARP nor solicitations: cable, VLAN, "
		"ports[].addresses, or give the server's mac",
	[TG_DROP_TOO_BIG] =
		"raise ports[].mtu and the link's (ip link set dev INTERFACE mtu N), or have servers ask "
		"for less (ip route change ROUTE advmss N)",
	[TG_DROP_ADMISSION_WAIT] = "admission list, segment top: who is in burst",
	[TG_DROP_ADMISSION_FULL] = "admission list, segment top: who is in burst",
	[TG_DROP_LATE] =
		"stats show: gate tells where the time went; services[].sojourn_max_us, or gate \"shadow\"",
	[TG_DROP_TX_FULL] =
		"port list: the outgoing port is slower than what comes in; ports[].tx_descriptors",
	[TG_DROP_HANDOVER] = "worker list: one worker has too much; more workers, or RSS by flow",
	[TG_DROP_AUCTION] = "nothing: bid list shows who won",
	[TG_DROP_TUNNEL] = "servers that bid must answer plainly, not by the tunnel",
	[TG_DROP_STOPPED] = "forwarding start",
	[TG_DROP_KERNEL] = "a flood of packets for no service: drop list, capture start",
	[TG_DROP_PROBE] = "task list, alarm list: control is late",
	[TG_DROP_PROBE_STRAY] =
		"capture start shows who sends to our checking ports; a late answer: services[].health.timeout_ms",
	[TG_DROP_SHADOW] = "nothing: --shadow sends nothing",
};

const char *tg_remedy(enum tg_reason why)
{
	return (unsigned int)why < TG_DROP_REASON_COUNT ? remedy[why] : NULL;
}

enum tg_reason tg_reason_by_name(const char *name)
{
	unsigned int r = 0;

	while (r < TG_DROP_REASON_COUNT && strcmp(tg_reason_name(r), name) != 0)
		r++;
	return r;
}
