/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that wait: in order within a queue, bounded by class, the least valuable shed first. */
#include "admission/queue.h"
#include "unit.h"

#define CALM(value)  ((uint8_t)(TG_ADMIT_CALM * TG_ADMIT_VALUES + (value)))
#define BURST(value) ((uint8_t)(TG_ADMIT_BURST * TG_ADMIT_VALUES + (value)))
#define POOL         3
#define CHAIN(n)     ((uint64_t)(n)*TG_WAITING_FLOWS) /* hashes that share a chain */

static struct tg_waiting w;

static void set_up(void)
{
	memset(&w, 0, sizeof(w));
	ck_assert_int_eq(tg_waiting_init(&w, -1), 0);
}

static void tear_down(void)
{
	tg_waiting_free(&w);
}

/* `mark` stands in the arrival, so that it is known again. */
static bool add(uint8_t pool, uint8_t queue, uint64_t hash, uint64_t mark)
{
	struct tg_waiting_packet *p = tg_waiting_add(&w, pool, queue, hash);

	if (p == NULL)
		return false;
	ck_assert_uint_eq(p->pool, pool);
	ck_assert_uint_eq(p->queue, queue);
	ck_assert_uint_eq(p->hash, hash);
	p->arrival = mark;
	return true;
}

/* The mark of the oldest, which is taken off. */
static uint64_t next(uint8_t pool, uint8_t queue)
{
	struct tg_waiting_packet *p = tg_waiting_first(&w, pool, queue);
	uint64_t mark = p != NULL ? p->arrival : UINT64_MAX;

	if (p != NULL)
		tg_waiting_remove(&w, p);
	return mark;
}

static unsigned int of_flow(uint64_t hash)
{
	const struct tg_waiting_flow *f = tg_waiting_flow_of(&w, hash);

	return f != NULL ? f->n : 0;
}

START_TEST(first_come_first_gone)
{
	for (uint64_t i = 0; i < 30; i++)
		ck_assert(add(POOL, CALM(TG_ADMIT_SILVER), i % 3, i));
	ck_assert_uint_eq(of_flow(0), 10);
	for (uint64_t i = 0; i < 30; i++) {
		ck_assert_uint_eq(next(POOL, CALM(TG_ADMIT_SILVER)), i);
		ck_assert_uint_eq(of_flow(i % 3), 9 - i / 3);
	}
	ck_assert_ptr_null(tg_waiting_first(&w, POOL, CALM(TG_ADMIT_SILVER)));
	ck_assert_uint_eq(w.n, 0);
}
END_TEST

START_TEST(flows_of_a_chain_are_told_apart)
{
	for (uint64_t i = 1; i <= 4; i++)
		for (uint64_t k = 0; k < i; k++)
			ck_assert(add(0, CALM(i), CHAIN(i), k));
	/* from the middle of the chain, its end and its beginning */
	for (const uint64_t *i = (const uint64_t[]){2, 1, 4, 3, 0}; *i != 0; i++) {
		for (uint64_t k = 0; k < *i; k++) {
			ck_assert_uint_eq(of_flow(CHAIN(*i)), *i - k);
			ck_assert_uint_eq(tg_waiting_flow_of(&w, CHAIN(*i))->queue, CALM(*i));
			ck_assert_uint_eq(next(0, CALM(*i)), k);
		}
		ck_assert_ptr_null(tg_waiting_flow_of(&w, CHAIN(*i)));
	}
	ck_assert_ptr_null(tg_waiting_flow_of(&w, CHAIN(5)));
}
END_TEST

/* Whether one of a flow's packets pays is known until the last that does is gone. */
START_TEST(who_pays_is_counted)
{
	const uint32_t costs[] = {0, 3, 0, 1, 0};
	const unsigned int paying[] = {2, 1, 1, 0, 0};

	for (unsigned int i = 0; i < 5; i++) {
		ck_assert(add(POOL, BURST(0), 9, i));
		tg_waiting_price(&w, &w.packet[w.queue[POOL][BURST(0)].last], costs[i]);
	}
	ck_assert_uint_eq(tg_waiting_flow_of(&w, 9)->paying, 2);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(next(POOL, BURST(0)), i);
		ck_assert_uint_eq(tg_waiting_flow_of(&w, 9)->paying, paying[i]);
	}
}
END_TEST

