/* SPDX-License-Identifier: BSD-3-Clause */
#include "envelope_rig.h"

/* ------------------------------------------------------------------ two kinds of gap */

/* A request at 100 ms, acknowledgements at these ms after it, and the next request. */
static double answer(const double *acks, int n, double next)
{
	struct flow f;

	begin_known(&f);
	put(&f, 5, SMALL); /* what was open is closed with a sample of 1 ms .. */
	put(&f, 100, REQUEST);
	memset(&f.near.used, 0, sizeof(f.near.used)); /* .. and forgotten */
	memset(f.far.gaps.centre, 0xff, sizeof(f.far.gaps.centre));
	for (int i = 0; i < n; i++)
		put(&f, 100 + acks[i], SMALL);
	put(&f, 100 + next, REQUEST);
	ck_assert_uint_eq(f.near.used, 1);
	return n == 0 ? -bucket(&f, TG_ENVELOPE_G) : bucket(&f, TG_ENVELOPE_A);
}
#define ANSWER(next, ...)                     \
	answer((const double[]){__VA_ARGS__}, \
	       (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), next)

START_TEST(envelope_follows_acknowledgements)
{
	check_near(ANSWER(300, 2), 2, 1e-3);
	check_near(ANSWER(300, 2, 2.9), 2.9, 1e-3);      /* the second within 1.5 times */
	check_near(ANSWER(300, 2, 3.1), 2, 1e-3);        /* a pause */
	check_near(ANSWER(300, 2, 2.9, 6.3), 6.3, 1e-3); /* a later one within 2.2 times */
	check_near(ANSWER(300, 2, 2.9, 6.5), 2.9, 1e-3);
	check_near(ANSWER(300, 2, 2.9, 6.5, 6.6), 2.9, 1e-3); /* ended is ended */
	/* the request carries the last one: in the rhythm, not after it */
	check_near(ANSWER(3.2, 2, 2.4, 2.8), 3.2, 1e-3);
	check_near(ANSWER(3.5, 2, 2.4, 2.8), 2.8, 1e-3);
	check_near(ANSWER(2.3, 2), 2, 1e-3); /* one makes no rhythm */
	check_near(-answer(NULL, 0, 7), 7, 1e-3);
}
END_TEST

START_TEST(full_size_packet_is_no_end)
{
	struct flow f;

	begin_known(&f);
	put(&f, 5, SMALL);
	put(&f, 100, 1500);
	put(&f, 103, 1500); /* 3 ms, and .. */
	put(&f, 107, 400);  /* .. 4 ms are within the request */
	put(&f, 109, SMALL);
	put(&f, 200, 400);
	ck_assert(bucket(&f, TG_ENVELOPE_G) == 0);
	ck_assert_uint_eq(f.near.used, 2); /* 1 ms of begin_known, 2 ms */
	/* 1000 bytes do, 999 do not, nor what is not the flow's largest */
	begin_known(&f);
	put(&f, 5, SMALL);
	put(&f, 100, 999);
	put(&f, 103, 400);
	check_near(bucket(&f, TG_ENVELOPE_G), 3, 1e-3);
	/* a request of just one such packet, acknowledged */
	begin_known(&f);
	put(&f, 100, 1500);
	put(&f, 102, SMALL);
	memset(&f.near.used, 0, sizeof(f.near.used));
	memset(f.far.gaps.centre, 0xff, sizeof(f.far.gaps.centre));
	put(&f, 200, 1500);
	check_near(bucket(&f, TG_ENVELOPE_A), 2, 1e-3);
}
END_TEST

/* ------------------------------------------------------------------ the handshake */

static double floor_of(const double *ms, const uint16_t *size, int n)
{
	struct flow f;

	begin(&f);
	for (int i = 0; i < n; i++)
		put(&f, ms[i], size[i]);
	return f.far.floor == 0 ? 0 : ms_of(tg_log2_ticks(f.far.floor, f.c.gap_shift));
}

