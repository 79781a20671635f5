/* SPDX-License-Identifier: BSD-3-Clause */
/* One replication: its parts are made, warmed up, looked at for the duration, and freed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/sim_gateway.h"
#include "sim.h"

#define TELL_EVERY 65536 /* events */

static uint64_t ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

static void make_links(struct tg_sim *s)
{
	const struct tg_scenario *sc = s->scenario;

	for (uint32_t i = 0; i < sc->n_groups; i++) {
		tg_link_init(&s->to_gateway[i], &sc->group[i].to_gateway, s->seed, s->replication,
			     "to gateway", i);
		tg_link_init(&s->from_server[i], &sc->group[i].from_server, s->seed, s->replication,
			     "from server", i);
	}
	for (uint32_t i = 0; i < sc->n_servers; i++) {
		tg_link_init(&s->server_in[i], &sc->server[i].in, s->seed, s->replication,
			     "server in", i);
		tg_link_init(&s->server_out[i], &sc->server[i].out, s->seed, s->replication,
			     "server out", i);
	}
}

static int make_memory(struct tg_sim *s)
{
	const struct tg_scenario *sc = s->scenario;

	s->events = tg_events_create();
	s->station = calloc(sc->n_servers, sizeof(*s->station));
	s->server_in = calloc(sc->n_servers, sizeof(*s->server_in));
	s->server_out = calloc(sc->n_servers, sizeof(*s->server_out));
	s->to_gateway = calloc(sc->n_groups, sizeof(*s->to_gateway));
	s->from_server = calloc(sc->n_groups, sizeof(*s->from_server));
	s->group = calloc(sc->n_groups, sizeof(struct tg_group *));
	s->gateway = calloc(sc->n_gateways, sizeof(struct tg_sim_gateway *));
	return s->events != NULL && s->station != NULL && s->server_in != NULL &&
			       s->server_out != NULL && s->to_gateway != NULL &&
			       s->from_server != NULL && s->group != NULL && s->gateway != NULL
		       ? 0
		       : -ENOMEM;
}

static int make(struct tg_sim *s, char *err, size_t err_len)
{
	const struct tg_scenario *sc = s->scenario;
	int rc = make_memory(s);

	snprintf(err, err_len, "not enough memory for the scenario's parts");
	if (rc != 0)
		return rc;
	make_links(s);
	for (uint32_t i = 0; i < sc->n_servers; i++) {
		tg_station_init(&s->station[i], s, &sc->server[i].station, (uint16_t)i);
		s->station[i].done = tg_connection_request_done;
	}
	s->results = tg_results_create(s);
	if (s->results == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->n_gateways; i++) {
		rc = tg_sim_gateway_create(s, i, &s->gateway[i], err, err_len);
		if (rc != 0)
			return rc;
	}
	for (uint32_t i = 0; i < sc->n_groups; i++) {
		s->group[i] = tg_group_create(s, &sc->group[i], (uint16_t)i);
		if (s->group[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* Gateways first: packets that they hold go back to connections. Then stations: what they serve
 * belongs to connections, and these to groups. Packets on their way go last, and at once. */
static void unmake(struct tg_sim *s)
{
	const struct tg_scenario *sc = s->scenario;

	for (uint32_t i = 0; s->gateway != NULL && i < sc->n_gateways; i++)
		tg_sim_gateway_free(s->gateway[i]);
	for (uint32_t i = 0; s->station != NULL && i < sc->n_servers; i++)
		tg_station_free(&s->station[i]);
	for (uint32_t i = 0; s->group != NULL && i < sc->n_groups; i++)
		if (s->group[i] != NULL)
			tg_group_free(s->group[i]);
	tg_sim_packets_free(s);
	tg_results_free(s->results);
	free(s->gateway);
	free(s->group);
	free(s->from_server);
	free(s->to_gateway);
	free(s->server_out);
	free(s->server_in);
	free(s->station);
	if (s->events != NULL)
		tg_events_free(s->events);
}

/* The warm-up ends: what was counted so far is forgotten, everything else goes on. */
static void begin(struct tg_sim *s, uint64_t now)
{
	for (uint32_t i = 0; i < s->scenario->n_servers; i++)
		tg_station_begin(&s->station[i], now);
	for (uint32_t i = 0; i < s->scenario->n_groups; i++)
		tg_group_begin(s->group[i], now);
	for (uint32_t i = 0; i < s->scenario->n_gateways; i++)
		tg_sim_gateway_begin(s->gateway[i]);
	tg_results_begin(s->results, now);
}

/* False: told to stop. */
static bool run_until(struct tg_sim *s, uint64_t until, tg_run_tell *tell, void *context)
{
	for (unsigned int n = 1; tg_events_step(s->events, until); n++)
		if (n % TELL_EVERY == 0 && tell != NULL && !tell(context, s))
			return false;
	return true;
}

static int run(struct tg_sim *s, tg_run_tell *tell, void *context, json_t **result)
{
	uint64_t warm = ns(s->scenario->warmup_s), end = warm + ns(s->scenario->duration_s);

	if (!run_until(s, warm, tell, context))
		return -ECANCELED;
	begin(s, warm);
	if (!run_until(s, end, tell, context))
		return -ECANCELED;
	for (uint32_t i = 0; i < s->scenario->n_servers; i++)
		tg_station_count(&s->station[i], end);
	*result = tg_results_json(s->results, s, end);
	return *result == NULL ? -ENOMEM : 0;
}

int tg_sim_run(const struct tg_scenario *sc, uint32_t replication, tg_run_tell *tell, void *context,
	       json_t **result, uint64_t *packets, char *err, size_t err_len)
{
	struct tg_sim s = {.scenario = sc, .seed = sc->seed, .replication = replication};
	int rc = make(&s, err, err_len);

	*result = NULL;
	if (rc == 0) {
		rc = run(&s, tell, context, result);
		snprintf(err, err_len, "%s",
			 rc == -ECANCELED ? "interrupted" : "not enough memory for the results");
	}
	*packets = s.packets;
	unmake(&s);
	return rc;
}