START_TEST(a_class_is_bounded_and_so_is_the_other)
{
	/* three times, so that no place is lost */
	for (int turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < TG_WAITING_MAX; i++) {
			ck_assert(add((uint8_t)(i % 5), CALM(i % TG_ADMIT_VALUES), i, i));
			ck_assert(add((uint8_t)(i % 5), BURST(i % TG_ADMIT_VALUES), ~i, i));
		}
		ck_assert(!add(0, CALM(TG_ADMIT_PLATINUM), 1, 0));
		ck_assert(!add(0, BURST(TG_ADMIT_PLATINUM), 1, 0));
		ck_assert_uint_eq(w.n, 2 * TG_WAITING_MAX);
		ck_assert_uint_eq(w.pools, 31);
		for (uint8_t pool = 0; pool < 5; pool++) {
			for (uint8_t q = 0; q < TG_WAITING_QUEUES; q++)
				while (next(pool, q) != UINT64_MAX)
					;
			ck_assert_uint_eq(w.pools >> pool & 1, 0);
		}
		ck_assert_uint_eq(w.n_class[TG_ADMIT_CALM] + w.n_class[TG_ADMIT_BURST], 0);
	}
}
END_TEST

/* What is shed for a packet of that pool and value. */
static uint64_t shed_for(uint8_t pool, enum tg_admit_class class, uint8_t value)
{
	const struct tg_waiting_packet *p = tg_waiting_shed(&w, pool, class, value);

	return p != NULL ? p->arrival : UINT64_MAX;
}

static uint64_t shed(enum tg_admit_class class, uint8_t value)
{
	return shed_for(1, class, value);
}

START_TEST(the_newest_of_the_least_valuable_is_shed)
{
	const uint64_t none = UINT64_MAX;

	add(1, BURST(TG_ADMIT_GOLD), 10, 10);
	add(1, BURST(TG_ADMIT_BRONZE), 20, 20);
	add(1, BURST(TG_ADMIT_BRONZE), 21, 21);
	add(1, BURST(TG_ADMIT_GOLD), 11, 11);
	add(2, BURST(TG_ADMIT_BEST_EFFORT), 30, 30); /* of another pool, which has less */
	add(1, CALM(TG_ADMIT_BEST_EFFORT), 40, 40);  /* of another class */

	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_BEST_EFFORT), none);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_BRONZE), none); /* equals stay */
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_SILVER), 21);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_SILVER), 20);
	ck_assert_uint_eq(w.n_pool[2][TG_ADMIT_BURST], 1);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_SILVER), none);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_GOLD), none);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_PLATINUM), 11);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_PLATINUM), 10);
	/* now the other pool has more than this one */
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_BEST_EFFORT), 30);
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_PLATINUM), none);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_uint_eq(next(1, CALM(TG_ADMIT_BEST_EFFORT)), 40);
}
END_TEST

START_TEST(a_full_class_takes_a_more_valuable_one_for_a_less)
{
	for (uint64_t i = 0; i < TG_WAITING_MAX; i++)
		ck_assert(add(0, BURST(TG_ADMIT_BRONZE), i, i));
	ck_assert(!add(0, BURST(TG_ADMIT_GOLD), 9999, 9999));
	ck_assert_uint_eq(shed(TG_ADMIT_BURST, TG_ADMIT_GOLD), TG_WAITING_MAX - 1);
	ck_assert(add(0, BURST(TG_ADMIT_GOLD), 9999, 9999));
	ck_assert(!add(0, BURST(TG_ADMIT_GOLD), 9998, 9998));
	ck_assert_uint_eq(next(0, BURST(TG_ADMIT_GOLD)), 9999);
	for (uint64_t i = 0; i < TG_WAITING_MAX - 1; i++)
		ck_assert_uint_eq(next(0, BURST(TG_ADMIT_BRONZE)), i);
}
END_TEST

