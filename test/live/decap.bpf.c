/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IP-in-IP and GRE decapsulation on a server, for kernels without these modules: an XDP program that takes the outer
 * header of IPv4 and IPv6 in either off (RFC 2003, RFC 2473), and GRE's four bytes (RFC 2784). Build and attach:
 *   clang -O2 -target bpf -c decap.bpf.c -o decap.o && ip link set dev eth0 xdp obj decap.o sec xdp
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stddef.h>

#define SECTION(name) __attribute__((section(name), used))
#define TO_NET16(x)   __builtin_bswap16(x)

static long (*adjust_head)(struct xdp_md *frame, int delta) = (void *)BPF_FUNC_xdp_adjust_head;

/* The outer headers' length if the frame is IP in IP or in GRE without options, with the inner type in *inner; else 0. */
static inline unsigned int outer_length(void *data, void *end, __be16 *inner)
{
	struct ethhdr *eth = data;
	struct iphdr *ip4 = data + sizeof(*eth);
	struct ipv6hdr *ip6 = data + sizeof(*eth);
	unsigned int length, next;

	if ((void *)(ip4 + 1) > end)
		return 0;
	if (eth->h_proto == TO_NET16(ETH_P_IP)) {
		/* a fragment of the outer packet cannot be opened here */
		if (ip4->ihl != 5 || (ip4->frag_off & TO_NET16(0x3fff)))
			return 0;
		length = sizeof(*ip4);
		next = ip4->protocol;
	} else {
		if (eth->h_proto != TO_NET16(ETH_P_IPV6) || (void *)(ip6 + 1) > end)
			return 0;
		length = sizeof(*ip6);
		next = ip6->nexthdr;
	}
	if (next == IPPROTO_GRE) {
		__be16 *gre = data + sizeof(*eth) + length;

		if ((void *)(gre + 2) > end || gre[0] != 0)
			return 0;
		*inner = gre[1];
		return length + 2 * sizeof(*gre);
	}
	if (next != IPPROTO_IPIP && next != IPPROTO_IPV6)
		return 0;
	*inner = next == IPPROTO_IPIP ? TO_NET16(ETH_P_IP) : TO_NET16(ETH_P_IPV6);
	return length;
}

SECTION("xdp") int decapsulate(struct xdp_md *frame)
{
	void *data = (void *)(long)frame->data, *end = (void *)(long)frame->data_end;
	__be16 inner = 0;
	unsigned int length = outer_length(data, end, &inner);
	struct ethhdr eth;

	if (!length)
		return XDP_PASS;
	__builtin_memcpy(&eth, data, sizeof(eth));
	eth.h_proto = inner;
	if (adjust_head(frame, (int)length))
		return XDP_DROP;
	data = (void *)(long)frame->data;
	end = (void *)(long)frame->data_end;
	if (data + sizeof(eth) > end)
		return XDP_DROP;
	__builtin_memcpy(data, &eth, sizeof(eth));
	return XDP_PASS;
}

SECTION("license") char decap_license[] = "Dual BSD/GPL";
