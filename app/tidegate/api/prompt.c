/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/prompt.h"

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_socket.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "api/terminal.h"

#define WORDS_MAX    4
#define COMMANDS_MAX 128
#define KEYS_A_POLL  4096

/* A command line as the library parses it: the words that are fixed, then whatever follows. */
struct parsed {
	cmdline_fixed_string_t word[WORDS_MAX];
	cmdline_multi_string_t rest;
};

struct instruction {
	struct cmdline_token_string token[WORDS_MAX + 1];
	char word[WORDS_MAX][24];
	char help[128];
	unsigned int words;
	bool rest;
	struct tg_gateway *gateway;
};

struct tg_prompt {
	struct cmdline *cl;
	unsigned int n;
	struct instruction *instruction[COMMANDS_MAX];
	cmdline_parse_inst_t *inst[COMMANDS_MAX + 1]; /* ends with NULL */
};

static const char *const own_words[] = {"start", "stop", "quit", "show port stats all",
					"show service all"};

static void run(void *parsed, struct cmdline *cl, void *data)
{
	const struct instruction *i = data;
	const struct parsed *p = parsed;
	char line[1024], err[512];
	size_t used = 0;

	(void)cl;
	for (unsigned int k = 0; k < i->words; k++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s ", i->word[k]);
	if (i->rest)
		snprintf(line + used, sizeof(line) - used, "%s", p->rest);
	else
		line[used - 1] = '\0';
	if (tg_terminal_line(i->gateway, line, err, sizeof(err)) != 0)
		printf("%s\n", err);
	fflush(stdout);
}

static void split(struct instruction *i, const char *phrase)
{
	while (i->words < WORDS_MAX && *phrase != '\0') {
		size_t len = strcspn(phrase, " ");

		snprintf(i->word[i->words], sizeof(i->word[0]), "%.*s", (int)len, phrase);
		i->words++;
		phrase += len + strspn(phrase + len, " ");
	}
}

/* One way to say a command: with or without what follows its fixed words. */
static int add(struct tg_prompt *p, struct tg_gateway *g, const char *phrase, const char *arguments,
	       const char *help)
{
	struct instruction *i = calloc(1, sizeof(*i));
	cmdline_parse_inst_t *inst = calloc(1, sizeof(*inst) +
						       (WORDS_MAX + 2) * sizeof(inst->tokens[0]));

	if (i == NULL || inst == NULL || p->n == COMMANDS_MAX) {
		free(i);
		free(inst);
		return -ENOMEM;
	}
	i->gateway = g;
	i->rest = arguments != NULL;
	split(i, phrase);
	snprintf(i->help, sizeof(i->help), "%s%s%s: %s", phrase, i->rest ? " " : "",
		 i->rest ? arguments : "", help);
	for (unsigned int k = 0; k < i->words + i->rest; k++) {
		bool fixed = k < i->words;

		i->token[k] = (struct cmdline_token_string){
			.hdr = {.ops = &cmdline_token_string_ops,
				.offset = fixed ? (unsigned int)offsetof(struct parsed, word[k])
						: (unsigned int)offsetof(struct parsed, rest)},
			.string_data = {.str = fixed ? i->word[k] : TOKEN_STRING_MULTI},
		};
		inst->tokens[k] = &i->token[k].hdr;
	}
	inst->f = run;
	inst->data = i;
	inst->help_str = i->help;
	p->instruction[p->n] = i;
	p->inst[p->n++] = inst;
	return 0;
}

static int add_all(struct tg_prompt *p, struct tg_gateway *g)
{
	const char *name, *arguments, *help;
	int r = 0;

	for (size_t k = 0; r == 0 && k < RTE_DIM(own_words); k++)
		r = add(p, g, own_words[k], NULL, "as in testpmd");
	for (size_t k = 0; r == 0 && tg_api_command(k, &name, &arguments, &help); k++) {
		r = add(p, g, name, NULL, help);
		if (r == 0 && arguments[0] != '\0')
			r = add(p, g, name, arguments, help);
	}
	return r;
}

struct tg_prompt *tg_prompt_open(struct tg_gateway *g)
{
	struct tg_prompt *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	if (add_all(p, g) == 0)
		p->cl = cmdline_stdin_new(p->inst, "tidegate> ");
	if (p->cl == NULL) {
		tg_prompt_close(p);
		return NULL;
	}
	return p;
}

/* cmdline_poll takes one key at a time, and does not tell the end of input from a key that was none. */
bool tg_prompt_poll(struct tg_prompt *p)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	for (unsigned int k = 0; k < KEYS_A_POLL && poll(&in, 1, 0) > 0; k++) {
		if ((in.revents & (POLLHUP | POLLERR)) != 0)
			return false;
		if (cmdline_poll(p->cl) != RDLINE_RUNNING)
			return false;
	}
	return true;
}

void tg_prompt_close(struct tg_prompt *p)
{
	if (p->cl != NULL)
		cmdline_stdin_exit(p->cl);
	for (unsigned int k = 0; k < p->n; k++) {
		free(p->instruction[k]);
		free(p->inst[k]);
	}
	free(p);
}
