/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a snapshot of flows as a gateway would that has N established TCP connections, spread evenly over the servers of
 * one service: what a large flow table is tested with. Clients are 10.0.0.0 and on, from port 1024 on.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tg_flow_snapshot.h"

#define SERVERS_MAX    64
#define PORTS_A_CLIENT 60000u

static struct tg_flow_saved_service service;
static struct tg_flow_saved_server server[SERVERS_MAX];

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "tg-flows: %s\n", what);
	exit(1);
}

static struct tg_flow_saved flow_of(uint32_t i, uint16_t port, uint32_t n_servers)
{
	return (struct tg_flow_saved){
		.key = {.client = tg_addr_from_v4(htonl(0x0a000000 + i / PORTS_A_CLIENT)),
			.client_port = htons((uint16_t)(1024 + i % PORTS_A_CLIENT)),
			.service_port = htons(port),
			.protocol = IPPROTO_TCP},
		.server = (uint16_t)(i % n_servers),
		.state = TG_FLOW_OPEN,
	};
}

int main(int argc, char **argv)
{
	struct tg_flow_saved_names names = {.n_services = 1, .service = &service, .server = server};
	struct tg_flow_writer w;
	struct timespec t;
	uint64_t wall;
	uint32_t n;
	FILE *out;

	need(argc > 6 && argc - 6 <= SERVERS_MAX,
	     "tg-flows N FILE SERVICE VIP PORT SERVER-ADDRESS...");
	n = (uint32_t)strtoul(argv[1], NULL, 10);
	snprintf(service.name, sizeof(service.name), "%s", argv[3]);
	need(tg_addr_parse(argv[4], &service.address) == 0, "the VIP is no address");
	for (int i = 6; i < argc; i++)
		need(tg_addr_parse(argv[i], &server[names.n_servers++].address) == 0,
		     "a server is no address");
	out = fopen(argv[2], "wb");
	need(out != NULL && tg_flow_snapshot_begin(&w, out, &names) == 0, "cannot write");
	clock_gettime(CLOCK_REALTIME, &t);
	wall = (uint64_t)t.tv_sec * 1000000000u;
	for (uint32_t i = 0; i < n;) {
		struct tg_flow_saved flow[TG_FLOW_SNAPSHOT_BLOCK];
		unsigned int k = 0;

		for (; k < TG_FLOW_SNAPSHOT_BLOCK && i < n; i++)
			flow[k++] = flow_of(i, (uint16_t)atoi(argv[5]), names.n_servers);
		need(tg_flow_snapshot_block(&w, flow, k, wall) == 0, "cannot write");
	}
	need(tg_flow_snapshot_end(&w, wall) == 0 && fclose(out) == 0, "cannot write");
	return 0;
}
