/* SPDX-License-Identifier: BSD-3-Clause */
/* gap: where few of a server's epochs are sure of themselves, those few are so by chance, and none is published. */
#include "envelope_rig.h"

/* `n` exchanges of one flow. Sure: answers of 2 ms, acknowledged. Unsure: 5 ms, and a pause in every other one that
 * nothing tells from an answer. Returns how many of its epochs were published. */
static unsigned int flow_of(struct tg_pirate_server *server, bool sure, int n)
{
	unsigned int published = 0;
	struct flow f;
	double t = 5000;

	begin_known(&f);
	f.server = server;
	for (int i = 0; i < n; i++) {
		uint64_t before = f.samples;

		put(&f, t, REQUEST);
		if (sure)
			put(&f, t + 2, SMALL);
		t += sure ? 500 : i % 2 ? 800 : 5;
		if (f.samples == before)
			continue;
		ck_assert_uint_eq(f.last.confidence, sure ? TG_CONFIDENCE_GOOD : TG_CONFIDENCE_LOW);
		ck_assert(sure || f.last.unsure);
		published += !f.last.unsure;
	}
	return published;
}

START_TEST(sure_server_publishes)
{
	struct tg_pirate_server server = {0};

	for (int k = 0; k < 5; k++) {
		ck_assert_uint_eq(flow_of(&server, true, 1280), 10);
		ck_assert_uint_eq(flow_of(&server, false, 1280), 0);
	}
	ck_assert_uint_eq(flow_of(&server, true, 1280), 10);
}
END_TEST

/* Five of six say that they cannot know. */
START_TEST(few_sure_epochs_are_not_published)
{
	struct tg_pirate_server server = {0};

	for (int k = 0; k < 10; k++)
		flow_of(&server, false, 1280);
	ck_assert_uint_eq(flow_of(&server, true, 1280), 0);
	/* .. and when the server's flows are sure again, so is it */
	for (int k = 0; k < 5; k++)
		flow_of(&server, true, 1280);
	ck_assert_uint_eq(flow_of(&server, true, 1280), 10);
}
END_TEST

/* Nothing is known of a server at first: two epochs of 64, or four of what was no figure. */
START_TEST(first_epochs_are_believed)
{
	struct tg_pirate_server server = {0};

	flow_of(&server, false, 130);
	ck_assert_uint_eq(flow_of(&server, true, 70), 1);
	server = (struct tg_pirate_server){0};
	flow_of(&server, false, 260);
	ck_assert_uint_eq(flow_of(&server, true, 70), 0);
}
END_TEST

/* Whoever sends without an end is heard for 32 epochs. */
START_TEST(one_flow_has_a_bounded_voice)
{
	struct tg_pirate_server server = {0};
	unsigned int published;

	flow_of(&server, false, 100000);
	ck_assert_uint_le(server.gaps_all, 32 * 64);
	published = flow_of(&server, true, 2560);
	ck_assert_uint_ge(published, 10); /* of 20 */
	ck_assert_uint_eq(flow_of(&server, true, 1280), 10);
}
END_TEST

/* Without a server each flow stands alone. */
START_TEST(flow_without_a_server_stands_alone)
{
	ck_assert_uint_eq(flow_of(NULL, true, 1280), 10);
	ck_assert_uint_eq(flow_of(NULL, false, 1280), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pirate-sure");

	UNIT_CASE(s, "server", sure_server_publishes, few_sure_epochs_are_not_published,
		  first_epochs_are_believed, one_flow_has_a_bounded_voice,
		  flow_without_a_server_stands_alone);
	return s;
}

UNIT_MAIN(suite)
