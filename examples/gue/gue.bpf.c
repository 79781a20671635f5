/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server's side of "forward": "gue", without kernel modules: two programs for one interface. `xdp` takes UDP and
 * GUE off what this host answers for and hands the inner packet to the stack. A TCP packet that opens no connection
 * and belongs to none of this host's is left, and `tc` passes it to the next server that its header names.
 *
 *   clang -O2 -target bpf -c gue.bpf.c -o gue.o
 *   ip link set dev eth0 xdp obj gue.o sec xdp
 *   tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress bpf direct-action obj gue.o sec tc
 *
 * Linux 5.10 or later. The header is drawn in doc/encap.md (draft-ietf-intarea-gue-09, variant 0, port 6080).
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stddef.h>

#define SECTION(name) __attribute__((section(name), used))
#define INLINE        static inline __attribute__((always_inline))
#define TO_NET16(x)   __builtin_bswap16(x)
#define FAMILY_V4     2 /* AF_INET */
#define FAMILY_V6     10
#define GUE_PORT      6080
#define THIS_NETNS    ((__u64)BPF_F_CURRENT_NETNS)
#define LISTENING     10 /* BPF_TCP_LISTEN */
#define HEADERS_MAX   (sizeof(struct ethhdr) + 40 + 8 + 128 + 40 + 20)

static long (*adjust_head)(struct xdp_md *frame, int delta) = (void *)BPF_FUNC_xdp_adjust_head;
static long (*fib)(void *ctx, struct bpf_fib_lookup *p, int len,
		   __u32 flags) = (void *)BPF_FUNC_fib_lookup;
static struct bpf_sock *(*find_tcp)(void *ctx, struct bpf_sock_tuple *t, __u32 len, __u64 netns,
				    __u64 flags) = (void *)BPF_FUNC_skc_lookup_tcp;
static long (*is_cookie)(struct bpf_sock *s, void *ip, __u32 ip_len, struct tcphdr *tcp,
			 __u32 tcp_len) = (void *)BPF_FUNC_tcp_check_syncookie;
static long (*release)(struct bpf_sock *s) = (void *)BPF_FUNC_sk_release;
static long (*pull)(struct __sk_buff *b, __u32 len) = (void *)BPF_FUNC_skb_pull_data;
static long (*send_on)(__u32 ifindex, void *hop, int len,
		       __u64 flags) = (void *)BPF_FUNC_redirect_neigh;

struct gue {
	__u8 hlen; /* variant 0, no control: words after this one */
	__u8 protocol;
	__be16 flags;
};

/* Private data, type 0: servers of the outer address family follow. */
struct list {
	__be16 type;
	__u8 next;
	__u8 count;
};

/* What a frame is, all zero if it is not for these programs. Offsets are from its start. */
struct parsed {
	__u32 list;  /* 0: the header names no servers */
	__u32 inner; /* IP header */
	__u8 outer_v6, inner_v6;
	__u8 next, count;
};

/* The outer IP header; 0 if it is none that carries UDP whole, else its length. */
INLINE __u32 outer_length(void *data, void *end, __u8 *v6)
{
	struct ethhdr *eth = data;
	struct iphdr *ip4 = data + sizeof(*eth);
	struct ipv6hdr *ip6 = data + sizeof(*eth);

	if ((void *)(ip4 + 1) > end)
		return 0;
	if (eth->h_proto == TO_NET16(ETH_P_IP)) {
		/* a fragment of the outer packet cannot be opened here */
		if (ip4->ihl != 5 || (ip4->frag_off & TO_NET16(0x3fff)) ||
		    ip4->protocol != IPPROTO_UDP)
			return 0;
		return sizeof(*ip4);
	}
	if (eth->h_proto != TO_NET16(ETH_P_IPV6) || (void *)(ip6 + 1) > end ||
	    ip6->nexthdr != IPPROTO_UDP)
		return 0;
	*v6 = 1;
	return sizeof(*ip6);
}

/* Private data of a layout that is not known is not for us to open: the sender meant someone else. */
INLINE int parse_list(void *data, void *end, __u32 words, struct parsed *p)
{
	struct list *list = data + p->list;

	if (!words) {
		p->list = 0;
		return 1;
	}
	if ((void *)(list + 1) > end || list->type || list->next > list->count)
		return 0;
	p->next = list->next;
	p->count = list->count;
	return words == 1 + (__u32)p->count * (p->outer_v6 ? 4 : 1);
}

