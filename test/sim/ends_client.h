/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that does what the test says, and a group of it alone: in client.c's place. */
#ifndef TG_TEST_ENDS_CLIENT_H
#define TG_TEST_ENDS_CLIENT_H

#include "ends.h"

enum { SYN = TG_TCP_SYN, ACK = TG_TCP_ACK, PSH = TG_TCP_PSH, FIN = TG_TCP_FIN, RST = TG_TCP_RST };

extern struct tg_group group;
extern struct tg_group_params params;                   /* may be changed before connect_as */
extern struct tg_request request[64];                   /* by id */
extern unsigned int answered[64], n_answered, n_broken; /* ids in order of their answers */
extern uint64_t last_answer;

void begin(void);
/* Everything that was open is gone, but for so many connections. */
void over(uint64_t left);
struct tg_connection *connect_as(enum tg_traffic traffic);
void ask(struct tg_connection *c, uint32_t bytes, uint32_t answer, double work_us);
struct tg_request *last_asked(void);
/* A packet of the log, as sent: when, by whom, flags, data. */
void expect(unsigned int i, uint64_t at, bool to_server, unsigned int flags, uint32_t data);

#endif
