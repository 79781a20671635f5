/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "log2.h"
#include "pirate_rig.h"
#include "unit.h"

/* ------------------------------------------------------------------ logarithms, set-up */

START_TEST(log2_agrees_with_libm)
{
	rnd_state = 11;
	for (int i = 0; i < 200000; i++) {
		unsigned int shift = (unsigned int)(rnd() % 12);
		uint64_t ticks = (rnd() >> (rnd() % 32) >> 32) << shift;
		double want;

		if (ticks >> shift == 0)
			continue;
		want = (log2((double)ticks) - shift) * TG_LOG2_ONE;
		if (want > UINT16_MAX)
			want = UINT16_MAX;
		ck_assert_double_le(fabs(tg_log2_of(ticks, shift) - want), 0.6);
	}
}
END_TEST

START_TEST(log2_is_monotonic_and_comes_back)
{
	uint16_t before = 0;

	for (uint64_t t = 16; t < 1 << 20; t++) {
		uint16_t log = tg_log2_of(t, 4);

		ck_assert_uint_ge(log, before);
		before = log;
	}
	for (unsigned int log = 0; log <= UINT16_MAX; log++) {
		double want = exp2(log / 2048.0 + 11);

		ck_assert_double_le(fabs((double)tg_log2_ticks((uint16_t)log, 11) - want),
				    0.5 + want * 1e-5);
		if (log > 13 * 2048) /* finer than a tick below */
			ck_assert_uint_eq(tg_log2_of(tg_log2_ticks((uint16_t)log, 0), 0), log);
	}
}
END_TEST

START_TEST(compiles_for_every_clock)
{
	const uint64_t hz[] = {1000000, 1000000000, 2600000000, 100000000000};
	struct tg_pirate_params params = {TG_ESTIMATOR_AUTO, TG_GAP_TOP_MODE};

	for (unsigned int i = 0; i < 4; i++) {
		struct tg_clock clock = tg_clock_init(hz[i]);
		struct tg_pirate_config c = tg_pirate_compile(&params, &clock);

		ck_assert_uint_eq(c.longest, 60 * hz[i]);
		ck_assert_uint_eq(c.clock.hz, hz[i]);
		ck_assert_uint_eq(c.gap_rule, TG_GAP_TOP_MODE);
		/* the longest gap leaves room above it, a batch is shorter than 64 ns */
		ck_assert_uint_lt(tg_log2_of(c.longest, c.gap_shift), 31 * TG_LOG2_ONE);
		ck_assert(c.gap_shift == 0 || ((double)(1u << c.gap_shift) / hz[i] < 64e-9));
	}
}
END_TEST

START_TEST(chooses_by_what_the_headers_show)
{
	const struct {
		uint8_t configured, protocol, flags, want;
	} cases[] = {
		{TG_ESTIMATOR_AUTO, IPPROTO_TCP, 0, TG_ESTIMATOR_ACK},
		{TG_ESTIMATOR_AUTO, IPPROTO_UDP, 0, TG_ESTIMATOR_GAP},
		{TG_ESTIMATOR_AUTO, IPPROTO_ESP, 0, TG_ESTIMATOR_GAP},
		{TG_ESTIMATOR_AUTO, IPPROTO_ICMP, 0, TG_ESTIMATOR_OFF},
		{TG_ESTIMATOR_AUTO, IPPROTO_ICMPV6, 0, TG_ESTIMATOR_OFF},
		{TG_ESTIMATOR_AUTO, IPPROTO_UDP, TG_KEY_FRAGMENT, TG_ESTIMATOR_OFF},
		{TG_ESTIMATOR_GAP, IPPROTO_TCP, 0, TG_ESTIMATOR_GAP},
		{TG_ESTIMATOR_GAP, IPPROTO_TCP, TG_KEY_FRAGMENT, TG_ESTIMATOR_OFF},
		{TG_ESTIMATOR_ACK, IPPROTO_TCP, 0, TG_ESTIMATOR_ACK},
		{TG_ESTIMATOR_ACK, IPPROTO_UDP, 0, TG_ESTIMATOR_OFF},
		{TG_ESTIMATOR_OFF, IPPROTO_TCP, 0, TG_ESTIMATOR_OFF},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tg_pirate_config c = {.estimator = cases[i].configured,
					     .gap_rule = TG_GAP_MODE_SUM};
		bool gap = cases[i].want == TG_ESTIMATOR_GAP;
		struct tg_pkt p = {0};

		p.key.protocol = cases[i].protocol;
		p.key.flags = cases[i].flags;
		ck_assert_msg(tg_pirate_choose(&c, &p) == cases[i].want, "case %u", i);
		/* the same choice, but gaps are read by another rule, and the flow keeps it */
		c.gap_rule = TG_GAP_ENVELOPE;
		ck_assert_msg((tg_pirate_choose(&c, &p) == cases[i].want) == !gap, "case %u", i);
		ck_assert_msg((tg_pirate_choose(&c, &p) == TG_ESTIMATOR_OFF) ==
				      (cases[i].want == TG_ESTIMATOR_OFF),
			      "case %u", i);
	}
}
END_TEST

