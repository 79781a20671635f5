/* SPDX-License-Identifier: BSD-3-Clause */
/* What tidegate-bidder does: what waits and for how long, what a source says, that the rules fit. What the kernel
 * makes of the rules is seen on the wire, test/bid/live.sh. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hold.h"
#include "load.h"
#include "rules.h"
#include "tg_bid_wire.h"
#include "unit.h"

#define NS_A_S INT64_C(1000000000)

static struct tg_hold hold;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * NS_A_S + t.tv_nsec;
}

static void is_next(uint64_t now, uint32_t want)
{
	uint32_t id;

	ck_assert(tg_hold_take(&hold, now, &id));
	ck_assert_uint_eq(id, want);
}

START_TEST(each_leaves_when_it_is_due)
{
	uint32_t id;

	memset(&hold, 0, sizeof(hold));
	ck_assert(!tg_hold_take(&hold, UINT64_MAX, &id));
	ck_assert_uint_eq(tg_hold_next(&hold), UINT64_MAX);
	ck_assert(tg_hold_put(&hold, 1, 500));
	ck_assert(tg_hold_put(&hold, 2, 900));
	ck_assert(tg_hold_put(&hold, 3, 100)); /* the load fell */
	ck_assert(tg_hold_put(&hold, 4, 500)); /* as 1, and after it */
	ck_assert_uint_eq(tg_hold_next(&hold), 100);
	ck_assert(!tg_hold_take(&hold, 99, &id));
	is_next(100, 3);
	ck_assert(!tg_hold_take(&hold, 499, &id));
	is_next(500, 1);
	is_next(500, 4);
	ck_assert(!tg_hold_take(&hold, 500, &id));
	is_next(UINT64_MAX, 2);
}
END_TEST

/* Against the plainest of all: the least of a list, the longest there first. */
START_TEST(in_order_of_time_whatever_comes)
{
	static struct tg_held list[HOLD_MAX];
	unsigned int n = 0;

	memset(&hold, 0, sizeof(hold));
	srand(3);
	for (uint32_t i = 0; i < 20000; i++) {
		unsigned int best = 0;

		if (n < 200 && rand() % 100 < 52) {
			list[n] = (struct tg_held){.due = (uint64_t)(rand() % 50), .id = i};
			ck_assert(tg_hold_put(&hold, i, list[n++].due));
			continue;
		}
		if (n == 0)
			continue;
		for (unsigned int k = 1; k < n; k++)
			best = list[k].due < list[best].due ? k : best;
		ck_assert_uint_eq(tg_hold_next(&hold), list[best].due);
		is_next(list[best].due, list[best].id);
		memmove(&list[best], &list[best + 1], (--n - best) * sizeof(*list));
	}
}
END_TEST

START_TEST(what_finds_no_place_does_not_wait)
{
	memset(&hold, 0, sizeof(hold));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < HOLD_MAX; i++)
			ck_assert(tg_hold_put(&hold, i, HOLD_MAX - i));
		ck_assert(!tg_hold_put(&hold, HOLD_MAX, 0));
		for (uint32_t i = HOLD_MAX; i-- > 0;)
			is_next(UINT64_MAX, i);
	}
}
END_TEST

START_TEST(load_as_a_delay)
{
	ck_assert_uint_eq(tg_bid_delay_ns(tg_bid_encode(0), TG_BID_DELAY_US), 0);
	ck_assert_uint_eq(tg_bid_delay_ns(TG_BID_LEAST + 1, TG_BID_DELAY_US), 20000);
	ck_assert_uint_eq(tg_bid_delay_ns(tg_bid_encode(0.5), TG_BID_DELAY_US), 63 * 20000);
	ck_assert_uint_eq(tg_bid_delay_ns(tg_bid_encode(7), 1000000), UINT64_C(1000000000));
	for (unsigned int bid = TG_BID_LEAST; bid < TG_BID_MOST; bid++)
		ck_assert_uint_lt(tg_bid_delay_ns((uint8_t)bid, 126),
				  tg_bid_delay_ns((uint8_t)(bid + 1), 126));
}
END_TEST

