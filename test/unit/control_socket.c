/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends in one thread: a client writes, the socket is polled, the client reads what is there. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../../app/tidegate/api/socket.h"
#include "unit.h"

#define HELLO       "{\"version\":1,\"command\":\"echo\",\"arguments\":[\"a\",\"b c\"]}"
#define HELLO_REPLY "{\"version\": 1, \"ok\": true, \"result\": [\"a\", \"b c\"]}"

static char folder[] = "/tmp/tidegate-unit-XXXXXX";
static char path[64], err[512];
static struct tg_control_socket *s;
static unsigned int calls;

/* echo: its arguments; large: 400 kB; refuse: a sentence */
static json_t *handler(void *ctx, const char *command, char **args, int n, char *why, size_t len)
{
	json_t *list = json_array();

	(*(unsigned int *)ctx)++;
	if (strcmp(command, "refuse") == 0) {
		json_decref(list);
		snprintf(why, len, "no\nnever");
		return NULL;
	}
	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_string(args[i]));
	for (int i = 0; strcmp(command, "large") == 0 && i < 40000; i++)
		json_array_append_new(list, json_string("0123456"));
	return list;
}

static void open_ok(void)
{
	int rc = tg_control_socket_open(path, 0660, NULL, handler, &calls, &s, err, sizeof(err));

	ck_assert_msg(rc == 0, "%s", err);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/run/c.sock", folder);
	open_ok();
}

