/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One server's health check: when a probe is due, what an answer means, and when enough of them
 * agree that the server counts as up or down. No packets, no clock: what was received is an
 * argument, and so is the time; what is to be sent is returned.
 *
 *   tcp   SYN; SYN-ACK: alive (then RST, so that no application sees a connection); RST: failed
 *   http  SYN; SYN-ACK: ACK and GET in one segment; its first payload must begin with HTTP/1.x and
 *         a status of 2xx or 3xx (then RST). No retransmission: the next check is the repetition
 *   udp   a datagram; an answer: alive; ICMP port unreachable: failed; silence: alive, unless an
 *         answer is expected
 *
 * A check that has no answer after timeout_ms failed (udp: see above). A server that is up goes
 * down after `fall` failures in a row, one that is down comes up after `rise` successes in a row. A
 * check begins every interval_ms, so a server that falls silent is down after at most interval_ms *
 * fall + timeout_ms.
 *
 * Thread-safety: one thread a check. Sources: RFC 9293 (section 3.5.2: which RST answers a SYN;
 * RFC 5961: an RST of a connection counts only at exactly the next sequence number), RFC 9112.
 */
#ifndef TG_HEALTH_H
#define TG_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "tg_clock.h"

#define TG_HEALTH_PATH_MAX    128 /* with the NUL */
#define TG_HEALTH_PAYLOAD_MAX 64

enum tg_health_type { TG_HEALTH_OFF = 0, TG_HEALTH_TCP, TG_HEALTH_UDP, TG_HEALTH_HTTP };

/* As configured; all zero: off. */
struct tg_health_params {
	enum tg_health_type type;
	uint32_t interval_ms; /* 100..3600000 */
	uint32_t timeout_ms;  /* 10.., not above interval_ms */
	uint32_t rise, fall;  /* 1..100 */
	uint16_t port;        /* host order; 0: the service's first */
	char path[TG_HEALTH_PATH_MAX];
	uint8_t payload[TG_HEALTH_PAYLOAD_MAX]; /* of a datagram */
	uint16_t payload_len;
	bool expect;       /* udp: silence is a failure */
	bool passive;      /* look at the traffic too: tg_suspect */
	bool initial_down; /* a new server must pass `rise` checks first */
};

/* X(constant, name in reports, text) of why the last check failed */
#define TG_HEALTH_REASONS(X)                                          \
	X(NONE, "none", "no failure")                                 \
	X(SILENT, "silent", "no answer in time")                      \
	X(REFUSED, "refused", "connection refused")                   \
	X(UNREACHABLE, "unreachable", "port or host unreachable")     \
	X(BROKEN, "broken_off", "connection ended without an answer") \
	X(STATUS, "http_status", "HTTP status is not 2xx or 3xx")     \
	X(NOT_HTTP, "not_http", "the answer is not HTTP/1")           \
	X(NEIGHBOUR, "no_neighbour", "link address of its next hop is not known")

enum tg_health_reason {
#define TG_HEALTH_ENUM(id, name, text) TG_HEALTH_##id,
	TG_HEALTH_REASONS(TG_HEALTH_ENUM)
#undef TG_HEALTH_ENUM
		TG_HEALTH_REASON_COUNT
};

const char *tg_health_reason_name(enum tg_health_reason r);
const char *tg_health_reason_text(enum tg_health_reason r);
/* "off", "tcp", "udp", "http"; NULL outside. */
const char *tg_health_type_name(unsigned int type);

/* In ticks. */
struct tg_check_rule {
	enum tg_health_type type;
	bool expect;
	uint32_t rise, fall;
	uint64_t interval, timeout;
};

struct tg_check_rule tg_check_compile(const struct tg_health_params *p,
				      const struct tg_clock *clock);

enum tg_check_phase { TG_CHECK_IDLE = 0, TG_CHECK_SYN, TG_CHECK_REQUEST, TG_CHECK_DATAGRAM };

/* What is to be sent now. */
enum tg_check_act { TG_ACT_NOTHING = 0, TG_ACT_SYN, TG_ACT_REQUEST, TG_ACT_RESET, TG_ACT_DATAGRAM };

struct tg_check {
	enum tg_check_phase phase;
	bool up;
	uint32_t in_row;    /* results that contradict `up`, without one between that agrees */
	uint32_t seq, peer; /* TCP: next one of ours; next one of the server's */
	uint64_t due;       /* ticks: when the next check begins */
	uint64_t begun, deadline; /* ticks: of the one that is under way */
	/* cumulative */
	uint64_t checks, failures, changes;
	uint64_t changed;           /* ticks: when it last went up or down; 0: never */
	enum tg_health_reason why;  /* the last check failed for; NONE: it passed */
	enum tg_health_reason fell; /* it went down for; stays when it is up again */
};

/* The first check begins at `due`. */
void tg_check_init(struct tg_check *c, bool up, uint64_t due);

/* Is it time for one? None is under way, and it is due. */
bool tg_check_due(const struct tg_check *c, uint64_t now);
/* As soon as the one under way, if any, is over. */
void tg_check_hurry(struct tg_check *c, uint64_t now);

/* Begins one. seq: TCP's initial sequence number, which nobody can guess. */
enum tg_check_act tg_check_begin(struct tg_check *c, const struct tg_check_rule *r, uint32_t seq,
				 uint64_t now);

/* What came to the check's own port from the address and port that it asked. */
struct tg_check_answer {
	enum { TG_ANSWER_TCP, TG_ANSWER_UDP, TG_ANSWER_UNREACHABLE } kind;
	uint8_t tcp_flags;   /* TG_TCP_* */
	uint32_t seq, ack;   /* TCP */
	const uint8_t *data; /* payload: len readable bytes */
	uint16_t len;
};

/* What does not belong to the check changes nothing. */
enum tg_check_act tg_check_answer(struct tg_check *c, const struct tg_check_rule *r,
				  const struct tg_check_answer *a, uint64_t now);

/* Ends the one under way if its time is over: what is to be sent, in case. */
enum tg_check_act tg_check_expire(struct tg_check *c, const struct tg_check_rule *r, uint64_t now);

/* Its probe could not be sent, and the server is to blame for it. */
void tg_check_failed(struct tg_check *c, const struct tg_check_rule *r, enum tg_health_reason why,
		     uint64_t now);
/* It could not, and the server is not: as if it had not begun; the next one is due at `due`. */
void tg_check_cancel(struct tg_check *c, uint64_t due);

/* Is what a server sent first a status line of 2xx or 3xx? TG_HEALTH_NONE, _STATUS, _NOT_HTTP. */
enum tg_health_reason tg_http_judge(const uint8_t *data, uint16_t len);

/*
 * Passive: what traffic itself showed of a server in a window of about a second. `again` of its
 * SYNs and requests came again (`tries`: flows and requests that were new); of `waiting` requests
 * `overdue` wait far longer than its answers take. A server is suspect when at least
 * TG_SUSPECT_MIN and a tenth of its tries came again, or at least TG_SUSPECT_MIN and half of what
 * waits is overdue, and that share is TG_SUSPECT_TIMES that of the service's other servers
 * together: what all servers have in common is no server's fault.
 */
#define TG_SUSPECT_MIN   5
#define TG_SUSPECT_TIMES 4

struct tg_suspect_window {
	uint64_t tries, again;
	uint64_t waiting, overdue;
};

bool tg_suspect(const struct tg_suspect_window *server, const struct tg_suspect_window *others);

#endif
