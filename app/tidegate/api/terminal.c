/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/terminal.h"

#include <errno.h>
#include <poll.h>
#include <rte_common.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/api.h"
#include "api/prompt.h"

#define WORDS_MAX 8

/* What testpmd's users type. The command is no longer than LONGEST. */
static const char *const as_testpmd[][2] = {
	{"show port stats all", "port list"},
	{"show service all", "service list"},
	{"start", "forwarding start"},
	{"stop", "forwarding stop"},
};

/* The next word of *rest, cut out of it; NULL: there is none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\r");
	char *end;

	if (*word == '\0' || *word == '#')
		return NULL;
	if (*word == '"')
		end = strchr(++word, '"');
	else
		end = word + strcspn(word, " \t\r");
	if (end == NULL)
		end = word + strlen(word);
	*rest = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

static int too_many_words(char *err, size_t err_len)
{
	snprintf(err, err_len, "more than %d words: put those that belong together in \"\"",
		 WORDS_MAX);
	return -EINVAL;
}

/* "server drain web a": the first two words are the command (`help` is one). */
static int run_words(struct tg_gateway *g, char **word, int n, char *err, size_t err_len)
{
	int first = n > 1 ? 2 : 1;
	char command[64];
	json_t *result;

	snprintf(command, sizeof(command), "%s%s%s", word[0], first == 2 ? " " : "",
		 first == 2 ? word[1] : "");
	result = tg_api_handle(g, command, &word[first], n - first, err, err_len);
	if (result == NULL)
		return -EINVAL;
	json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
	printf("\n");
	fflush(stdout);
	json_decref(result);
	return 0;
}

int tg_terminal_line(struct tg_gateway *g, char *line, char *err, size_t err_len)
{
	char *word[WORDS_MAX + 1], *w, known[32];
	int n = 0;

	line += strspn(line, " \t");
	line[strcspn(line, "\r")] = '\0';
	if (strcmp(line, "quit") == 0) {
		kill(getpid(), SIGTERM); /* the one way to end: services are withdrawn first */
		return 0;
	}
	for (size_t i = 0; i < RTE_DIM(as_testpmd); i++)
		if (strcmp(line, as_testpmd[i][0]) == 0) {
			snprintf(known, sizeof(known), "%s", as_testpmd[i][1]);
			line = known;
			break;
		}
	while ((w = next_word(&line)) != NULL) {
		if (n == WORDS_MAX)
			return too_many_words(err, err_len);
		word[n++] = w;
	}
	return n == 0 ? 0 : run_words(g, word, n, err, err_len);
}

int tg_terminal_file(struct tg_gateway *g, const char *path, char *err, size_t err_len)
{
	char line[1024], why[512];
	unsigned int number = 0;
	FILE *f = fopen(path, "re");
	int r = 0;

	if (f == NULL) {
		r = -errno;
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
		return r;
	}
	while (r == 0 && fgets(line, sizeof(line), f) != NULL) {
		char *end = strchr(line, '\n');

		number++;
		if (end == NULL && !feof(f)) {
			snprintf(why, sizeof(why), "line too long");
			r = -EINVAL;
			break;
		}
		if (end != NULL)
			*end = '\0';
		r = tg_terminal_line(g, line, why, sizeof(why));
	}
	if (r == 0 && ferror(f)) {
		r = -EIO;
		snprintf(why, sizeof(why), "cannot be read on");
	}
	fclose(f);
	if (r != 0)
		snprintf(err, err_len, "%s:%u: %s", path, number, why);
	return r;
}

void tg_terminal_open(struct tg_terminal *t, struct tg_gateway *g)
{
	memset(t, 0, sizeof(*t));
	if (isatty(STDIN_FILENO))
		t->prompt = tg_prompt_open(g);
}

void tg_terminal_close(struct tg_terminal *t)
{
	if (t->prompt != NULL)
		tg_prompt_close(t->prompt);
	t->prompt = NULL;
}

static void answer(struct tg_gateway *g, char *line)
{
	char err[512];

	if (tg_terminal_line(g, line, err, sizeof(err)) != 0)
		printf("%s\n", err);
}

static void read_lines(struct tg_terminal *t, struct tg_gateway *g)
{
	ssize_t n = read(STDIN_FILENO, t->line + t->used, sizeof(t->line) - 1 - t->used);
	char *end;

	if (n <= 0) {
		t->ended = true;
		return;
	}
	t->used += (size_t)n;
	t->line[t->used] = '\0';
	while ((end = strchr(t->line, '\n')) != NULL) {
		*end = '\0';
		answer(g, t->line);
		t->used -= (size_t)(end + 1 - t->line);
		memmove(t->line, end + 1, t->used + 1);
	}
	if (t->used == sizeof(t->line) - 1) {
		printf("line too long\n");
		t->used = 0;
	}
	fflush(stdout);
}

void tg_terminal_poll(struct tg_terminal *t, struct tg_gateway *g)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	if (t->ended || poll(&p, 1, 0) <= 0)
		return;
	if (t->prompt == NULL)
		read_lines(t, g);
	else if (!tg_prompt_poll(t->prompt)) {
		t->ended = true;
		tg_terminal_close(t);
	}
}