START_TEST(off_does_nothing)
{
	struct rig r, zero;
	uint64_t since;

	start(&r, TG_ESTIMATOR_OFF);
	zero = r;
	for (uint32_t i = 0; i < 200; i++)
		ck_assert(!tcp(&r, i * MS, PSH, i * 10, 10, i * 100));
	ck_assert(!finish(&r) && !is_open(&r, &since));
	ck_assert_mem_eq(&r.near, &zero.near, sizeof(r.near));
	ck_assert_mem_eq(r.far, zero.far, sizeof(r.far));
}
END_TEST

/* ------------------------------------------------------------------ gap: known truth */

/* Arrivals in ms on a clock that starts at a second. */
static void at(struct rig *r, double ms)
{
	static const struct tg_pkt p;
	double hz = (double)r->c.clock.hz;

	pass(r, &p, (uint64_t)(hz + ms * 1e-3 * hz));
}

static double mean_ms(const struct rig *r)
{
	return (double)r->sum / (double)r->exchanges * 1e3 / (double)r->c.clock.hz;
}

enum shape { STOP_AND_WAIT, WINDOW, REQUEST_AND_ACKS, BURST_FOR_ALL };

#define ROUNDS     4000
#define LATENCY_MS 2.0
#define CV         0.1

/*
 * ROUNDS exchanges of LATENCY_MS; returns the mean latency that was dealt out.
 *   WINDOW            8 requests, spaced 50 us; each answer clocks out the next one
 *   REQUEST_AND_ACKS  a request, 6 ACKs spaced 77 us, the next request on the last one
 *   BURST_FOR_ALL     8 requests, 50 us apart; the next 8 when the last one is answered
 */
static double play(struct rig *r, enum shape shape)
{
	double t = 0, dealt = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double wait = about(LATENCY_MS, CV), o[8] = {0};

		dealt += wait;
		for (int k = 1; k < 8; k++)
			o[k] = o[k - 1] + about(shape == REQUEST_AND_ACKS ? 0.077 : 0.05, CV);
		if (shape == REQUEST_AND_ACKS) {
			at(r, t);
			for (int k = 0; k < 6; k++)
				at(r, t + wait - o[6] + o[k]);
		} else {
			for (int k = 0; k < (shape == STOP_AND_WAIT ? 1 : 8); k++)
				at(r, t + o[k]);
		}
		t += wait + (shape == BURST_FOR_ALL ? o[7] : 0);
	}
	at(r, t);
	finish(r);
	return dealt / ROUNDS;
}