START_TEST(handshake_gives_the_floor)
{
	check_near(floor_of((double[]){0, 7}, (uint16_t[]){60, 52}, 2), 7, 1e-3);
	/* sent again: 7 ms after the second copy */
	check_near(floor_of((double[]){0, 1000, 1007}, (uint16_t[]){60, 60, 52}, 3), 7, 1e-3);
	/* later packets change nothing */
	check_near(floor_of((double[]){0, 7, 8, 20}, (uint16_t[]){60, 52, 60, 52}, 4), 7, 1e-3);
	/* a second is no path; five of a size are no handshake; no gap is none */
	ck_assert(floor_of((double[]){0, 1001}, (uint16_t[]){60, 52}, 2) == 0);
	ck_assert(floor_of((double[]){0, 1, 2, 3, 4, 5}, (uint16_t[]){60, 60, 60, 60, 60, 52}, 6) ==
		  0);
	ck_assert(floor_of((double[]){0, 0}, (uint16_t[]){60, 52}, 2) == 0);
}
END_TEST

/* ------------------------------------------------------------------ buckets */

START_TEST(ten_buckets_sorted_by_kind)
{
	struct flow f;
	uint64_t t = 10 * S;

	rnd_state = 17;
	begin_known(&f);
	for (int i = 0; i < 50000; i++) {
		const struct tg_gap_far *g = &f.far.gaps;
		bool sorted = true, used = true;
		uint32_t sum = 0;

		t += 64 + (rnd() >> 28 >> (rnd() % 30));
		put_at(&f, t, rnd() & 1 ? SMALL : REQUEST);
		for (unsigned int b = 0; b < TG_GAP_BUCKETS; b++) {
			sum += g->count[b];
			sorted &= b == 0 || g->centre[b - 1] <= g->centre[b];
			used &= (b < f.near.used) == (g->count[b] > 0);
		}
		ck_assert(sorted && used && f.near.used <= TG_GAP_BUCKETS);
		ck_assert_uint_lt(sum, 256 * 16); /* halved at 256 */
		ck_assert_uint_eq(sum, f.far.total);
	}
}
END_TEST

START_TEST(joins_within_a_fifth)
{
	for (int far = 0; far < 2; far++) {
		struct flow f;
		double t = 100, wide = far ? 2.5 : 2.2;

		begin_known(&f);
		put(&f, 5, SMALL);
		for (int i = 0; i < 400; i++)
			put(&f, t += i % 2 ? wide : 1.87, REQUEST);
		ck_assert_uint_eq(f.near.used, far ? 3 : 2); /* one is A's */
		ck_assert(estimate(&f));
		/* the arithmetic mean, not that of the logarithms (0.33 % less) */
		check_near(ms_of(f.e.mean), (1.87 + wide) / 2, far ? 0.01 : 0.0013);
	}
}
END_TEST

START_TEST(few_mixed_samples_are_given_up)
{
	for (int n = 8; n < 20; n += 8) {
		struct flow f;
		double t = 0;

		/* requests alone; then acknowledgements are found by their size */
		begin(&f);
		put(&f, t, 60);
		for (int i = 0; i <= n; i++)
			put(&f, t += 10, (uint16_t)(REQUEST + i));
		for (int i = 0; i < 3; i++) {
			ck_assert_uint_eq(f.near.limit, 0);
			put(&f, t += 10, SMALL);
		}
		ck_assert_uint_eq(f.near.limit, SMALL);
		ck_assert_uint_eq(f.near.used, n < 12 ? 0 : 1);
	}
}
END_TEST

