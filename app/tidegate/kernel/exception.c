/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel/exception.h"

#include <errno.h>
#include <pthread.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "health/health.h"
#include "kernel/addresses.h"
#include "port/twin.h"
#include "start/privilege.h"

#define RING        1024
#define REST_MIN_US 20
#define REST_MAX_US 500
#define START_TURNS 50000 /* of REST_MIN_US */

/* Not for us, as far as services go. What is for a service's address never goes to the kernel, whatever
 * its port: nobody but the servers answers for it. */
#define TO_KERNEL                                                             \
	(UINT64_C(1) << TG_DROP_NOT_OURS | UINT64_C(1) << TG_DROP_MULTICAST | \
	 UINT64_C(1) << TG_DROP_NEIGHBOUR)
_Static_assert(TG_DROP_REASON_COUNT <= 64, "reasons are bits of a word");

struct tg_exception {
	struct tg_gateway *g;
	struct rte_ring *up; /* to the kernel, from all workers */
	struct tg_twin twin[TG_PORTS_MAX];
	uint8_t port_of[RTE_MAX_ETHPORTS]; /* by ethdev; TG_PORTS_MAX: has no twin */
	struct tg_kernel_addresses *addresses;
	struct tg_kernel_address *list; /* room for all that can be wanted; control's */
	unsigned int list_room;
	unsigned int announced;
	bool withdrawn;
	uint64_t due;
	pthread_t thread;
	bool running, begun, stop;
	struct tg_exception_stats stats;
};

bool tg_exception_take(struct tg_worker *w, struct tg_burst *b, unsigned int i)
{
	struct tg_exception *x = w->exception;
	struct rte_mbuf *m = b->mbuf[i];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int port;

	if ((TO_KERNEL >> b->reason[i] & 1) == 0 || m->port >= RTE_MAX_ETHPORTS)
		return false;
	port = x->port_of[m->port];
	if (port == TG_PORTS_MAX ||
	    ((frame[0] & 1) == 0 && memcmp(frame, w->ports[port].mac, 6) != 0))
		return false;
	if (rte_ring_mp_enqueue(x->up, m) != 0) {
		b->reason[i] = TG_DROP_KERNEL;
		return false;
	}
	b->verdict[i] = TG_TAKEN;
	w->stats.to_kernel++;
	return true;
}

static unsigned int to_kernel(struct tg_exception *x)
{
	struct rte_mbuf *m[TG_BURST_MAX];
	unsigned int n = rte_ring_sc_dequeue_burst(x->up, (void **)m, TG_BURST_MAX, NULL);

	for (unsigned int i = 0; i < n; i++) {
		const struct tg_twin *t = &x->twin[x->port_of[m[i]->port]];

		m[i]->ol_flags = 0; /* what the port said of it is nothing for the twin to do */
		if (tg_twin_send(t, &m[i], 1) == 1) {
			tg_stat_add(&x->stats.delivered, 1);
		} else {
			tg_stat_add(&x->stats.refused, 1);
			rte_pktmbuf_free(m[i]);
		}
	}
	return n;
}

static unsigned int from_kernel(struct tg_exception *x, unsigned int port)
{
	struct rte_mbuf *m[TG_BURST_MAX];
	uint16_t n = tg_twin_receive(&x->twin[port], m, TG_BURST_MAX);

	for (uint16_t i = 0; i < n; i++) {
		m[i]->port = (uint16_t)port;
		m[i]->ol_flags = 0;
		if (rte_ring_mp_enqueue(x->g->control_out, m[i]) == 0) {
			tg_stat_add(&x->stats.sent, 1);
		} else {
			tg_stat_add(&x->stats.unsent, 1);
			rte_pktmbuf_free(m[i]);
		}
	}
	return n;
}

static void rest(unsigned int *us, bool busy)
{
	struct timespec t = {.tv_nsec = 0};

	*us = busy ? REST_MIN_US : RTE_MIN(*us * 2, REST_MAX_US);
	t.tv_nsec = *us * 1000;
	nanosleep(&t, NULL);
}

