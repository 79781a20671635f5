/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the test client counts, and its JSON. Single threaded.
 */
#ifndef TG_LIVE_TALLY_H
#define TG_LIVE_TALLY_H

#include "samples.h"

#define TALLY_SERVERS_MAX 16
#define TALLY_NAME_MAX    31

struct tally {
	uint64_t connections, failures;
	uint64_t moved; /* answers that came from another server than the connection's first */
	struct samples latency; /* until the program had read the answer */
	int count;
	struct tally_server {
		char name[TALLY_NAME_MAX + 1];
		uint64_t connections;
		struct samples latency, arrival; /* arrival: until its kernel had the answer */
	} servers[TALLY_SERVERS_MAX];
};

/*
 * Counts an answer whose body is given, on a connection that `first` served so far (−1: nobody). Returns the index of
 * the server the body names, or −1 if it names none.
 */
int tally_answer(struct tally *tally, const char *body, size_t len, int first, uint64_t latency_ns,
		 uint64_t arrival_ns);

void tally_print(FILE *out, struct tally *tally);

#endif
