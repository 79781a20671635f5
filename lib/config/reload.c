/* SPDX-License-Identifier: BSD-3-Clause */
/* Which differences only a restart brings into force: what is allocated or opened at start. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

struct compare {
	struct tg_config_report *report;
	char path[32];
	int rc;
};

static void needs_restart(struct compare *x, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void needs_restart(struct compare *x, const char *key, const char *format, ...)
{
	char change[2 * TG_PATH_MAX + 16];
	va_list ap;

	va_start(ap, format);
	vsnprintf(change, sizeof(change), format, ap);
	va_end(ap);
	x->rc = tg_report_add(x->report, TG_FAULT, "%s%s: %s needs a restart", x->path, key,
			      change) < 0
			? -ENOMEM
			: -EBUSY;
}

static void compare_number(struct compare *x, const char *key, uint32_t a, uint32_t b)
{
	if (a != b)
		needs_restart(x, key, "changing %u to %u", a, b);
}

static void compare_text(struct compare *x, const char *key, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		needs_restart(x, key, "changing \"%s\" to \"%s\"", a, b);
}

static void compare_port(struct compare *x, const struct tg_config_port *a,
			 const struct tg_config_port *b)
{
	static const char *const roles[] = {"client", "server", "both"};

	compare_text(x, "port", a->port, b->port);
	compare_text(x, "role", roles[a->role], roles[b->role]);
	compare_number(x, "mtu", a->mtu, b->mtu);
	compare_number(x, "rx_descriptors", a->rx_descriptors, b->rx_descriptors);
	compare_number(x, "tx_descriptors", a->tx_descriptors, b->tx_descriptors);
	compare_number(x, "rx_queues", a->rx_queues, b->rx_queues);
	compare_number(x, "rate_mbps", a->rate_mbps, b->rate_mbps);
	compare_text(x, "kernel", a->kernel, b->kernel);
}

int tg_config_reloadable(const struct tg_config *a, const struct tg_config *b,
			 struct tg_config_report *report)
{
	struct compare x = {.report = report};

	compare_number(&x, "flow_table.slots_per_worker", a->flow_table.slots, b->flow_table.slots);
	compare_text(&x, "flow_table.snapshot", a->flow_snapshot, b->flow_snapshot);
	compare_text(&x, "control.socket", a->control_socket, b->control_socket);
	if (a->control_mode != b->control_mode)
		needs_restart(&x, "control.mode", "changing %04o to %04o", a->control_mode,
			      b->control_mode);
	compare_text(&x, "control.group", a->control_group, b->control_group);
	compare_number(&x, "metrics.port", a->metrics.port, b->metrics.port);
	compare_text(&x, "metrics.socket", a->metrics.socket, b->metrics.socket);
	if (a->n_ports != b->n_ports)
		needs_restart(&x, "ports", "changing their number from %u to %u", a->n_ports,
			      b->n_ports);
	for (unsigned int i = 0; a->n_ports == b->n_ports && i < a->n_ports; i++) {
		snprintf(x.path, sizeof(x.path), "ports[%u].", i);
		compare_port(&x, &a->ports[i], &b->ports[i]);
	}
	/* packets that wait for tokens need buffers, which are allocated at the start */
	x.path[0] = '\0';
	if (!tg_config_has_admission(a) && tg_config_has_admission(b))
		needs_restart(&x, "services[].admission", "having it for the first time");
	return x.rc;
}
