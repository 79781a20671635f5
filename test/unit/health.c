/* SPDX-License-Identifier: BSD-3-Clause */
/* Health checks: the state machine by closed sequences, the bytes of probes. 1 tick = 1 ns. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "tg_parse.h"
#include "tg_probe.h"
#include "unit.h"

#define MS UINT64_C(1000000)
#define T0 (UINT64_C(5000) * MS)

static struct tg_health_params params;
static struct tg_check_rule rule;
static struct tg_check check;

static void fresh(enum tg_health_type type, bool up)
{
	const struct tg_clock clock = tg_clock_init(1000000000);

	params = (struct tg_health_params){
		.type = type, .interval_ms = 1000, .timeout_ms = 500, .rise = 2, .fall = 3};
	rule = tg_check_compile(&params, &clock);
	tg_check_init(&check, up, T0);
}

static struct tg_check_answer tcp(uint8_t flags, uint32_t seq, uint32_t ack)
{
	return (struct tg_check_answer){.kind = TG_ANSWER_TCP,
					.tcp_flags = flags,
					.seq = seq,
					.ack = ack};
}

static enum tg_check_act give(struct tg_check_answer a, uint64_t now)
{
	return tg_check_answer(&check, &rule, &a, now);
}

static struct tg_check_answer text(const char *data, uint32_t seq)
{
	struct tg_check_answer a = tcp(TG_TCP_ACK | TG_TCP_PSH, seq, 0);

	a.data = (const uint8_t *)data;
	a.len = (uint16_t)strlen(data);
	return a;
}

static struct tg_check_answer unreachable(uint32_t seq)
{
	return (struct tg_check_answer){.kind = TG_ANSWER_UNREACHABLE, .seq = seq};
}

/* One check from its beginning at `now`: passed or silent. */
static void one(bool good, uint64_t now)
{
	ck_assert(tg_check_due(&check, now));
	ck_assert_int_eq(tg_check_begin(&check, &rule, 99, now), TG_ACT_SYN);
	if (good)
		ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, 7, 100), now + MS),
				 TG_ACT_RESET);
	else
		ck_assert_int_eq(tg_check_expire(&check, &rule, now + 500 * MS), TG_ACT_NOTHING);
	ck_assert_int_eq(check.phase, TG_CHECK_IDLE);
}

/* '+' a check that passes, '-' one that does not; what it is after each: 'U' or 'D'. */
static void sequence(bool up, const char *results, const char *states)
{
	uint64_t now = T0;

	fresh(TG_HEALTH_TCP, up);
	for (unsigned int i = 0; results[i] != '\0'; i++, now += 1000 * MS) {
		one(results[i] == '+', now);
		ck_assert_msg(check.up == (states[i] == 'U'), "%s: at %u", results, i);
	}
	ck_assert_uint_eq(check.checks, strlen(results));
}

START_TEST(rise_and_fall)
{
	sequence(true, "---", "UUD");
	sequence(true, "--+---", "UUUUUD"); /* in a row */
	sequence(true, "---+-++", "UUDDDDU");
	sequence(false, "++", "DU");
	sequence(false, "+-+-++", "DDDDDU");
	sequence(true, "---++---++", "UUDDUUUDDU");
	ck_assert_uint_eq(check.changes, 4);
	ck_assert_uint_eq(check.failures, 6);
	ck_assert_int_eq(check.why, TG_HEALTH_NONE);
	ck_assert_int_eq(check.fell, TG_HEALTH_SILENT);
}
END_TEST

/* Silent from just after a check that passed: interval * fall + timeout, and not a tick earlier. */
START_TEST(detection_time)
{
	uint64_t now = T0;

	fresh(TG_HEALTH_TCP, true);
	one(true, now);
	for (unsigned int i = 0; i < 3; i++) {
		now += 1000 * MS;
		ck_assert(!tg_check_due(&check, now - 1));
		ck_assert(tg_check_due(&check, now));
		tg_check_begin(&check, &rule, 1, now);
		tg_check_expire(&check, &rule, now + 500 * MS - 1);
		ck_assert_int_eq(check.phase, TG_CHECK_SYN);
		ck_assert(check.up);
		tg_check_expire(&check, &rule, now + 500 * MS);
		ck_assert_int_eq(check.phase, TG_CHECK_IDLE);
		ck_assert_int_eq(check.up, i < 2);
	}
	ck_assert_uint_eq(check.deadline, T0 + 3 * 1000 * MS + 500 * MS);
	ck_assert_uint_eq(check.changed, check.deadline);
}
END_TEST

