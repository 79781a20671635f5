/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the file: what workers copy, a thread of its own puts on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway.h"
#include "restart/restart.h"
#include "start/privilege.h"
#include "tg_mem.h"

#define COPY_PERIOD_MS 1
#define STEP_BUCKETS   4 /* at most 64 entries: about a microsecond */
#define ROUND_BUCKETS \
	256 /* of a period: 10 million flows take some 4 s, a tenth of a worker at most */
#define WAIT_US 500

/* ---- the worker's side ---- */

static void copy(void *ctx, const struct tg_flow *f)
{
	struct tg_restart_feed *feed = ctx;
	struct tg_restart_chunk *c = &feed->chunk[feed->fill];
	uint64_t idle = feed->now > f->last_seen ? feed->now - f->last_seen : 0;
	uint64_t ms = tg_ticks_to_ns(&feed->worker->clock, idle) / 1000000;

	c->generation[c->n] = f->server_generation;
	c->flow[c->n++] = (struct tg_flow_saved){
		.key = f->key,
		.server = f->server,
		.state = f->state,
		.guess = (f->asking & TG_FLOW_GUESS) != 0,
		.idle_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX,
	};
}

static void hand_over(struct tg_restart_feed *feed, bool last)
{
	struct tg_restart_chunk *c = &feed->chunk[feed->fill];

	c->last = last;
	__atomic_store_n(&c->full, true, __ATOMIC_RELEASE);
	feed->fill = (feed->fill + 1) % TG_RESTART_CHUNKS;
	if (last) {
		feed->bucket = 0;
		feed->given++;
	}
}

bool tg_restart_copy_step(void *ctx, uint64_t now)
{
	struct tg_restart_feed *feed = ctx;
	struct tg_restart_chunk *c = &feed->chunk[feed->fill];
	bool more;

	if (feed->given == __atomic_load_n(&feed->wanted, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&c->full, __ATOMIC_ACQUIRE))
		return false; /* nothing is wanted, or the writer is behind */
	feed->now = now;
	more = tg_flow_visit(feed->worker->flows, &feed->bucket, STEP_BUCKETS, copy, feed);
	if (!more || c->n + STEP_BUCKETS * TG_FLOW_BUCKET > TG_FLOW_SNAPSHOT_BLOCK)
		hand_over(feed, !more);
	feed->stepped += STEP_BUCKETS;
	if (more && feed->stepped < ROUND_BUCKETS)
		return true;
	feed->stepped = 0;
	return false;
}

/* ---- the writer's side ---- */

struct writing {
	struct tg_restart *r;
	struct tg_flow_writer file;
	struct tg_flow_saved_names names;
	uint16_t *generation; /* by server id, when the names were taken */
	unsigned int n_ids;
	bool alone; /* the workers have ended: their steps are ours to run */
	int rc;
};

static void free_names(struct writing *x)
{
	free(x->names.service);
	free(x->names.server);
	free(x->generation);
}

/* Indices in the file are the ids of this moment; those that are not in use have names of nothing. */
static int take_names(struct writing *x)
{
	struct tg_gateway *g = x->r->g;
	const struct tg_snapshot *s;
	int rc = -ENOMEM;

	pthread_mutex_lock(&g->mutex); /* control frees no snapshot meanwhile */
	s = g->snapshot;
	x->names.n_services = s->n_services;
	x->names.n_servers = x->n_ids = s->n_servers;
	x->names.service = calloc(s->n_services + 1, sizeof(*x->names.service));
	x->names.server = calloc(s->n_servers + 1, sizeof(*x->names.server));
	x->generation = calloc(s->n_servers + 1, sizeof(*x->generation));
	if (x->names.service != NULL && x->names.server != NULL && x->generation != NULL) {
		rc = 0;
		for (unsigned int i = 0; i < s->n_services; i++) {
			if (s->service[i] == NULL)
				continue;
			memcpy(x->names.service[i].name, s->service[i]->name, TG_NAME_MAX);
			x->names.service[i].address = s->service[i]->address;
		}
		for (unsigned int i = 0; i < s->n_servers; i++) {
			x->generation[i] = s->generation[i];
			x->names.server[i].service = s->service_of[i];
			if (s->server[i] != NULL)
				x->names.server[i].address = s->server[i]->address;
		}
	}
	pthread_mutex_unlock(&g->mutex);
	return rc;
}

/* Leaves flows whose server is the one that the names mean; the others have none to go to. */
static unsigned int keep_known(const struct writing *x, struct tg_restart_chunk *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n; i++) {
		const struct tg_flow_saved *f = &c->flow[i];

		if (f->server < x->n_ids && x->generation[f->server] == c->generation[i] &&
		    x->names.server[f->server].service == f->key.service)
			c->flow[n++] = *f;
	}
	return n;
}