/* Full: the newest and the pair that lose least become one, and nothing of its own weight is lost. */
START_TEST(light_neighbours_become_one)
{
	struct flow f;
	const double gap[] = {1, 2, 4, 8, 16, 24, 48, 96, 192};
	double t = 100;

	begin_known(&f);
	put(&f, 5, SMALL);
	put(&f, t, REQUEST); /* a first bucket of kind A: 1 ms */
	for (int i = 0; i < 9; i++) {
		for (int k = 0; k < (i == 4 || i == 5 ? 1 : 3); k++)
			put(&f, t += gap[i], REQUEST);
	}
	ck_assert_uint_eq(f.near.used, 10);
	put(&f, t += 4096, REQUEST); /* far above all others: opens its own */
	ck_assert_uint_eq(f.near.used, 10);
	ck_assert_uint_eq(f.far.gaps.count[9], 16);
	check_near(ms_of(tg_log2_ticks((uint16_t)(f.far.gaps.centre[9] << 1), f.c.gap_shift)), 4096,
		   2e-3);
	ck_assert_uint_eq(f.far.gaps.count[5], 2 * 16); /* 16 and 24 ms */
	check_near(ms_of(tg_log2_ticks((uint16_t)(f.far.gaps.centre[5] << 1), f.c.gap_shift)), 20,
		   3e-3); /* the arithmetic mean */
	ck_assert(f.far.gaps.centre[0] < TG_ENVELOPE_KIND_G &&
		  f.far.gaps.centre[1] >= TG_ENVELOPE_KIND_G);
	/* 1.3 times the newest: joins no bucket, yet is nearest to that one */
	put(&f, t += 4096 * 1.3, REQUEST);
	ck_assert_uint_eq(f.far.gaps.count[9], 2 * 16);
}
END_TEST

/* ------------------------------------------------------------------ known truth */

enum shape { STOP_AND_WAIT, ACKNOWLEDGED, SIX_ACKS, WINDOW, BURST };

/* 4000 exchanges of 2 ms, CV 0.1; often: share that a pause of 200 ms in the mean follows. Returns the
 * mean dealt. */
static double play(struct flow *f, enum shape shape, double often)
{
	double t = 100, dealt = 0;

	for (int i = 0; i < 4000; i++) {
		double wait = about(2, 0.1), step = about(0.077, 0.1);

		dealt += wait;
		if (shape <= SIX_ACKS)
			put(f, t, REQUEST);
		if (shape == ACKNOWLEDGED)
			put(f, t + wait, SMALL);
		for (int k = 6; shape == SIX_ACKS && k > 0; k--)
			put(f, t + wait - k * step, SMALL);
		for (int k = 0; shape >= WINDOW && k < 8; k++)
			put(f, t + k * 0.05, REQUEST);
		t += wait + (shape == BURST ? 7 * 0.05 : 0) + (shape == ACKNOWLEDGED ? 0.05 : 0);
		if (uniform() < often)
			t -= 200 * log(1 - uniform());
	}
	take(f, tg_envelope_close(&f->c, NULL, &f->near, &f->far, &f->last));
	return dealt / 4000;
}

START_TEST(known_truth)
{
	const struct {
		enum shape shape;
		double often, tolerance;
	} cases[] = {
		{STOP_AND_WAIT, 0, 0.003}, {STOP_AND_WAIT, 0.1, 0.015}, {ACKNOWLEDGED, 0, 0.003},
		{ACKNOWLEDGED, 0.1, 0.01}, {ACKNOWLEDGED, 1, 0.01},     {SIX_ACKS, 0, 0.005},
		{SIX_ACKS, 0.1, 0.01},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flow f;
		double truth;

		rnd_state = 42;
		begin_known(&f);
		truth = play(&f, cases[i].shape, cases[i].often);
		check_near(f.sum / (double)f.good, truth, cases[i].tolerance);
		ck_assert_double_ge((double)f.good, 4000 * (cases[i].often < 1 ? 0.85 : 0.95));
		ck_assert(f.last.kind == TG_ESTIMATOR_GAP && !f.last.setup);
	}
}
END_TEST

