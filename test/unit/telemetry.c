/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dictionary cannot be read back but through telemetry's own socket: one test starts EAL with
 * telemetry, asks, and looks at the bytes that a client gets.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <rte_telemetry.h>

#include "tg_telemetry.h"
#include "unit.h"

#define REPLY_MAX (16 * 1024)

START_TEST(params_split)
{
	char buf[16], *argv[4];

	ck_assert_int_eq(tg_tel_params(NULL, buf, sizeof(buf), argv, 4), 0);
	ck_assert_int_eq(tg_tel_params("", buf, sizeof(buf), argv, 4), 0);
	ck_assert_int_eq(tg_tel_params("web", buf, sizeof(buf), argv, 4), 1);
	ck_assert_str_eq(argv[0], "web");
	ck_assert_int_eq(tg_tel_params("a,,b,", buf, sizeof(buf), argv, 4), 4);
	ck_assert_str_eq(argv[0], "a");
	ck_assert_str_eq(argv[1], "");
	ck_assert_str_eq(argv[2], "b");
	ck_assert_str_eq(argv[3], "");
	ck_assert_int_eq(tg_tel_params("a,,b,,", buf, sizeof(buf), argv, 4), -E2BIG);
	ck_assert_int_eq(tg_tel_params("123456789012345", buf, sizeof(buf), argv, 4), 1);
	ck_assert_int_eq(tg_tel_params("1234567890123456", buf, sizeof(buf), argv, 4), -E2BIG);
	ck_assert_int_eq(tg_tel_params("a", buf, sizeof(buf), argv, 0), -E2BIG);
}
END_TEST

