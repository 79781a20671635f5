/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server as a queueing station: c workers, one queue in order of arrival, speed by schedule.
 * The work of a request is drawn by its client (common random numbers); the station's own
 * `service_us` is used where the client gives none.
 *
 * States. UP serves. HUNG takes requests into its queue and stands still, as a stopped process
 * does: services and answers under way go on where they were when it is up again. DOWN and REFUSES
 * lose everything at once, waiting, at work, or ready and delayed, and take nothing.
 *
 * Every request that was taken leaves in one way, so at any time, since the start,
 *
 *	arrivals = completions + lost + withdrawn + waiting + busy
 *
 * (since the warm-up ended: and what was there then). Areas are exact: each is the sum over
 * requests of the nanoseconds they spent there (Little's law), whole numbers below 2^53.
 *
 * Cost: O(1) a request, and its event.
 * Thread-safety: one simulation, one thread.
 */
#ifndef TG_STATION_H
#define TG_STATION_H

#include "event.h"
#include "random.h"

struct tg_sim;

enum tg_station_state {
	TG_STATION_UP,
	TG_STATION_DOWN,    /* host gone: packets to it vanish, work is lost */
	TG_STATION_HUNG,    /* accepts and acknowledges, answers nothing until it is up again */
	TG_STATION_REFUSES, /* process gone: SYNs and data are answered by RST, work is lost */
};

struct tg_station_change {
	uint64_t at_ns; /* since the start (warm-up included), or since the last repeat; ascending */
	enum tg_station_state state;
	double slow;     /* > 0: multiplies the time of services that start from now on */
	double delay_us; /* before an answer that becomes ready from now on leaves; holds no worker */
};

struct tg_station_params {
	char name[64];
	char address[48]; /* as in the gateway's configuration */
	uint32_t workers; /* c, >= 1 */
	uint32_t listen_queue; /* requests that wait; more are refused (the connection is reset). 0: no limit */
	struct tg_dist service_us;
	uint32_t n_changes;
	const struct tg_station_change *changes;
	double repeat_s; /* the changes start again after this time, > the last one's; 0: once */
};

/* Where a request is at its station. */
enum tg_request_stage {
	TG_REQUEST_AWAY, /* not there: not yet, or no more */
	TG_REQUEST_WAITING,
	TG_REQUEST_AT_WORK,
	TG_REQUEST_IN_VAIN, /* at work for nobody (the station's own copy of one withdrawn) */
	TG_REQUEST_READY,   /* served; the delay before its answer runs */
};

/* One request, shared by client and server side of its connection (never by the gateway). */
struct tg_request {
	struct tg_request *next; /* its connection's */
	struct tg_connection *connection;
	uint64_t id;
	uint64_t created, sent; /* wanted by the client; its last byte first given to the network */
	uint64_t arrived, started, finished; /* at the station; 0: not yet */
	uint64_t answered;                   /* last byte of the answer at the client */
	double work_us; /* at speed 1; < 0: the station draws it, and leaves it here */
	uint32_t bytes, answer_bytes;
	uint32_t writes;          /* the answer goes out in so many writes, >= 1 */
	uint64_t write_gap_ns;    /* between them */
	uint64_t end, answer_end; /* where it ends in the byte stream of its direction */
	uint16_t class;           /* of the client group: for the results */
	uint16_t station;
	/* the station's, from tg_station_submit to done or tg_station_withdraw */
	enum tg_request_stage stage;
	struct tg_event event;             /* service ends, or the delay before the answer */
	struct tg_station *at;             /* which holds it */
	struct tg_request *before, *after; /* in its queue or list */
	uint64_t due;                      /* when the event fires; HUNG: how long until then */
};

struct tg_request_list {
	struct tg_request *first, *last;
};

struct tg_station {
	const struct tg_station_params *params;
	struct tg_sim *sim;
	uint16_t index;
	enum tg_station_state state;
	double slow, delay_us;
	struct tg_random random;
	uint32_t trace_place;
	uint32_t busy, waiting;               /* workers at work; requests in the queue */
	struct tg_request_list queue, served; /* served: at work, or ready */
	struct tg_request_list unwanted;      /* at work in vain: copies of the station's own */
	struct tg_event change;
	uint32_t next_change;
	uint64_t round; /* when the changes last began */
	/* what happened since the warm-up ended */
	uint64_t arrivals, completions; /* taken; services that ended */
	uint64_t in_vain;               /* completions that nobody waited for */
	uint64_t refused;               /* not taken: full, DOWN or REFUSES */
	uint64_t lost;      /* waiting or at work when the station went DOWN or REFUSES */
	uint64_t unsent;    /* completions whose answer was lost so */
	uint64_t withdrawn; /* from the queue */
	double area_system, area_waiting, area_busy; /* number * ns, until area_since */
	uint64_t area_since;
	/* over completions; service: from start to end, slowed or hung; its square in ns^2 */
	double sum_wait_ns, sum_service_ns, sum_service2;
	/* The answer is ready, or (answer false) the request was lost: the station is DOWN or REFUSES.
	 * The request is no longer the station's; whatever is called from here is allowed. */
	void (*done)(struct tg_request *r, bool answer, uint64_t now);
};

/* UP, idle, its changes scheduled. The parameters stay the caller's and must live as long; `done` is
 * the caller's to set. */
void tg_station_init(struct tg_station *st, struct tg_sim *s, const struct tg_station_params *p,
		     uint16_t index);
/* Frees what is at work in vain, and looks at nothing else: requests are their owners', and may be gone.
 * The station is used no more. */
void tg_station_free(struct tg_station *st);
/* A request's last byte arrived. False: the queue is full, or the station DOWN or REFUSES (then done is
 * not called). A request waits in the queue of a HUNG station. done is never called from within. */
bool tg_station_submit(struct tg_station *st, struct tg_request *r, uint64_t now);
/* The connection is gone: a request that waits leaves the queue, one at work is finished in vain (the
 * worker does not notice), an answer ready is not sent. done is not called, and r may be freed at
 * once. Nothing happens to a request that is not there. */
void tg_station_withdraw(struct tg_station *st, struct tg_request *r, uint64_t now);
/* Brings the areas up to date: before they are read. */
void tg_station_count(struct tg_station *st, uint64_t now);
/* Forgets what was counted: the warm-up ends. */
void tg_station_begin(struct tg_station *st, uint64_t now);

#endif
