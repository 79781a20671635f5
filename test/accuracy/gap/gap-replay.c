/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of one flow through the gap rules, by their time and size alone.
 *
 *	gap-replay --capture FILE CLIENT PORT SERVER PORT
 *	gap-replay < TRACE        lines of "nanoseconds bytes protocol", in order
 *
 * Only packets from the client to the server are looked at. Prints one JSON object: for each rule the
 * estimate in ms (null: none). For the envelope rule: of the whole flow at its end, with what it rests
 * on, and of the epochs of good confidence, which is what the gateway may publish.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "gap_envelope.h"
#include "link.h"
#include "tg_parse.h"

#define ROOM 65600

/* The published rule as it is read by sum and by its top mode, and the envelope rule, side by side. */
struct rules {
	struct tg_pirate_config sum, top, envelope;
	struct tg_gap_near sum_near, top_near;
	struct tg_gap_far sum_far, top_far;
	struct tg_envelope_near near;
	struct tg_envelope_far far;
	double sum_time, top_time, good_time;    /* ticks, weighted */
	double sum_count, top_count, good_count; /* exchanges */
	uint64_t *gaps, before;                  /* all gaps, for the idle cut */
	size_t n_gaps, packets;
};

static void start(struct rules *r)
{
	struct tg_clock clock = tg_clock_init(1000000000);
	struct tg_pirate_params params = {TG_ESTIMATOR_GAP, TG_GAP_MODE_SUM};

	memset(r, 0, sizeof(*r));
	r->sum = tg_pirate_compile(&params, &clock);
	params.gap_rule = TG_GAP_TOP_MODE;
	r->top = tg_pirate_compile(&params, &clock);
	params.gap_rule = TG_GAP_ENVELOPE;
	r->envelope = tg_pirate_compile(&params, &clock);
}

static void add(double *time, double *count, bool closed, const struct tg_sample *s)
{
	if (!closed)
		return;
	*time += (double)s->latency * s->count;
	*count += s->count;
}

static int keep_gap(struct rules *r, uint64_t now)
{
	if (r->packets != 0 && now > r->before) {
		if ((r->n_gaps & (r->n_gaps + 1)) == 0) {
			size_t room = (r->n_gaps + 1) * 2;
			uint64_t *more = realloc(r->gaps, room * sizeof(*more));

			if (more == NULL)
				return -1;
			r->gaps = more;
		}
		r->gaps[r->n_gaps++] = now - r->before;
	}
	r->packets++;
	r->before = now;
	return 0;
}

