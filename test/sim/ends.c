/* SPDX-License-Identifier: BSD-3-Clause */
#include "ends.h"

#include <string.h>

struct ends ends;

void ends_begin(uint64_t seed)
{
	memset(&ends, 0, sizeof(ends));
	ends.sim.seed = seed;
	ends.sim.events = tg_events_create();
	ends.sim.station = ends.station;
	ends.way = 100 * US;
	tg_random_init(&ends.random, seed, 0, "test", 0);
	for (uint16_t i = 0; i < SERVERS; i++) {
		ends.params[i] = (struct tg_station_params){.workers = 1};
		ends.params[i].service_us.mean = 5000;
		tg_station_init(&ends.station[i], &ends.sim, &ends.params[i], i);
		ends.station[i].done = tg_connection_request_done;
	}
}

void ends_run(uint64_t until)
{
	while (tg_events_step(ends.sim.events, until))
		;
}

void ends_over(void)
{
	for (uint16_t i = 0; i < SERVERS; i++)
		tg_station_free(&ends.station[i]);
	tg_sim_packets_free(&ends.sim);
	tg_events_free(ends.sim.events);
}

static struct tg_sim_packet *packet_of(struct tg_event *e)
{
	return (struct tg_sim_packet *)((char *)e - offsetof(struct tg_sim_packet, event));
}

static void at_server(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);

	p->server = ends.route;
	if (ends.station[p->server].state == TG_STATION_DOWN)
		tg_sim_packet_free(&ends.sim, p);
	else
		tg_connection_at_server(p->connection, p, now);
}

static void at_client(struct tg_event *e, uint64_t now)
{
	struct tg_sim_packet *p = packet_of(e);

	tg_connection_at_client(p->connection, p, now);
}

static void carry(struct tg_sim *s, struct tg_sim_packet *p,
		  void (*arrives)(struct tg_event *e, uint64_t now))
{
	uint64_t now = tg_events_now(s->events), way = ends.way;
	unsigned int number = ends.n++;
	bool lost = ends.lose != NULL && ends.lose(p, number);

	if (ends.loss > 0 && tg_random_uniform(&ends.random) < ends.loss)
		lost = true;
	if (ends.jitter > 0)
		way += (uint64_t)(ends.jitter * tg_random_uniform(&ends.random));
	if (ends.hold != NULL)
		way += ends.hold(p, number);
	if (number < LOG)
		ends.log[number] = (struct seen){.at = now,
						 .p = *p,
						 .lost = lost,
						 .data = tg_wire_data(p),
						 .port = p->connection->client_port};
	if (lost) {
		tg_sim_packet_free(s, p);
		return;
	}
	p->event.fire = arrives;
	tg_event_at(s->events, &p->event, now + way);
}

void tg_network_to_service(struct tg_sim *s, struct tg_sim_packet *p)
{
	carry(s, p, at_server);
}

void tg_network_to_client(struct tg_sim *s, struct tg_sim_packet *p)
{
	if (s->station[p->server].state == TG_STATION_DOWN)
		tg_sim_packet_free(s, p);
	else
		carry(s, p, at_client);
}

void tg_results_answered(struct tg_results *r, const struct tg_request *q)
{
	(void)r;
	ends.results_answered++;
	ends.last = *q;
	if (q->id == ends.want)
		ends.wanted = *q;
}

void tg_results_failed(struct tg_results *r, const struct tg_request *q)
{
	(void)r;
	(void)q;
	ends.results_failed++;
}
