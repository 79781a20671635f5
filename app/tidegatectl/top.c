/* SPDX-License-Identifier: BSD-3-Clause */
#include "top.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "print.h"

#define ROWS_UNKNOWN 50
#define CLEAR        "\033[H\033[J"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static int rows(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 1 ? w.ws_row : ROWS_UNKNOWN;
}

/* {"received": ...} now less before, a second. */
static json_t *rates(json_t *now, const json_t *before, double seconds)
{
	json_t *out = json_object(), *v;
	const char *key;

	json_object_foreach(now, key, v) {
		double more = json_number_value(v) -
			      json_number_value(json_object_get(before, key));

		if (before != NULL && json_is_integer(v))
			json_object_set_new(out, key,
					    json_integer((json_int_t)(more / seconds + 0.5)));
	}
	return out;
}

/* As many lines as the screen has. */
static void show(const char *text)
{
	int left = rows() - 1;

	fputs(CLEAR, stdout);
	for (; *text != '\0' && left > 0; text++) {
		putchar(*text);
		left -= *text == '\n';
	}
	fflush(stdout);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct last {
	json_t *packets;
	double at_s;
};

/* Takes answer over. */
static void refresh(const struct tg_ctl_target *t, json_t *answer, struct last *last)
{
	json_t *packets = json_object_get(answer, "packets"), *rate;
	double at_s = now_s();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out != NULL) {
		rate = rates(packets, last->packets, at_s - last->at_s);
		if (json_object_size(rate) > 0)
			json_object_set(answer, "packets_a_second", rate);
		json_decref(rate);
		fprintf(out, "tidegate at %s (q ends)\n\n", t->socket);
		tg_ctl_print(out, answer);
		fclose(out);
		show(text);
		free(text);
	}
	json_decref(last->packets);
	*last = (struct last){json_incref(packets), at_s};
	json_decref(answer);
}

/* A second, less when a key was pressed or a signal came; true: time to end. */
static bool pause_or_end(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	double until = now_s() + 1;
	char key;

	while (!stop && now_s() < until) {
		int ready = poll(&p, 1, (int)((until - now_s()) * 1000) + 1);

		if (ready > 0 && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
			return true;
	}
	return stop;
}

json_t *tg_ctl_view(const struct tg_ctl_target *t, char *err, size_t err_len)
{
	static const char *const part[][2] = {{"services", "service list"},
					      {"servers", "server list"},
					      {"workers", "worker list"}};
	json_t *report = tg_ctl_ask(t, "stats show", NULL, 0, err, err_len), *view;

	if (report == NULL)
		return NULL;
	view = json_object();
	json_object_set(view, "packets", json_object_get(report, "packets"));
	json_decref(report);
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		json_t *list = tg_ctl_ask(t, part[i][1], NULL, 0, err, err_len);

		if (list == NULL) {
			json_decref(view);
			return NULL;
		}
		json_object_set_new(view, part[i][0], list);
	}
	return view;
}

static int loop(const struct tg_ctl_target *t, char *err, size_t err_len)
{
	struct last last = {0};
	json_t *answer;
	int rc = 0;

	do {
		answer = tg_ctl_ask(t, "stats show", NULL, 0, err, err_len);
		if (answer == NULL)
			rc = stop ? 0 : -1;
		else
			refresh(t, answer, &last);
	} while (answer != NULL && !pause_or_end());
	json_decref(last.packets);
	return rc;
}

int tg_ctl_top(const struct tg_ctl_target *t, char *err, size_t err_len)
{
	struct sigaction on = {.sa_handler = on_signal};
	struct termios before, keys;
	int rc;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0) {
		snprintf(err, err_len, "top needs a terminal; `top --once` prints one view");
		return -1;
	}
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	sigaction(SIGHUP, &on, NULL);
	keys = before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	rc = loop(t, err, err_len);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return rc;
}