static int feed(struct rules *r, const struct tg_pkt *p, uint64_t now)
{
	struct tg_sample s;

	add(&r->sum_time, &r->sum_count, tg_gap_arrive(&r->sum, &r->sum_near, &r->sum_far, now, &s),
	    &s);
	tg_gap_depart(&r->sum, &r->sum_near, &r->sum_far, now);
	add(&r->top_time, &r->top_count, tg_gap_arrive(&r->top, &r->top_near, &r->top_far, now, &s),
	    &s);
	tg_gap_depart(&r->top, &r->top_near, &r->top_far, now);
	add(&r->good_time, &r->good_count,
	    tg_envelope_arrive(&r->envelope, NULL, &r->near, &r->far, &s) &&
		    s.confidence == TG_CONFIDENCE_GOOD,
	    &s);
	tg_envelope_depart(&r->envelope, &r->near, &r->far, p, now);
	return keep_gap(r, now);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* The mean of the gaps up to eight times their median: what a fixed rule of thumb gives. */
static double idle_cut(struct rules *r)
{
	double sum = 0;
	size_t n = 0;

	if (r->n_gaps == 0)
		return 0;
	qsort(r->gaps, r->n_gaps, sizeof(r->gaps[0]), by_size);
	for (; n < r->n_gaps && r->gaps[n] <= 8 * r->gaps[r->n_gaps / 2]; n++)
		sum += (double)r->gaps[n];
	return sum / (double)n;
}

static void print_ms(const char *name, double ticks)
{
	if (ticks > 0)
		printf("\"%s\":%.6f,", name, ticks / 1e6);
	else
		printf("\"%s\":null,", name);
}

static void finish(struct rules *r)
{
	struct tg_envelope_estimate e;
	struct tg_sample s;
	bool found = tg_envelope_estimate(&r->envelope, &r->near, &r->far, 0, &e);

	add(&r->sum_time, &r->sum_count, tg_gap_finish(&r->sum, &r->sum_near, &r->sum_far, &s), &s);
	add(&r->top_time, &r->top_count, tg_gap_finish(&r->top, &r->top_near, &r->top_far, &s), &s);
	add(&r->good_time, &r->good_count,
	    tg_envelope_close(&r->envelope, NULL, &r->near, &r->far, &s) &&
		    s.confidence == TG_CONFIDENCE_GOOD,
	    &s);
	putchar('{');
	print_ms("mode-sum", r->sum_count > 0 ? r->sum_time / r->sum_count : 0);
	print_ms("top-mode", r->top_count > 0 ? r->top_time / r->top_count : 0);
	print_ms("idle-cut", idle_cut(r));
	print_ms("good-epochs", r->good_count > 0 ? r->good_time / r->good_count : 0);
	print_ms("envelope", found ? (double)e.mean : 0);
	print_ms("envelope-median", found ? (double)e.median : 0);
	printf("\"packets\":%zu,\"limit\":%u,\"floor\":%.6f,\"kind\":\"%c\",\"confidence\":%u,"
	       "\"samples\":%u,\"share\":%u,\"spread\":%.3f}\n",
	       r->packets, r->near.limit, (double)e.floor / 1e6, "AG"[e.kind], e.confidence,
	       e.samples, e.share, e.spread / 2048.0);
}

static int replay_trace(struct rules *r)
{
	struct tg_pkt p = {.key.protocol = 0};
	unsigned int size, protocol;
	uint64_t now;

	while (scanf("%" SCNu64 " %u %u", &now, &size, &protocol) == 3) {
		p.ip_len = (uint16_t)size;
		p.key.protocol = (uint8_t)protocol;
		if (feed(r, &p, now) < 0)
			return -1;
	}
	return 0;
}

static bool is_address(const struct tg_addr *a, bool v6, const char *text)
{
	char own[INET6_ADDRSTRLEN];
	const char *bytes = (const char *)a;

	/* IPv4 addresses are mapped into the last four bytes */
	inet_ntop(v6 ? AF_INET6 : AF_INET, v6 ? bytes : bytes + 12, own, sizeof(own));
	return strcmp(own, text) == 0;
}

static bool matches(const struct tg_pkt *p, char *argv[])
{
	bool v6 = (p->flags & TG_PKT_V6) != 0;

	return is_address(&p->key.client, v6, argv[0]) && is_address(&p->dst, v6, argv[2]) &&
	       ntohs(p->key.client_port) == atoi(argv[1]) &&
	       ntohs(p->key.service_port) == atoi(argv[3]);
}

static int replay_capture(struct rules *r, const char *path, char *argv[])
{
	static uint8_t frame[ROOM];
	char text[TG_CAPTURE_TEXT];
	struct tg_capture *capture;
	struct tg_link_result link;
	struct tg_frame f;
	struct tg_pkt p;
	int rc = tg_capture_open(path, &capture, text, sizeof(text));

	if (rc < 0) {
		fprintf(stderr, "%s\n", text);
		return rc;
	}
	while (rc == 0 && tg_capture_next(capture, &f) > 0) {
		if (tg_link_to_ethernet(&f, frame, sizeof(frame), &link) == 0 &&
		    tg_parse(frame, link.cap_len, link.wire_len, &p) == TG_DROP_NONE &&
		    matches(&p, argv))
			rc = feed(r, &p, f.time_ns);
	}
	tg_capture_close(capture);
	return rc;
}

int main(int argc, char *argv[])
{
	struct rules r;
	int rc;

	start(&r);
	if (argc == 7 && strcmp(argv[1], "--capture") == 0)
		rc = replay_capture(&r, argv[2], argv + 3);
	else if (argc == 1)
		rc = replay_trace(&r);
	else
		rc = -1;
	if (rc == 0)
		finish(&r);
	else
		fprintf(stderr, "usage: gap-replay [--capture FILE CLIENT PORT SERVER PORT]\n");
	free(r.gaps);
	return rc == 0 ? 0 : 1;
}
