/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "tg_gate.h"
#include "unit.h"

/* Reproducible random numbers: xorshift64*. */
static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717u;
}

static uint64_t random_below(uint64_t n)
{
	return random_u64() % n;
}

static double random_unit(void)
{
	return (double)(random_u64() >> 11) * 0x1p-53;
}

/* Exponential with mean 1 from comparisons alone (von Neumann, "Various techniques used in
 * connection with random digits", 1951). */
static double random_exp(void)
{
	for (double whole = 0;; whole++) {
		double first = random_unit(), last = first, next;
		unsigned int run = 1;

		while ((next = random_unit()) < last) {
			last = next;
			run++;
		}
		if (run % 2 == 1)
			return whole + first;
	}
}

static const struct tg_clock *ghz(void) /* a tick is a nanosecond */
{
	static struct tg_clock c;

	c = tg_clock_init(1000000000);
	return &c;
}

static struct tg_gate_limit limit(uint32_t max_us, uint32_t margin_us, enum tg_gate_action action)
{
	struct tg_gate_params p = {.sojourn_max_us = max_us,
				   .margin_us = margin_us,
				   .action = action};

	return tg_gate_compile(&p, ghz());
}

START_TEST(compiles)
{
	struct tg_gate_params p = {.sojourn_max_us = 2000, .margin_us = 20, .action = TG_GATE_DROP};
	struct tg_clock odd = tg_clock_init(2445405000);
	struct tg_gate_limit l = tg_gate_compile(&p, &odd);

	ck_assert_uint_eq(l.max, 4890810);
	ck_assert_uint_eq(l.cut, 4841901); /* rounded down: strict */
	ck_assert_uint_eq(l.drop, l.cut);
	l = limit(0, 20, TG_GATE_DROP);
	ck_assert_uint_eq(l.cut, UINT64_MAX);
	ck_assert_uint_eq(l.drop, UINT64_MAX);
	ck_assert_uint_eq(l.max, UINT64_MAX);
	l = limit(100, 20, TG_GATE_SHADOW);
	ck_assert_uint_eq(l.cut, 80000);
	ck_assert_uint_eq(l.drop, UINT64_MAX);
	l = limit(100, 100, TG_GATE_DROP);
	ck_assert_uint_eq(l.cut, 0);
	l = limit(100, UINT32_MAX, TG_GATE_DROP);
	ck_assert_uint_eq(l.cut, 0);
	l = limit(UINT32_MAX, 0, TG_GATE_DROP);
	ck_assert_uint_eq(l.max, UINT64_C(4294967295000));
}
END_TEST

START_TEST(edge_of_the_cut)
{
	struct tg_gate_limit l = limit(100, 20, TG_GATE_DROP);

	ck_assert(!tg_gate_late(&l, 1000, 81000));
	ck_assert(tg_gate_late(&l, 1000, 81001));
	/* an arrival in the future is a sojourn of 0, not of 2^64 */
	ck_assert(!tg_gate_late(&l, 1000, 999));
	ck_assert_uint_eq(tg_gate_sojourn(1000, 999), 0);
	l = limit(0, 0, TG_GATE_DROP);
	ck_assert(!tg_gate_late(&l, 0, UINT64_MAX));
}
END_TEST