/* S is L less the handshake, 1 ms: over TCP, and where a datagram of 1200 bytes began it (QUIC). */
START_TEST(server_time_is_what_the_handshake_leaves)
{
	const struct {
		uint8_t protocol;
		uint16_t first;
		bool known;
	} cases[] = {{IPPROTO_TCP, 60, true}, {IPPROTO_UDP, 1228, true}, {IPPROTO_UDP, 176, false}};

	for (unsigned int i = 0; i < 3; i++) {
		struct flow f;
		double t = 100;

		rnd_state = 3;
		begin(&f);
		f.protocol = cases[i].protocol;
		put(&f, 0, cases[i].first);
		put(&f, 1, SMALL);
		for (int k = 0; k < 400; k++)
			put(&f, t += about(5, 0.05), REQUEST);
		ck_assert_uint_gt(f.good, 0);
		if (cases[i].known)
			check_near(ms_of(f.last.server), 4, 0.03);
		else
			ck_assert(f.last.server == TG_SAMPLE_UNKNOWN);
	}
	/* answers that are far faster than that show that it was not the path */
	{
		struct flow f;
		double t = 100;

		begin(&f);
		put(&f, 0, 60);
		put(&f, 12, SMALL);
		for (int k = 0; k < 400; k++)
			put(&f, t += about(5, 0.05), REQUEST);
		ck_assert_uint_gt(f.good, 0);
		ck_assert(f.last.server == TG_SAMPLE_UNKNOWN);
	}
}
END_TEST

/* The same packets: 1.65 ms are the last one's wait, or 2 ms the first one's. */
START_TEST(window_or_burst_is_a_batch)
{
	for (enum shape shape = WINDOW; shape <= BURST; shape++) {
		struct flow f;
		double truth;

		rnd_state = 42;
		begin_known(&f);
		truth = play(&f, shape, 0);
		/* nor can either be told from the acknowledgements of a large answer */
		ck_assert(f.last.batch && f.last.unsure && f.last.confidence == TG_CONFIDENCE_LOW);
		check_near(ms_of(f.last.latency), shape == WINDOW ? truth - 0.35 : truth, 0.03);
		/* (k - 1) d = 0.35 ms more is the upper bound */
		check_near(ms_of(f.last.hi) - ms_of(f.last.latency), 0.35, 0.05);
	}
}
END_TEST

/* ------------------------------------------------------------------ the estimate */

/* n exchanges of `wait` ms, with an acknowledgement or without. */
static void some(struct flow *f, double *t, int n, double wait, bool acknowledged)
{
	for (int i = 0; i < n; i++) {
		put(f, *t, REQUEST);
		if (acknowledged)
			put(f, *t + wait, SMALL);
		*t += acknowledged ? wait + 2000 : wait;
	}
}

START_TEST(too_few_samples_say_nothing)
{
	for (int n = 0; n < 20; n++) {
		struct flow f;
		double t = 5000;

		begin_known(&f);
		some(&f, &t, n + 1, 2, true); /* the last one is still open */
		ck_assert_uint_eq(tg_envelope_close(&f.c, NULL, &f.near, &f.far, &f.last), n >= 12);
		if (n < 12)
			continue;
		ck_assert_uint_eq(f.last.confidence, TG_CONFIDENCE_GOOD);
		check_near(ms_of(f.last.latency), 2, 2e-3);
		/* nothing new: nothing */
		ck_assert(!tg_envelope_close(&f.c, NULL, &f.near, &f.far, &f.last));
	}
}
END_TEST

START_TEST(epochs_of_64_and_128_samples)
{
	struct flow f;
	double t = 5000;

	begin_known(&f);
	some(&f, &t, 63, 2, true);
	ck_assert_uint_eq(f.samples, 0);
	some(&f, &t, 3, 2, true);
	ck_assert_uint_eq(f.samples, 1);
	some(&f, &t, 640, 2, true);
	ck_assert_uint_eq(f.samples, 6);
	check_near((double)f.count, 704, 0.03);
}
END_TEST

