/* SPDX-License-Identifier: BSD-3-Clause */
/* One datagram asks, one or several answer. Neither is repeated: a lost one is the time-out's matter. */
#include <stddef.h>

#include "client_group.h"
#include "end.h"

#define DATAGRAM_MAX 1472u

/* Of an answer: one a write, more where they would not fit. */
static uint32_t datagrams(const struct tg_request *r)
{
	uint32_t fit = (r->answer_bytes + DATAGRAM_MAX - 1) / DATAGRAM_MAX;

	return r->writes > fit ? r->writes : fit;
}

static struct tg_sim_packet *packet(struct tg_connection *c, uint64_t number, uint32_t bytes,
				    bool to_server, uint16_t server, uint64_t now)
{
	struct tg_sim_packet *p = tg_sim_packet_new(c->sim, c);

	p->sent = now;
	p->to_server = to_server;
	p->server = server;
	p->seq = (uint32_t)number;
	p->payload = (uint16_t)(bytes < DATAGRAM_MAX ? bytes : DATAGRAM_MAX);
	p->first_byte = (uint8_t)(p->seq * UINT32_C(2654435761) >> 24); /* DNS: an id */
	p->third_byte = 1;                                              /* .. and RD */
	return p;
}

static struct tg_request *find(const struct tg_connection *c, uint32_t number)
{
	struct tg_request *r = c->first;

	while (r != NULL && (uint32_t)r->end != number)
		r = r->next;
	return r;
}

/* `end` is the request's number, `answer_end` how many datagrams of the answer are to come. */
void tg_datagram_ask(struct tg_connection *c, struct tg_request *r, uint64_t now)
{
	r->end = c->asked_end++;
	r->answer_end = datagrams(r);
	r->sent = now;
	tg_wire_send(c, packet(c, r->end, r->bytes, true, 0, now));
}

void tg_datagram_at_server(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	const struct tg_request *r = find(c, p->seq);

	if (c->sim->station[p->server].state == TG_STATION_REFUSES) {
		/* ICMP port unreachable, in a RST's place */
		struct tg_sim_packet *no = packet(c, p->seq, 0, false, p->server, now);

		no->tcp_flags = TG_TCP_RST;
		tg_wire_send(c, no);
	} else if (r != NULL) {
		tg_job_submit(c, NULL, r, p->server, now);
	}
}

static void more(struct tg_event *event, uint64_t now)
{
	struct tg_request *r = (struct tg_request *)((char *)event -
						     offsetof(struct tg_request, event));

	tg_datagram_answer((struct tg_job *)((char *)r - offsetof(struct tg_job, request)), now);
}

void tg_datagram_answer(struct tg_job *j, uint64_t now)
{
	struct tg_request *r = &j->request;
	struct tg_connection *c = r->connection;
	uint32_t n = datagrams(r);

	do {
		uint64_t before = (uint64_t)r->answer_bytes * j->written / n;
		uint64_t after = (uint64_t)r->answer_bytes * ++j->written / n;

		tg_wire_send(c,
			     packet(c, r->end, (uint32_t)(after - before), false, r->station, now));
	} while (j->written < n && r->write_gap_ns == 0);
	if (j->written == n) {
		tg_job_free(j);
		return;
	}
	r->event.fire = more;
	tg_event_at(c->sim->events, &r->event, now + r->write_gap_ns);
}

void tg_datagram_at_client(struct tg_connection *c, const struct tg_sim_packet *p, uint64_t now)
{
	struct tg_request *r = find(c, p->seq);

	if (p->tcp_flags & TG_TCP_RST) {
		if (!c->closed)
			tg_connection_broken(c, now);
	} else if (r != NULL && --r->answer_end == 0) {
		tg_connection_answered(c, r, now);
	}
}
