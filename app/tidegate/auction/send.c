/* SPDX-License-Identifier: BSD-3-Clause */
/* What auctions send, in a burst of its own. */
#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>

#include "auction/private.h"
#include "pipeline.h"
#include "port/tx.h"

#define FRAME_LEAST 60 /* without the check sequence: IEEE 802.3 */

void tg_auction_flush(struct tg_worker *w)
{
	struct tg_burst *out = &w->auctions->out;

	if (out->n == 0)
		return;
	tg_tx_burst(w, out);
	tg_pipeline_finish(w, out);
	out->n = 0;
}

/* A place in the burst; the caller fills in where it goes. */
static unsigned int put(struct tg_worker *w, struct rte_mbuf *m, const struct tg_pkt *p,
			uint64_t arrival)
{
	struct tg_burst *out = &w->auctions->out;
	unsigned int i;

	if (out->n == TG_BURST_MAX)
		tg_auction_flush(w);
	if (out->n == 0)
		out->now = tg_worker_now(w);
	i = out->n++;
	out->mbuf[i] = m;
	out->arrival[i] = arrival;
	out->flow[i] = NULL;
	out->server[i] = TG_NO_SERVER;
	out->verdict[i] = TG_FORWARD;
	out->wire_len[i] = m->pkt_len;
	if (p != NULL)
		out->pkt[i] = *p;
	return i;
}

void tg_auction_drop(struct tg_worker *w, struct rte_mbuf *m, enum tg_reason why)
{
	unsigned int i = put(w, m, NULL, 0);

	tg_drop(&w->auctions->out, i, why);
}

void tg_auction_to_server(struct tg_worker *w, struct rte_mbuf *m, const struct tg_pkt *p,
			  uint64_t hash, uint16_t server, uint64_t arrival)
{
	struct tg_burst *out = &w->auctions->out;
	const struct tg_route *r = &w->snapshot->route[server];
	const struct tg_gue gue = {.hash = hash};
	unsigned int i = put(w, m, p, arrival);
	enum tg_reason why = tg_encap(r, m, p, &gue, &w->outer_id);

	out->server[i] = server;
	out->out_port[i] = r->out_port;
	if (why != TG_DROP_NONE)
		tg_drop(out, i, why);
}

static bool on_link(const struct tg_worker *w, const struct tg_addr *client)
{
	const struct tg_config *c = w->snapshot->config;

	for (unsigned int p = 0; p < c->n_ports; p++)
		for (unsigned int k = 0;
		     c->ports[p].role != TG_ROLE_SERVER && k < c->ports[p].n_addresses; k++)
			if (tg_addr_is_v4(&c->ports[p].addresses[k].addr) ==
				    tg_addr_is_v4(client) &&
			    tg_prefix_contains(&c->ports[p].addresses[k], client))
				return true;
	return false;
}

bool tg_auction_behind_router(const struct tg_worker *w, const struct tg_addr *client)
{
	return w->snapshot->client_way[tg_addr_is_v4(client) ? 0 : 1].mac != NULL &&
	       !on_link(w, client);
}

/* A client on a port's own link is where its SYN came from; any other one is behind the client side's router,
 * and without one configured, behind whom its SYN came from. */
static struct tg_route way_to(const struct tg_worker *w, const struct tg_pkt *p,
			      const struct tg_peer *by)
{
	const struct tg_addr *client = &p->key.client;
	struct tg_route r = {.mac = NULL};
	uint16_t port;

	if (tg_auction_behind_router(w, client))
		return w->snapshot->client_way[tg_addr_is_v4(client) ? 0 : 1];
	if (by == NULL)
		by = tg_peer_find(w->auctions, client);
	if (by == NULL)
		return r;
	port = by->port < w->n_ports ? by->port : 0;
	r.mac = &by->mac;
	r.out_port = port;
	r.mtu = w->ports[port].mtu;
	r.vlan = w->snapshot->config->ports[port].vlan;
	memcpy(r.src_mac, w->ports[port].mac, sizeof(r.src_mac));
	return r;
}

static void set_ttl(struct rte_mbuf *m, struct tg_pkt *p, uint8_t ttl)
{
	void *ip = rte_pktmbuf_mtod_offset(m, void *, p->l3_off);
	struct rte_ipv6_hdr *h6 = ip;
	struct rte_ipv4_hdr *h4 = ip;

	p->ttl = ttl;
	if (p->flags & TG_PKT_V6) {
		h6->hop_limits = ttl;
		return;
	}
	h4->time_to_live = ttl;
	h4->hdr_checksum = 0;
	h4->hdr_checksum = rte_ipv4_cksum(h4);
}

void tg_auction_to_client(struct tg_worker *w, struct rte_mbuf *m, const struct tg_pkt *p,
			  uint8_t ttl, const struct tg_peer *by, uint64_t arrival)
{
	struct tg_burst *out = &w->auctions->out;
	struct tg_route r = way_to(w, p, by);
	unsigned int i = put(w, m, p, arrival);
	enum tg_reason why;

	r.decrement_ttl = ttl == 0 && w->snapshot->service[p->key.service]->decrement_ttl;
	if (ttl != 0)
		set_ttl(m, &out->pkt[i], ttl);
	why = tg_encap(&r, m, &out->pkt[i], NULL, &w->outer_id);
	out->out_port[i] = r.out_port;
	if (why != TG_DROP_NONE)
		tg_drop(out, i, why);
	else
		w->auctions->stats.to_client++;
}

