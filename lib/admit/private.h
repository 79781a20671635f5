/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the library share. Thread-safety: as they say. */
#ifndef TG_ADMIT_PRIVATE_H
#define TG_ADMIT_PRIVATE_H

#include "tg_admit_quick.h"

/* segment.c */
void tg_admit_compile_keys(struct tg_admit_pool *p, const uint8_t *secret);
/* monitor.c */
void tg_admit_compile_thresholds(struct tg_admit_pool *p, uint64_t rate_per_s);
/* tokens.c */
bool tg_admit_lease(struct tg_admit_pool *p, struct tg_admit_lcore *l, enum tg_admit_class class,
		    int64_t cost, uint64_t now);
void tg_admit_first_cell(struct tg_admit_pool *p, uint64_t now);

/* Where all are counted together that have no slot of their own: behind the slots. */
static inline uint32_t tg_admit_strangers(const struct tg_admit_pool *p)
{
	return p->slot_mask + 1;
}

/* Is the slot in burst, as of an interval? */
static inline bool tg_admit_is_hot(const struct tg_admit_pool *p, uint32_t slot, uint32_t number)
{
	uint32_t hot = __atomic_load_n(&p->hot[slot], __ATOMIC_RELAXED);

	return hot != 0 && number + 1 - hot <= p->params.calm_intervals;
}

static inline const struct tg_admit_cell *tg_admit_cell_now(const struct tg_admit_pool *p)
{
	return &p->cell[__atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) & 1];
}

/* Of n that come steadily, how many have after `ticks`? The first one at once. */
static inline int64_t tg_admit_accrued(int64_t n, uint64_t a_tick, uint64_t ticks)
{
	uint64_t due = (uint64_t)((unsigned __int128)ticks * a_tick >> 32) + 1;

	return due < (uint64_t)n ? (int64_t)due : n;
}

#endif