static void tear_down(void)
{
	char run[64];

	tg_control_socket_close(s);
	ck_assert_int_eq(access(path, F_OK), -1);
	snprintf(run, sizeof(run), "%s/run", folder);
	ck_assert_int_eq(rmdir(run), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static int dial(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(a.sun_path, path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

#define FILES 32

/* The process can open no more files, or can again. */
static void no_more_files(bool none)
{
	static struct rlimit was;
	static int taken[FILES];
	static unsigned int n;

	if (none) {
		ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, was.rlim_max}),
				 0);
		for (n = 0; n < FILES && (taken[n] = open("/dev/null", O_RDONLY)) >= 0;)
			n++;
		return;
	}
	while (n > 0)
		close(taken[--n]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void steps(unsigned int n)
{
	while (n-- > 0)
		tg_control_socket_poll(s, 0);
}

/* What lies there to be read, all of it; "" and *ended when the other side closed. */
static const char *hear(int fd, bool *ended)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t got;

	*ended = false;
	while ((got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	if (got == 0 || errno == ECONNRESET)
		*ended = true;
	text[n] = '\0';
	return text;
}

static void expect(int fd, const char *json)
{
	json_t *wanted = json_loads(json, 0, NULL), *got;
	const char *text;
	bool ended;

	text = hear(fd, &ended);
	ck_assert_msg(!ended && strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s",
		      text);
	got = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(wanted);
	ck_assert_msg(json_equal(wanted, got), "%s", text);
	json_decref(wanted);
	json_decref(got);
}

/* A refusal whose sentence has these words. */
static void expect_error(int fd, const char *words)
{
	bool ended;
	json_t *got = json_loads(hear(fd, &ended), 0, NULL);

	ck_assert(json_is_false(json_object_get(got, "ok")));
	ck_assert_int_eq(json_integer_value(json_object_get(got, "version")), 1);
	ck_assert_msg(strstr(json_string_value(json_object_get(got, "error")), words) != NULL, "%s",
		      json_string_value(json_object_get(got, "error")));
	json_decref(got);
}

START_TEST(request_and_reply)
{
	int fd = dial();

	say(fd, HELLO "\n");
	steps(2);
	expect(fd, HELLO_REPLY);
	say(fd, "{\"version\":1,\"command\":\"x\"}\n");
	steps(1);
	expect(fd, "{\"version\": 1, \"ok\": true, \"result\": []}");
	say(fd, "{\"version\":1,\"command\":\"refuse\"}\n");
	steps(1);
	expect(fd, "{\"version\": 1, \"ok\": false, \"error\": \"no\\nnever\"}");
	close(fd);
	steps(1);
}
END_TEST

START_TEST(byte_by_byte_and_many_at_once)
{
	const char text[] = HELLO "\n";
	int fd = dial();
	bool ended;

	steps(1);
	for (const char *p = text; *p != '\0'; p++) {
		ck_assert_int_eq(send(fd, p, 1, 0), 1);
		ck_assert_str_eq(hear(fd, &ended), "");
		steps(1);
	}
	expect(fd, HELLO_REPLY);
	/* three in one write: one a step */
	say(fd, HELLO "\n" HELLO "\n" HELLO "\n");
	for (int i = 0; i < 3; i++) {
		steps(1);
		expect(fd, HELLO_REPLY);
	}
	ck_assert_uint_eq(calls, 4);
	close(fd);
}
END_TEST

START_TEST(the_end_of_input_ends_a_line)
{
	int fd = dial();
	bool ended;

	say(fd, HELLO "\n" HELLO);
	shutdown(fd, SHUT_WR);
	steps(2);
	expect(fd, HELLO_REPLY);
	steps(2);
	ck_assert_ptr_nonnull(strstr(hear(fd, &ended), "\"ok\":true"));
	steps(1);
	hear(fd, &ended);
	ck_assert(ended);
	close(fd);
}
END_TEST

START_TEST(malformed_requests)
{
	static const struct {
		const char *line, *words;
	} bad[] = {
		{"", "one JSON object"},
		{"hello", "one JSON object"},
		{"[1]", "one JSON object"},
		{"{\"version\":1,\"version\":1,\"command\":\"echo\"}", "one JSON object"},
		{"{} {}", "one JSON object"},
		{"\xff\xfe", "one JSON object"},
		{"{\"command\":\"echo\"}", "speaks version 1"},
		{"{\"version\":2,\"command\":\"echo\"}", "speaks version 1"},
		{"{\"version\":\"1\",\"command\":\"echo\"}", "speaks version 1"},
		{"{\"version\":1}", "\"command\""},
		{"{\"version\":1,\"command\":7}", "\"command\""},
		{"{\"version\":1,\"command\":\"echo\",\"arguments\":\"a\"}", "\"arguments\""},
		{"{\"version\":1,\"command\":\"echo\",\"arguments\":[1]}", "\"arguments\""},
		{"{\"version\":1,\"command\":\"echo\",\"arguments\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\","
		 "\"7\",\"8\",\"9\"]}",
		 "\"arguments\""},
	};
	int fd = dial();

	steps(1);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		say(fd, bad[i].line);
		say(fd, "\n");
		steps(1);
		expect_error(fd, bad[i].words);
	}
	ck_assert_uint_eq(calls, 0);
	say(fd, HELLO "\n");
	steps(1);
	expect(fd, HELLO_REPLY);
	close(fd);
}
END_TEST

START_TEST(line_length)
{
	char line[TG_CONTROL_LINE_MAX + 3];
	int fd = dial();
	bool ended;

	memset(line, ' ', sizeof(line));
	memcpy(line, HELLO, strlen(HELLO));
	strcpy(line + TG_CONTROL_LINE_MAX, "\n");
	say(fd, line);
	steps(3);
	expect(fd, HELLO_REPLY);
	strcpy(line + TG_CONTROL_LINE_MAX, " \n");
	say(fd, line);
	steps(3);
	expect_error(fd, "at most 4096 bytes");
	hear(fd, &ended);
	ck_assert(ended);
	close(fd);
}
END_TEST

/* A request far too long, sent on after its answer: that arrives, in place of a reset. */
START_TEST(far_too_long)
{
	static char block[32768];
	int fd = dial();
	bool ended;

	memset(block, 'x', sizeof(block) - 1);
	for (unsigned int i = 0; i < 4; i++) {
		say(fd, block);
		steps(2);
	}
	expect_error(fd, "at most 4096 bytes");
	say(fd, block);
	steps(3);
	hear(fd, &ended);
	ck_assert(ended);
	close(fd);
	fd = dial();
	say(fd, HELLO "\n");
	steps(3);
	expect(fd, HELLO_REPLY);
	close(fd);
}
END_TEST

/* The reply does not fit into the socket: nobody waits, others are served. */
START_TEST(who_does_not_read)
{
	int slow = dial(), other;
	size_t total = 0;
	bool ended;

	say(slow, "{\"version\":1,\"command\":\"large\"}\n" HELLO "\n");
	steps(4);
	ck_assert_uint_eq(calls, 1);
	other = dial();
	say(other, HELLO "\n");
	steps(2);
	expect(other, HELLO_REPLY);
	for (int i = 0; i < 100 && total < 400000; i++) {
		total += strlen(hear(slow, &ended));
		ck_assert(!ended);
		steps(1);
	}
	ck_assert_uint_gt(total, 400000);
	steps(1);
	ck_assert_uint_eq(calls, 3);
	close(slow);
	close(other);
	steps(2);
}
END_TEST

START_TEST(who_is_gone_before_the_reply)
{
	int fd = dial();

	say(fd, "{\"version\":1,\"command\":\"large\"}\n" HELLO "\n");
	close(fd);
	steps(5);
	fd = dial();
	say(fd, HELLO "\n");
	steps(2);
	expect(fd, HELLO_REPLY);
	close(fd);
}
END_TEST

START_TEST(no_descriptor_is_free)
{
	int fd = dial();

	say(fd, HELLO "\n");
	no_more_files(true);
	tg_control_socket_poll(s, 0); /* and from here on nobody is asked for */
	no_more_files(false);
	for (unsigned int i = 0; i < 10; i++)
		tg_control_socket_poll(s, 0);
	ck_assert_uint_eq(calls, 0);
	for (unsigned int i = 0; i < 20; i++)
		tg_control_socket_poll(s, 0);
	ck_assert_uint_eq(calls, 1);
	close(fd);
}
END_TEST

START_TEST(silent_clients_give_way)
{
	int fd[TG_CONTROL_CLIENTS_MAX + 4];
	bool ended;

	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX; i++) {
		fd[i] = dial();
		steps(1);
	}
	/* the first one speaks: now the second has been quiet longest */
	say(fd[0], HELLO "\n");
	steps(1);
	expect(fd[0], HELLO_REPLY);
	for (unsigned int i = TG_CONTROL_CLIENTS_MAX; i < TG_CONTROL_CLIENTS_MAX + 4; i++) {
		fd[i] = dial();
		say(fd[i], HELLO "\n");
		steps(2);
		expect(fd[i], HELLO_REPLY);
	}
	for (unsigned int i = 0; i < TG_CONTROL_CLIENTS_MAX + 4; i++) {
		hear(fd[i], &ended);
		ck_assert_int_eq(ended, i >= 1 && i <= 4);
		close(fd[i]);
	}
	steps(2);
}
END_TEST

START_TEST(the_file)
{
	struct tg_control_socket *second = NULL;
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 0777, 0660);
	ck_assert_int_eq(tg_control_socket_open(path, 0660, NULL, handler, &calls, &second, err,
						sizeof(err)),
			 -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err, "another tidegate listens on /tmp/"));
	/* the attempt was seen as a client, and harms nobody */
	steps(3);
	/* left over by a process that died: a socket nobody listens at */
	tg_control_socket_close(s);
	ck_assert_int_eq(access(path, F_OK), -1);
	{
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		strcpy(a.sun_path, path);
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
		close(fd);
	}
	open_ok();
	/* somebody put another file there meanwhile: it stays */
	ck_assert_int_eq(unlink(path), 0);
	close(creat(path, 0600));
	tg_control_socket_close(s);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(tg_control_socket_open(path, 0660, NULL, handler, &calls, &s, err,
						sizeof(err)),
			 -EEXIST);
	ck_assert_ptr_nonnull(strstr(err, "is no socket: remove it"));
	ck_assert_int_eq(unlink(path), 0);
	open_ok();
}
END_TEST