/* One chunk of this feed, if there is one. After a fault they are emptied all the same. */
static bool drain(struct writing *x, struct tg_restart_feed *feed)
{
	struct tg_restart_chunk *c = &feed->chunk[feed->drain];

	if (feed->ended || !__atomic_load_n(&c->full, __ATOMIC_ACQUIRE))
		return false;
	if (x->rc == 0)
		x->rc = tg_flow_snapshot_block(&x->file, c->flow, keep_known(x, c),
					       tg_restart_wall_ns(x->r->g));
	feed->ended = c->last;
	c->n = 0;
	feed->drain = (feed->drain + 1) % TG_RESTART_CHUNKS;
	__atomic_store_n(&c->full, false, __ATOMIC_RELEASE);
	return true;
}

/* Copies every worker's table into the file. -ECANCELED: the gateway stops. */
static int write_flows(struct writing *x)
{
	struct tg_restart *r = x->r;
	unsigned int left = r->g->n_workers;

	for (unsigned int i = 0; i < r->g->n_workers; i++) {
		r->feed[i]->ended = false;
		__atomic_store_n(&r->feed[i]->wanted, r->feed[i]->wanted + 1, __ATOMIC_RELEASE);
	}
	while (left > 0) {
		bool any = false;

		for (unsigned int i = 0; i < r->g->n_workers; i++) {
			struct tg_restart_feed *feed = r->feed[i];

			if (x->alone && !feed->ended)
				tg_restart_copy_step(feed, tg_worker_now(feed->worker));
			if (!drain(x, feed))
				continue;
			any = true;
			left -= feed->ended;
		}
		if (x->alone || any)
			continue;
		if (__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
			return -ECANCELED;
		rte_delay_us_sleep(WAIT_US);
	}
	return x->rc;
}

static int sync_folder(const char *path)
{
	char folder[TG_PATH_MAX];
	int fd, rc;

	snprintf(folder, sizeof(folder), "%s", path);
	fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

/* From names to the disk. */
static int write_stream(struct writing *x, FILE *out)
{
	int rc = take_names(x);

	if (rc == 0)
		rc = tg_flow_snapshot_begin(&x->file, out, &x->names);
	if (rc == 0)
		rc = write_flows(x);
	if (rc == 0)
		rc = tg_flow_snapshot_end(&x->file, tg_restart_wall_ns(x->r->g));
	if (rc == 0 && fsync(fileno(out)) != 0)
		rc = -errno;
	return rc;
}

int tg_restart_may_replace(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char begin[8];
	struct stat st;
	bool may;

	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP ? -EEXIST : -errno;
	may = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	      (st.st_size == 0 ||
	       (read(fd, begin, sizeof(begin)) == sizeof(begin) && tg_flow_snapshot_begins(begin)));
	close(fd);
	return may ? 0 : -EEXIST;
}

static int write_file(struct writing *x)
{
	struct tg_restart *r = x->r;
	FILE *out;
	int fd, rc;

	if (tg_restart_may_replace(r->path) != 0)
		return -EEXIST;
	/* a file of a gateway that was killed while it wrote may lie there */
	unlink(r->temporary);
	fd = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	out = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (out == NULL) {
		rc = errno == EEXIST ? -EISDIR : -errno; /* what unlink leaves is a folder */
		if (fd >= 0)
			close(fd);
		return rc;
	}
	rc = write_stream(x, out);
	if (fclose(out) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(r->temporary, r->path) != 0)
		rc = -errno;
	if (rc != 0)
		unlink(r->temporary);
	return rc == 0 ? sync_folder(r->path) : rc;
}

static void set(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void complain(const struct tg_restart *r, int rc)
{
	int there = tg_restart_may_replace(r->path);

	if (rc == -EEXIST && there != 0 && there != -EEXIST)
		fprintf(stderr,
			"tidegate: flow_table.snapshot: %s is there and cannot be read: %s: it is not "
			"written over; give it to the user that tidegate runs as, or set another path\n",
			r->path, strerror(-there));
	else if (rc == -EEXIST)
		fprintf(stderr,
			"tidegate: flow_table.snapshot: %s is there and is no snapshot of flows: it is "
			"not written over; remove it, or set another path\n",
			r->path);
	else
		fprintf(stderr,
			"tidegate: flow_table.snapshot: %s cannot be written: %s; its folder must be "
			"there and writable for the user that tidegate runs as\n",
			r->temporary, strerror(-rc));
}

static void save(struct tg_restart *r, bool alone)
{
	struct writing x = {.r = r, .alone = alone};
	struct tg_restart_stats *s = &r->stats;
	uint64_t start = tg_restart_wall_ns(r->g);
	int rc = write_file(&x);

	free_names(&x);
	if (rc == 0) {
		set(&s->saved, x.file.header.flows);
		set(&s->write_ns, tg_restart_wall_ns(r->g) - start);
		set(&s->saved_at, rte_rdtsc());
		set(&s->writes, s->writes + 1);
	} else if (rc != -ECANCELED) {
		if (s->failures == 0 || alone)
			complain(r, rc);
		set(&s->failures, s->failures + 1);
	}
}

static uint32_t period_s(struct tg_gateway *g)
{
	uint32_t s;

	pthread_mutex_lock(&g->mutex);
	s = g->snapshot->config->flow_snapshot_s;
	pthread_mutex_unlock(&g->mutex);
	return s;
}

/* Told at once, not when the first file is due. */
static void try_folder(const struct tg_restart *r)
{
	int fd;

	if (tg_restart_may_replace(r->path) != 0) {
		complain(r, -EEXIST);
		return;
	}
	unlink(r->temporary);
	fd = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		complain(r, errno == EEXIST ? -EISDIR : -errno);
		return;
	}
	close(fd);
	unlink(r->temporary);
}

static void *writer(void *ctx)
{
	struct tg_restart *r = ctx;
	uint64_t last = rte_rdtsc();

	if (tg_privilege_drop() != 0) {
		fprintf(stderr, "tidegate: flow_table.snapshot: nothing is written: the writer "
				"cannot drop its capabilities\n");
		return NULL;
	}
	try_folder(r);
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint32_t s = period_s(r->g);

		if (s > 0 && rte_rdtsc() - last >= tg_s_to_ticks(&r->g->clock, s)) {
			last = rte_rdtsc();
			save(r, false);
		}
		rte_delay_us_sleep(20000);
	}
	return NULL;
}

static struct tg_restart_feed *make_feed(struct tg_gateway *g, struct tg_worker *w)
{
	struct tg_restart_feed *feed = tg_mem_zalloc("snapshot", sizeof(*feed), 64, w->socket);

	if (feed == NULL)
		return NULL;
	feed->worker = w;
	feed->task = (struct tg_task){
		.name = "snapshot",
		.step = tg_restart_copy_step,
		.ctx = feed,
		.period = tg_us_to_ticks(&g->clock, COPY_PERIOD_MS * 1000),
	};
	if (tg_sched_add(&w->sched, &feed->task, g->started) == 0)
		return feed;
	tg_mem_free(feed);
	return NULL;
}

int tg_restart_attach(struct tg_gateway *g)
{
	const char *path = g->snapshot->config->flow_snapshot;
	struct tg_restart *r;

	if (path[0] == '\0')
		return 0;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	g->restart = r;
	r->g = g;
	r->lock = -1;
	snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->temporary, sizeof(r->temporary), "%s.new", path);
	for (unsigned int i = 0; i < g->n_workers; i++) {
		r->feed[i] = make_feed(g, g->worker[i]);
		if (r->feed[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

int tg_restart_lock(struct tg_restart *r, char *err, size_t err_len)
{
	char path[TG_PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", r->path);
	r->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (r->lock < 0 || flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	snprintf(err, err_len,
		 "flow_table.snapshot: %s is another running tidegate's, which holds %s: stop that "
		 "one, or give each gateway a path of its own",
		 r->path, path);
	return -EBUSY;
}

int tg_restart_start(struct tg_restart *r)
{
	int rc = rte_ctrl_thread_create(&r->thread, "snapshot", NULL, writer, r);

	r->running = rc == 0;
	return rc;
}

void tg_restart_end(struct tg_restart *r, bool save_flows)
{
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	if (r->running)
		pthread_join(r->thread, NULL);
	r->running = false;
	/* what an unfinished copy left behind */
	for (unsigned int i = 0; i < r->g->n_workers; i++) {
		struct tg_restart_feed *feed = r->feed[i];

		if (feed == NULL) /* there was no memory for it */
			continue;
		for (unsigned int k = 0; k < TG_RESTART_CHUNKS; k++) {
			feed->chunk[k].full = false;
			feed->chunk[k].n = 0;
		}
		feed->fill = feed->drain = 0;
		feed->bucket = 0;
		feed->given = feed->wanted;
	}
	if (save_flows)
		save(r, true);
}

void tg_restart_free(struct tg_restart *r)
{
	if (r == NULL)
		return;
	for (unsigned int i = 0; i < TG_WORKERS_MAX; i++)
		tg_mem_free(r->feed[i]);
	/* the file stays: removed, it would be another than the one that somebody has just opened */
	if (r->lock >= 0)
		close(r->lock);
	free(r);
}
