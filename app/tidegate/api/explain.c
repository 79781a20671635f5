/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>

#include "entrance.h"
#include "tg_parse.h"

static const struct {
	const char *name;
	uint8_t number;
} protocols[] = {
	{"tcp", IPPROTO_TCP},      {"udp", IPPROTO_UDP}, {"icmp", IPPROTO_ICMP},
	{"icmp6", IPPROTO_ICMPV6}, {"esp", IPPROTO_ESP}, {"gre", IPPROTO_GRE},
	{"sctp", IPPROTO_SCTP},
};

static int read_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	*out = strtoul(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out <= max ? 0 : -EINVAL;
}

static int read_protocol(const char *text, uint8_t *out)
{
	unsigned long n;

	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		if (strcmp(text, protocols[i].name) != 0)
			continue;
		*out = protocols[i].number;
		return 0;
	}
	if (read_number(text, 255, &n) != 0)
		return -EINVAL;
	*out = (uint8_t)n;
	return 0;
}

int tg_tuple_parse(const char *text, struct tg_pkt *out, char *err, size_t err_len)
{
	char buf[160], *field[5], *rest = buf;
	unsigned long sport, dport;
	int n = 0;

	memset(out, 0, sizeof(*out));
	if (strlen(text) < sizeof(buf)) {
		strcpy(buf, text);
		while (n < 5 && rest != NULL)
			field[n++] = strsep(&rest, ",");
	}
	if (n != 5 || rest != NULL || read_protocol(field[0], &out->key.protocol) != 0 ||
	    tg_addr_parse(field[1], &out->key.client) != 0 ||
	    read_number(field[2], 65535, &sport) != 0 || tg_addr_parse(field[3], &out->dst) != 0 ||
	    read_number(field[4], 65535, &dport) != 0 ||
	    tg_addr_is_v4(&out->key.client) != tg_addr_is_v4(&out->dst)) {
		snprintf(err, err_len,
			 "\"%s\" is no flow: PROTOCOL,SOURCE,PORT,DESTINATION,PORT is wanted, such as "
			 "tcp,198.51.100.7,40000,192.0.2.10,80",
			 text);
		return -EINVAL;
	}
	out->key.client_port = htons((uint16_t)sport);
	out->key.service_port = htons((uint16_t)dport);
	out->flags = tg_addr_is_v4(&out->dst) ? 0 : TG_PKT_V6;
	out->tcp_flags = TG_TCP_SYN;
	out->ttl = 64;
	return 0;
}

/* Asks every worker; it answers within a turn. */
static int ask_workers(struct tg_gateway *g, const struct tg_key *key, struct tg_explanation *out)
{
	for (unsigned int i = 0; i < g->n_workers; i++) {
		struct tg_flow_query q = {.key = *key};
		struct tg_worker *w = g->worker[i];
		struct tg_flow_query *mine = &q;

		__atomic_store_n(&w->query, mine, __ATOMIC_RELEASE);
		for (unsigned int wait = 0;
		     wait < 10000 && !__atomic_load_n(&q.done, __ATOMIC_ACQUIRE); wait++)
			rte_delay_us_sleep(50);
		/* taken back before q goes out of scope; if the worker has it already, it ends soon */
		if (!__atomic_load_n(&q.done, __ATOMIC_ACQUIRE) &&
		    __atomic_compare_exchange_n(&w->query, &mine, NULL, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return -ETIMEDOUT;
		while (!__atomic_load_n(&q.done, __ATOMIC_ACQUIRE))
			rte_delay_us_sleep(50);
		if (!q.found)
			continue;
		out->entry = true;
		out->worker = i;
		out->flow = q.flow;
		return 0;
	}
	return 0;
}

static void explain_entry(struct tg_gateway *g, struct tg_explanation *e)
{
	const struct tg_snapshot *s = g->snapshot;
	uint64_t now = rte_rdtsc();

	e->server = e->flow.server;
	e->idle_ns = now > e->flow.last_seen ? tg_ticks_to_ns(&g->clock, now - e->flow.last_seen)
					     : 0;
	if (e->server >= s->n_servers || s->generation[e->server] != e->flow.server_generation) {
		e->server = TG_NO_SERVER;
		snprintf(e->why, sizeof(e->why),
			 "its server went away; the next packet gets another");
	} else {
		snprintf(e->why, sizeof(e->why),
			 "the flow was placed on this server and stays there while it is up");
	}
}

static void explain_next(struct tg_gateway *g, const struct tg_pkt *p, struct tg_explanation *e)
{
	const struct tg_select_group *group = g->snapshot->group[e->service];

	if (p->key.protocol == IPPROTO_TCP &&
	    (p->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST)) == 0) {
		e->drop = TG_DROP_TCP_STRAY;
		snprintf(e->why, sizeof(e->why), "%s", tg_reason_text(e->drop));
		return;
	}

	if (tg_select_count(group) == 0) {
		e->drop = TG_DROP_NO_SERVER;
		snprintf(e->why, sizeof(e->why), "no server of the service is up");
		return;
	}
	e->server = tg_select_consistent(group, tg_select_flow_hash(&p->key));
	snprintf(e->why, sizeof(e->why),
		 "no entry: a first packet is placed by policy %s; a packet from the middle of a connection goes to "
		 "this server by consistent hash",
		 tg_policy(g->snapshot->service[e->service]->policy)->name);
}

/* Is the way to the server open? */
static void explain_route(struct tg_gateway *g, struct tg_explanation *e)
{
	const struct tg_route *r = &g->snapshot->route[e->server];

	if (g->mode != TG_MODE_INLINE ||
	    (r->mac != NULL && (__atomic_load_n(r->mac, __ATOMIC_RELAXED) & TG_MAC_VALID)))
		return;
	e->drop = TG_DROP_NO_ROUTE;
	snprintf(e->why, sizeof(e->why),
		 "the next hop's link address is not known: it does not answer ARP or neighbour solicitations on port "
		 "\"%s\"; see neighbour list",
		 g->ports[r->out_port].name);
}

/* The drop that its reason's own text explains. */
static int dropped(struct tg_explanation *out, enum tg_reason why)
{
	out->drop = why;
	snprintf(out->why, sizeof(out->why), "%s", tg_reason_text(why));
	return 0;
}

/* From its service on. */
static int explain_packet(struct tg_gateway *g, struct tg_pkt *p, struct tg_explanation *out,
			  char *err, size_t err_len)
{
	bool is_vip;
	int r;

	out->service = tg_service_find(g->snapshot->services, p, &is_vip);
	if (out->service == TG_NO_SERVICE)
		return dropped(out, tg_service_refusal(p, is_vip));
	p->key.service = out->service;
	if (g->stopped)
		return dropped(out, TG_DROP_STOPPED);
	if (g->snapshot->guard[out->service] != NULL &&
	    !tg_guard_allows(g->snapshot->guard[out->service], &p->key.client))
		return dropped(out, TG_DROP_ACCESS);
	r = ask_workers(g, &p->key, out);
	if (r != 0) {
		snprintf(err, err_len, "a worker does not answer");
		return r;
	}
	if (out->entry)
		explain_entry(g, out);
	else
		explain_next(g, p, out);
	if (out->server != TG_NO_SERVER)
		explain_route(g, out);
	if (out->server != TG_NO_SERVER && out->drop == TG_DROP_NONE && g->mode == TG_MODE_INLINE &&
	    p->ip_len > tg_encap_room(&g->snapshot->route[out->server]))
		return dropped(out, TG_DROP_TOO_BIG);
	if (out->server != TG_NO_SERVER && out->drop == TG_DROP_NONE &&
	    g->snapshot->service[out->service]->decrement_ttl && p->ttl <= 1)
		return dropped(out, TG_DROP_TTL);
	return 0;
}

static void begin(struct tg_explanation *out)
{
	memset(out, 0, sizeof(*out));
	out->service = TG_NO_SERVICE;
	out->server = TG_NO_SERVER;
}

int tg_explain(struct tg_gateway *g, const char *tuple, struct tg_explanation *out, char *err,
	       size_t err_len)
{
	struct tg_pkt p;
	int r = tg_tuple_parse(tuple, &p, err, err_len);

	begin(out);
	return r != 0 ? r : explain_packet(g, &p, out, err, err_len);
}

static int nibble(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c | 0x20);

	return at != NULL ? (int)(at - digits) : -1;
}

