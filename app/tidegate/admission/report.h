/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission as people see it: a pool summed over workers, and the segments that ask for most.
 *
 * Thread-safety: under the gateway's mutex.
 */
#ifndef TG_ADMISSION_REPORT_H
#define TG_ADMISSION_REPORT_H

#include <jansson.h>
#include <rte_telemetry.h>

#include "gateway.h"

#define TG_ADMISSION_TOP 20

struct tg_admission_sum {
	struct tg_admit_view tokens;
	struct tg_admit_stats stats;
	struct tg_admission_stats packets;
	uint32_t segments, segments_in_burst;
	/* S of the servers in the last 5-10 s: p95, and p99.999 as the queueing model has it from that, times
	 * what p99 was measured to be of the model's */
	uint64_t server_p95_ns, server_p99_999_ns;
};

void tg_admission_sum(struct tg_gateway *g, const struct tg_admission_pool *p,
		      struct tg_admission_sum *out);

struct tg_admission_row {
	const struct tg_admission_pool *pool;
	struct tg_admit_slot_view slot;
	uint32_t per_s;
	char name[TG_ADDR_STRLEN + 4 > TG_NAME_MAX ? TG_ADDR_STRLEN + 4 : TG_NAME_MAX];
};

/* The segments of p (NULL: of all pools) that asked for most in the last second. Returns how many, up to
 * TG_ADMISSION_TOP. */
unsigned int tg_admission_top(const struct tg_gateway *g, const struct tg_admission_pool *p,
			      struct tg_admission_row rows[TG_ADMISSION_TOP]);

/* NULL: none of this name. */
const struct tg_admission_pool *tg_admission_pool_named(const struct tg_gateway *g,
							const char *name);

/* Commands of the control socket: "admission list", "segment top [POOL]". */
json_t *tg_admission_list_json(struct tg_gateway *g, char **args, char *err, size_t err_len);
json_t *tg_admission_top_json(struct tg_gateway *g, char **args, char *err, size_t err_len);

/* /tidegate/admit: without a name the pools from index `from` on, else one pool and its top segments. 0 or
 * -EINVAL. */
int tg_admission_telemetry(struct tg_gateway *g, const char *name, uint32_t from,
			   struct rte_tel_data *d);

#endif
