/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of a packet, as a comment in its pcapng block (option opt_comment of the Enhanced Packet Block,
 * draft-ietf-opsawg-pcapng section 4.3): librte_pcapng of DPDK 22.11 has no parameter for it.
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_RECORDING_NOTE_H
#define TG_RECORDING_NOTE_H

#include <stdbool.h>

#define TG_RECORDED_NOTE_MAX 256 /* bytes that it may add to a block */

struct rte_mbuf;
struct tg_snapshot;

/* Whose names are told: ids are those of the snapshot in force. */
struct tg_recorded_names {
	const struct tg_snapshot *snapshot;
};

void tg_recorded_names(struct tg_recorded_names *n, const struct tg_snapshot *s);

/* Adds the comment to a copy of rte_pcapng_copy; one that has no room stays as it is. */
void tg_recorded_note(const struct tg_recorded_names *n, struct rte_mbuf *m);

/* Printable ASCII without spaces. */
bool tg_recorded_is_plain(const char *text);

#endif