/* Pauses that are as many as the answers, fewer and rarer ones: the lowest mode that carries weight. */
START_TEST(lowest_mode_with_weight)
{
	struct flow f;
	double t = 5000;

	begin_known(&f);
	some(&f, &t, 30, 500, true);
	some(&f, &t, 30, 2, true);
	some(&f, &t, 4, 0.9, true); /* four of 64 are no mode */
	ck_assert(estimate(&f));
	check_near(ms_of(f.e.mean), 2, 3e-3);
	check_near(f.e.share, 50, 0.07);
	/* up to four times the mode's centre counts in: (30 * 2 + 10 * 6) / 40 */
	begin_known(&f);
	t = 5000;
	some(&f, &t, 30, 2, true);
	some(&f, &t, 10, 6, true);
	some(&f, &t, 6, 9, true);
	ck_assert(estimate(&f));
	check_near(ms_of(f.e.mean), 3, 0.03);
	check_near(ms_of(f.e.median), 2, 0.15); /* within its bucket */
}
END_TEST

START_TEST(lower_of_two_kinds)
{
	struct flow f;
	double t = 5000;

	/* answers of 2 ms are acknowledged, pauses of 30 ms are not */
	begin_known(&f);
	for (int i = 0; i < 20; i++) {
		some(&f, &t, 1, 2, true);
		some(&f, &t, 1, 30, false);
	}
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.kind, TG_ENVELOPE_A);
	check_near(ms_of(f.e.mean), 2, 3e-3);
	/* answers of 3 ms carried by requests, delayed acknowledgements of 40 ms */
	begin_known(&f);
	t = 5000;
	for (int i = 0; i < 20; i++) {
		some(&f, &t, 1, 40, true);
		some(&f, &t, 2, 3, false);
	}
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.kind, TG_ENVELOPE_G);
	check_near(ms_of(f.e.mean), 3, 3e-3);
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_GOOD);
	/* 16 times lower: a burst's spacing, and A is the answer if it is below 20 ms */
	for (double a = 15; a < 40; a += 15) {
		begin_known(&f);
		t = 5000;
		for (int i = 0; i < 20; i++) {
			some(&f, &t, 2, 0.5, false);
			some(&f, &t, 1, a, true);
		}
		ck_assert(estimate(&f));
		ck_assert_uint_eq(f.e.kind, a < 20 ? TG_ENVELOPE_A : TG_ENVELOPE_G);
		ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	}
}
END_TEST

/* Samples below a quarter of the handshake's 1 ms are no answers: 0.2 ms here, unless there is nothing
 * else. A server's faster handshake lowers that, and so does none. */
START_TEST(floor_sets_aside)
{
	struct flow f;
	double t = 5000;

	begin_known(&f);
	some(&f, &t, 40, 0.2, false);
	ck_assert(estimate(&f));
	check_near(ms_of(f.e.mean), 0.2, 0.01);
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	for (int i = 0; i < 20; i++) {
		some(&f, &t, 7, 0.2, false);
		some(&f, &t, 1, 5, false);
	}
	ck_assert(estimate(&f));
	check_near(ms_of(f.e.mean), 5, 0.01);
	ck_assert(tg_envelope_estimate(&f.c, &f.near, &f.far, MS / 2, &f.e));
	check_near(ms_of(f.e.mean), 0.2, 0.01);
	f.far.floor = 0;
	ck_assert(tg_envelope_estimate(&f.c, &f.near, &f.far, MS, &f.e)); /* the server's alone */
	check_near(ms_of(f.e.mean), 5, 0.01);
}
END_TEST

/* A mode below the handshake's gap gives way to one above it that is as heavy; not to a pause. */
START_TEST(path_is_the_least)
{
	for (int heavy = 0; heavy < 2; heavy++) {
		struct flow f;
		double t = 5000;

		begin_known(&f);
		for (int i = 0; i < 20; i++) {
			some(&f, &t, 2, 0.4, false);
			some(&f, &t, heavy ? 3 : 1, 1.3, false);
			some(&f, &t, 4, 50, false);
		}
		ck_assert(estimate(&f));
		ck_assert_double_lt(fabs(ms_of(f.e.mean) - (heavy ? 1.3 : 0.7)), 0.05);
	}
}
END_TEST

