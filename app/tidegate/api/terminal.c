/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/terminal.h"

#include <poll.h>
#include <rte_common.h>
#include <stdio.h>
#include <unistd.h>

#include "api/api.h"

#define WORDS_MAX 8

/* What testpmd's users type. The command is the shorter text. */
static const char *const as_testpmd[][2] = {
	{"show port stats all", "port list"},
	{"show service all", "service list"},
};

/* "server drain web a": the first two words are the command (`help` is one). */
static void answer(struct tg_gateway *g, char *line)
{
	char *word[WORDS_MAX], command[64], err[512], *save = NULL;
	int n = 0, first;
	json_t *result;

	for (size_t i = 0; i < RTE_DIM(as_testpmd); i++)
		if (strcmp(line, as_testpmd[i][0]) == 0)
			strcpy(line, as_testpmd[i][1]);
	for (char *w = strtok_r(line, " \t\r", &save); w != NULL && n < WORDS_MAX;
	     w = strtok_r(NULL, " \t\r", &save))
		word[n++] = w;
	if (n == 0)
		return;
	first = n > 1 ? 2 : 1;
	snprintf(command, sizeof(command), "%s%s%s", word[0], first == 2 ? " " : "",
		 first == 2 ? word[1] : "");
	result = tg_api_handle(g, command, &word[first], n - first, err, sizeof(err));
	if (result == NULL) {
		printf("%s\n", err);
		return;
	}
	json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
	printf("\n");
	json_decref(result);
}

void tg_terminal_poll(struct tg_terminal *t, struct tg_gateway *g)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char *end;
	ssize_t n;

	if (t->ended || poll(&p, 1, 0) <= 0)
		return;
	n = read(STDIN_FILENO, t->line + t->used, sizeof(t->line) - 1 - t->used);
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
