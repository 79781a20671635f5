/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to scenario*.c: from JSON to struct tg_scenario by the tables of lib/config (reader.h),
 * with the values that only a scenario has: real numbers, distributions, links.
 *
 * Thread-safety: one thread a reader.
 */
#ifndef TG_SCENARIO_READER_H
#define TG_SCENARIO_READER_H

#include "reader.h"
#include "scenario/scenario.h"

#define TG_SIM_GROUPS_MAX   256
#define TG_SIM_SERVERS_MAX  1024
#define TG_SIM_SERVICES_MAX 64
#define TG_SIM_GATEWAYS_MAX 16
#define TG_SIM_CHANGES_MAX  10000
#define TG_SIM_TRACE_MAX    10000000
#define TG_SIM_SECONDS_MAX  1000000   /* of virtual time */
#define TG_SIM_MS_MAX       100000000 /* of a duration */
#define TG_SIM_US_MAX       100000000000
#define TG_SIM_RATE_MAX     100000000 /* requests a second */

/* The scenario and what belongs to it. */
struct tg_scenario_all {
	struct tg_scenario s; /* first: the caller has its address */
	void **owned;
	unsigned int n_owned;
};

struct tg_scenario_reader {
	struct tg_reader r; /* first: readers of values get its address */
	struct tg_scenario_all *all;
	const struct tg_config *config; /* of the gateways; NULL where it was not read */
};

static inline struct tg_scenario_reader *tg_scenario_reader_of(struct tg_reader *r)
{
	return (struct tg_scenario_reader *)r;
}

/* Zeroed memory that lives as long as the scenario; NULL (and r->no_memory) without. */
void *tg_scenario_own(struct tg_reader *r, size_t n, size_t size);

/* Readers of values, for the tables. Numbers: k->min..k->max; positive ones: above 0. */
void tg_read_real(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_positive(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
/* A number (constant) or an object with "kind"; mean in k->min..k->max. scenario_dist.c */
void tg_read_dist(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
/* Numbers in a list, or in a file beside the scenario, one a line; each in 0..max. */
void tg_read_numbers(struct tg_reader *r, json_t *v, double max, const double **out, uint32_t *n);
/* One direction of a link. scenario_link.c */
void tg_read_link(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
struct tg_link_params tg_link_standard(double delay_us);

/* The lists: scenario_gateway.c, scenario_server.c, scenario_group.c; at: the scenario. */
void tg_read_gateways(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_stations(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_groups(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
/* The gateways' configuration: services and their servers. scenario_config.c */
void tg_read_gateway_config(struct tg_reader *r, const struct tg_config_key *k, json_t *v,
			    void *at);
/* Whose service is not known yet when it is read. */
#define TG_SERVICE_UNKNOWN UINT16_MAX

/* What no single value shows; after all was read. scenario_cross.c, scenario_load.c */
void tg_scenario_cross_check(struct tg_scenario_reader *sr);
void tg_scenario_check_load(struct tg_scenario_reader *sr);
/* Can server `i` of the scenario be asked for by service `j` of the configuration? */
bool tg_scenario_serves(const struct tg_config *c, const struct tg_scenario *s, uint32_t j,
			uint32_t i);

/* Puts values of the command line in place. False: said as a fault. scenario_set.c */
bool tg_scenario_set(struct tg_reader *r, json_t *root, const struct tg_scenario_setting *set,
		     unsigned int n);

#define TG_REAL(type, field, from, to) TG_KEY(type, field, tg_read_real), .min = (from), .max = (to)
#define TG_DIST(type, field, from, to) TG_KEY(type, field, tg_read_dist), .min = (from), .max = (to)

/* Says a fault of member `name` of the object where the reader stands. */
#define TG_MEMBER_FAULT(r, name, ...)                            \
	do {                                                     \
		size_t mark_ = tg_path_push_member((r), (name)); \
		tg_fault((r), __VA_ARGS__);                      \
		tg_path_pop((r), mark_);                         \
	} while (0)

#endif
