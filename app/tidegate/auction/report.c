/* SPDX-License-Identifier: BSD-3-Clause */
#include "auction/report.h"

#include "auction/auction.h"
#include "tg_telemetry.h"

#define PAGE 16 /* servers a reply: a row has up to 9 numbers */

/* X(field, name): of a service, of a server, of a worker */
#define SERVICE(X)                            \
	X(auctions, "auctions")               \
	X(decided, "decided")                 \
	X(all_in, "all_in")                   \
	X(at_window, "at_window")             \
	X(after_window, "after_window")       \
	X(nobody, "nobody")                   \
	X(refused, "all_refused")             \
	X(repeated, "syns_repeated")          \
	X(renewed, "syns_renewed")            \
	X(over_rate, "fallback_rate")         \
	X(over_auctions, "fallback_auctions") \
	X(nobody_to_ask, "fallback_no_bidder")
#define SERVER(X)               \
	X(asked, "asked")       \
	X(won, "won")           \
	X(missed, "missed")     \
	X(plain, "without_bid") \
	X(refused, "refused")   \
	X(late, "late_answers") \
	X(resets, "resets")
#define WORKER(X)                         \
	X(with_data, "fallback_data")     \
	X(uncopied, "no_buffer")          \
	X(resets, "resets")               \
	X(to_client, "to_client_packets") \
	X(swallowed, "swallowed_packets") \
	X(gone, "clients_reset")

static uint64_t service_open(const struct tg_gateway *g, uint16_t id)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const struct tg_bid_service *s = tg_auction_service(g->worker[w], id);

		n += s != NULL ? __atomic_load_n(&s->open, __ATOMIC_RELAXED) : 0;
	}
	return n;
}

/* Sums a counter that stands `at` bytes from the beginning of what `of` gives for id. */
static uint64_t sum(const struct tg_gateway *g,
		    const void *(*of)(const struct tg_worker *, uint16_t), uint16_t id, size_t at)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < g->n_workers; w++) {
		const char *base = of(g->worker[w], id);

		n += base != NULL ? tg_stat_read((const uint64_t *)(const void *)(base + at)) : 0;
	}
	return n;
}

static const void *of_service(const struct tg_worker *w, uint16_t id)
{
	return tg_auction_service(w, id);
}

static const void *of_server(const struct tg_worker *w, uint16_t id)
{
	return tg_auction_server(w, id);
}

static const void *of_worker(const struct tg_worker *w, uint16_t id)
{
	(void)id;
	return tg_auction_stats(w);
}

struct counter {
	const char *name;
	size_t at;
};

#define ROW_SERVICE(field, name) {name, offsetof(struct tg_bid_service, field)},
#define ROW_SERVER(field, name)  {name, offsetof(struct tg_bid_server, field)},
#define ROW_WORKER(field, name)  {name, offsetof(struct tg_auction_stats, field)},

static const struct counter service_counters[] = {SERVICE(ROW_SERVICE)};
static const struct counter server_counters[] = {SERVER(ROW_SERVER)};
static const struct counter worker_counters[] = {WORKER(ROW_WORKER)};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool has_bids(const struct tg_gateway *g, unsigned int service)
{
	return g->snapshot->service[service] != NULL && g->snapshot->bid[service] != NULL;
}

static json_t *server_json(const struct tg_gateway *g, uint16_t id)
{
	json_t *row = json_pack("{s:s}", "name", g->snapshot->server[id]->name);

	for (size_t k = 0; k < COUNT(server_counters); k++)
		json_object_set_new(row, server_counters[k].name,
				    json_integer((json_int_t)sum(g, of_server, id,
								 server_counters[k].at)));
	json_object_set_new(row, "last_bid_steps",
			    json_integer(tg_auction_server(g->worker[0], id)->steps));
	return row;
}

json_t *tg_auction_json(const struct tg_gateway *g)
{
	const struct tg_snapshot *s = g->snapshot;
	json_t *list = json_array();

	for (uint16_t i = 0; s->bids && i < s->n_services; i++) {
		json_t *row, *servers = json_array();

		if (!has_bids(g, i)) {
			json_decref(servers);
			continue;
		}
		row = json_pack("{s:s, s:I}", "name", s->service[i]->name, "open",
				(json_int_t)service_open(g, i));
		for (size_t k = 0; k < COUNT(service_counters); k++)
			json_object_set_new(row, service_counters[k].name,
					    json_integer((json_int_t)sum(g, of_service, i,
									 service_counters[k].at)));
		for (uint16_t e = 0; e < s->n_servers; e++)
			if (s->server[e] != NULL && s->service_of[e] == i)
				json_array_append_new(servers, server_json(g, e));
		json_object_set_new(row, "servers", servers);
		json_array_append_new(list, row);
	}
	return list;
}

void tg_auction_telemetry_all(const struct tg_gateway *g, struct rte_tel_data *d)
{
	uint64_t auctions = 0, open = 0;

	for (uint16_t i = 0; i < g->snapshot->n_services; i++) {
		auctions += sum(g, of_service, i, offsetof(struct tg_bid_service, auctions));
		open += service_open(g, i);
	}
	tg_tel_u64(d, "auctions", auctions);
	tg_tel_u64(d, "open", open);
	for (size_t k = 0; k < COUNT(worker_counters); k++)
		tg_tel_u64(d, worker_counters[k].name, sum(g, of_worker, 0, worker_counters[k].at));
}

void tg_auction_telemetry(const struct tg_gateway *g, uint16_t service, uint32_t from,
			  struct rte_tel_data *d)
{
	const struct tg_snapshot *s = g->snapshot;
	uint32_t seen = 0, shown = 0, next = 0;

	tg_tel_u64(d, "open", service_open(g, service));
	for (size_t k = 0; k < COUNT(service_counters); k++)
		tg_tel_u64(d, service_counters[k].name,
			   sum(g, of_service, service, service_counters[k].at));
	for (uint16_t e = 0; e < s->n_servers && next == 0; e++) {
		if (s->server[e] == NULL || s->service_of[e] != service || seen++ < from)
			continue;
		if (shown++ == PAGE) {
			next = seen - 1;
			break;
		}
		tg_tel_stringf(d, s->server[e]->name, "server_%u_name", e);
		for (size_t k = 0; k < COUNT(server_counters); k++)
			tg_tel_u64f(d, sum(g, of_server, e, server_counters[k].at), "server_%u_%s",
				    e, server_counters[k].name);
	}
	tg_tel_u64(d, "next", next);
}