/* The bytes of a frame; -EINVAL. */
static int read_hex(const char *hex, uint8_t *frame, unsigned int room, unsigned int *len)
{
	*len = 0;
	for (; hex[0] != '\0'; hex += 2) {
		int high = nibble(hex[0]), low = high < 0 ? -1 : nibble(hex[1]);

		if (low < 0 || *len == room)
			return -EINVAL;
		frame[(*len)++] = (uint8_t)(high << 4 | low);
	}
	return *len > 0 ? 0 : -EINVAL;
}

/* What is answered, or read and done with, goes no further. */
static bool is_ours(const struct tg_gateway *g, unsigned int port, const struct tg_pkt *p,
		    struct tg_explanation *out)
{
	if (g->mode != TG_MODE_INLINE)
		return false;
	if ((p->flags & TG_PKT_PING) != 0 &&
	    tg_neigh_is_local(g->snapshot->local, &p->dst, (uint16_t)port)) {
		snprintf(out->why, sizeof(out->why),
			 "an echo request to an address of ours: answered, unless its service has "
			 "answer_ping false");
		return true;
	}
	if ((p->flags & (TG_PKT_ARP | TG_PKT_ND)) == 0)
		return false;
	snprintf(out->why, sizeof(out->why),
		 "ARP or neighbour discovery: answered if it asks for an address of ours, learnt from "
		 "if it tells of a next hop, else neighbour_consumed");
	return true;
}

int tg_explain_frame(struct tg_gateway *g, unsigned int port, const char *hex,
		     struct tg_explanation *out, char *err, size_t err_len)
{
	static struct tg_burst b; /* control's alone */
	uint8_t frame[TG_EXPLAIN_FRAME_MAX];
	struct rte_mbuf m = {.buf_addr = frame, .nb_segs = 1};
	unsigned int len;

	begin(out);
	if (read_hex(hex, frame, sizeof(frame), &len) != 0) {
		snprintf(err, err_len,
			 "a frame is wanted: its bytes as hexadecimal digits, from the destination "
			 "address on, at most %d (a captured frame's hex stream)",
			 TG_EXPLAIN_FRAME_MAX);
		return -EINVAL;
	}
	m.data_len = (uint16_t)len;
	m.pkt_len = len;
	b.n = 1;
	b.port = (uint16_t)port;
	b.mbuf[0] = &m;
	b.verdict[0] = TG_FORWARD;
	b.wire_len[0] = len;
	tg_parse_burst(&b);
	if (g->mode == TG_MODE_INLINE)
		tg_entrance(g->worker[0], &b);
	if (b.verdict[0] == TG_DROP)
		return dropped(out, b.reason[0]);
	return is_ours(g, port, &b.pkt[0], out) ? 0
						: explain_packet(g, &b.pkt[0], out, err, err_len);
}
