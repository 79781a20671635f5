/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an auction costs the gateway: ns for a SYN (its copies, encapsulated and sent) and for a SYN-ACK (the RSTs and
 * the answer to the client with the last one), the whole pipeline between two rings. One line of JSON a number of
 * servers; beside it a SYN placed by two choices, and a packet of an established flow, with bids and without.
 *
 *	bid-cost [ROUNDS]
 *	bid-cost flows POLICY     packets of established flows alone, for test/bid/instructions.py
 */
#define RIG_SLOTS "65536"
#include "rig.h"
#include "start/eal.h"

#include <rte_cycles.h>

#define BATCH 16 /* SYNs at once */

static double spent_ns(void)
{
	uint64_t start = rte_rdtsc();

	tg_worker_turn(rig.gateway.worker[0]);
	return (double)(rte_rdtsc() - start) * 1e9 / (double)rte_get_tsc_hz();
}

static void drain(void)
{
	struct rig_frame f;

	while (rig_read(BACK, &f) || rig_read(FRONT, &f))
		;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* The answers of one server to all SYNs of a batch. */
static double answers(uint8_t server, uint16_t from)
{
	for (uint16_t k = 0; k < BATCH; k++)
		rig_server(server, (uint16_t)(from + k), 1001, 140, 18);
	return spent_ns() / BATCH;
}

/* A packet of each flow of a batch, the fifth time: what came before may have left the caches cold. */
static double established(uint16_t from)
{
	double ns = 0;

	for (unsigned int again = 0; again < 5; again++) {
		for (uint16_t k = 0; k < BATCH; k++)
			rig_client((uint16_t)(from + k), 1001, 5000, 16, 100);
		ns = spent_ns() / BATCH;
		drain();
	}
	return ns;
}

/* The same where servers do not bid. */
static double without_bids(unsigned int servers, unsigned int rounds)
{
	double *flow = calloc(rounds, sizeof(double)), ns;

	if (flow == NULL)
		abort();
	rig.policy = "two-choices";
	rig_start(servers, 1, "", "");
	for (unsigned int r = 0; r < rounds; r++) {
		uint16_t from = (uint16_t)(1000 + r * BATCH % 32000);

		for (uint16_t k = 0; k < BATCH; k++)
			rig_client((uint16_t)(from + k), 1000, 0, 2, 0);
		rig_turn(US);
		drain();
		flow[r] = established(from);
		if (r % 32 == 0)
			rig_turn(10000 * MS),
				tg_pipeline_age(rig.gateway.worker[0], rig.time[0].now, 1024);
	}
	ns = median(flow, rounds);
	rig_end();
	rig.policy = NULL;
	free(flow);
	return ns;
}

static void measure(unsigned int servers, unsigned int rounds)
{
	double *syn = calloc(rounds, sizeof(double)), *ack = calloc(rounds, sizeof(double));
	double *plain = calloc(rounds, sizeof(double)), *flow = calloc(rounds, sizeof(double));
	double other = without_bids(servers, rounds);

	if (syn == NULL || ack == NULL || plain == NULL || flow == NULL)
		abort();
	rig_start(servers, 1, "\"window_us\":100000,\"syn_rate\":10000000", "");
	for (unsigned int r = 0; r < rounds; r++) {
		uint16_t from = (uint16_t)(1000 + r * BATCH % 32000);

		for (uint16_t k = 0; k < BATCH; k++)
			rig_client((uint16_t)(from + k), 1000, 0, 2, 0);
		syn[r] = spent_ns() / BATCH;
		drain();
		for (uint8_t s = 0; s < servers; s++) {
			ack[r] += answers(s, from) / servers;
			drain();
		}
		flow[r] = established(from);
		for (uint16_t k = 0; k < BATCH; k++) /* with data: never broadcast */
			rig_client((uint16_t)(33000 + from + k), 1000, 0, 2, 1);
		plain[r] = spent_ns() / BATCH;
		drain();
		rig_turn(20 * MS);
		if (r % 32 == 0)
			rig_turn(10000 * MS),
				tg_pipeline_age(rig.gateway.worker[0], rig.time[0].now, 1024);
	}
	printf("{\"servers\":%u,\"syn_ns\":%.0f,\"syn_ack_ns\":%.0f,\"two_choices_syn_ns\":%.0f,"
	       "\"established_ns\":%.0f,\"established_without_bids_ns\":%.0f}\n",
	       servers, median(syn, rounds), median(ack, rounds), median(plain, rounds),
	       median(flow, rounds), other);
	fflush(stdout);
	rig_end();
	free(syn);
	free(ack);
	free(plain);
	free(flow);
}

/* What callgrind counts. */
__attribute__((noinline)) void count_turn(void);
void count_turn(void)
{
	tg_worker_turn(rig.gateway.worker[0]);
}

/* Sixteen flows that four servers serve, by this policy: a thousand packets of each. */
static void flows(const char *policy)
{
	rig.policy = policy;
	rig_start(4, 1, "\"window_us\":100000", "");
	for (uint16_t k = 0; k < BATCH; k++)
		rig_client((uint16_t)(1000 + k), 1000, 0, 2, 0);
	rig_turn(US);
	drain();
	for (uint8_t s = 0; s < 4; s++)
		answers(s, 1000);
	drain();
	for (unsigned int n = 0; n < 1000; n++) {
		for (uint16_t k = 0; k < BATCH; k++)
			rig_client((uint16_t)(1000 + k), 1001, 5000, 16, 100);
		count_turn();
		drain();
	}
	printf("{\"policy\":\"%s\",\"packets\":%u}\n", policy, 1000 * BATCH);
	rig_end();
}

int main(int argc, char **argv)
{
	bool only_flows = argc == 3 && strcmp(argv[1], "flows") == 0;
	unsigned int rounds = argc > 1 && !only_flows ? (unsigned int)strtoul(argv[1], NULL, 10)
						      : 400;
	char err[256];

	if (rounds < 1 || rounds > 100000 ||
	    tg_eal_start_private("bid-cost", 512, err, sizeof(err)) != 0) {
		fprintf(stderr,
			"usage: bid-cost [ROUNDS 1..100000 | flows POLICY]; needs 512 MiB\n");
		return 2;
	}
	if (only_flows)
		flows(argv[2]);
	for (unsigned int n = 2; !only_flows && n <= 64; n *= 2)
		measure(n, rounds);
	tg_eal_end();
	return 0;
}