static uint8_t confidence(double wait, bool acknowledged, double other, int of_ten, bool handshake)
{
	struct flow f;
	double t = 5000;

	begin_known(&f);
	if (!handshake)
		f.far.floor = 0;
	for (int i = 0; i < 200; i++)
		some(&f, &t, 1, i % 10 < of_ten ? other : wait, acknowledged);
	ck_assert(estimate(&f));
	return f.e.confidence;
}

START_TEST(confidence_says_what_it_rests_on)
{
	/* A: share of at least 35 % */
	ck_assert_uint_eq(confidence(5, true, 800, 5, true), TG_CONFIDENCE_GOOD);
	ck_assert_uint_eq(confidence(5, true, 800, 8, true), TG_CONFIDENCE_LOW);
	/* .. not at a delayed acknowledgement's timer, unless the path is as slow */
	ck_assert_uint_eq(confidence(44, true, 44, 0, true), TG_CONFIDENCE_LOW);
	ck_assert_uint_eq(confidence(205, true, 205, 0, true), TG_CONFIDENCE_LOW);
	ck_assert_uint_eq(confidence(60, true, 60, 0, true), TG_CONFIDENCE_GOOD);
	/* G: share of at least 60 %, and within ten times the handshake */
	ck_assert_uint_eq(confidence(5, false, 800, 3, true), TG_CONFIDENCE_GOOD);
	ck_assert_uint_eq(confidence(5, false, 800, 5, true), TG_CONFIDENCE_LOW);
	ck_assert_uint_eq(confidence(9, false, 9, 0, true), TG_CONFIDENCE_GOOD);
	/* far above it one narrow mode is fair, with a few pauses; without a handshake none but the mode: two
	 * may be a burst and its answers */
	ck_assert_uint_eq(confidence(11, false, 800, 2, true), TG_CONFIDENCE_FAIR);
	ck_assert_uint_eq(confidence(11, false, 800, 3, true), TG_CONFIDENCE_LOW);
	ck_assert_uint_eq(confidence(11, false, 11, 0, true), TG_CONFIDENCE_FAIR);
	ck_assert_uint_eq(confidence(5, false, 5, 0, false), TG_CONFIDENCE_FAIR);
	ck_assert_uint_eq(confidence(5, false, 800, 3, false), TG_CONFIDENCE_LOW);
}
END_TEST

/* 250 requests one after the other, each a mean of `mean` ms and a path of 1 ms, exponential; of a thousand
 * `often` pause for 200 ms; every `soon`th is followed by another one at once. */
static double exponential(struct flow *f, double mean, unsigned int often, int soon)
{
	double t = 5000, sum = 0;

	rnd_state = 9;
	begin_known(f);
	for (int i = 0; i < 250; i++) {
		double wait = 1 - (mean - 1) * log(1 - uniform());

		sum += wait;
		some(f, &t, 1, wait + (rnd() % 1000 < often ? 200 : 0), false);
		if (soon != 0 && i % soon == 0)
			some(f, &t, 1, 0.6, false);
	}
	ck_assert(estimate(f));
	return sum / 250;
}

/* Wide, but all of it is one thing: its mean says something, though no mode does. */
START_TEST(wide_is_told_as_a_whole)
{
	struct flow f;
	double truth = exponential(&f, 8, 0, 0);

	ck_assert_uint_gt(f.e.spread, 0.6 * TG_LOG2_ONE);
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_FAIR);
	ck_assert_uint_ge(f.e.share, 99);
	check_near(ms_of(f.e.mean), truth, 0.05);
}
END_TEST

/* Requests that come without an acknowledgement before them are answers without a pause: who pauses
 * acknowledges first, 25 ms after the answer (RFC 9000's max_ack_delay). */
START_TEST(wide_without_what_was_acknowledged_late)
{
	struct flow f;
	double t = 101, sum = 0, n = 0;

	rnd_state = 9;
	begin_known(&f);
	for (int i = 0; i < 240; i++) {
		double wait = 1 - 7 * log(1 - uniform());
		bool pauses = i % 10 == 9;

		some(&f, &t, 1, pauses ? wait + 25 : wait, pauses);
		sum += pauses ? 0 : wait;
		n += !pauses;
	}
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_FAIR);
	ck_assert_uint_eq(f.e.kind, TG_ENVELOPE_G);
	check_near(ms_of(f.e.mean), sum / n, 0.05);
}
END_TEST

