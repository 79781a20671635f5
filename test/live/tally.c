/* SPDX-License-Identifier: BSD-3-Clause */
#include "tally.h"

#include <string.h>

static int find_server(struct tally *t, const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < TALLY_NAME_MAX && text[n] > ' ')
		n++;
	for (int i = 0; i < t->count; i++)
		if (strlen(t->servers[i].name) == n && !memcmp(t->servers[i].name, text, n))
			return i;
	if (t->count == TALLY_SERVERS_MAX || !n)
		return -1;
	memcpy(t->servers[t->count].name, text, n);
	return t->count++;
}

int tally_answer(struct tally *t, const char *body, size_t len, int first, uint64_t latency_ns,
		 uint64_t arrival_ns)
{
	int server = find_server(t, body, len);

	samples_add(&t->latency, latency_ns);
	if (server < 0)
		return -1;
	samples_add(&t->servers[server].latency, latency_ns);
	samples_add(&t->servers[server].arrival, arrival_ns);
	if (first < 0)
		t->servers[server].connections++;
	else if (first != server)
		t->moved++;
	return server;
}

void tally_print(FILE *out, struct tally *t)
{
	fprintf(out,
		"{\"connections\":%" PRIu64 ",\"requests\":%zu,\"failures\":%" PRIu64
		",\"moved\":%" PRIu64 ",\"latency_ns\":",
		t->connections, t->latency.count, t->failures, t->moved);
	samples_print(out, &t->latency);
	fprintf(out, ",\"servers\":{");
	for (int i = 0; i < t->count; i++) {
		fprintf(out, "%s\"%s\":{\"connections\":%" PRIu64 ",\"latency_ns\":", i ? "," : "",
			t->servers[i].name, t->servers[i].connections);
		samples_print(out, &t->servers[i].latency);
		fprintf(out, ",\"arrival_ns\":");
		samples_print(out, &t->servers[i].arrival);
		fprintf(out, "}");
	}
	fprintf(out, "}}\n");
}
