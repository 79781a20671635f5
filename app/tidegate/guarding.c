/* SPDX-License-Identifier: BSD-3-Clause */
#include "guarding.h"

#include <stdio.h>

#include "tg_guard.h"

#define CROWDED_S 30 /* as long as a UDP flow may pause by default */

/* A packet of a flow that has no entry: it costs the table a place, if there is a token for that. A flow
 * whose first packet got none went by the consistent hash; so does it when a later one gets a place. */
static void guard_unknown(const struct tg_worker *w, const struct tg_guard *g,
			  struct tg_guard_state *s, struct tg_burst *b, unsigned int i)
{
	if (!tg_guard_take(g, s, TG_GUARD_PACKETS, b->now))
		tg_drop(b, i, TG_DROP_PACKET_RATE);
	else if (!tg_guard_take(g, s, TG_GUARD_NEW_DROP, b->now))
		tg_drop(b, i, TG_DROP_NEW_RATE);
	else if (!tg_guard_take(g, s, TG_GUARD_NEW, b->now)) {
		b->pkt[i].flags |= TG_PKT_NO_ENTRY;
		s->crowded_until = b->now + tg_s_to_ticks(&w->clock, CROWDED_S);
	} else if (b->now < s->crowded_until)
		b->pkt[i].flags |= TG_PKT_BY_HASH;
}

static void drop_all(struct tg_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->verdict[i] == TG_FORWARD)
			tg_drop(b, i, TG_DROP_STOPPED);
}

/* The guard of a packet that goes on; NULL: there is none. Who is not let in is dropped. */
static const struct tg_guard *let_in(const struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	const struct tg_pkt *p = &b->pkt[i];
	const struct tg_guard *g;

	if (b->verdict[i] != TG_FORWARD || p->key.service >= w->snapshot->n_services)
		return NULL;
	g = w->snapshot->guard[p->key.service];
	/* an error's client is the flow's, its sender is not known here */
	if (g == NULL || (p->flags & TG_PKT_ICMP_ERROR) != 0 || tg_guard_allows(g, &p->key.client))
		return g;
	tg_drop(b, i, TG_DROP_ACCESS);
	return NULL;
}

void tg_guarding_released(struct tg_worker *w, struct tg_burst *b)
{
	if (unlikely(w->snapshot->stopped)) {
		drop_all(b);
		return;
	}
	for (unsigned int i = 0; i < b->n; i++)
		let_in(w, b, i);
}

void tg_guarding_burst(struct tg_worker *w, struct tg_burst *b)
{
	if (unlikely(w->snapshot->stopped)) {
		drop_all(b);
		return;
	}
	for (unsigned int i = 0; i < b->n; i++) {
		const struct tg_guard *g = let_in(w, b, i);
		struct tg_guard_state *s;

		if (g == NULL)
			continue;
		s = &w->guard[b->pkt[i].key.service];
		if (!tg_guard_take(g, s, TG_GUARD_PACKETS_DROP, b->now))
			tg_drop(b, i, TG_DROP_PACKET_RATE);
		else if (b->flow[i] == NULL)
			guard_unknown(w, g, s, b, i);
		else /* a known flow uses up what unknown ones may have, and is never refused for it */
			tg_guard_use(g, s, TG_GUARD_PACKETS, b->now);
	}
}

static void add_rules(json_t *list, const struct tg_config_service *v)
{
	for (unsigned int i = 0; i < v->guard.n_rules; i++) {
		const struct tg_guard_rule *r = &v->guard.rules[i];
		bool v4 = tg_addr_is_v4(&r->prefix.addr) && r->prefix.len >= 96;
		char text[TG_ADDR_STRLEN], prefix[TG_ADDR_STRLEN + 8];

		snprintf(prefix, sizeof(prefix), "%s/%d",
			 tg_addr_format(&r->prefix.addr, text, sizeof(text)),
			 r->prefix.len - (v4 ? 96 : 0));
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s}", "service", v->name, "prefix",
						prefix, "action", r->deny ? "deny" : "allow"));
	}
}

json_t *tg_guarding_access_json(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	const struct tg_snapshot *s = g->snapshot;
	json_t *list;

	if (args[0] != NULL && tg_snapshot_service(s, args[0]) == TG_NO_SERVICE) {
		snprintf(err, err_len, "no service \"%s\"", args[0]);
		return NULL;
	}
	list = json_array();
	for (unsigned int i = 0; i < s->n_services; i++)
		if (s->service[i] != NULL &&
		    (args[0] == NULL || i == tg_snapshot_service(s, args[0])))
			add_rules(list, s->service[i]);
	return list;
}

/* All workers'. */
static json_int_t over(const struct tg_gateway *g, unsigned int service, enum tg_guard_limit k)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < g->n_workers; i++)
		n += tg_stat_read(&g->worker[i]->guard[service].over[k]);
	return (json_int_t)n;
}

json_t *tg_guarding_limits_json(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	const struct tg_snapshot *s = g->snapshot;
	json_t *list = json_array();

	(void)args, (void)err, (void)err_len;
	for (unsigned int i = 0; i < s->n_services; i++) {
		const struct tg_guard_params *p;

		if (s->service[i] == NULL || s->guard[i] == NULL)
			continue;
		p = &s->service[i]->guard;
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "service",
					s->service[i]->name, "new_per_s", (json_int_t)p->new_per_s,
					"without_entry", over(g, i, TG_GUARD_NEW), "new_drop_per_s",
					(json_int_t)p->new_drop_per_s, "new_dropped",
					over(g, i, TG_GUARD_NEW_DROP), "packets_per_s",
					(json_int_t)p->packets_per_s, "unknown_dropped",
					over(g, i, TG_GUARD_PACKETS), "packets_drop_per_s",
					(json_int_t)p->packets_drop_per_s, "packets_dropped",
					over(g, i, TG_GUARD_PACKETS_DROP)));
	}
	return list;
}