static void write_ip(uint8_t *ip, const struct tg_reset *r)
{
	struct rte_ipv6_hdr *h6 = (void *)ip;
	struct rte_ipv4_hdr *h4 = (void *)ip;
	uint32_t v4;

	if (r->v6) {
		h6->vtc_flow = rte_cpu_to_be_32(6u << 28);
		h6->payload_len = rte_cpu_to_be_16(sizeof(struct rte_tcp_hdr));
		h6->proto = IPPROTO_TCP;
		h6->hop_limits = TG_BID_TTL;
		memcpy(h6->src_addr, r->src->b, sizeof(r->src->b));
		memcpy(h6->dst_addr, r->dst->b, sizeof(r->dst->b));
		return;
	}
	h4->version_ihl = RTE_IPV4_VHL_DEF;
	h4->total_length = rte_cpu_to_be_16(sizeof(*h4) + sizeof(struct rte_tcp_hdr));
	h4->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	h4->time_to_live = TG_BID_TTL;
	h4->next_proto_id = IPPROTO_TCP;
	v4 = tg_addr_to_v4(r->src);
	memcpy(&h4->src_addr, &v4, sizeof(v4));
	v4 = tg_addr_to_v4(r->dst);
	memcpy(&h4->dst_addr, &v4, sizeof(v4));
	h4->hdr_checksum = rte_ipv4_cksum(h4);
}

static void write_tcp(uint8_t *ip, uint8_t *tcp, const struct tg_reset *r)
{
	struct rte_tcp_hdr *t = (void *)tcp;

	t->src_port = r->src_port;
	t->dst_port = r->dst_port;
	t->sent_seq = rte_cpu_to_be_32(r->seq);
	t->data_off = sizeof(*t) / 4 << 4;
	t->tcp_flags = TG_TCP_RST;
	t->cksum = r->v6 ? rte_ipv6_udptcp_cksum((void *)ip, t)
			 : rte_ipv4_udptcp_cksum((void *)ip, t);
}

struct rte_mbuf *tg_auction_reset(struct tg_worker *w, const struct tg_reset *r, struct tg_pkt *p)
{
	unsigned int ip_len = r->v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	uint16_t len = (uint16_t)(r->link_len + ip_len + sizeof(struct rte_tcp_hdr));
	struct rte_mbuf *m = w->auctions->pool != NULL ? rte_pktmbuf_alloc(w->auctions->pool)
						       : NULL;
	uint8_t *frame;

	if (m == NULL) {
		w->auctions->stats.uncopied++;
		return NULL;
	}
	w->stats.made++;
	frame = (uint8_t *)rte_pktmbuf_append(m, RTE_MAX(len, FRAME_LEAST));
	memset(frame, 0, m->data_len);
	memcpy(frame, r->link, r->link_len);
	write_ip(frame + r->link_len, r);
	write_tcp(frame + r->link_len, frame + r->link_len + ip_len, r);
	memset(p, 0, sizeof(*p));
	p->ip_len = (uint16_t)(len - r->link_len);
	p->flags = r->v6 ? TG_PKT_V6 : 0;
	p->l3_off = r->link_len;
	p->l4_off = (uint8_t)(r->link_len + ip_len);
	p->tcp_flags = TG_TCP_RST;
	p->ttl = TG_BID_TTL;
	return m;
}

void tg_auction_reset_server(struct tg_worker *w, const struct tg_pkt *syn, uint64_t hash,
			     const uint8_t *link, uint8_t link_len, uint32_t seq, uint16_t server,
			     uint64_t now)
{
	const struct tg_reset r = {
		.link = link,
		.link_len = link_len,
		.v6 = (syn->flags & TG_PKT_V6) != 0,
		.src = &syn->key.client,
		.dst = &syn->dst,
		.src_port = syn->key.client_port,
		.dst_port = syn->key.service_port,
		.seq = seq,
	};
	struct tg_pkt p;
	struct rte_mbuf *m = tg_auction_reset(w, &r, &p);

	if (m == NULL)
		return;
	p.key = syn->key;
	p.dst = syn->dst;
	w->auctions->stats.resets++;
	w->auctions->server[server].resets++;
	tg_auction_to_server(w, m, &p, hash, server, now);
}

bool tg_auction_is_from(const struct tg_worker *w, const struct rte_mbuf *m, uint16_t server)
{
	const uint64_t *word = server < w->snapshot->n_servers ? w->snapshot->route[server].mac
							       : NULL;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	/* neigh keeps marks of its own above the address */
	return word != NULL && (__atomic_load_n(word, __ATOMIC_RELAXED) & (2 * TG_MAC_VALID - 1)) ==
				       tg_mac_word(frame + 6);
}
