/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Replay: a capture's packets at their own times (divided by a speed) through a whole gateway: its
 * receive and transmit queues, every stage, the time gate, and behind it a link of a known rate and
 * servers of known speed. First without a limit: what would be late for every T (the shadow's
 * forecast); then with the gate dropping, at several T chosen from that: what is dropped in truth, what
 * leaves too late all the same (nothing should), and how it went for those that left.
 *
 * The gateway is the production's; its clock is virtual, so a run takes as long as its work and always
 * gives the same. A packet takes TG_REPLAY_PACKET_NS in the stages, a turn TG_REPLAY_TURN_NS more.
 *
 * Needs a configuration with ports[].rate_mbps on the port towards the servers. A server's speed
 * is its workers and service_time_us; without that it is not modelled.
 *
 * Units: as the names say. Thread-safety: one thread, after EAL has started.
 */
#ifndef TG_REPLAY_H
#define TG_REPLAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tg_config.h"
#include "true_server.h"

#define TG_REPLAY_POINTS    9
#define TG_REPLAY_PACKET_NS 100
#define TG_REPLAY_TURN_NS   200
#define TG_REPLAY_MEMORY_MB 192 /* of EAL's, for a gateway with the usual tables */

struct tg_replay_point {
	uint32_t limit_us;   /**< T */
	double forecast;     /**< share of the packets that the pass without a limit found late */
	double dropped;      /**< share that the gate dropped */
	uint64_t sent;       /**< left by the link */
	uint64_t violations; /**< of those, later than T when their last bit was sent */
	uint64_t p99_ns;     /**< from arrival to last bit, of those that left */
	uint64_t max_ns;
	uint64_t server_wait_p99_ns; /**< for a worker of the server; 0 where none is modelled */
};

struct tg_replay {
	double speed;
	uint32_t rate_mbps;
	uint64_t packets; /**< for a service, a pass */
	uint64_t other;   /**< dropped for other reasons, in the pass without a limit */
	uint64_t p50_ns, p99_ns, max_ns; /**< arrival to last bit without a limit */
	bool servers;                    /**< at least one server's speed is known */
	unsigned int n_points;
	struct tg_replay_point point[TG_REPLAY_POINTS]; /**< by T, ascending */
};

/** The rate of the link towards the servers; 0: it is not known, there is nothing to replay. */
uint32_t tg_replay_rate(const struct tg_config *c);

/** EAL's heap that it takes, with the configuration's flow table. */
unsigned int tg_replay_memory_mb(const struct tg_config *c);

/**
 * All passes.
 *
 * @param config  path of the configuration; every service gets each T in turn
 * @param servers takes outer headers off, see true_server.h
 * @param stop    looked at now and then; true ends it: -EINTR
 * @return 0, or -errno and a sentence
 */
int tg_replay_run(const char *capture, const char *config, double speed,
		  const struct tg_true_servers *servers, const volatile bool *stop,
		  struct tg_replay *out, char *text, size_t room);

/** For the report: an object, a table, a picture (SVG). NULL without memory; 0 or -errno. */
json_t *tg_replay_json(const struct tg_replay *r);
void tg_replay_text(const struct tg_replay *r, FILE *to);
int tg_replay_picture(const struct tg_replay *r, const char *path, char *text, size_t room);

#endif