/* One pool's burst fills all places: another pool gets its half of them, however little its packets are
 * worth, and not more. */
START_TEST(no_pool_fills_anothers_room)
{
	unsigned int got = 0;

	for (uint64_t i = 0; i < TG_WAITING_MAX; i++)
		ck_assert(add(0, BURST(TG_ADMIT_PLATINUM), i, i));
	for (uint64_t i = 0; i < TG_WAITING_MAX; i++) {
		if (shed_for(5, TG_ADMIT_BURST, TG_ADMIT_BEST_EFFORT) == UINT64_MAX)
			break;
		ck_assert(add(5, BURST(TG_ADMIT_BEST_EFFORT), TG_WAITING_MAX + i, i));
		got++;
	}
	ck_assert_uint_eq(got, TG_WAITING_MAX / 2);
	ck_assert_uint_eq(w.n_pool[0][TG_ADMIT_BURST], TG_WAITING_MAX / 2);
	/* and the first keeps what came first */
	for (uint64_t i = 0; i < TG_WAITING_MAX / 2; i++)
		ck_assert_uint_eq(next(0, BURST(TG_ADMIT_PLATINUM)), i);
}
END_TEST

/* What is passed over stays with all of its flow; the pass goes on where it was, also when what stood
 * there is gone; the next one looks at all again. */
START_TEST(a_pass_goes_round)
{
	const uint8_t q = CALM(TG_ADMIT_SILVER);
	struct tg_waiting_packet *p;

	ck_assert_ptr_null(tg_waiting_resume(&w, POOL, q));
	for (uint64_t i = 0; i < 6; i++)
		add(POOL, q, i % 3, i);
	p = tg_waiting_resume(&w, POOL, q);
	ck_assert_uint_eq(p->arrival, 0);
	tg_waiting_pass_over(&w, p);
	p = tg_waiting_resume(&w, POOL, q);
	ck_assert_uint_eq(p->arrival, 1);
	ck_assert(!tg_waiting_is_passed(&w, p));
	tg_waiting_remove(&w, p);
	p = tg_waiting_resume(&w, POOL, q);
	ck_assert_uint_eq(p->arrival, 2);
	p = tg_waiting_behind(&w, p);
	ck_assert_uint_eq(p->arrival, 3);
	ck_assert(tg_waiting_is_passed(&w, p)); /* as 0 was */
	tg_waiting_pass_over(&w, p);
	for (uint64_t i = 4; i < 6; i++) {
		p = tg_waiting_resume(&w, POOL, q);
		ck_assert_uint_eq(p->arrival, i);
		tg_waiting_pass_over(&w, p);
	}
	p = tg_waiting_resume(&w, POOL, q);
	ck_assert_uint_eq(p->arrival, 0);
	ck_assert(!tg_waiting_is_passed(&w, p));
}
END_TEST

START_TEST(what_is_left_of_a_flow_keeps_its_order)
{
	/* two flows in turn; the newest three go */
	for (uint64_t i = 0; i < 10; i++)
		add(0, CALM(TG_ADMIT_BRONZE), i % 2, i);
	for (uint64_t i = 0; i < 3; i++)
		ck_assert_uint_eq(shed(TG_ADMIT_CALM, TG_ADMIT_SILVER), 9 - i);
	ck_assert_uint_eq(of_flow(0), 4);
	ck_assert_uint_eq(of_flow(1), 3);
	add(0, CALM(TG_ADMIT_BRONZE), 1, 10);
	for (uint64_t i = 0; i < 7; i++)
		ck_assert_uint_eq(next(0, CALM(TG_ADMIT_BRONZE)), i);
	ck_assert_uint_eq(of_flow(0), 0);
	ck_assert_uint_eq(next(0, CALM(TG_ADMIT_BRONZE)), 10);
	ck_assert_ptr_null(tg_waiting_flow_of(&w, 1));
}
END_TEST

/* ------------------------------------------------------------------ against a plain model */