START_TEST(sources)
{
	static const char *const wrong[] = {"",      "file",          "file:",
					    "queue", "connections:1", "run-queue "};
	struct tg_load_source s;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert(!tg_load_parse(wrong[i], &s));
	ck_assert(tg_load_parse("run-queue", &s) && s.kind == LOAD_RUN_QUEUE);
	ck_assert(tg_load_parse("listen-queue", &s) && s.kind == LOAD_LISTEN_QUEUE);
	ck_assert(tg_load_parse("connections", &s) && s.kind == LOAD_CONNECTIONS);
	ck_assert(tg_load_parse("file:/x", &s) && s.kind == LOAD_FILE);
	ck_assert_str_eq(s.path, "/x");
}
END_TEST

/* What a program writes; what is no number leaves the last one. */
START_TEST(a_value_from_a_file)
{
	static const struct {
		const char *text;
		double is;
	} rows[] = {{"0.25\n", 0.25}, {"", 0.25},        {"busy", 0.25}, {"-1", 0.25},
		    {"nan", 0.25},    {"inf", 0.25},     {"1.5", 1.5},   {"refuse\n", LOAD_REFUSE},
		    {"0", 0},         {"0.75 0.1", 0.75}};
	char path[] = "/tmp/tidegate-load-XXXXXX", err[128], text[300];
	int fd = mkstemp(path);
	struct tg_load_source s;

	ck_assert_int_ge(fd, 0);
	snprintf(text, sizeof(text), "file:%s", path);
	ck_assert(tg_load_parse(text, &s));
	ck_assert_int_eq(pwrite(fd, "1", 1, 0), 1);
	ck_assert_int_eq(tg_load_open(&s, NULL, 0, err, sizeof(err)), 0);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		ck_assert_int_eq(pwrite(fd, rows[i].text, strlen(rows[i].text), 0),
				 (ssize_t)strlen(rows[i].text));
		ck_assert_double_eq(tg_load_read(&s, NULL, 0, now_ns()), rows[i].is);
	}
	close(fd);
	/* nobody writes it any more; gone, the last one counts as long */
	ck_assert_double_eq(tg_load_read(&s, NULL, 0, now_ns() + 4 * NS_A_S), 0.75);
	ck_assert_double_eq(tg_load_read(&s, NULL, 0, now_ns() + 6 * NS_A_S), LOAD_UNKNOWN);
	unlink(path);
	ck_assert_double_eq(tg_load_read(&s, NULL, 0, now_ns()), 0.75);
	ck_assert_double_eq(tg_load_read(&s, NULL, 0, now_ns() + 6 * NS_A_S), LOAD_UNKNOWN);
}
END_TEST

/* No file, a FIFO that nobody writes, a file without a number: told at the start, at once. */
START_TEST(a_source_that_says_nothing)
{
	char dir[] = "/tmp/tidegate-load-XXXXXX", path[64], text[80], err[256];
	struct tg_load_source s;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/load", dir);
	snprintf(text, sizeof(text), "file:%s", path);
	for (unsigned int i = 0; i < 3; i++) {
		if (i == 1)
			ck_assert_int_eq(mkfifo(path, 0600), 0);
		if (i == 2)
			close(creat(path, 0600));
		ck_assert(tg_load_parse(text, &s));
		ck_assert_int_eq(tg_load_open(&s, NULL, 0, err, sizeof(err)), -EIO);
		ck_assert_ptr_nonnull(strstr(err, path));
		unlink(path);
	}
	rmdir(dir);
}
END_TEST