START_TEST(wide_with_anything_in_it_is_not_sure)
{
	struct flow f;
	double t = 5000;

	exponential(&f, 8, 50, 0); /* pauses */
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	exponential(&f, 8, 0, 10); /* sooner than the handshake: several ask at once */
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	exponential(&f, 90, 0, 0); /* 90 times the handshake: pauses are likelier */
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	begin_known(&f); /* 90 samples are too few */
	for (int i = 0; i < 90; i++)
		some(&f, &t, 1, 1.1 * exp2(2.5 * uniform()), false);
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
	begin_known(
		&f); /* what is acknowledged takes ten times the others' time, and is a third of all */
	for (int i = 0; i < 200; i++)
		some(&f, &t, 1, (i % 3 == 0 ? 11 : 1.1) * exp2(2.5 * uniform()), i % 3 == 0);
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
}
END_TEST

/*
 * Answers of 25 to 27 ms over a path of 20; who pauses for longer than a timer acknowledges after 40 ms. Every second
 * pauses: what is sooner than the timer has pauses in it too. One in ten does: most answers had none.
 */
START_TEST(where_many_pause_a_timer_may_be_in_it)
{
	for (int often = 2; often <= 10; often += 8) {
		struct flow f;
		double t = 5000;

		rnd_state = 5;
		begin_known(&f);
		f.far.floor = tg_log2_of(20 * MS, f.c.gap_shift);
		for (int i = 0; i < 200; i++) {
			double wait = 25 + 2 * uniform();
			bool pauses = i % often == 0;

			put(&f, t, REQUEST);
			if (pauses)
				put(&f, t + wait + 40, SMALL);
			t += pauses ? wait + 300 : often > 2 ? wait : wait + 38 * uniform();
		}
		ck_assert(estimate(&f));
		ck_assert_uint_eq(f.e.confidence,
				  often > 2 ? TG_CONFIDENCE_GOOD : TG_CONFIDENCE_LOW);
		if (often > 2)
			check_near(ms_of(f.e.mean), 26, 0.02);
	}
}
END_TEST

/* Acknowledgements of 3000 segments that are not known for what they are: the windows they come in are no answers. */
START_TEST(large_answers_acknowledgements_are_no_requests)
{
	struct flow f;
	double t = 100;

	begin_known(&f);
	f.near.limit = 0;
	for (int i = 0; i < 3000; i++) {
		f.near.learn = 9; /* sizes stay unknown */
		put(&f, t += i % 4 == 0 ? 1.2 : 0.01, SMALL);
	}
	ck_assert(estimate(&f));
	ck_assert_uint_eq(f.e.confidence, TG_CONFIDENCE_LOW);
}
END_TEST

/* ------------------------------------------------------------------ what is no gap */

START_TEST(idle_overtaken_and_jumps)
{
	const uint64_t years = 8 * 365 * UINT64_C(86400) * S;
	struct flow f;
	uint64_t t = 20 * S;

	begin_known(&f);
	for (int i = 0; i < 2000; i++) {
		put_at(&f, t, REQUEST);
		if (i % 4 == 0)
			put_at(&f, t, REQUEST); /* same arrival */
		if (i % 4 == 1)
			put_at(&f, t + 20, REQUEST); /* 20 ns: same batch */
		if (i % 4 == 2)
			put_at(&f, t - 300 * US, i % 8 < 4 ? SMALL : REQUEST); /* overtaken */
		t += 2 * MS;
		if (i % 10 == 9)
			t += 61 * S; /* nobody there */
		if (i == 700)
			t += years;
		if (i == 1400)
			t -= years + 5 * S;
	}
	ck_assert_uint_gt(f.good, 1500);
	check_near(f.sum / (double)f.good, 2, 2e-3);
	/* nothing longer than 60 s is a sample of either kind */
	begin_known(&f);
	put(&f, 5, SMALL);
	put(&f, 1000, REQUEST);
	ck_assert_uint_eq(f.near.used, 1);
	put(&f, 62000, SMALL);
	put(&f, 125000, REQUEST);
	put(&f, 186000, REQUEST);
	ck_assert_uint_eq(f.near.used, 1);
	put(&f, 245900, REQUEST);
	ck_assert_uint_eq(f.near.used, 2);
}
END_TEST