/* Zero UDP checksums only, which is what tidegate sends: others cannot be verified here. */
INLINE int parse(void *data, void *end, struct parsed *p)
{
	__u32 ip_len = outer_length(data, end, &p->outer_v6);
	struct udphdr *udp = data + sizeof(struct ethhdr) + (p->outer_v6 ? 40 : 20);
	struct gue *gue = (void *)(udp + 1);

	if (!ip_len || (void *)(gue + 1) > end)
		return 0;
	if (udp->dest != TO_NET16(GUE_PORT) || udp->check || gue->hlen > 31 || gue->flags)
		return 0;
	if (gue->protocol != IPPROTO_IPIP && gue->protocol != IPPROTO_IPV6)
		return 0;
	p->inner_v6 = gue->protocol == IPPROTO_IPV6;
	p->list = sizeof(struct ethhdr) + (p->outer_v6 ? 40 : 20) + sizeof(*udp) + sizeof(*gue);
	p->inner = p->list + 4 * (__u32)gue->hlen;
	return parse_list(data, end, gue->hlen, p);
}

/* Would this host send a packet to that address on to others? Then it must not come out of a tunnel here. */
INLINE int would_forward(void *ctx, struct bpf_fib_lookup *way)
{
	long r = fib(ctx, way, sizeof(*way), 0);

	return r != BPF_FIB_LKUP_RET_NOT_FWDED && r != BPF_FIB_LKUP_RET_FWD_DISABLED;
}

/* Does this TCP packet open a connection, or belong to one of this host's (also one that is only in a SYN cookie)? */
INLINE int is_known(void *ctx, void *ip, __u32 ip_len, struct tcphdr *tcp, struct bpf_sock_tuple *t,
		    __u32 len)
{
	struct bpf_sock *s;
	int known;

	if (tcp->syn && !tcp->ack)
		return 1;
	s = find_tcp(ctx, t, len, THIS_NETNS, 0);
	if (!s)
		return 0;
	known = s->state != LISTENING || !is_cookie(s, ip, ip_len, tcp, sizeof(*tcp));
	release(s);
	return known;
}

enum whose { NOT_OURS, OURS, NEXT };

INLINE enum whose whose_v4(void *ctx, void *data, void *end, struct parsed *p, __u32 ifindex)
{
	struct iphdr *ip = data + p->inner;
	struct tcphdr *tcp = (void *)(ip + 1);
	struct bpf_fib_lookup way = {.family = FAMILY_V4, .ifindex = ifindex};
	struct bpf_sock_tuple t = {};

	if ((void *)(ip + 1) > end || ip->version != 4)
		return NOT_OURS;
	way.ipv4_src = ip->saddr;
	way.ipv4_dst = ip->daddr;
	if (would_forward(ctx, &way))
		return NOT_OURS;
	/* with options, or in fragments: as well kept as passed on */
	if (p->next >= p->count || ip->protocol != IPPROTO_TCP || ip->ihl != 5 ||
	    (ip->frag_off & TO_NET16(0x3fff)) || (void *)(tcp + 1) > end)
		return OURS;
	t.ipv4.saddr = ip->saddr;
	t.ipv4.daddr = ip->daddr;
	t.ipv4.sport = tcp->source;
	t.ipv4.dport = tcp->dest;
	return is_known(ctx, ip, sizeof(*ip), tcp, &t, sizeof(t.ipv4)) ? OURS : NEXT;
}

INLINE enum whose whose_v6(void *ctx, void *data, void *end, struct parsed *p, __u32 ifindex)
{
	struct ipv6hdr *ip = data + p->inner;
	struct tcphdr *tcp = (void *)(ip + 1);
	struct bpf_fib_lookup way = {.family = FAMILY_V6, .ifindex = ifindex};
	struct bpf_sock_tuple t = {};

	if ((void *)(ip + 1) > end || ip->version != 6)
		return NOT_OURS;
	__builtin_memcpy(way.ipv6_src, &ip->saddr, 16);
	__builtin_memcpy(way.ipv6_dst, &ip->daddr, 16);
	if (would_forward(ctx, &way))
		return NOT_OURS;
	if (p->next >= p->count || ip->nexthdr != IPPROTO_TCP || (void *)(tcp + 1) > end)
		return OURS;
	__builtin_memcpy(t.ipv6.saddr, &ip->saddr, 16);
	__builtin_memcpy(t.ipv6.daddr, &ip->daddr, 16);
	t.ipv6.sport = tcp->source;
	t.ipv6.dport = tcp->dest;
	return is_known(ctx, ip, sizeof(*ip), tcp, &t, sizeof(t.ipv6)) ? OURS : NEXT;
}

INLINE enum whose whose(void *ctx, void *data, void *end, struct parsed *p, __u32 ifindex)
{
	return p->inner_v6 ? whose_v6(ctx, data, end, p, ifindex)
			   : whose_v4(ctx, data, end, p, ifindex);
}

INLINE __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)(sum + (sum >> 16));
}

/* What the outer header met must not be lost (RFC 6040 section 4.2): congestion experienced. 0 if the inner packet's
 * sender does not know of it, then a drop tells him. */