START_TEST(answers_to_a_syn)
{
	fresh(TG_HEALTH_TCP, true);
	/* before anything was asked, nothing is an answer */
	ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, 7, 1), T0), TG_ACT_NOTHING);
	ck_assert_uint_eq(check.checks, 0);
	tg_check_begin(&check, &rule, UINT32_MAX, T0); /* the sequence wraps: 0 is acknowledged */
	ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, 7, 1), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_SYN, 7, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_ACK, 7, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_RST, 0, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_RST | TG_TCP_ACK, 0, 9), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(check.phase, TG_CHECK_SYN);
	ck_assert_int_eq(give(tcp(TG_TCP_RST | TG_TCP_ACK, 0, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(check.why, TG_HEALTH_REFUSED);
	/* over: a late answer changes nothing */
	ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, 7, 0), T0), TG_ACT_NOTHING);
	ck_assert_uint_eq(check.checks, 1);
	tg_check_begin(&check, &rule, 4, T0);
	ck_assert_int_eq(give((struct tg_check_answer){.kind = TG_ANSWER_UDP}, T0), TG_ACT_NOTHING);
	ck_assert_int_eq(check.phase, TG_CHECK_SYN);
	/* an error about something else: its number is another one */
	give(unreachable(5), T0);
	give(unreachable(3), T0);
	ck_assert_int_eq(check.phase, TG_CHECK_SYN);
	give(unreachable(4), T0);
	ck_assert_int_eq(check.why, TG_HEALTH_UNREACHABLE);
}
END_TEST

static void requested(void)
{
	fresh(TG_HEALTH_HTTP, true);
	tg_check_begin(&check, &rule, 9, T0);
	ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, UINT32_MAX, 10), T0), TG_ACT_REQUEST);
	ck_assert_uint_eq(check.peer, 0);
	ck_assert_uint_eq(check.seq, 10);
}

