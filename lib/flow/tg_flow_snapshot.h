/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flows of a gateway as a file that outlives it. Names instead of ids: a service is named by its
 * name and address, a server by its service and address, for after a restart ids, workers, the table's size
 * and the hash's secret may all be others. Of a flow its key, server, state and how long it has been silent are
 * kept; what the latency estimator knew is not.
 *
 *   header   magic, version, byte order, sizes, when it was complete, checksums
 *   names    services, then servers
 *   blocks   {number, wall clock, checksum}, then so many flows of 32 bytes
 *
 * Numbers are in the byte order of the machine, which the header tells: a snapshot does not travel.
 * Checksums (XXH3-64) find what broke, not what somebody made: the file's permissions must see to that.
 * Silence is counted from the block's own time, since a large table takes seconds to write. Times are
 * of the wall clock: no other one goes on over a restart of the machine. Set back, a flow counts as just seen.
 *
 * Thread-safety: one thread a file.
 */
#ifndef TG_FLOW_SNAPSHOT_H
#define TG_FLOW_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tg_flow.h"

#define TG_FLOW_SNAPSHOT_VERSION 1
#define TG_FLOW_SNAPSHOT_BLOCK   1024  /* flows a block at most */
#define TG_FLOW_SNAPSHOT_NAMES   65535 /* services, and servers, at most */
#define TG_FLOW_SNAPSHOT_TEXT    160   /* room for a sentence */
#define TG_FLOW_SERVICE_NAME     64    /* with the NUL */

struct tg_flow_saved {
	struct tg_key key; /* its service: index into the names' services */
	uint16_t server;   /* index into the names' servers */
	uint8_t state;     /* enum tg_flow_state, not FREE */
	uint8_t guess;     /* 1: its server is a guess (TG_FLOW_GUESS) */
	uint32_t idle_ms;  /* since its newest packet, when the block was written */
};
_Static_assert(sizeof(struct tg_flow_saved) == 32, "as it stands in the file");

struct tg_flow_saved_service {
	char name[TG_FLOW_SERVICE_NAME];
	struct tg_addr address;
};

struct tg_flow_saved_server {
	struct tg_addr address;
	uint16_t service; /* index */
	uint16_t unused;  /* 0 */
};

struct tg_flow_saved_names {
	uint32_t n_services, n_servers;
	struct tg_flow_saved_service *service;
	struct tg_flow_saved_server *server;
};

/* The fixed part, once in front. */
struct tg_flow_snapshot_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint64_t size; /* of the whole file, bytes */
	uint64_t flows;
	uint64_t written_ns; /* wall clock, since 1970: when it was complete */
	uint32_t n_services, n_servers;
	uint64_t names_check;
	uint64_t check; /* of all before it */
};
_Static_assert(sizeof(struct tg_flow_snapshot_header) == 64, "as it stands in the file");

struct tg_flow_writer {
	FILE *out;
	struct tg_flow_snapshot_header header;
};

/* Writes the names. The header comes last: a file that was not ended is none. 0, or -errno of the stream;
 * -EINVAL: too many names. out must be seekable, empty, and stays the caller's. */
int tg_flow_snapshot_begin(struct tg_flow_writer *w, FILE *out,
			   const struct tg_flow_saved_names *names);
/* n flows, 0..TG_FLOW_SNAPSHOT_BLOCK, whose idle_ms counts from wall_ns. */
int tg_flow_snapshot_block(struct tg_flow_writer *w, const struct tg_flow_saved *flow,
			   unsigned int n, uint64_t wall_ns);
/* Flushes, too; whether it reached the disk is the caller's to see to (fsync). */
int tg_flow_snapshot_end(struct tg_flow_writer *w, uint64_t wall_ns);

struct tg_flow_reader;

/*
 * Header and names of a seekable stream that is at its beginning. 0 and *out; -EBADMSG and a text that goes on
 * after the file's name ("is of version 2: ..."), -ENOMEM. The stream stays the caller's.
 */
int tg_flow_reader_open(FILE *in, struct tg_flow_reader **out, char text[TG_FLOW_SNAPSHOT_TEXT]);
/* Do these 8 bytes begin a file of flows, of whatever version? */
bool tg_flow_snapshot_begins(const char bytes[8]);
/* 1 and a flow whose indices and state are valid and whose newest packet came at *seen_ns (wall clock); 0 at
 * the end; -EBADMSG and a text. Flows before a fault are good ones: who wants all or nothing reads twice. */
int tg_flow_reader_next(struct tg_flow_reader *r, struct tg_flow_saved *flow, uint64_t *seen_ns,
			char text[TG_FLOW_SNAPSHOT_TEXT]);
/* Back to the first flow. 0 or -errno. */
int tg_flow_reader_rewind(struct tg_flow_reader *r);
const struct tg_flow_saved_names *tg_flow_reader_names(const struct tg_flow_reader *r);
const struct tg_flow_snapshot_header *tg_flow_reader_header(const struct tg_flow_reader *r);
void tg_flow_reader_close(struct tg_flow_reader *r);

#endif
