/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long each stage takes: one burst in TG_LAP_EVERY is timed from stage to stage, so that the
 * table costs nothing worth naming and is always on.
 *
 * Thread-safety: the worker writes; others read single words (relaxed).
 */
#ifndef TG_STAGES_H
#define TG_STAGES_H

#include <stdint.h>

#include "tg_hist.h"

#define TG_LAP_EVERY 64

/* X(constant, name): in the order of the path. `parse` has entrance and service of usual bursts in it; `follow` is
 * measuring and choosing. */
#define TG_STAGES(X)            \
	X(RX, "rx")             \
	X(PARSE, "parse")       \
	X(ENTRANCE, "entrance") \
	X(NEIGH, "neigh")       \
	X(SERVICE, "service")   \
	X(OWNER, "owner")       \
	X(FLOW, "flow")         \
	X(ADMIT, "admit")       \
	X(FOLLOW, "follow")     \
	X(ENCAP, "encap")       \
	X(TX, "tx")             \
	X(FINISH, "finish")

enum tg_stage {
#define TG_STAGE_ENUM(id, name) TG_STAGE_##id,
	TG_STAGES(TG_STAGE_ENUM)
#undef TG_STAGE_ENUM
		TG_STAGE_COUNT
};

struct tg_stage_stats {
	uint64_t calls;      /* timed bursts that came to it */
	uint64_t packets;    /* in them when they were received */
	uint64_t ticks;      /* spent on them */
	struct tg_hist work; /* of a burst */
	/* rx: from arrival to the poll that found it; admit: until there were tokens; owner: till the other worker took it; tx: from the
	 * driver's first refusal to the last look at it. The other stages make nothing wait. A packet
	 * each; of rx those of the timed bursts, of the others all */
	struct tg_hist wait;
};

const char *tg_stage_name(enum tg_stage s);

struct tg_worker;

/* The timed burst leaves stage s. Called through tg_lap. */
void tg_lap_end(struct tg_worker *w, enum tg_stage s, unsigned int packets);

/* A packet waited for stage s. */
void tg_stage_waited(struct tg_worker *w, enum tg_stage s, uint64_t since, uint64_t until);

#endif