static void check_error(enum shape shape, enum tg_gap_rule rule, uint64_t hz, double percent,
			double tolerance)
{
	struct rig r;
	double truth, error;

	rnd_state = 42;
	start_at(&r, TG_ESTIMATOR_GAP, rule, hz);
	truth = play(&r, shape);
	error = (mean_ms(&r) / truth - 1) * 100;
	ck_assert_msg(fabs(error - percent) <= tolerance,
		      "shape %d rule %d at %lu Hz: %.2f %%, not %.2f", shape, rule, hz, error,
		      percent);
	/* every causal gap was counted, and once */
	ck_assert_double_le(fabs((double)r.exchanges / ROUNDS - 1), 0.01);
	ck_assert(r.last.kind == TG_ESTIMATOR_GAP && r.last.server == TG_SAMPLE_UNKNOWN &&
		  !r.last.setup);
}

/* Both clocks, so that they agree. Tolerance: of the truth as dealt, so without its sampling error.
 * Left are half a count of the epochs' causal gaps and the rounding of 2^-11 octaves. */
START_TEST(known_truth_of_the_mode_sum)
{
	const uint64_t hz[] = {1000000000, 2600000000};

	for (int i = 0; i < 2; i++) {
		check_error(STOP_AND_WAIT, TG_GAP_MODE_SUM, hz[i], 0, 0.3);
		check_error(WINDOW, TG_GAP_MODE_SUM, hz[i], 0, 0.3);
		check_error(REQUEST_AND_ACKS, TG_GAP_MODE_SUM, hz[i], 0, 0.3);
		/* (k - 1) d / L = 7 * 0.05 / 2 */
		check_error(BURST_FOR_ALL, TG_GAP_MODE_SUM, hz[i], 17.5, 0.5);
	}
}
END_TEST

START_TEST(known_truth_of_the_top_mode)
{
	check_error(STOP_AND_WAIT, TG_GAP_TOP_MODE, 1000000000, 0, 0.3);
	check_error(WINDOW, TG_GAP_TOP_MODE, 1000000000, -17.5, 0.5);
	check_error(REQUEST_AND_ACKS, TG_GAP_TOP_MODE, 1000000000, -23.1, 0.5);
	check_error(BURST_FOR_ALL, TG_GAP_TOP_MODE, 1000000000, 0, 0.3);
}
END_TEST

START_TEST(any_latency_reads_as_it_is)
{
	/* from a microsecond to half a minute, constant: closed form */
	for (double ms = 0.001; ms < 30000; ms *= 3.7) {
		struct rig r;

		start(&r, TG_ESTIMATOR_GAP);
		for (int i = 0; i < 300; i++)
			at(&r, i * ms);
		ck_assert_msg(fabs(mean_ms(&r) / ms - 1) < 0.001, "%g ms reads %g", ms,
			      mean_ms(&r));
	}
}
END_TEST

START_TEST(follows_a_change)
{
	struct rig r;
	double t = 0;

	rnd_state = 5;
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 1000; i++)
		at(&r, t += about(2, CV));
	for (int k = 0; k < 2; k++) { /* up five-fold, and down again */
		for (int i = 0; i < 2000; i++)
			at(&r, t += about(k == 0 ? 10 : 2, CV));
		ck_assert_double_le(fabs((double)r.last.latency / MS / (k == 0 ? 10 : 2) - 1),
				    0.05);
	}
}
END_TEST

/* ------------------------------------------------------------------ gap: what is no gap */

START_TEST(epoch_waits_for_enough_gaps)
{
	struct rig r;

	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i <= 63; i++)
		at(&r, i * 2);
	ck_assert_uint_eq(r.samples, 0);
	at(&r, 64 * 2);
	ck_assert_uint_eq(r.samples, 1);
	ck_assert_uint_eq(r.last.count, 64);
	/* the end of a flow closes with less: three causal gaps, not two */
	for (int n = 2; n <= 3; n++) {
		start(&r, TG_ESTIMATOR_GAP);
		for (int i = 0; i <= n; i++)
			at(&r, i * 2);
		ck_assert_uint_eq(finish(&r), n == 3);
	}
	start(&r, TG_ESTIMATOR_GAP);
	ck_assert(!finish(&r));
	ck_assert(!is_open(&r, &(uint64_t){0}));
}
END_TEST

