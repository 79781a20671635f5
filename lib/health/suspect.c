/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_health.h"

/* Is part of whole far above the others' share? `least`: one in so many, at the least. */
static bool stands_out(uint64_t part, uint64_t whole, uint64_t least, uint64_t others_part,
		       uint64_t others_whole)
{
	if (part < TG_SUSPECT_MIN || part * least < whole)
		return false;
	/* part / whole >= TIMES * others_part / others_whole, without dividing */
	return part * others_whole >= TG_SUSPECT_TIMES * others_part * whole;
}

bool tg_suspect(const struct tg_suspect_window *server, const struct tg_suspect_window *others)
{
	return stands_out(server->again, server->tries, 10, others->again, others->tries) ||
	       stands_out(server->overdue, server->waiting, 2, others->overdue, others->waiting);
}