/* Three that want the processor are seen at once; whatever else runs here comes on top. */
START_TEST(the_kernel_says_how_many_run)
{
	char err[128];
	struct tg_load_source s;
	pid_t busy[3];
	double seen = 0;

	ck_assert(tg_load_parse("run-queue", &s));
	s.full = 2;
	ck_assert_int_eq(tg_load_open(&s, NULL, 0, err, sizeof(err)), 0);
	for (unsigned int i = 0; i < 3; i++) {
		busy[i] = fork();
		ck_assert_int_ge(busy[i], 0);
		if (busy[i] == 0) {
			alarm(5);
			for (;;)
				;
		}
	}
	for (unsigned int i = 0; i < 1000 && seen < 1.5; i++) {
		seen = tg_load_read(&s, NULL, 0, now_ns());
		usleep(1000);
	}
	for (unsigned int i = 0; i < 3; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	ck_assert_double_ge(seen, 1.5);
	close(s.fd);
}
END_TEST

static struct tg_load_source socket_source(const char *kind, double full)
{
	struct tg_load_source s;
	char err[128];

	ck_assert(tg_load_parse(kind, &s));
	s.full = full;
	ck_assert_msg(tg_load_open(&s, NULL, 0, err, sizeof(err)) == 0, "%s", err);
	return s;
}

/* Six clients that nobody accepts, of a backlog of eight; then three are accepted. */
START_TEST(the_kernel_says_who_waits)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct tg_load_source waiting = socket_source("listen-queue", 0),
			      there = socket_source("connections", 12);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client[6], accepted[3];
	socklen_t len = sizeof(at);
	uint16_t ports[2] = {htons(1)};

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	ports[1] = at.sin_port;
	ck_assert_double_eq(tg_load_read(&waiting, ports, 2, now_ns()), 0);
	ck_assert_double_eq(tg_load_read(&there, ports, 2, now_ns()), 0);
	for (unsigned int i = 0; i < 6; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(client[i], (struct sockaddr *)&at, len), 0);
	}
	ck_assert_double_eq(tg_load_read(&waiting, ports, 2, now_ns()), 6. / 8);
	ck_assert_double_eq(tg_load_read(&there, ports, 2, now_ns()), 6. / 12);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_ge(accepted[i] = accept(listener, NULL, NULL), 0);
	ck_assert_double_eq(tg_load_read(&waiting, ports, 2, now_ns()), 3. / 8);
	ck_assert_double_eq(tg_load_read(&there, ports, 2, now_ns()), 6. / 12);
	ck_assert_double_eq(tg_load_read(&waiting, ports, 1, now_ns()), 0); /* not that port's */
	for (unsigned int i = 0; i < 6; i++)
		close(client[i]);
	for (unsigned int i = 0; i < 3; i++)
		close(accepted[i]);
	close(listener);
	close(waiting.fd);
	close(there.fd);
}
END_TEST

/* The longest batch there is: two rules that mark, and one to wait for each of all the ports. */
START_TEST(all_rules_fit)
{
	static struct tg_batch b;
	uint16_t ports[PORTS_MAX];
	unsigned int rules = 0;
	int left;

	for (unsigned int i = 0; i < PORTS_MAX; i++)
		ports[i] = htons((uint16_t)(60000 + i));
	tg_batch_begin(&b, 1);
	ck_assert_int_eq(tg_rules_add(&b, "tidegate_bid_60000"), 0);
	ck_assert_int_eq(tg_rules_add_queue(&b, "tidegate_bid_60000", ports, PORTS_MAX, 60000), 0);
	tg_batch_end(&b);
	left = (int)tg_batch_len(&b);
	ck_assert_int_le(left, BATCH_ROOM);
	for (const struct nlmsghdr *h = (const void *)b.text; left > 0; rules++) {
		ck_assert(mnl_nlmsg_ok(h, left));
		h = mnl_nlmsg_next(h, &left);
	}
	ck_assert_int_eq(left, 0);
	/* begin, table, chain, map, the rules, end */
	ck_assert_uint_eq(rules, 2 + 3 + 2 + PORTS_MAX);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bidder");

	UNIT_CASE(s, "what waits", each_leaves_when_it_is_due, in_order_of_time_whatever_comes,
		  what_finds_no_place_does_not_wait, load_as_a_delay);
	UNIT_CASE(s, "load", sources, a_value_from_a_file, a_source_that_says_nothing,
		  the_kernel_says_how_many_run, the_kernel_says_who_waits);
	UNIT_CASE(s, "rules", all_rules_fit);
	return s;
}

UNIT_MAIN(suite)
