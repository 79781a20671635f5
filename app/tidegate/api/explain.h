/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the gateway does with one 5-tuple, and why: its entry, or what would happen to its next
 * packet. Written "tcp,SRC,SPORT,DST,DPORT" everywhere.
 *
 * Thread-safety: control's thread; asks the workers, which answer between two turns.
 */
#ifndef TG_EXPLAIN_H
#define TG_EXPLAIN_H

#include "gateway.h"

struct tg_explanation {
	uint16_t service, server; /* ids; TG_NO_SERVICE, TG_NO_SERVER */
	bool entry;               /* it is in a flow table, and flow is a copy */
	unsigned int worker;      /* whose */
	struct tg_flow flow;
	uint64_t idle_ns;
	enum tg_reason drop; /* TG_DROP_NONE, or what drops its packets now */
	char why[256];       /* a sentence */
};

/* "tcp,10.0.0.1,1234,192.0.2.1,80" to a packet of that flow (flags: a SYN). Protocols by name (tcp,
 * udp, icmp, icmp6, esp, gre, sctp) or number. -EINVAL and a sentence. */
int tg_tuple_parse(const char *text, struct tg_pkt *out, char *err, size_t err_len);

int tg_explain(struct tg_gateway *g, const char *tuple, struct tg_explanation *out, char *err,
	       size_t err_len);

/* The same of a whole frame, in hexadecimal digits, that came by port number `port`: what its bytes are refused
 * for too. */
#define TG_EXPLAIN_FRAME_MAX 1600
int tg_explain_frame(struct tg_gateway *g, unsigned int port, const char *hex,
		     struct tg_explanation *out, char *err, size_t err_len);

#endif