static void *run(void *ctx)
{
	struct tg_exception *x = ctx;
	unsigned int us = REST_MIN_US;

	if (tg_privilege_keep_net_admin() != 0) {
		fprintf(stderr,
			"tidegate: the kernel's thread cannot drop its capabilities: stops\n");
		kill(getpid(), SIGTERM);
		return NULL;
	}
	__atomic_store_n(&x->begun, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) {
		unsigned int moved = to_kernel(x);

		for (unsigned int p = 0; p < x->g->n_ports; p++)
			if (x->twin[p].used)
				moved += from_kernel(x, p);
		tg_kernel_addresses_apply(x->addresses);
		rest(&us, moved > 0);
	}
	return NULL;
}

static int open_twins(struct tg_exception *x, const struct tg_config *c, char *err, size_t err_len)
{
	for (unsigned int p = 0; p < x->g->n_ports; p++) {
		int r;

		if (c->ports[p].kernel[0] == '\0')
			continue;
		r = tg_twin_start(&x->twin[p], &c->ports[p], &x->g->ports[p], x->g->pool[0], err,
				  err_len);
		if (r != 0)
			return r;
		x->port_of[x->g->ports[p].ethdev] = (uint8_t)p;
		printf("tidegate: port %s: what is for no service goes to the kernel's %s (%s)\n",
		       x->g->ports[p].name, x->twin[p].name, c->ports[p].kernel);
		if (x->twin[p].if_index == 0)
			fprintf(stderr,
				"tidegate: kernel: %s does not tell which interface is its other side: addresses are "
				"yours to set, and nothing is announced there\n",
				c->ports[p].kernel);
	}
	return 0;
}

int tg_exception_create(struct tg_gateway *g, const struct tg_config *c, struct tg_exception **out,
			char *err, size_t err_len)
{
	struct tg_exception *x;
	char name[32];
	bool any = false;
	int r = -ENOMEM;

	for (unsigned int p = 0; p < c->n_ports; p++)
		any = any || c->ports[p].kernel[0] != '\0';
	if (!any || g->mode != TG_MODE_INLINE)
		return 0;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return r;
	*out = x;
	x->g = g;
	memset(x->port_of, TG_PORTS_MAX, sizeof(x->port_of));
	x->list_room = TG_PORTS_MAX * TG_PORT_ADDRESSES_MAX + TG_SERVICES_MAX;
	x->list = calloc(x->list_room, sizeof(*x->list));
	snprintf(name, sizeof(name), "%skernel", g->name);
	x->up = rte_ring_create(name, RING, rte_socket_id(), RING_F_SC_DEQ);
	snprintf(err, err_len, "not enough memory for the way to the kernel");
	if (x->list != NULL && x->up != NULL && tg_kernel_addresses_create(&x->addresses) == 0)
		r = open_twins(x, c, err, err_len);
	return r;
}

int tg_exception_start(struct tg_exception *x)
{
	struct timespec t = {.tv_nsec = REST_MIN_US * 1000};
	int r = rte_ctrl_thread_create(&x->thread, "kernel", NULL, run, x);

	x->running = r == 0;
	/* whoever drops the other threads' rights must know this one by then */
	for (unsigned int i = 0;
	     r == 0 && i < START_TURNS && !__atomic_load_n(&x->begun, __ATOMIC_ACQUIRE); i++)
		nanosleep(&t, NULL);
	return r;
}

void tg_exception_stop(struct tg_exception *x)
{
	void *m;

	if (x == NULL)
		return;
	__atomic_store_n(&x->stop, true, __ATOMIC_RELAXED);
	if (x->running)
		pthread_join(x->thread, NULL);
	x->running = false;
	while (x->up != NULL && rte_ring_sc_dequeue(x->up, &m) == 0)
		rte_pktmbuf_free(m);
	for (unsigned int p = 0; p < TG_PORTS_MAX; p++)
		tg_twin_stop(&x->twin[p]);
}