/* A port of 1 Gbit/s: a byte takes 8 ns; a frame of 976 bytes and 24 between frames 8 us. */
START_TEST(wire_bounds_the_last_bit)
{
	struct tg_gate_limit l = limit(100, 0, TG_GATE_DROP);
	static struct tg_gate_stats stats;
	struct tg_gate_wire wire;
	struct tg_gate_item items[32];
	uint16_t pass[32], late[32], n;

	tg_gate_wire_init(&wire, 1000, 1, ghz());
	for (unsigned int i = 0; i < 32; i++)
		items[i] = (struct tg_gate_item){.arrival = 1000, .polled = 1000, .bytes = 976};
	/* 100 us take 12 frames of 8 us (each rounded up by a tick), not 13 */
	n = tg_gate_check_wire(&l, &stats, &wire, items, 32, 1000, pass, late);
	ck_assert_uint_eq(n, 12);
	ck_assert_uint_eq(late[0], 12);
	ck_assert_uint_eq(stats.late_at[TG_GATE_WIRE], 20);
	ck_assert_uint_eq(stats.late_dropped, 20);
	/* what the driver did not take is not charged */
	tg_gate_wire_sent(&wire, items, pass, 5, 1000);
	ck_assert_uint_eq(wire.free, 1000 + 5 * 8001);
	n = tg_gate_check_wire(&l, &stats, &wire, items, 32, 2000, pass, late);
	ck_assert_uint_eq(n, 7);
	/* an idle wire owes nothing */
	n = tg_gate_check_wire(&l, &stats, &wire, items, 1, 1000 + 91000, pass, late);
	ck_assert_uint_eq(n, 1);
	n = tg_gate_check_wire(&l, &stats, &wire, items, 1, 1000 + 92001, pass, late);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(wire_shares_and_rates)
{
	struct tg_clock odd = tg_clock_init(2600000000);
	struct tg_gate_wire wire;

	tg_gate_wire_init(&wire, 0, 4, &odd);
	ck_assert_uint_eq(wire.byte, 0);
	tg_gate_wire_init(&wire, 10000, 4, &odd);
	ck_assert_uint_eq(wire.byte, (uint64_t)(2.6 * 0.8 * 4 * 1048576)); /* ticks a byte */
	tg_gate_wire_init(&wire, 1, 64, &odd);
	ck_assert_uint_gt(wire.byte, 0);
	tg_gate_wire_init(&wire, 10000000, 1, ghz());
	ck_assert_uint_gt(wire.byte, 0);
}
END_TEST

/* Arrivals of up to twice the line's rate, sent as the gate says over a line that is simulated apart:
 * the last bit of no packet leaves later than T - margin. The plain gate lets some through. */
START_TEST(nothing_is_late_on_the_wire)
{
	struct tg_gate_limit l = limit(200, 20, TG_GATE_DROP);
	static struct tg_gate_stats stats;
	struct tg_gate_wire wire;
	double busy[2] = {0, 0}; /* until when: behind the predictive gate, behind the plain one */
	uint64_t now = 1000000, late_on_wire[2] = {0, 0}, sent = 0;

	tg_gate_wire_init(&wire, 1000, 1, ghz());
	for (unsigned int round = 0; round < 20000; round++) {
		struct tg_gate_item items[32];
		uint16_t pass[32], late[32], n = (uint16_t)(1 + random_below(32)), np;

		now += random_below(n * 8000u);
		for (unsigned int i = 0; i < n; i++)
			items[i] = (struct tg_gate_item){.arrival = now - random_below(50000),
							 .polled = now,
							 .bytes = (uint32_t)(60 +
									     random_below(1440))};
		np = tg_gate_check_wire(&l, &stats, &wire, items, n, now, pass, late);
		tg_gate_wire_sent(&wire, items, pass, np, now);
		sent += np;
		for (unsigned int k = 0; k < 2; k++) {
			uint16_t m = k == 0 ? np
					    : tg_gate_check(&l, &stats, items, n, now, pass, late);

			busy[k] = busy[k] > (double)now ? busy[k] : (double)now;
			for (uint16_t i = 0; i < m; i++) {
				busy[k] += 8.0 * (items[pass[i]].bytes + 24);
				late_on_wire[k] += busy[k] - (double)items[pass[i]].arrival >
						   180000;
			}
		}
	}
	ck_assert_uint_gt(sent, 100000);
	ck_assert_uint_eq(late_on_wire[0], 0);
	ck_assert_uint_gt(late_on_wire[1], 1000);
}
END_TEST

START_TEST(blames_the_longest_wait)
{
	struct tg_gate_limit l[2] = {limit(10, 0, TG_GATE_DROP), limit(10, 0, TG_GATE_SHADOW)};
	static struct tg_gate_stats stats;
	uint64_t by_service[2 * TG_GATE_PLACES] = {0};
	struct tg_gate_item items[4] = {
		{.arrival = 0, .polled = 90000, .service = 0},
		{.arrival = 0, .polled = 10000, .service = 1},
		{.arrival = 0, .polled = 1000, .gated = 2000, .service = 1},
		{.arrival = 99000, .polled = 99500, .service = 1},
	};
	uint16_t pass[4], late[4];

	stats.late_service = by_service;
	ck_assert_uint_eq(tg_gate_check(l, &stats, items, 4, 100000, pass, late), 3);
	ck_assert_uint_eq(stats.late_at[TG_GATE_RING], 1);
	ck_assert_uint_eq(stats.late_at[TG_GATE_STAGES], 1);
	ck_assert_uint_eq(stats.late_at[TG_GATE_DRIVER], 1);
	ck_assert_uint_eq(stats.late_at[TG_GATE_WIRE], 0);
	ck_assert_uint_eq(by_service[TG_GATE_RING], 1);
	ck_assert_uint_eq(by_service[TG_GATE_PLACES + TG_GATE_STAGES], 1);
	ck_assert_uint_eq(by_service[TG_GATE_PLACES + TG_GATE_DRIVER], 1);
}
END_TEST

START_TEST(early_check)
{
	struct tg_gate_params p = {.sojourn_max_us = 10, .action = TG_GATE_DROP, .early = true};
	struct tg_gate_limit l[3];
	static struct tg_gate_stats stats;
	static struct tg_burst b;

	l[0] = tg_gate_compile(&p, ghz());
	p.early = false;
	l[1] = tg_gate_compile(&p, ghz());
	p.early = true;
	p.action = TG_GATE_SHADOW;
	l[2] = tg_gate_compile(&p, ghz());
	b.n = 6;
	b.now = 100000;
	for (unsigned int i = 0; i < b.n; i++) {
		b.arrival[i] = i == 3 ? 90000 : 80000;
		b.pkt[i].key.service = (uint16_t)(i < 3 ? i : 0);
	}
	b.pkt[4].key.service = TG_NO_SERVICE;
	tg_drop(&b, 5, TG_DROP_TTL);
	tg_gate_early(l, &stats, &b);
	ck_assert_uint_eq(b.verdict[0], TG_DROP);
	ck_assert_uint_eq(b.reason[0], TG_DROP_LATE);
	for (unsigned int i = 1; i < 5; i++)
		ck_assert_uint_eq(b.verdict[i], TG_FORWARD);
	ck_assert_uint_eq(b.reason[5], TG_DROP_TTL);
	ck_assert_uint_eq(stats.late_early, 1);
}
END_TEST

#define SERVICES 5

/* In loops plain tests stand for ck_assert: check makes a note to its parent each time. */

/* Whatever comes: each packet is in exactly one list, in order; none passes that was to be dropped. */
START_TEST(splits_every_burst)
{
	struct tg_gate_limit limits[SERVICES] = {limit(100, 20, TG_GATE_DROP),
						 limit(100, 20, TG_GATE_SHADOW),
						 limit(0, 0, TG_GATE_DROP),
						 limit(1, 1, TG_GATE_DROP),
						 limit(50, 0, TG_GATE_DROP)};
	static struct tg_gate_stats stats;
	uint64_t checked = 0, late_all = 0, dropped = 0;

	for (unsigned int round = 0; round < 20000; round++) {
		struct tg_gate_item items[64];
		uint16_t n = (uint16_t)random_below(65), pass[64], late[64], n_pass, p = 0, d = 0;
		uint64_t now = 1000000000 + random_below(1000000);

		for (unsigned int i = 0; i < n; i++) {
			items[i] = (struct tg_gate_item){
				.arrival = now + 5000 - random_below(150000),
				.service = (uint16_t)random_below(SERVICES + 1)};
			if (items[i].service == SERVICES)
				items[i].service = TG_NO_SERVICE;
		}
		n_pass = tg_gate_check(limits, &stats, items, n, now, pass, late);
		for (uint16_t i = 0; i < n; i++) {
			const struct tg_gate_limit *l = &limits[items[i].service % SERVICES];
			bool known = items[i].service != TG_NO_SERVICE;
			bool above = known && items[i].arrival < now && l->cut != UINT64_MAX &&
				     now - items[i].arrival > l->cut;
			bool drop = above && l->action == TG_GATE_DROP;

			late_all += above;
			dropped += drop;
			if ((drop ? late[d++] : pass[p++]) != i)
				ck_abort_msg("packet %u is not where it belongs", i);
		}
		if (p != n_pass || p + d != n)
			ck_abort_msg("%u + %u of %u, told %u", p, d, n, n_pass);
		checked += n;
	}
	ck_assert_uint_eq(stats.checked, checked);
	ck_assert_uint_eq(stats.late, late_all);
	ck_assert_uint_eq(stats.late_dropped, dropped);
	ck_assert_uint_gt(dropped, 0);
	ck_assert_uint_gt(late_all, dropped);
}
END_TEST

START_TEST(records_what_was_sent)
{
	struct tg_gate_limit limits[2] = {limit(100, 20, TG_GATE_DROP),
					  limit(100, 20, TG_GATE_SHADOW)};
	static struct tg_gate_stats stats;
	const uint64_t gate = 1000000;
	/* sojourns at the gate: 10 us twice, 79 us, 79 us in shadow, 90 us in shadow, no limit */
	struct tg_gate_item items[] = {{.arrival = gate - 10000, .service = 0},
				       {.arrival = gate - 90000, .service = 0},
				       {.arrival = gate - 10000, .service = 0},
				       {.arrival = gate - 79000, .service = 0},
				       {.arrival = gate - 79000, .service = 1},
				       {.arrival = gate - 90000, .service = 1},
				       {.arrival = gate - 300000, .service = TG_NO_SERVICE},
				       {.arrival = gate - 400000, .service = TG_NO_SERVICE}};
	uint16_t pass[8], late[8];

	ck_assert_uint_eq(tg_gate_check(limits, &stats, items, 8, gate, pass, late), 7);
	ck_assert_uint_eq(late[0], 1);
	tg_gate_sent(limits, &stats, ghz(), items, pass, 0, gate, gate);
	ck_assert_uint_eq(stats.sojourn.count, 0);
	/* above T - margin after tx, but not above T */
	tg_gate_sent(limits, &stats, ghz(), &items[3], pass, 1, gate, gate + 21000);
	ck_assert_uint_eq(stats.late_uncertain, 0);
	memset(&stats.sojourn, 0, sizeof(stats.sojourn));
	/* the driver took all but the last; 22 us went by meanwhile: the 79 us ones are 101 us old,
	 * and the one in shadow that was late already is not counted twice */
	tg_gate_sent(limits, &stats, ghz(), items, pass, 6, gate, gate + 22000);
	ck_assert_uint_eq(stats.sojourn.count, 6);
	ck_assert_uint_eq(stats.sojourn.sum_ns, 10000 * 2 + 79000 * 2 + 90000 + 300000);
	ck_assert_uint_eq(stats.sojourn.bucket[tg_hist_index(10000)], 2);
	ck_assert_uint_eq(stats.sojourn.bucket[tg_hist_index(79000)], 2);
	ck_assert_uint_eq(stats.max_sojourn_ns, 300000);
	ck_assert_uint_eq(stats.late_uncertain, 2);
	ck_assert_uint_eq(stats.late, 2);
	ck_assert_uint_eq(stats.late_dropped, 1);
	/* the one that was left waits on and is gated again */
	ck_assert_uint_eq(tg_gate_check(limits, &stats, &items[7], 1, gate + 50000, pass, late), 1);
	tg_gate_sent(limits, &stats, ghz(), &items[7], pass, 1, gate + 50000, gate + 50001);
	ck_assert_uint_eq(stats.max_sojourn_ns, 450000);
	ck_assert_uint_eq(stats.checked, 9);
}
END_TEST

/* Runs of one arrival are recorded together: the result is that of one at a time. */
START_TEST(runs_are_as_singles)
{
	struct tg_gate_limit limits[2] = {limit(100, 20, TG_GATE_DROP),
					  limit(60, 0, TG_GATE_SHADOW)};
	static struct tg_gate_stats whole, single;

	for (unsigned int round = 0; round < 2000; round++) {
		struct tg_gate_item items[64];
		uint16_t pass[64], late[64], n;
		uint64_t now = 1000000 + round, after = now + random_below(60000);

		for (unsigned int i = 0; i < 64; i++) {
			bool new_run = i == 0 || random_below(4) == 0;

			items[i].arrival = new_run ? now + 1000 - random_below(120000)
						   : items[i - 1].arrival;
			items[i].service = (uint16_t)random_below(2);
		}
		n = tg_gate_check(limits, &whole, items, 64, now, pass, late);
		tg_gate_sent(limits, &whole, ghz(), items, pass, n, now, after);
		for (uint16_t i = 0; i < n; i++)
			tg_gate_sent(limits, &single, ghz(), items, &pass[i], 1, now, after);
	}
	ck_assert_mem_eq(&whole.sojourn, &single.sojourn, sizeof(whole.sojourn));
	ck_assert_uint_eq(whole.max_sojourn_ns, single.max_sojourn_ns);
	ck_assert_uint_eq(whole.late_uncertain, single.late_uncertain);
	ck_assert_uint_gt(whole.late_uncertain, 0);
}
END_TEST

/*
 * M/M/1 with the gate in front of the server: an arrival that would wait longer than tau is
 * dropped. Work in the queue is a Markov chain (Lindley), so a few lines simulate it. mu = 1 per
 * ms; P_drop = (1-rho) rho E / (1 - rho^2 E), E = e^-((1-rho) tau); rho = 1: 1/(2 + tau).
 */
static double simulated_drops(double rho, uint32_t tau_us)
{
	const double ms = 1000000; /* ticks */
	struct tg_gate_limit l = limit(tau_us, 0, TG_GATE_DROP);
	const unsigned int n = 1500000;
	unsigned int dropped = 0;
	double wait = 0;

	for (unsigned int i = 0; i < n; i++) {
		const uint64_t arrival = 1000000000;

		if (tg_gate_late(&l, arrival, arrival + (uint64_t)wait))
			dropped++;
		else
			wait += random_exp() * ms;
		wait -= random_exp() / rho * ms;
		if (wait < 0)
			wait = 0;
	}
	return (double)dropped / n;
}

START_TEST(closed_form)
{
	static const struct {
		double rho;
		uint32_t tau_us;
		double drops;
	} at[] = {
		{0.9, 2000, .2188},  {1.2, 2000, .3118},  {2.0, 5000, .5008},
		{1.0, 2000, 1. / 4}, {1.0, 5000, 1. / 7}, {1.0, 18000, 1. / 20},
	};

	for (unsigned int i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		double got = simulated_drops(at[i].rho, at[i].tau_us);

		ck_assert_msg(fabs(got - at[i].drops) < .004, "rho %g tau %u us: %g, not %g",
			      at[i].rho, at[i].tau_us, got, at[i].drops);
	}
}
END_TEST

/*
 * A receive ring and a worker that polls it, in virtual nanoseconds. Load changes between calm,
 * busy and more than the worker can take; the host stalls now and then, also between the driver's
 * work and the clock read. Packets that find the ring full are lost before they arrive here.
 */
#define RING_MAX    20000
#define PHASES      30
#define PHASE_POLLS 1200

struct model {
	uint32_t ring;
	uint64_t at[RING_MAX]; /* true arrivals of what is in the ring */
	uint32_t head, used;
	uint64_t next, gap; /* of the arrivals */
	uint64_t time;
	uint64_t read[PHASES * PHASE_POLLS]; /* the worker's reads after its polls */
	uint64_t polls, last_short;
	bool any_short;
	bool before; /* the worker reads the clock again before it polls */
};

static void arrive_until(struct model *m, uint64_t t)
{
	for (; m->next <= t; m->next += 1 + random_below(2 * m->gap)) {
		if (m->used == m->ring) {
			m->next = t + 1;
			break;
		}
		m->at[(m->head + m->used) % m->ring] = m->next;
		m->used++;
	}
	m->time = t;
}

/* 3 ms once in 500 */
static uint64_t stall(void)
{
	return random_below(500) == 0 ? 3000000 : random_below(100);
}

/* The latest time that the rule of tg_gate.h allows, from the model's own records: read[k - 1] is
 * the last one before poll k. */
static uint64_t by_rule(const struct model *m, uint64_t k, uint32_t known_ring)
{
	uint64_t polls = (known_ring + TG_BURST_MAX - 1) / TG_BURST_MAX, from = 0;

	if (m->any_short)
		from = m->last_short;
	if (known_ring != 0 && k - from > polls && k >= polls)
		from = k - polls;
	return from == 0 ? 0 : m->read[(from - 1)];
}

/* One poll; returns how far the estimate lay before the true arrival of the first packet. */
static uint64_t poll_once(struct model *m, struct tg_arrival *a, uint32_t known_ring)
{
	uint64_t estimate, rule, first;
	uint16_t n;

	arrive_until(m, m->time + stall());
	n = (uint16_t)(m->used < TG_BURST_MAX ? m->used : TG_BURST_MAX);
	first = m->at[m->head];
	m->head = (m->head + n) % m->ring;
	m->used -= n;
	arrive_until(m, m->time + 20 + stall());
	estimate = tg_arrival_poll(a, n, m->time);
	rule = by_rule(m, m->polls, known_ring);
	if (m->before ? estimate < rule : estimate != rule)
		ck_abort_msg("ring %u: estimate %lu, rule %lu", m->ring, (unsigned long)estimate,
			     (unsigned long)rule);
	m->read[m->polls] = m->time;
	if (n < TG_BURST_MAX) {
		m->last_short = m->polls;
		m->any_short = true;
	}
	m->polls++;
	arrive_until(m, m->time + 30u * n);
	if (m->before) {
		tg_arrival_before(a, m->time);
		arrive_until(m, m->time + stall());
	}
	if (n == 0)
		return 0;
	if (estimate > first)
		ck_abort_msg("ring %u: %lu is later than the truth, %lu", m->ring,
			     (unsigned long)estimate, (unsigned long)first);
	return first - estimate;
}

static void run_model(uint32_t ring, uint32_t known_ring, bool before)
{
	static const uint64_t gaps[] = {5000, 200, 60, 35, 12};
	static struct model m;
	static struct tg_arrival a;

	memset(&m, 0, sizeof(m));
	m.ring = ring;
	m.gap = 100;
	m.before = before;
	tg_arrival_init(&a, known_ring, false, 0);
	for (unsigned int phase = 0; phase < PHASES; phase++) {
		m.gap = gaps[random_below(5)];
		for (unsigned int i = 0; i < PHASE_POLLS; i++)
			poll_once(&m, &a, known_ring <= 16384 ? known_ring : 0);
	}
	ck_assert(m.any_short);
}

static const uint32_t rings[] = {64, 100, 512, 1000, 4096, 16384, 20000};

START_TEST(arrival_is_never_late)
{
	run_model(rings[_i], rings[_i], false);
	run_model(rings[_i], rings[_i], true);
	run_model(rings[_i], 0, false);
}
END_TEST

/* A ring that is never empty again: the estimate follows at a ring's length, for hours. */
START_TEST(arrival_under_saturation)
{
	static struct tg_arrival a;
	uint64_t k;

	tg_arrival_init(&a, 1024, false, 0);
	for (k = 1; k <= 1000000; k++) {
		uint64_t estimate = tg_arrival_poll(&a, TG_BURST_MAX, k * 1000);

		/* poll k began after the read at k - 1; 32 of them fill the ring */
		if (estimate != (k <= 33 ? 0 : (k - 33) * 1000))
			ck_abort_msg("poll %lu: %lu", (unsigned long)k, (unsigned long)estimate);
	}
	/* a short poll still belongs to the full ring, what comes after it does not */
	ck_assert_uint_eq(tg_arrival_poll(&a, 31, k * 1000), (k - 33) * 1000);
	k++;
	ck_assert_uint_eq(tg_arrival_poll(&a, 1, k * 1000), (k - 2) * 1000);
	k++;
	ck_assert_uint_eq(tg_arrival_poll(&a, TG_BURST_MAX, k * 1000), (k - 2) * 1000);
	k++;
	ck_assert_uint_eq(tg_arrival_poll(&a, TG_BURST_MAX, k * 1000), (k - 3) * 1000);
}
END_TEST

/* The case the rule is for: 5 ms pass between the driver's poll and the clock read. */
START_TEST(arrival_after_a_stall)
{
	static struct tg_arrival a;

	tg_arrival_init(&a, 1024, false, 50);
	ck_assert_uint_eq(tg_arrival_poll(&a, 0, 100), 50);
	ck_assert_uint_eq(tg_arrival_poll(&a, 0, 5000200), 50);
	/* came at any time after the poll that is known to have begun after 100 */
	ck_assert_uint_eq(tg_arrival_poll(&a, 20, 5000300), 100);
	tg_arrival_before(&a, 5009000);
	ck_assert_uint_eq(tg_arrival_poll(&a, 3, 5009100), 5000200);
	ck_assert_uint_eq(tg_arrival_poll(&a, 3, 5009200), 5009000);
}
END_TEST

START_TEST(arrival_of_generated_packets)
{
	static struct tg_arrival a;

	tg_arrival_init(&a, 1024, true, 7);
	for (uint64_t now = 10; now < 1000; now += 10)
		ck_assert_uint_eq(tg_arrival_poll(&a, TG_BURST_MAX, now), now);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gate");
	TCase *tc;

	UNIT_CASE(s, "limits", compiles, edge_of_the_cut);
	UNIT_CASE(s, "wire", wire_bounds_the_last_bit, wire_shares_and_rates,
		  nothing_is_late_on_the_wire, blames_the_longest_wait, early_check);
	UNIT_CASE(s, "burst", splits_every_burst, records_what_was_sent, runs_are_as_singles);
	UNIT_CASE(s, "queue", closed_form);
	UNIT_CASE(s, "arrival", arrival_under_saturation, arrival_after_a_stall,
		  arrival_of_generated_packets);
	tc = tcase_create("ring");
	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_loop_test(tc, arrival_is_never_late, 0, sizeof(rings) / sizeof(rings[0]));
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN(suite)
