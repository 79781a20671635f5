/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a configuration file. Besides not crashing: refused if and only if there is a
 * sentence, every sentence is one printable line of bounded length, and what is accepted holds
 * what its header promises.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tg_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_sentences(char *const *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		must(strlen(list[i]) < 1024);
		for (const char *p = list[i]; *p != '\0'; p++)
			must(*p >= ' ' && *p <= '~');
	}
}

static void check_service(const struct tg_config_service *s)
{
	must(s->n_servers >= 1 && s->n_ports <= TG_SERVICE_PORTS_MAX);
	must(s->forward < TG_FORWARD_COUNT && s->policy < TG_POLICY_COUNT);
	must(s->gate.sojourn_max_us == 0 || s->gate.margin_us < s->gate.sojourn_max_us);
	must(s->name[0] != '\0' && memchr(s->name, '\0', sizeof(s->name)) != NULL);
	must(s->protocol == TG_PROTOCOL_ANY || s->protocol == 6 || s->protocol == 17);
	must(s->protocol != TG_PROTOCOL_ANY || s->n_ports == 0);
	for (unsigned int i = 0; i < s->n_ports; i++)
		must(s->ports[i] != 0);
	for (unsigned int i = 0; i < s->n_servers; i++)
		must(s->servers[i].name[0] != '\0' && s->servers[i].workers > 0);
}

static void check_config(const struct tg_config *c)
{
	struct tg_config_report none = {0};

	must(c->n_services >= 1 && c->n_services <= TG_SERVICES_MAX && c->n_ports <= TG_PORTS_MAX);
	must((c->flow_table.slots & (c->flow_table.slots - 1)) == 0 && c->flow_table.slots >= 1024);
	must(c->control_mode <= 0777);
	for (unsigned int i = 0; i < c->n_services; i++)
		check_service(&c->services[i]);
	for (unsigned int i = 0; i < c->n_ports; i++)
		must(c->ports[i].port[0] != '\0' && c->ports[i].mtu >= 68 &&
		     c->ports[i].vlan <= 4094);
	must(tg_config_reloadable(c, c, &none) == 0 && none.n_faults == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	int rc = tg_config_parse("fuzz", (const char *)data, size, &c, &report);

	must((rc == 0) == (c != NULL) && (rc == 0) == (report.n_faults == 0));
	check_sentences(report.faults, report.n_faults);
	check_sentences(report.notes, report.n_notes);
	check_sentences(report.defaults, report.n_defaults);
	if (c != NULL)
		check_config(c);
	tg_config_free(c);
	tg_config_report_free(&report);
	return 0;
}