#define POOLS 3
#define FLOWS 64
static uint64_t seed = 7;
static struct {
	uint64_t mark[4096];
	unsigned int from, to; /* of a ring */
} model[POOLS][TG_WAITING_QUEUES];
static unsigned int in_class[TG_ADMIT_CLASSES];

static unsigned int draw(unsigned int n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

static void step_add(uint64_t mark)
{
	unsigned int flow = draw(FLOWS);
	/* a flow is in one queue */
	uint8_t pool = (uint8_t)(flow % POOLS), q = (uint8_t)(flow % TG_WAITING_QUEUES);
	bool room = in_class[tg_waiting_class(q)] < TG_WAITING_MAX;

	ck_assert(add(pool, q, CHAIN(flow / 2) + flow % 2, mark) == room);
	if (!room)
		return;
	model[pool][q].mark[model[pool][q].to++ % 4096] = mark;
	in_class[tg_waiting_class(q)]++;
}

static void step_remove(void)
{
	unsigned int pool = draw(POOLS), q = draw(TG_WAITING_QUEUES);
	uint64_t got = next((uint8_t)pool, (uint8_t)q);

	if (model[pool][q].from == model[pool][q].to) {
		ck_assert_uint_eq(got, UINT64_MAX);
		return;
	}
	ck_assert_uint_eq(got, model[pool][q].mark[model[pool][q].from++ % 4096]);
	in_class[tg_waiting_class((uint8_t)q)]--;
}

static unsigned int n_in(unsigned int pool, enum tg_admit_class class)
{
	unsigned int n = 0;

	for (unsigned int v = 0; v < TG_ADMIT_VALUES; v++)
		n += model[pool][class * TG_ADMIT_VALUES + v].to -
		     model[pool][class * TG_ADMIT_VALUES + v].from;
	return n;
}

static void step_shed(void)
{
	enum tg_admit_class class = draw(2) ? TG_ADMIT_BURST : TG_ADMIT_CALM;
	unsigned int value = draw(TG_ADMIT_VALUES), own = draw(POOLS), p = own;
	uint64_t got = shed_for((uint8_t)own, class, (uint8_t)value);

	for (unsigned int i = 0; i < POOLS; i++)
		p = n_in(i, class) > n_in(p, class) ? i : p;
	for (unsigned int v = TG_ADMIT_VALUES; v-- > (p == own ? value + 1 : 0);) {
		unsigned int q = class * TG_ADMIT_VALUES + v;

		if (model[p][q].from == model[p][q].to)
			continue;
		ck_assert_uint_eq(got, model[p][q].mark[--model[p][q].to % 4096]);
		in_class[class]--;
		return;
	}
	ck_assert_uint_eq(got, UINT64_MAX);
}

START_TEST(as_a_plain_model_does)
{
	for (uint64_t i = 0; i < 400000; i++) {
		/* by turns more come, up to full classes, and more go */
		unsigned int coming = i / 20000 % 2 == 0 ? 80 : 20, what = draw(100);

		if (what < coming)
			step_add(i);
		else if (what % 4 == 0)
			step_shed();
		else
			step_remove();
		ck_assert_uint_eq(w.n_class[TG_ADMIT_CALM], in_class[TG_ADMIT_CALM]);
		ck_assert_uint_eq(w.n_class[TG_ADMIT_BURST], in_class[TG_ADMIT_BURST]);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admission_queue");
	TCase *tc = tcase_create("waiting");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, first_come_first_gone);
	tcase_add_test(tc, flows_of_a_chain_are_told_apart);
	tcase_add_test(tc, who_pays_is_counted);
	tcase_add_test(tc, a_class_is_bounded_and_so_is_the_other);
	tcase_add_test(tc, the_newest_of_the_least_valuable_is_shed);
	tcase_add_test(tc, a_full_class_takes_a_more_valuable_one_for_a_less);
	tcase_add_test(tc, no_pool_fills_anothers_room);
	tcase_add_test(tc, a_pass_goes_round);
	tcase_add_test(tc, what_is_left_of_a_flow_keeps_its_order);
	tcase_add_test(tc, as_a_plain_model_does);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN_EAL(suite)
