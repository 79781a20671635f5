/* SPDX-License-Identifier: BSD-3-Clause */
#include "ends_client.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct tg_group group;
struct tg_group_params params;
static struct tg_client *client;
struct tg_request request[64];
unsigned int answered[64], n_answered, n_broken;
uint64_t last_answer;
static uint64_t next_id;

void tg_client_answered(struct tg_client *u, struct tg_connection *c, struct tg_request *r,
			uint64_t now)
{
	(void)u;
	(void)c;
	answered[n_answered++] = (unsigned int)r->id;
	last_answer = now;
}

void tg_client_broken(struct tg_client *u, struct tg_connection *c, uint64_t now)
{
	(void)u;
	(void)c;
	(void)now;
	n_broken++;
}

void begin(void)
{
	struct tg_random from;

	ends_begin(7);
	memset(&group, 0, sizeof(group));
	memset(&params, 0, sizeof(params));
	params.tcp = (struct tg_tcp_params){
		.mss = 1448,
		.initial_window = 10,
		.receive_window = 1 << 20,
		.timestamps = true,
		.tick_us = 1000,
		.delayed_ack_ms = 40,
		.quick_acks = 16,
		.rto_min_ms = 200,
		.syn_rto_ms = 1000,
	};
	params.server_tcp = params.tcp;
	group.sim = &ends.sim;
	group.params = &params;
	tg_pool_init(&group.connections, sizeof(struct tg_connection));
	tg_pool_init(&group.ends, sizeof(struct tg_end));
	tg_pool_init(&group.ranges, sizeof(struct tg_ranges));
	tg_pool_init(&group.jobs, sizeof(struct tg_job));
	tg_random_init(&from, 1, 0, "ports", 0);
	ck_assert_int_eq(tg_ports_init(&group.ports, 1, &from), 0);
	client = calloc(1, sizeof(*client));
	client->group = &group;
	n_answered = n_broken = 0;
	next_id = 0;
	last_answer = 0;
}

/* Everything that was open is gone, but what `left` says. */
void over(uint64_t left)
{
	ck_assert_uint_eq(group.connections.live, left);
	ck_assert_uint_eq(group.jobs.live, 0);
	if (left == 0) {
		ck_assert_uint_eq(group.ends.live, 0);
		ck_assert_uint_eq(group.ranges.live, 0);
		ck_assert_uint_eq(ends.sim.in_flight, 0);
	}
	ends_over();
	tg_pool_free(&group.connections);
	tg_pool_free(&group.ends);
	tg_pool_free(&group.ranges);
	tg_pool_free(&group.jobs);
	tg_ports_free(&group.ports);
	free(client);
}

struct tg_connection *connect_as(enum tg_traffic traffic)
{
	return tg_connection_open(client, traffic, 0, tg_ports_next(&group.ports, 0), 0);
}

void ask(struct tg_connection *c, uint32_t bytes, uint32_t answer, double work_us)
{
	struct tg_request *r = &request[next_id % 64];

	*r = (struct tg_request){.id = next_id++,
				 .bytes = bytes,
				 .answer_bytes = answer,
				 .work_us = work_us,
				 .writes = 1};
	tg_connection_ask(c, r, tg_events_now(ends.sim.events));
}

struct tg_request *last_asked(void)
{
	return &request[(next_id - 1) % 64];
}

/* A packet of the log, as sent: when, from whom, flags, data. */
void expect(unsigned int i, uint64_t at, bool to_server, unsigned int flags, uint32_t data)
{
	const struct seen *s = &ends.log[i];

	ck_assert_msg(i < ends.n, "no packet %u", i);
	ck_assert_msg(s->at == at && s->p.to_server == to_server && s->p.tcp_flags == flags &&
			      s->data == data,
		      "packet %u: at %lu to_server %d flags %u data %u, expected %lu %d %u %u", i,
		      s->at, s->p.to_server, s->p.tcp_flags, s->data, at, to_server, flags, data);
}
