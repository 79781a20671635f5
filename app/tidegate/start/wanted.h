/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the EAL options and ports[] name and this host has not: cores, PCI devices, files of net_pcap, ports
 * that no option makes. DPDK would say so only at the start, and one at a time.
 *
 * Thread-safety: main thread; the calling thread's affinity is changed for a moment and put back.
 */
#ifndef TG_WANTED_H
#define TG_WANTED_H

#include "tg_config.h"

struct tg_wanted {
	char text[640];   /* a sentence */
	const char *run;  /* a command that shows what there is; NULL: .. */
	char folder[512]; /* .. `ls -l` of this; "": the configuration is to be edited */
};

/* argv: the EAL options, argv[0] the program. c: NULL, then ports are not looked at. At most `room` are written; returns how many. */
unsigned int tg_wanted(int argc, char *const *argv, const struct tg_config *c,
		       struct tg_wanted *out, unsigned int room);

#endif
