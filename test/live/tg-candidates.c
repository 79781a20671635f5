/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whom a gateway that does not know a connection asks, in that order: reads client ports, a line each, and prints each
 * with the names of its first candidates. TCP; servers of weight 1, in the order of the configuration.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

#include "tg_select.h"

#define SERVERS_MAX 64

static struct tg_select_server servers[SERVERS_MAX];
static char *names[SERVERS_MAX];

static void die(const char *what)
{
	fprintf(stderr, "tg-candidates: %s\n", what);
	exit(1);
}

static void start_eal(char *program)
{
	char options[160], *argv[16] = {program}, *rest = options;
	int n = 1;

	snprintf(options, sizeof(options),
		 "--no-huge --no-pci --no-telemetry --no-shconf -m 32 --log-level *:error "
		 "--file-prefix tg-candidates-%d",
		 (int)getpid());
	while (rest != NULL)
		argv[n++] = strsep(&rest, " ");
	if (rte_eal_init(n, argv) < 0)
		die("no EAL");
}

/* NAME=ADDRESS */
static void read_server(unsigned int i, char *text)
{
	struct tg_addr address;
	char *at = strchr(text, '=');

	if (i == SERVERS_MAX || at == NULL)
		die("servers are NAME=ADDRESS");
	*at = '\0';
	if (tg_addr_parse(at + 1, &address) != 0)
		die("a server's address is none");
	names[i] = text;
	servers[i] = (struct tg_select_server){
		.id = (uint16_t)i,
		.weight = 1,
		.name_hash = tg_select_name_hash(text, &address),
	};
}

int main(int argc, char **argv)
{
	struct tg_key key = {.protocol = IPPROTO_TCP};
	struct tg_select_group *g;
	unsigned int port;

	if (argc < 4 || tg_addr_parse(argv[1], &key.client) != 0)
		die("tg-candidates CLIENT-ADDRESS SERVICE-PORT NAME=ADDRESS... < CLIENT-PORTS");
	key.service_port = htons((uint16_t)atoi(argv[2]));
	for (int i = 3; i < argc; i++)
		read_server((unsigned int)i - 3, argv[i]);
	start_eal(argv[0]);
	if (tg_select_group_create(TG_POLICY_MAGLEV, servers, (unsigned int)argc - 3, -1, &g) != 0)
		die("no group");
	while (scanf("%u", &port) == 1) {
		uint16_t candidate[TG_SELECT_CANDIDATES];
		unsigned int n;

		key.client_port = htons((uint16_t)port);
		n = tg_select_candidates(g, tg_select_flow_hash(&key), candidate,
					 TG_SELECT_CANDIDATES);
		printf("%u", port);
		for (unsigned int k = 0; k < n; k++)
			printf(" %s", names[candidate[k]]);
		printf("\n");
	}
	tg_select_group_free(g);
	rte_eal_cleanup();
	return 0;
}