/* 2 ms apart but for pauses of another length, the 15th, 30th .. gap. */
static void play_pauses(struct rig *r, int gaps, int pauses, double ms)
{
	double t = 0;

	start(r, TG_ESTIMATOR_GAP);
	at(r, 0);
	for (int i = 1; i <= gaps; i++)
		at(r, t += i % 15 == 0 && i / 15 <= pauses ? ms : 2);
}

START_TEST(rare_gaps_leave_the_sums)
{
	struct rig r;

	/* three pauses are the causal mode, says the published rule: (62 * 2 + 3 * 500) / 3 */
	play_pauses(&r, 65, 3, 500);
	finish(&r);
	ck_assert_double_le(fabs(mean_ms(&r) / 541.3 - 1), 0.01);
	/* two are too few. Unless the flow ends they have 600 gaps to become three */
	play_pauses(&r, 590, 2, 500);
	ck_assert_uint_eq(r.samples, 0);
	finish(&r);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.001);
	play_pauses(&r, 700, 2, 500);
	ck_assert_uint_eq(r.samples, 1);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.001);
	/* shorter ones as well: not (62 * 2 + 2 * 1) / 62 */
	play_pauses(&r, 64, 2, 1);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.001);
}
END_TEST

START_TEST(one_causal_gap_in_forty)
{
	struct rig r;
	double t = 0;

	/* the first 64 gaps hold one causal gap or two: no reason to take the others for it */
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 4000; i++)
		at(&r, t += i % 40 == 0 ? 1.61 : 0.01);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.003);
	ck_assert_double_le(fabs((double)r.exchanges / 100 - 1), 0.05);
}
END_TEST

START_TEST(epoch_ends_with_a_causal_gap)
{
	struct rig r;
	double t = 0;

	/* 64 gaps are 3.2 rounds of 20. Whole rounds read as they are, the first ones too, but for what
	 * is lost when counts of sixteenths are halved */
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 4000; i++) {
		uint64_t before = r.samples;

		at(&r, t += i % 20 == 0 ? 1.05 : 0.05);
		if (r.samples > before)
			ck_assert_double_le(fabs((double)r.last.latency / (2 * MS) - 1), 0.01);
	}
	ck_assert_uint_gt(r.samples, 40);
}
END_TEST

START_TEST(no_gap_counts_twice)
{
	struct rig r;
	double t = 0, ms[] = {2, 10, 0.05};
	uint64_t gaps = 0;

	rnd_state = 23;
	start(&r, TG_ESTIMATOR_GAP);
	for (int phase = 0; phase < 300; phase++) {
		for (uint64_t i = rnd() % 800; i > 0; i--) {
			uint64_t before = r.samples;

			at(&r, t += about(ms[phase % 3], CV));
			gaps++;
			if (r.samples == before)
				continue;
			ck_assert_uint_le(r.last.count, gaps);
			gaps = 0;
		}
	}
	ck_assert_uint_gt(r.samples, 300);
}
END_TEST

START_TEST(bucket_is_an_arithmetic_mean)
{
	struct rig r;
	double t = 0;

	/* both gaps fit one bucket (ratio 1.27); their mean logarithm is that of 1.986 ms */
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 2000; i++)
		at(&r, t += i % 2 == 0 ? 1.76 : 2.24);
	ck_assert_uint_eq(r.near.gap.used, 1);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.002);
}
END_TEST

START_TEST(no_latency_beyond_the_longest)
{
	struct rig r;
	double t = 0;

	/* three causal gaps of 55 s carry 64 of 20 s: 481 s is not the latency of anything */
	start(&r, TG_ESTIMATOR_GAP);
	at(&r, 0);
	for (int i = 1; i <= 67; i++)
		at(&r, t += i % 22 == 0 ? 55000 : 20000);
	ck_assert(!finish(&r));
	ck_assert_uint_eq(r.samples, 0);
}
END_TEST

