/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where everything went, from the start of the run: what was made is what arrived, was lost on a
 * link, was dropped by a queue or by the gateway, met nobody, or is still on its way.
 */
#include "gateway/sim_gateway.h"
#include "results/private.h"

struct links {
	uint64_t sent, lost, dropped, delivered;
};

static struct links add_links(const struct tg_link *l, uint32_t n)
{
	struct links sum = {0};

	for (uint32_t i = 0; i < n; i++) {
		sum.sent += l[i].sent;
		sum.lost += l[i].lost;
		sum.dropped += l[i].dropped;
		sum.delivered += l[i].delivered;
	}
	return sum;
}

static struct tg_sim_gateway_counts add_gateways(const struct tg_sim *s)
{
	struct tg_sim_gateway_counts sum = {0};

	for (uint32_t i = 0; i < s->scenario->n_gateways; i++) {
		struct tg_sim_gateway_counts c = tg_sim_gateway_counts(s->gateway[i]);

		sum.in += c.in;
		sum.missed += c.missed;
		sum.out += c.out;
		sum.dropped += c.dropped;
		sum.inside += c.inside;
	}
	return sum;
}

static json_t *packets_json(const struct tg_sim *s)
{
	const struct tg_scenario *sc = s->scenario;
	struct tg_sim_gateway_counts g = add_gateways(s);
	struct links up = add_links(s->to_gateway, sc->n_groups);
	struct links in = add_links(s->server_in, sc->n_servers);
	struct links out = add_links(s->server_out, sc->n_servers);
	struct links down = add_links(s->from_server, sc->n_groups);
	uint64_t arrived = in.delivered - s->passed_on + down.delivered;
	uint64_t lost = up.lost + in.lost + out.lost + down.lost;
	uint64_t dropped = up.dropped + in.dropped + out.dropped + down.dropped;
	/* sent by a server that was down already: given to no link */
	uint64_t unsent = s->packets - up.sent - out.sent;
	bool balanced = unsent <= s->vanished && up.delivered == g.in + s->unrouted &&
			g.in == g.missed + g.out + g.dropped + g.inside &&
			g.out + s->passed_on == in.sent && out.delivered == down.sent &&
			s->packets == arrived + lost + dropped + s->unrouted + g.missed +
					      g.dropped + unsent + s->in_flight;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "made",
			 (json_int_t)s->packets, "arrived", (json_int_t)arrived, "lost",
			 (json_int_t)lost, "queue_full", (json_int_t)dropped, "no_gateway",
			 (json_int_t)s->unrouted, "gateway_missed", (json_int_t)g.missed,
			 "gateway_dropped", (json_int_t)g.dropped, "server_down",
			 (json_int_t)unsent, "passed_on", (json_int_t)s->passed_on, "under_way",
			 (json_int_t)s->in_flight, "balanced", (int)balanced);
}

static json_t *requests_json(const struct tg_sim *s)
{
	uint64_t asked = 0, answered = 0, failed = 0, open = 0;

	for (uint32_t i = 0; i < s->scenario->n_groups; i++) {
		struct tg_group_counts c = tg_group_counts(s->group[i]);

		asked += c.asked;
		answered += c.answered;
		failed += c.failed;
		open += c.open;
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:b}", "asked", (json_int_t)asked, "answered",
			 (json_int_t)answered, "failed", (json_int_t)failed, "open",
			 (json_int_t)open, "balanced", (int)(asked == answered + failed + open));
}

json_t *tg_conservation_json(const struct tg_sim *s)
{
	return json_pack("{s:o, s:o}", "packets", packets_json(s), "requests", requests_json(s));
}
