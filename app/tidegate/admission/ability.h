/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a pool's servers can do, for a derived budget: the most of the last seconds' means.
 *
 * tau, and so what the servers seem to be able to do, is disturbed to one side: requests that waited so long here
 * that TCP sent them again, or that others' load kept at the server, make it too long, hardly anything makes it too
 * short. A budget that followed each such dip would hold more back, which then waits longer still, and so on down.
 * So a dip shorter than the window changes nothing; servers that did get slower lower the budget when it
 * has passed, faster ones raise it with the next mean.
 *
 * Requests a second; times in ns, not going back. Thread-safety: control's.
 */
#ifndef TG_ADMISSION_ABILITY_H
#define TG_ADMISSION_ABILITY_H

#include <stdint.h>

#define TG_ABILITY_MEANS 5
#define TG_ABILITY_OF_NS UINT64_C(1000000000)

/* All zero at first, and after tau was not known. */
struct tg_ability {
	double mean[TG_ABILITY_MEANS]; /* complete ones, the oldest gives way; 0: none */
	double sum;
	uint32_t n, next;
	uint64_t begun; /* 1 + when the mean under way began; 0: none has */
};

/* One more look, now; returns what the servers can do as it is known: until a mean is complete, the one under way. */
static inline double tg_ability_look(struct tg_ability *a, double capacity_per_s, uint64_t now_ns)
{
	double most = 0;

	if (a->begun == 0)
		a->begun = now_ns + 1;
	if (now_ns + 1 - a->begun >= TG_ABILITY_OF_NS && a->n > 0) {
		a->mean[a->next] = a->sum / a->n;
		a->next = (a->next + 1) % TG_ABILITY_MEANS;
		a->sum = 0;
		a->n = 0;
		a->begun = now_ns + 1;
	}
	a->sum += capacity_per_s;
	a->n++;
	for (unsigned int i = 0; i < TG_ABILITY_MEANS; i++)
		most = a->mean[i] > most ? a->mean[i] : most;
	return most > 0 ? most : a->sum / a->n;
}

#endif