/* How many entries of a kind a reply takes. */
static unsigned int fill(struct rte_tel_data *d, const char *format, const char *value)
{
	unsigned int n = 0;

	ck_assert_int_eq(tg_tel_start(d), 0);
	while ((value != NULL ? tg_tel_stringf(d, value, format, n)
			      : tg_tel_u64f(d, UINT64_MAX, format, n)) == 0)
		n++;
	ck_assert_int_eq(tg_tel_u64(d, "late", 1), -E2BIG);
	ck_assert_int_eq(tg_tel_string(d, "late", "1"), -E2BIG);
	return n;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
START_TEST(a_reply_is_bounded)
{
	struct rte_tel_data *d = rte_tel_data_alloc();
	char value[128];

	memset(value, '"', 127);
	value[127] = '\0';
	/* by number: one of the 256 is kept for "truncated" */
	ck_assert_uint_eq(fill(d, "key_%u", NULL), 255);
	/* by size: 80 + 127 digits, quotes and punctuation in 16 KiB */
	ck_assert_uint_eq(fill(d, "%0127u", NULL), (REPLY_MAX - 72 - 16) / (127 + 20 + 4));
	ck_assert_uint_eq(fill(d, "%0127u", value), (REPLY_MAX - 72 - 16) / (127 + 254 + 6));
	ck_assert_uint_eq(fill(d, "key_%u", NULL), 255);
	rte_tel_data_free(d);
}
END_TEST
#pragma GCC diagnostic pop

START_TEST(a_reply_must_be_started)
{
	struct rte_tel_data *d = rte_tel_data_alloc(), *other = rte_tel_data_alloc();

	ck_assert_int_eq(tg_tel_u64(d, "a", 1), -EINVAL);
	ck_assert_int_eq(tg_tel_start(d), 0);
	ck_assert_int_eq(tg_tel_u64(d, "a", 1), 0);
	ck_assert_int_eq(tg_tel_string(other, "a", "b"), -EINVAL);
	rte_tel_data_free(d);
	rte_tel_data_free(other);
}
END_TEST

static int small(const char *command, const char *params, struct rte_tel_data *d)
{
	char long_value[300];

	(void)command;
	memset(long_value, 'v', sizeof(long_value));
	long_value[299] = '\0';
	tg_tel_start(d);
	tg_tel_u64(d, "most", UINT64_MAX);
	tg_tel_u64f(d, 7, "odd-key.%s:%u", "x", 9u);
	tg_tel_string(d, "params", params == NULL ? "" : params);
	tg_tel_string(d, "quoted", "a\"b\\c\n\x1b[31m");
	tg_tel_string(d, "long", long_value);
	return 0;
}

static int full(const char *command, const char *params, struct rte_tel_data *d)
{
	(void)command;
	(void)params;
	tg_tel_start(d);
	/* a value that doubles when it is written: the budget must know */
	for (unsigned int i = 0; i < 1000; i++)
		tg_tel_stringf(
			d, "\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"",
			"server_%u_name", i);
	return 0;
}

static int wide(const char *command, const char *params, struct rte_tel_data *d)
{
	(void)command;
	(void)params;
	tg_tel_start(d);
	for (unsigned int i = 0; i < 1000; i++)
		tg_tel_u64f(d, UINT64_MAX, "server_%u_latency_of_exchanges_p50_ns", i);
	return 0;
}

static void start_eal(void)
{
	static char prefix[64];
	static char *argv[] = {(char *)(uintptr_t) "unit",
			       (char *)(uintptr_t) "--no-huge",
			       (char *)(uintptr_t) "-m64",
			       (char *)(uintptr_t) "--no-pci",
			       (char *)(uintptr_t) "--log-level=error",
			       prefix,
			       NULL};

	snprintf(prefix, sizeof(prefix), "--file-prefix=tidegate-unit-telemetry-%d", (int)getpid());
	ck_assert_int_ge(rte_eal_init(6, argv), 0);
}

static int dial(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char hello[1024];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_gt(recv(fd, hello, sizeof(hello), 0), 0);
	return fd;
}

static size_t ask(int fd, const char *command, char *reply)
{
	ssize_t n;

	ck_assert_int_gt(send(fd, command, strlen(command), 0), 0);
	n = recv(fd, reply, REPLY_MAX, 0);
	ck_assert_int_gt(n, 0);
	reply[n] = '\0';
	return (size_t)n;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

START_TEST(what_a_client_gets)
{
	static char reply[REPLY_MAX + 1];
	char dir[256], wanted[512];
	size_t n;
	int fd;

	ck_assert_int_eq(rte_telemetry_register_cmd("/tidegate/small", small, "small"), 0);
	ck_assert_int_eq(rte_telemetry_register_cmd("/tidegate/full", full, "full"), 0);
	ck_assert_int_eq(rte_telemetry_register_cmd("/tidegate/wide", wide, "wide"), 0);
	start_eal();
	fd = dial();
	ask(fd, "/tidegate/small,web,a", reply);
	snprintf(wanted, sizeof(wanted),
		 "{\"/tidegate/small\":{\"most\":18446744073709551615,\"odd_key_x_9\":7,"
		 "\"params\":\"web,a\",\"quoted\":\"a\\\"b\\\\c??[31m\",\"long\":\"");
	ck_assert_msg(strncmp(reply, wanted, strlen(wanted)) == 0, "%s", reply);
	ck_assert_uint_eq(strspn(reply + strlen(wanted), "v"), 124);
	ck_assert(ends_with(reply, strlen(reply), "v...\"}}"));
	n = ask(fd, "/tidegate/full", reply);
	ck_assert_uint_lt(n, REPLY_MAX);
	ck_assert_uint_gt(n, REPLY_MAX - 512);
	ck_assert_msg(ends_with(reply, n, "\",\"truncated\":1}}"), "%s", reply + n - 64);
	n = ask(fd, "/tidegate/wide", reply);
	ck_assert_uint_lt(n, REPLY_MAX);
	ck_assert_msg(ends_with(reply, n, "5,\"truncated\":1}}"), "%s", reply + n - 64);
	close(fd);
	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	unit_eal_remove_dir(dir);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("telemetry");

	UNIT_CASE(s, "helpers", params_split, a_reply_is_bounded, a_reply_must_be_started);
	UNIT_CASE(s, "socket", what_a_client_gets);
	return s;
}

UNIT_MAIN(suite)