INLINE int mark_v4(void *data, void *end, struct parsed *p)
{
	struct iphdr *ip = data + p->inner;
	__u8 tos;

	if ((void *)(ip + 1) > end || !(ip->tos & 3))
		return 0;
	tos = ip->tos | 3;
	/* RFC 1624: HC' = ~(~HC + ~m + m') */
	ip->check = (__u16)~folded((__u16)~ip->check + 0xffff - TO_NET16(ip->tos) + TO_NET16(tos));
	ip->tos = tos;
	return 1;
}

INLINE int mark_v6(void *data, void *end, struct parsed *p)
{
	struct ipv6hdr *ip = data + p->inner;

	if ((void *)(ip + 1) > end || !(ip->flow_lbl[0] & 0x30))
		return 0;
	ip->flow_lbl[0] |= 0x30;
	return 1;
}

INLINE int outer_is_marked(void *data, void *end, struct parsed *p)
{
	struct iphdr *ip4 = data + sizeof(struct ethhdr);
	struct ipv6hdr *ip6 = data + sizeof(struct ethhdr);

	if ((void *)(ip6 + 1) > end)
		return 0;
	return p->outer_v6 ? (ip6->flow_lbl[0] & 0x30) == 0x30 : (ip4->tos & 3) == 3;
}

SECTION("xdp") int gue_open(struct xdp_md *frame)
{
	void *data = (void *)(long)frame->data, *end = (void *)(long)frame->data_end;
	struct parsed p = {};
	struct ethhdr eth;

	if (!parse(data, end, &p) || whose(frame, data, end, &p, frame->ingress_ifindex) != OURS)
		return XDP_PASS;
	if (outer_is_marked(data, end, &p) &&
	    !(p.inner_v6 ? mark_v6(data, end, &p) : mark_v4(data, end, &p)))
		return XDP_DROP;
	__builtin_memcpy(&eth, data, sizeof(eth));
	eth.h_proto = p.inner_v6 ? TO_NET16(ETH_P_IPV6) : TO_NET16(ETH_P_IP);
	if (adjust_head(frame, (int)(p.inner - sizeof(eth))))
		return XDP_DROP;
	data = (void *)(long)frame->data;
	end = (void *)(long)frame->data_end;
	if (data + sizeof(eth) > end)
		return XDP_DROP;
	__builtin_memcpy(data, &eth, sizeof(eth));
	return XDP_PASS;
}

/* The outer header for the next server: from this one, a hop less to live. 0 if its life is over. */
INLINE int readdress_v4(void *data, void *end, __u32 entry)
{
	struct iphdr *ip = data + sizeof(struct ethhdr);
	__be32 *to = data + entry;
	__u16 *word = (__u16 *)ip;
	__u32 sum = 0;

	if ((void *)(ip + 1) > end || (void *)(to + 1) > end || ip->ttl <= 1)
		return 0;
	ip->ttl--;
	ip->saddr = ip->daddr;
	ip->daddr = *to;
	ip->check = 0;
#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += word[i];
	ip->check = (__u16)~folded(sum);
	return 1;
}

INLINE int readdress_v6(void *data, void *end, __u32 entry)
{
	struct ipv6hdr *ip = data + sizeof(struct ethhdr);
	struct in6_addr *to = data + entry;

	if ((void *)(ip + 1) > end || (void *)(to + 1) > end || ip->hop_limit <= 1)
		return 0;
	ip->hop_limit--;
	ip->saddr = ip->daddr;
	ip->daddr = *to;
	return 1;
}

/* The index only grows, up to the count: no server is tried twice, and there is a last one. */
SECTION("tc") int gue_pass_on(struct __sk_buff *b)
{
	void *data, *end;
	struct parsed p = {};
	struct list *list;
	__u32 entry;

	if (b->protocol != TO_NET16(ETH_P_IP) && b->protocol != TO_NET16(ETH_P_IPV6))
		return TC_ACT_UNSPEC;
	if (pull(b, b->len < HEADERS_MAX ? b->len : HEADERS_MAX))
		return TC_ACT_UNSPEC;
	data = (void *)(long)b->data;
	end = (void *)(long)b->data_end;
	if (!parse(data, end, &p) || whose(b, data, end, &p, b->ingress_ifindex) != NEXT)
		return TC_ACT_UNSPEC;
	entry = p.list + sizeof(*list) + (__u32)p.next * (p.outer_v6 ? 16 : 4);
	if (!(p.outer_v6 ? readdress_v6(data, end, entry) : readdress_v4(data, end, entry)))
		return TC_ACT_SHOT;
	list = data + p.list;
	if ((void *)(list + 1) > end)
		return TC_ACT_SHOT;
	list->next = p.next + 1;
	return (int)send_on(b->ifindex, NULL, 0, 0);
}

SECTION("license") char gue_license[] = "Dual BSD/GPL";
