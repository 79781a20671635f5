/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/host.h"

#include <inttypes.h>
#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <time.h>

#include "gateway.h"
#include "routes.h"
#include "start/merged.h"

#define LOOK_NS UINT64_C(20000000)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t tg_host_stall_ns(void)
{
	uint64_t start = now_ns(), last = start, worst = 0, now;

	while ((now = now_ns()) - start < LOOK_NS) {
		if (now - last > worst)
			worst = now - last;
		last = now;
	}
	/* the look may have ended with one */
	return now - last > worst ? now - last : worst;
}

bool tg_host_limit_sentence(const char *service, uint32_t limit_us, uint64_t stall_ns, char *text,
			    size_t room)
{
	if (limit_us == 0 || limit_us * UINT64_C(1000) >= stall_ns)
		return false;
	snprintf(
		text, room,
		"service \"%s\": sojourn_max_us %u is below what this host can do: it stood still for %" PRIu64
		" us in a look of 20 ms; isolate the workers' cores, or allow more",
		service, limit_us, stall_ns / 1000);
	return true;
}

bool tg_host_rate_sentence(const char *port, uint32_t rate_mbps, uint32_t link_mbps, char *text,
			   size_t room)
{
	if (rate_mbps == 0 || link_mbps == 0 || rate_mbps == link_mbps)
		return false;
	snprintf(text, room, "port \"%s\": rate_mbps is %u, but its link does %u Mbit/s: %s", port,
		 rate_mbps, link_mbps,
		 rate_mbps > link_mbps
			 ? "packets will be later on the wire than the time gate allows"
			 : "the time gate will drop packets that would have been in time");
	return true;
}

bool tg_host_tsc_sentence(bool invariant, char *text, size_t room)
{
	if (invariant)
		return false;
	snprintf(text, room,
		 "the processor does not promise a time stamp counter of constant rate (no invariant TSC): "
		 "no time that the gate or the measurement tells can be relied on");
	return true;
}

bool tg_host_narrow(const struct tg_config *c, const struct tg_config_service *v, char *text,
		    size_t room)
{
	for (unsigned int j = 0; j < v->n_servers; j++)
		if (tg_route_narrow(c, v, &v->servers[j], text, room))
			return true;
	return false;
}

unsigned int tg_host_warn(const struct tg_gateway *g, FILE *to)
{
	const struct tg_config *c = g->snapshot->config;
	uint64_t stall = 0;
	unsigned int n = 0;
	char text[768];

	if (tg_host_tsc_sentence(rte_cpu_get_flag_enabled(RTE_CPUFLAG_INVTSC) == 1, text,
				 sizeof(text))) {
		fprintf(to, "tidegate: warning: %s\n", text);
		n++;
	}
	for (unsigned int i = 0; i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];

		if (v->gate.sojourn_max_us == 0)
			continue;
		if (stall == 0)
			stall = tg_host_stall_ns();
		if (!tg_host_limit_sentence(v->name, v->gate.sojourn_max_us, stall, text,
					    sizeof(text)))
			continue;
		fprintf(to, "tidegate: warning: %s\n", text);
		n++;
	}
	for (unsigned int i = 0; g->mode == TG_MODE_INLINE && i < c->n_services; i++)
		if (tg_host_narrow(c, &c->services[i], text, sizeof(text))) {
			fprintf(to, "tidegate: warning: %s\n", text);
			n++;
		}
	for (unsigned int p = 0; p < g->n_ports; p++)
		if (g->ports[p].partial &&
		    tg_merged_sentence(g->ports[p].name, g->ports[p].if_index, text,
				       sizeof(text))) {
			fprintf(to, "tidegate: warning: %s\n", text);
			n++;
		}
	for (unsigned int p = 0; p < g->n_ports; p++) {
		struct tg_port_stats st = {0};

		if (tg_port_stats(&g->ports[p], &st) != 0 ||
		    !tg_host_rate_sentence(g->ports[p].name, g->ports[p].rate_mbps, st.link_mbps,
					   text, sizeof(text)))
			continue;
		fprintf(to, "tidegate: warning: %s\n", text);
		n++;
	}
	return n;
}