/* Random sizes, also impossible ones, and time that creeps, jumps and goes back. */
START_TEST(anything_gives_sane_samples)
{
	const uint64_t hz[] = {1000000000, 2600000000, 1000000};

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct tg_pirate_params params = {TG_ESTIMATOR_GAP, TG_GAP_ENVELOPE};
		struct tg_clock clock = tg_clock_init(hz[seed % 3]);
		struct tg_pirate_server server = {.floor = seed % 5 == 0 ? UINT64_MAX : seed % 4};
		struct tg_pirate_config c = tg_pirate_compile(&params, &clock);
		struct {
			struct tg_envelope_near n;
			uint64_t guard;
			struct tg_envelope_far f;
			uint64_t guard2;
		} s = {.guard = 0x5555, .guard2 = 0xaaaa};
		uint64_t t = 1000 * hz[seed % 3], packets = 0, counted = 0;

		rnd_state = seed;
		for (int i = 0; i < 20000; i++) {
			struct tg_sample out;
			uint64_t dice = rnd();
			struct tg_pkt p = {.ip_len = dice & 1 ? SMALL : (uint16_t)(dice >> 48)};

			if (dice >> 8 % 16 == 0)
				p.ip_len = dice & 16 ? 0 : UINT16_MAX;
			p.key.protocol = seed & 1 ? IPPROTO_UDP : IPPROTO_TCP;
			t += (rnd() >> 24) % (clock.hz / 100);
			if (dice >> 16 % 200 == 0)
				t += (int64_t)(rnd() >> 2) * (dice >> 40 & 1 ? 1 : -1);
			packets++;
			if (tg_envelope_arrive(&c, &server, &s.n, &s.f, &out)) {
				ck_assert_uint_le(out.latency, c.longest + c.longest / 1000);
				ck_assert(out.lo <= out.latency && out.latency <= out.hi);
				ck_assert_uint_ge(out.count, 1);
				ck_assert_uint_le(out.confidence, TG_CONFIDENCE_GOOD);
				counted += out.count;
			}
			tg_envelope_depart(&c, &s.n, &s.f, &p, t);
			ck_assert_uint_le(s.n.used, TG_GAP_BUCKETS);
			ck_assert_uint_le(s.n.since, s.n.due);
		}
		ck_assert_uint_le(counted, packets);
		ck_assert(s.guard == 0x5555 && s.guard2 == 0xaaaa);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate-envelope");

	UNIT_CASE(s, "gaps", envelope_follows_acknowledgements, full_size_packet_is_no_end,
		  handshake_gives_the_floor, ten_buckets_sorted_by_kind, joins_within_a_fifth,
		  few_mixed_samples_are_given_up, light_neighbours_become_one);
	UNIT_CASE(s, "truth", known_truth, server_time_is_what_the_handshake_leaves,
		  window_or_burst_is_a_batch);
	UNIT_CASE(s, "estimate", too_few_samples_say_nothing, epochs_of_64_and_128_samples,
		  lowest_mode_with_weight, lower_of_two_kinds, floor_sets_aside, path_is_the_least,
		  confidence_says_what_it_rests_on, wide_is_told_as_a_whole,
		  wide_without_what_was_acknowledged_late, wide_with_anything_in_it_is_not_sure,
		  where_many_pause_a_timer_may_be_in_it,
		  large_answers_acknowledgements_are_no_requests);
	UNIT_CASE(s, "hostile", idle_overtaken_and_jumps, anything_gives_sane_samples);
	return s;
}

UNIT_MAIN(suite)