START_TEST(slow_trickle_is_no_batch)
{
	struct tg_pkt p = {0};
	struct rig r;
	uint64_t t = S;

	/* 100 packets 20 ns apart, each in one batch with the one before, are 2 us all the same */
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 500; i++) {
		for (int k = 0; k < 100; k++, t += 20)
			pass(&r, &p, t);
		t += 3 * US;
	}
	ck_assert_double_le(fabs(mean_ms(&r) / 0.005 - 1), 0.02);
}
END_TEST

START_TEST(same_batch_idle_and_jumps_are_no_gaps)
{
	const uint64_t years = 8 * 365 * UINT64_C(86400) * S;
	struct tg_pkt p = {0};
	struct rig r;
	uint64_t t = 10 * S;

	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 2000; i++) {
		pass(&r, &p, t);
		if (i % 4 == 0)
			pass(&r, &p, t); /* same arrival */
		if (i % 4 == 1)
			pass(&r, &p, t + 20); /* 20 ns: same batch */
		if (i % 4 == 2)
			pass(&r, &p, t - 300 * US); /* overtaken */
		t += 2 * MS;
		if (i % 10 == 9)
			t += 61 * S; /* nobody there */
		if (i == 700)
			t += years;
		if (i == 1400)
			t -= years + 5 * S;
	}
	ck_assert_uint_gt(r.samples, 25);
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.001);
	ck_assert_double_le(fabs((double)r.last.latency / (2 * MS) - 1), 0.001);
}
END_TEST

START_TEST(dropped_packet_begins_no_gap)
{
	struct tg_pkt p = {0};
	struct rig r;
	uint64_t t = S;

	/* every fourth is dropped and comes again 40 ms later: the gap that it ends counts, the one
	 * that its second copy ends does not */
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 400; i++) {
		if (i % 4 == 3) {
			arrive(&r, &p, t);
			t += 40 * MS;
		}
		pass(&r, &p, t);
		t += 2 * MS;
	}
	ck_assert_double_le(fabs(mean_ms(&r) / 2 - 1), 0.001);
}
END_TEST

START_TEST(one_poll_or_many)
{
	struct tg_pkt p = {0};
	struct rig one, many;
	uint64_t t = S, batch[8];

	/* 8 packets of a flow in one poll, all told apart by their time, read as one by one */
	rnd_state = 3;
	start(&one, TG_ESTIMATOR_GAP);
	start(&many, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 8; k++) {
			batch[k] = t;
			t += (uint64_t)about(10 * US, CV);
		}
		for (int k = 0; k < 8; k++)
			pass(&one, &p, batch[k]);
		for (int k = 0; k < 8; k++)
			arrive(&many, &p, batch[k]);
		for (int k = 0; k < 8; k++)
			depart(&many, &p, batch[k], t);
		t += (uint64_t)about(2 * MS, CV);
	}
	ck_assert_double_le(fabs(mean_ms(&many) / mean_ms(&one) - 1), 0.003);
	ck_assert_double_le(fabs((double)many.exchanges / (double)one.exchanges - 1), 0.02);
}
END_TEST

START_TEST(histogram_stays_sorted_and_counts)
{
	struct rig r;
	const struct tg_gap_far *f = (const void *)r.far;
	struct tg_pkt p = {0};
	uint64_t t = S, sum;

	rnd_state = 17;
	start(&r, TG_ESTIMATOR_GAP);
	for (int i = 0; i < 50000; i++) {
		t += 64 + (rnd() >> 28 >> (rnd() % 30));
		pass(&r, &p, t);
		ck_assert_uint_le(r.near.gap.used, TG_GAP_BUCKETS);
		sum = 0;
		for (unsigned int b = 0; b < TG_GAP_BUCKETS; b++) {
			sum += f->count[b];
			ck_assert(b == 0 || f->centre[b - 1] <= f->centre[b]);
			ck_assert_uint_eq(b<r.near.gap.used, f->count[b]> 0);
		}
		ck_assert_uint_ge(sum, 16 * (uint64_t)r.near.gap.since);
		ck_assert_uint_lt(r.near.gap.since, 900);
	}
}
END_TEST