START_TEST(http)
{
	requested();
	/* the SYN-ACK again, an acknowledgement, a segment out of order: not yet */
	ck_assert_int_eq(give(tcp(TG_TCP_SYN | TG_TCP_ACK, UINT32_MAX, 10), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_ACK, 0, 50), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(text("HTTP/1.1 200 OK\r\n", 1), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(give(tcp(TG_TCP_RST, 1, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(check.phase, TG_CHECK_REQUEST);
	ck_assert_int_eq(give(text("HTTP/1.1 200 OK\r\n", 0), T0), TG_ACT_RESET);
	ck_assert_int_eq(check.why, TG_HEALTH_NONE);
	ck_assert_uint_eq(check.checks, 1);

	requested();
	ck_assert_int_eq(give(text("HTTP/1.1 503 No\r\n", 0), T0), TG_ACT_RESET);
	ck_assert_int_eq(check.why, TG_HEALTH_STATUS);
	requested();
	ck_assert_int_eq(give(tcp(TG_TCP_FIN | TG_TCP_ACK, 0, 0), T0), TG_ACT_RESET);
	ck_assert_int_eq(check.why, TG_HEALTH_BROKEN);
	requested();
	ck_assert_int_eq(give(tcp(TG_TCP_RST, 0, 0), T0), TG_ACT_NOTHING);
	ck_assert_int_eq(check.why, TG_HEALTH_BROKEN);
	requested();
	give(unreachable(9), T0);
	ck_assert_int_eq(check.phase, TG_CHECK_REQUEST);
	give(unreachable(10), T0);
	ck_assert_int_eq(check.why, TG_HEALTH_UNREACHABLE);
	requested(); /* connected, but hung: the server is told that we go */
	ck_assert_int_eq(tg_check_expire(&check, &rule, T0 + 500 * MS), TG_ACT_RESET);
	ck_assert_int_eq(check.why, TG_HEALTH_SILENT);
}
END_TEST

START_TEST(status_lines)
{
	static const struct {
		const char *line;
		enum tg_health_reason want;
	} lines[] = {
		{"HTTP/1.1 200 OK\r\n", TG_HEALTH_NONE},
		{"HTTP/1.0 399 \r\n", TG_HEALTH_NONE},
		{"HTTP/1.1 204", TG_HEALTH_NONE},
		{"HTTP/1.1 301\r\n", TG_HEALTH_NONE},
		{"HTTP/1.1 100 Continue\r\n", TG_HEALTH_STATUS},
		{"HTTP/1.1 404 Not Found\r\n", TG_HEALTH_STATUS},
		{"HTTP/1.1 500 Oh\r\n", TG_HEALTH_STATUS},
		{"HTTP/2 200\r\n\r\n", TG_HEALTH_NOT_HTTP},
		{"HTTP/1.1 20", TG_HEALTH_NOT_HTTP},
		{"HTTP/1.1 2000 Oh\r\n", TG_HEALTH_NOT_HTTP},
		{"HTTP/1.1  200\r\n", TG_HEALTH_NOT_HTTP},
		{"HTTP/1.x 200 OK\r\n", TG_HEALTH_NOT_HTTP},
		{"SSH-2.0-OpenSSH\r\n", TG_HEALTH_NOT_HTTP},
		{"", TG_HEALTH_NOT_HTTP},
	};

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t n = strlen(lines[i].line);
		uint8_t *exact = malloc(n + (n == 0)); /* a sanitizer sees a byte too far */

		memcpy(exact, lines[i].line, n);
		ck_assert_msg(tg_http_judge(exact, (uint16_t)n) == lines[i].want, "%s",
			      lines[i].line);
		free(exact);
	}
}
END_TEST

START_TEST(datagrams)
{
	for (unsigned int expect = 0; expect < 2; expect++) {
		fresh(TG_HEALTH_UDP, true);
		rule.expect = expect != 0;
		ck_assert_int_eq(tg_check_begin(&check, &rule, 0, T0), TG_ACT_DATAGRAM);
		tg_check_expire(&check, &rule, T0 + 500 * MS);
		ck_assert_int_eq(check.why, expect ? TG_HEALTH_SILENT : TG_HEALTH_NONE);
		tg_check_begin(&check, &rule, 0, T0);
		ck_assert_int_eq(give(tcp(TG_TCP_RST, 0, 0), T0), TG_ACT_NOTHING);
		ck_assert_int_eq(check.phase, TG_CHECK_DATAGRAM);
		give((struct tg_check_answer){.kind = TG_ANSWER_UDP}, T0);
		ck_assert_int_eq(check.why, TG_HEALTH_NONE);
		tg_check_begin(&check, &rule, 0, T0);
		give((struct tg_check_answer){.kind = TG_ANSWER_UNREACHABLE}, T0);
		ck_assert_int_eq(check.why, TG_HEALTH_UNREACHABLE);
	}
}
END_TEST

START_TEST(hurried_and_cancelled)
{
	fresh(TG_HEALTH_TCP, true);
	one(true, T0);
	tg_check_hurry(&check, T0 + 10 * MS);
	ck_assert(tg_check_due(&check, T0 + 10 * MS));
	tg_check_begin(&check, &rule, 1, T0 + 10 * MS);
	tg_check_hurry(&check, T0 + 20 * MS); /* not before the one under way is over */
	ck_assert(!tg_check_due(&check, T0 + 20 * MS));
	tg_check_cancel(&check, T0 + 30 * MS);
	ck_assert_uint_eq(check.checks, 1);
	ck_assert(!tg_check_due(&check, T0 + 30 * MS - 1));
	ck_assert(tg_check_due(&check, T0 + 30 * MS));
	/* one that is not under way cannot fail */
	tg_check_failed(&check, &rule, TG_HEALTH_NEIGHBOUR, T0);
	ck_assert_uint_eq(check.failures, 0);
	tg_check_begin(&check, &rule, 1, T0 + 30 * MS);
	tg_check_failed(&check, &rule, TG_HEALTH_NEIGHBOUR, T0 + 30 * MS);
	ck_assert_uint_eq(check.failures, 1);
}
END_TEST

static bool suspected(uint64_t tries, uint64_t again, uint64_t other_tries, uint64_t other_again)
{
	const struct tg_suspect_window w = {.tries = tries, .again = again},
				       o = {.tries = other_tries, .again = other_again};
	const struct tg_suspect_window hung = {.waiting = tries / 5, .overdue = again},
				       rest = {.waiting = other_tries / 5, .overdue = other_again};

	/* what waits is judged alike, but for the least share: a half of a fifth is a tenth */
	ck_assert(tg_suspect(&w, &o) == tg_suspect(&hung, &rest));
	return tg_suspect(&w, &o);
}

START_TEST(suspects)
{
	ck_assert(!suspected(0, 0, 0, 0));
	ck_assert(!suspected(5, 4, 100, 0)); /* too few to say */
	ck_assert(suspected(50, 5, 100, 0));
	ck_assert(!suspected(60, 5, 100, 0));  /* below a tenth */
	ck_assert(suspected(50, 20, 100, 10)); /* four times the others' share, exactly */
	ck_assert(!suspected(50, 20, 100, 11));
	ck_assert(!suspected(50, 40, 100, 80)); /* all of them: the net, or the clients */
	ck_assert(suspected(50, 40, 0, 0));     /* the only one */
}
END_TEST

static struct tg_addr address(const char *s)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(s, &a), 0);
	return a;
}

/* What tg_parse reads in a frame is what the probe says of itself. */
static void parsed(const uint8_t *frame, uint16_t len, const struct tg_pkt *told)
{
	struct tg_pkt p;

	ck_assert_int_eq(tg_parse(frame, len, len, &p), TG_DROP_NONE);
	ck_assert_mem_eq(&p, told, sizeof(p));
}

START_TEST(frames)
{
	/* RFC 1071 by hand: the whole segment with its pseudo header adds up to 0xffff */
	static const uint8_t syn[] = {0,  0,    0,    0,    0,    0,    0,    0,    0,   0,    0,
				      0,  8,    0,    0x45, 0,    0,    40,   0,    0,   0x40, 0,
				      64, 6,    0x6e, 0xc4, 10,   0,    0,    2,    192, 0,    2,
				      10, 0xee, 0x48, 0,    80,   1,    2,    3,    4,   0,    0,
				      0,  0,    0x50, 2,    0xff, 0xff, 0xf1, 0x37, 0,   0};
	struct tg_probe probe = {.from = address("10.0.0.2"),
				 .to = address("192.0.2.10"),
				 .from_port = 61000,
				 .to_port = 80};
	uint8_t frame[TG_PROBE_FRAME_MAX];
	char get[TG_PROBE_DATA_MAX];
	struct tg_pkt p;
	uint16_t len;

	len = tg_probe_tcp(&probe, 0x01020304, 0, TG_TCP_SYN, NULL, 0, frame, &p);
	ck_assert_uint_eq(len, sizeof(syn));
	ck_assert_mem_eq(frame, syn, sizeof(syn));
	parsed(frame, len, &p);
	len = tg_probe_get("/x", &probe.to, 80, get);
	ck_assert_uint_eq(len, strlen(get));
	ck_assert_str_eq(get, "GET /x HTTP/1.1\r\nHost: 192.0.2.10:80\r\n"
			      "User-Agent: tidegate-health\r\nConnection: close\r\n\r\n");
	parsed(frame, tg_probe_tcp(&probe, 5, 6, TG_TCP_ACK, get, len, frame, &p), &p);
	parsed(frame, tg_probe_udp(&probe, "abc", 3, frame, &p), &p);
	parsed(frame, tg_probe_udp(&probe, NULL, 0, frame, &p), &p);
	probe.from = address("2001:db8:2::2");
	probe.to = address("2001:db8:10::10");
	parsed(frame, tg_probe_udp(&probe, "abc", 3, frame, &p), &p);
	parsed(frame, tg_probe_tcp(&probe, 5, 0, TG_TCP_RST, NULL, 0, frame, &p), &p);
}
END_TEST

/* The longest path that the configuration allows fits, with the longest address. */
START_TEST(longest_request)
{
	const struct tg_addr host = address("2001:db8:1111:2222:3333:4444:5555:6666");
	char path[TG_HEALTH_PATH_MAX], get[TG_PROBE_DATA_MAX];
	uint16_t len;

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	len = tg_probe_get(path, &host, 65535, get);
	ck_assert_uint_lt(len, TG_PROBE_DATA_MAX - 1);
	ck_assert_str_eq(get + len - 4, "\r\n\r\n");
	ck_assert_ptr_nonnull(
		strstr(get, "Host: [2001:db8:1111:2222:3333:4444:5555:6666]:65535\r\n"));
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(tg_health_type_name(TG_HEALTH_HTTP), "http");
	ck_assert_ptr_null(tg_health_type_name(4));
	for (unsigned int i = 0; i < TG_HEALTH_REASON_COUNT; i++)
		ck_assert_str_ne(tg_health_reason_name(i), "?");
	ck_assert_str_eq(tg_health_reason_text(TG_HEALTH_REASON_COUNT), "?");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("health");

	UNIT_CASE(s, "state", rise_and_fall, detection_time, hurried_and_cancelled, names);
	UNIT_CASE(s, "answers", answers_to_a_syn, http, status_lines, datagrams);
	UNIT_CASE(s, "suspect", suspects);
	UNIT_CASE(s, "frames", frames, longest_request);
	return s;
}
UNIT_MAIN(suite)