START_TEST(the_file_is_kept)
{
	struct stat st;
	char run[64];
	int fd = dial(), other;

	steps(1);
	ck_assert(!tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_msg(strstr(err, "was removed: it is made again") != NULL, "%s", err);
	ck_assert(!tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	/* who is new is let in, who was there stays */
	other = dial();
	say(other, HELLO "\n");
	say(fd, HELLO "\n");
	steps(3);
	ck_assert_uint_eq(calls, 2);
	close(other);
	close(fd);
	/* its folder too; what cannot be is said once */
	snprintf(run, sizeof(run), "%s/run", folder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert(tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_msg(strstr(err, "is there and is no socket") != NULL, "%s", err);
	ck_assert(!tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(run), 0);
	ck_assert(tg_control_socket_keep(s, err, sizeof(err)));
	ck_assert_int_eq(stat(path, &st), 0);
}
END_TEST

START_TEST(what_cannot_be)
{
	struct tg_control_socket *n = NULL;
	char deep[128];
	struct group *g = getgrgid(getegid());
	struct stat st;

	snprintf(deep, sizeof(deep), "%s/no/such/c.sock", folder);
	ck_assert_int_eq(tg_control_socket_open(deep, 0660, NULL, handler, &calls, &n, err,
						sizeof(err)),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(err, "cannot be made: No such file"));
	snprintf(deep, sizeof(deep), "/tmp/%0120d", 7);
	ck_assert_int_eq(tg_control_socket_open(deep, 0660, NULL, handler, &calls, &n, err,
						sizeof(err)),
			 -ENAMETOOLONG);
	snprintf(deep, sizeof(deep), "%s/run/d.sock", folder);
	ck_assert_int_eq(tg_control_socket_open(deep, 0660, "no-such-group-x", handler, &calls, &n,
						err, sizeof(err)),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(err, "there is no group \"no-such-group-x\""));
	ck_assert_int_eq(access(deep, F_OK), -1);
	if (g != NULL) {
		ck_assert_int_eq(tg_control_socket_open(deep, 0600, g->gr_name, handler, &calls, &n,
							err, sizeof(err)),
				 0);
		ck_assert_int_eq(stat(deep, &st), 0);
		ck_assert_uint_eq(st.st_mode & 0777, 0600);
		ck_assert_uint_eq(st.st_gid, getegid());
		tg_control_socket_close(n);
	}
	tg_control_socket_close(NULL);
}
END_TEST

static Suite *suite(void)
{
	const TTest *const tests[] = {
		request_and_reply,
		byte_by_byte_and_many_at_once,
		the_end_of_input_ends_a_line,
		malformed_requests,
		line_length,
		far_too_long,
		who_does_not_read,
		who_is_gone_before_the_reply,
		no_descriptor_is_free,
		silent_clients_give_way,
		the_file,
		the_file_is_kept,
		what_cannot_be,
	};
	Suite *sockets = suite_create("control_socket");
	TCase *tc = tcase_create("socket");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(sockets, tc);
	return sockets;
}

UNIT_MAIN(suite)