/* ------------------------------------------------------------------ anything at all */

/* Random segments of a flow that does not behave, random drops, time that creeps, jumps and goes
 * back: every sample is sane, and there are no more of them than there was new payload. */
static void anything(uint8_t estimator, uint64_t hz, uint64_t seed)
{
	struct rig r;
	uint64_t t = 1000 * hz, packets = 0, data = 0;
	uint32_t seq = (uint32_t)rnd(), ack = (uint32_t)rnd();

	rnd_state = seed;
	start_at(&r, estimator, seed & 1 ? TG_GAP_TOP_MODE : TG_GAP_MODE_SUM, hz);
	for (int i = 0; i < 20000; i++) {
		uint64_t dice = rnd();
		uint8_t flags = dice % 16 == 0 ? (uint8_t)(dice >> 8) : ACK;
		struct tg_pkt p = segment(flags, seq, (uint16_t)(dice >> 20 & 1 ? dice >> 50 : 0),
					  ack);

		if (dice >> 4 & 1)
			p.seq -= (uint32_t)(rnd() % 3000);
		if (dice >> 5 & 1)
			ack += (uint32_t)(rnd() % 5000);
		if (dice >> 6 % 64 == 0)
			p.ack = (uint32_t)rnd();
		t += (rnd() >> 24) % (hz / 100);
		if (dice >> 16 % 200 == 0)
			t += (int64_t)(rnd() >> 2) * (dice >> 40 & 1 ? 1 : -1);
		packets++;
		data += p.payload_len > 0;
		if (arrive(&r, &p, t)) {
			ck_assert_uint_le(r.last.latency, r.c.longest);
			ck_assert(r.last.server == TG_SAMPLE_UNKNOWN ||
				  r.last.server <= r.last.latency);
			ck_assert_uint_ge(r.last.count, 1);
		}
		if (dice >> 10 & 7) {
			depart(&r, &p, t, t + rnd() % hz);
			seq = p.seq + p.payload_len;
		}
	}
	if (finish(&r))
		ck_assert_uint_le(r.last.latency, r.c.longest);
	ck_assert_uint_gt(r.samples, 10);
	ck_assert_uint_le(r.exchanges, estimator == TG_ESTIMATOR_ACK ? data : packets);
}

START_TEST(anything_gives_sane_samples)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		anything(TG_ESTIMATOR_ACK, seed % 2 ? 1000000000 : 2600000000, seed);
		anything(TG_ESTIMATOR_GAP, seed % 2 ? 2600000000 : 1000000000, seed);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate");

	UNIT_CASE(s, "setup", log2_agrees_with_libm, log2_is_monotonic_and_comes_back,
		  compiles_for_every_clock, chooses_by_what_the_headers_show, off_does_nothing);
	UNIT_CASE(s, "gap-truth", known_truth_of_the_mode_sum, known_truth_of_the_top_mode,
		  any_latency_reads_as_it_is, follows_a_change);
	UNIT_CASE(s, "gap", epoch_waits_for_enough_gaps, rare_gaps_leave_the_sums,
		  one_causal_gap_in_forty, epoch_ends_with_a_causal_gap, no_gap_counts_twice,
		  bucket_is_an_arithmetic_mean, no_latency_beyond_the_longest,
		  slow_trickle_is_no_batch, same_batch_idle_and_jumps_are_no_gaps,
		  dropped_packet_begins_no_gap, one_poll_or_many,
		  histogram_stays_sorted_and_counts);
	UNIT_CASE(s, "anything", anything_gives_sane_samples);
	return s;
}

UNIT_MAIN(suite)
