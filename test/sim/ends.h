/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network of two straight lines for tests of the ends: every packet is written down, may be lost
 * or held up by number or by chance, and reaches the server that `route` names.
 */
#ifndef TG_TEST_ENDS_H
#define TG_TEST_ENDS_H

#include "client_group.h"
#include "end.h"

#define SERVERS 2
#define LOG     16384
#define US      UINT64_C(1000)
#define MS      UINT64_C(1000000)
#define S       UINT64_C(1000000000)

struct seen {
	uint64_t at;
	struct tg_sim_packet p; /* as it was sent */
	bool lost;
	uint32_t data;
	uint16_t port;
};

struct ends {
	struct tg_sim sim;
	struct tg_station station[SERVERS];
	struct tg_station_params params[SERVERS];
	uint64_t way;        /* ns, each direction */
	uint16_t route;      /* server of every packet from now on */
	double loss, jitter; /* by chance; jitter in ns, reorders */
	struct tg_random random;
	bool (*lose)(const struct tg_sim_packet *p, unsigned int number);
	uint64_t (*hold)(const struct tg_sim_packet *p, unsigned int number);
	struct seen log[LOG];
	unsigned int n; /* packets sent, the first LOG of them in the log */
	uint64_t results_answered, results_failed;
	struct tg_request last; /* answered */
	uint64_t want;          /* id of the request to keep when it is answered */
	struct tg_request wanted;
};

extern struct ends ends;

void ends_begin(uint64_t seed);
void ends_run(uint64_t until);
void ends_over(void);

#endif