void tg_exception_free(struct tg_exception *x)
{
	if (x == NULL)
		return;
	tg_kernel_addresses_free(x->addresses);
	rte_ring_free(x->up);
	free(x->list);
	free(x);
}

/* Which services have a server that answers for them, draining ones too? As far as their checks know. */
static void find_alive(const struct tg_gateway *g, uint64_t now, bool alive[TG_SERVICES_MAX])
{
	const struct tg_snapshot *s = g->snapshot;

	memset(alive, 0, TG_SERVICES_MAX * sizeof(*alive));
	for (unsigned int i = 0; i < s->n_servers; i++) {
		struct tg_health_view view;

		if (s->server[i] != NULL && s->server[i]->state != TG_SERVER_DOWN &&
		    (!tg_health_of(g, (uint16_t)i, now, &view) || view.up))
			alive[s->service_of[i]] = true;
	}
}

/* The interface that services are announced on: of the first port that clients come by. */
static const struct tg_twin *front(const struct tg_exception *x)
{
	for (unsigned int p = 0; p < x->g->n_ports; p++)
		if (x->twin[p].if_index != 0 && x->g->ports[p].role != TG_ROLE_SERVER)
			return &x->twin[p];
	return NULL;
}

static unsigned int add_services(struct tg_exception *x, unsigned int n, uint64_t now)
{
	static bool alive[TG_SERVICES_MAX]; /* control only */
	const struct tg_snapshot *s = x->g->snapshot;
	const struct tg_twin *t = front(x);

	find_alive(x->g, now, alive);
	for (unsigned int v = 0; t != NULL && v < s->n_services; v++)
		if (s->service[v] != NULL && s->service[v]->announce && alive[v])
			x->list[n++] = (struct tg_kernel_address){
				.prefix = {.addr = s->service[v]->address, .len = 128},
				.if_index = t->if_index,
			};
	return n;
}

static void want(struct tg_exception *x, uint64_t now)
{
	const struct tg_config *c = x->g->snapshot->config;
	unsigned int n = 0, own;

	for (unsigned int p = 0; p < x->g->n_ports; p++)
		/* with a tag they are on the VLAN's interface, which its owner makes */
		for (unsigned int k = 0; x->twin[p].if_index != 0 && c->ports[p].vlan == 0 &&
					 k < c->ports[p].n_addresses;
		     k++)
			x->list[n++] = (struct tg_kernel_address){
				.prefix = c->ports[p].addresses[k],
				.if_index = x->twin[p].if_index,
			};
	own = n;
	if (!x->withdrawn)
		n = add_services(x, n, now);
	__atomic_store_n(&x->announced, n - own, __ATOMIC_RELAXED);
	tg_kernel_addresses_want(x->addresses, x->list, n);
}

#define PERIOD_MS 100

void tg_exception_tick(struct tg_gateway *g, uint64_t now)
{
	struct tg_exception *x = g->exception;

	if (x == NULL || now < x->due)
		return;
	x->due = now + tg_us_to_ticks(&g->clock, PERIOD_MS * 1000);
	want(x, now);
}

unsigned int tg_exception_withdraw(struct tg_gateway *g)
{
	struct tg_exception *x = g->exception;
	unsigned int had;

	if (x == NULL || x->withdrawn)
		return 0;
	had = x->announced;
	x->withdrawn = true;
	x->due = 0;
	return had;
}

void tg_exception_stats(const struct tg_exception *x, struct tg_exception_stats *out)
{
	*out = (struct tg_exception_stats){
		.delivered = tg_stat_read(&x->stats.delivered),
		.refused = tg_stat_read(&x->stats.refused),
		.sent = tg_stat_read(&x->stats.sent),
		.unsent = tg_stat_read(&x->stats.unsent),
	};
}

unsigned int tg_exception_announced(const struct tg_exception *x)
{
	return __atomic_load_n(&x->announced, __ATOMIC_RELAXED);
}
