/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and unwind of a run over a capture: find services, build the pipeline, feed it, report. */
#include "offline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <rte_common.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "discover.h"
#include "feed.h"
#include "replay.h"
#include "report.h"
#include "start/eal.h"
#include "warnings.h"

#define CAPTURE_HZ  UINT64_C(1000000000)
#define LONG_WAIT_S 10 /* of a replay: told before, so that nobody thinks it hangs */
#define PACED_MAX_S 86400
/* A whole captured frame in one buffer: they are longer than any link's where segments are merged. */
#define BUFFER_ROOM UINT16_MAX
#define BUFFERS     (4 * TG_BURST_MAX - 1)

struct offline {
	const struct tg_offline_options *options;
	struct tg_config *config; /* until the snapshot owns it */
	struct tg_capture *cap;
	struct tg_discovery discovery;
	struct tg_progress progress;
	struct tg_registry *registry;
	struct tg_snapshot *snapshot;
	uint32_t *costs; /* nothing is known of other gateways or of costs */
	struct tg_feed feed;
	struct tg_replay replay;
	bool replays; /* there is a link to replay by */
	bool eal;
	char text[2 * TG_CAPTURE_TEXT];
};

static bool quit(const struct offline *o)
{
	return o->options->quit != NULL && *o->options->quit;
}

static int fail(struct offline *o, int code, const char *what)
{
	snprintf(o->text, sizeof(o->text), "%s: %s", what, strerror(-code));
	return code;
}

static int reopen(struct offline *o, const char *what)
{
	tg_capture_close(o->cap);
	tg_progress_begin(&o->progress, stderr, what);
	return tg_capture_open(o->options->capture, &o->cap, o->text, sizeof(o->text));
}

static int find_services(struct offline *o)
{
	int rc = reopen(o, "finding services");

	if (rc != 0)
		return rc;
	rc = tg_discover(o->cap, &o->progress, o->options->quit, &o->discovery);
	tg_progress_end(&o->progress);
	if (rc != 0)
		return fail(o, rc, "services cannot be found");
	o->config = o->discovery.config;
	o->discovery.config = NULL;
	o->feed.conversations = o->discovery.conversations;
	return 0;
}

/* EAL's heap: the flow table, statistics and selection by server, frames, and as much again
 * for what else there is.
 */
static unsigned int memory_mb(const struct tg_config *c)
{
	uint64_t servers = 0, bytes;

	for (unsigned int i = 0; i < c->n_services; i++)
		servers += c->services[i].n_servers;
	bytes = (uint64_t)c->flow_table.slots * 2 * (sizeof(struct tg_flow) + 8);
	bytes += (servers + c->n_services) * (sizeof(struct tg_server_stats) + 4096);
	bytes += (uint64_t)BUFFERS * 2 * BUFFER_ROOM;
	return 64 + (unsigned int)(bytes >> 20);
}

static int make_worker(struct offline *o, struct tg_clock clock)
{
	uint8_t secret[TG_FLOW_SECRET_SIZE];
	struct tg_worker_env env = {
		.mode = TG_MODE_OFFLINE,
		.clock = clock,
		.flow_table = &o->snapshot->config->flow_table,
		.flow_secret = secret,
		.others = o->costs,
		.seed = 1, /* the same capture gives the same report */
	};
	int rc;

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return fail(o, -errno, "random numbers for the flow table");
	rc = tg_worker_create(&env, 0, 1, -1, &o->feed.worker);
	if (rc != 0)
		return fail(o, rc, "flow table (flow_table.slots_per_worker) cannot be made");
	o->feed.worker->sample = tg_flow_results_sample;
	o->feed.worker->sample_ctx = o->feed.results;
	tg_worker_use(o->feed.worker, o->snapshot);
	return 0;
}

static int make_pipeline(struct offline *o)
{
	struct tg_clock clock = tg_clock_init(CAPTURE_HZ);
	struct tg_snapshot_env env = {.clock = clock};
	const int socket = -1;
	int rc = tg_registry_create(1, &socket, &o->registry);

	if (rc != 0)
		return fail(o, rc, "registry of servers");
	env.registry = o->registry;
	rc = tg_snapshot_create(&env, o->config, &o->snapshot, o->text, sizeof(o->text));
	if (rc != 0)
		return rc;
	o->config = NULL;
	o->costs = calloc(TG_SERVERS_MAX, sizeof(*o->costs));
	o->feed.results = tg_flow_results_create();
	if (o->costs == NULL || o->feed.results == NULL)
		return fail(o, -ENOMEM, "results");
	if (o->feed.conversations == NULL) {
		o->feed.true_servers = tg_true_servers_create(o->snapshot);
		if (o->feed.true_servers == NULL)
			return fail(o, -ENOMEM, "list of servers");
	}
	o->feed.pool = rte_pktmbuf_pool_create("capture", BUFFERS, 0, 0, BUFFER_ROOM, -1);
	if (o->feed.pool == NULL)
		return fail(o, -ENOMEM, "buffers for frames");
	return make_worker(o, clock);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CAPTURE_HZ + (uint64_t)now.tv_nsec;
}

/* Waits until a frame that is `elapsed` capture time after the first one is due; a signal ends
 * the wait, and the caller looks whether it was one to quit.
 */
static void pace(const struct offline *o, uint64_t start, uint64_t elapsed)
{
	double due = (double)elapsed / o->options->replay;
	double all = due - (double)(wall_ns() - start);

	if (all > LONG_WAIT_S * 1e9)
		fprintf(stderr,
			"tidegate: the next frame of '%s' is due in %.0f s; --replay=SPEED, above %g, shortens "
			"the wait, Ctrl-C ends it with a report\n",
			o->options->capture, all / 1e9, o->options->replay);
	while (!quit(o)) {
		double left = due - (double)(wall_ns() - start);
		struct timespec wait;

		if (left <= 0)
			return;
		if (left > CAPTURE_HZ / 10)
			left = CAPTURE_HZ / 10;
		wait = (struct timespec){.tv_nsec = (long)left};
		nanosleep(&wait, NULL);
	}
}

/* A pass that only looks at times: how long a paced run will take. -ERANGE and a sentence where nobody can
 * mean to wait for it. */
static int tell_length(struct offline *o)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct tg_frame frame;
	int rc = reopen(o, "looking how long it is");
	double s;

	if (rc != 0)
		return rc;
	while (!quit(o) && tg_capture_next(o->cap, &frame) == 1) {
		first = RTE_MIN(first, frame.time_ns);
		last = RTE_MAX(last, frame.time_ns);
	}
	tg_progress_end(&o->progress);
	s = last > first ? (double)(last - first) / CAPTURE_HZ / o->options->replay : 0;
	if (s > PACED_MAX_S) {
		snprintf(o->text, sizeof(o->text),
			 "capture '%s': its frames lie so far apart that a replay at speed %g takes %.0f s (%.1f days), "
			 "more than a day: give --replay=SPEED of %.0f or more, or leave it out",
			 o->options->capture, o->options->replay, s, s / 86400,
			 ceil(s * o->options->replay / PACED_MAX_S));
		return -ERANGE;
	}
	fprintf(stderr, "tidegate: the replay of '%s' at speed %g takes %.1f s\n",
		o->options->capture, o->options->replay, s);
	return 0;
}

static int feed_all(struct offline *o)
{
	const struct tg_capture_info *info;
	bool paced = o->options->replay > 0 && !o->replays;
	int rc = paced ? tell_length(o) : 0;
	struct tg_frame frame;
	uint64_t start;

	if (rc == 0)
		rc = reopen(o, "measuring");
	if (rc != 0)
		return rc;
	start = wall_ns();
	info = tg_capture_info(o->cap);
	while (!quit(o) && tg_capture_next(o->cap, &frame) == 1) {
		tg_progress_step(&o->progress, info->bytes_read, info->size);
		if (paced && info->frames > 1 && frame.time_ns > o->feed.first_ns)
			pace(o, start, frame.time_ns - o->feed.first_ns);
		rc = tg_feed_frame(&o->feed, &frame);
		if (rc != 0) {
			tg_progress_end(&o->progress);
			return fail(o, rc, "a buffer for a frame");
		}
	}
	tg_progress_end(&o->progress);
	tg_feed_end(&o->feed);
	return 0;
}

static const char *link_name(uint32_t link_type)
{
	const char *name = tg_link_name(link_type);

	return name != NULL ? name : "one nobody knows";
}

/* Why nothing at all could be used. */
static int nothing(struct offline *o)
{
	const char *fault = tg_capture_fault(o->cap);

	if (fault != NULL)
		snprintf(o->text, sizeof(o->text),
			 "capture '%s': %s; nothing before it can be used", o->options->capture,
			 fault);
	else if (quit(o))
		snprintf(o->text, sizeof(o->text), "interrupted before a frame was measured");
	else if (o->feed.link.kind_count > 0)
		snprintf(o->text, sizeof(o->text),
			 "capture '%s': no frame has a link type that is supported (the first: %s); "
			 "Ethernet, raw IP, loopback, Linux cooked and PPP are",
			 o->options->capture, link_name(o->feed.link.kinds[0].link_type));
	else
		snprintf(o->text, sizeof(o->text), "capture '%s': there is no frame in it",
			 o->options->capture);
	return -ENODATA;
}

static int print_report(struct offline *o)
{
	static struct tg_warnings warnings;
	bool found = o->feed.conversations != NULL;
	struct tg_totals totals;
	struct tg_report_capture capture = {
		.file = o->options->capture,
		.info = tg_capture_info(o->cap),
		.link = &o->feed.link,
		.first_ns = o->feed.first_ns,
		.last_ns = o->feed.last_ns,
		.results = o->feed.results,
		.found = found ? o->discovery.found : NULL,
		.warnings = warnings.list,
		.replay = o->replays ? &o->replay : NULL,
	};
	struct tg_report report = {&totals, &capture};
	int rc = tg_totals_collect(o->snapshot, &o->feed.worker, 1, &totals);

	if (rc != 0)
		return fail(o, rc, "totals");
	tg_warnings_collect(&warnings, o->cap, &o->feed, found ? &o->discovery : NULL, quit(o));
	capture.n_warnings = warnings.n;
	for (unsigned int i = 0; i < warnings.n; i++)
		fprintf(stderr, "tidegate: warning: %s: %s\n", capture.file, warnings.list[i]);
	tg_report_text(&report, stdout);
	/* a reader that has seen enough of it (head) is no fault */
	if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
		rc = fail(o, -errno, "the report cannot be printed");
	if (rc == 0 && o->options->report != NULL)
		rc = tg_report_write(&report, o->options->report, o->text, sizeof(o->text));
	tg_totals_free(&totals);
	return rc;
}

static int replay(struct offline *o)
{
	const struct tg_offline_options *p = o->options;
	int rc = tg_replay_run(p->capture, p->config_path, p->replay, o->feed.true_servers, p->quit,
			       &o->replay, o->text, sizeof(o->text));

	o->replay.rate_mbps = tg_replay_rate(o->snapshot->config);
	if (rc == 0 && p->picture != NULL)
		rc = tg_replay_picture(&o->replay, p->picture, o->text, sizeof(o->text));
	return rc;
}

static int run(struct offline *o)
{
	int rc = o->config == NULL ? find_services(o) : 0;

	if (rc != 0)
		return rc;
	o->replays = o->options->replay > 0 && o->options->config_path != NULL &&
		     tg_replay_rate(o->config) > 0;
	rc = tg_eal_start_private(o->options->program,
				  memory_mb(o->config) +
					  (o->replays ? tg_replay_memory_mb(o->config) : 0),
				  o->text, sizeof(o->text));
	if (rc != 0)
		return rc;
	o->eal = true;
	rc = make_pipeline(o);
	if (rc == 0)
		rc = feed_all(o);
	if (rc == 0 && o->feed.worker->stats.received == 0)
		rc = nothing(o);
	if (rc == 0 && o->replays)
		rc = replay(o);
	return rc == 0 ? print_report(o) : rc;
}

static void unwind(struct offline *o)
{
	tg_capture_close(o->cap);
	tg_worker_free(o->feed.worker);
	rte_mempool_free(o->feed.pool);
	tg_true_servers_free(o->feed.true_servers);
	tg_flow_results_free(o->feed.results);
	free(o->costs);
	if (o->snapshot != NULL)
		tg_snapshot_free(o->snapshot);
	tg_registry_free(o->registry);
	tg_config_free(o->config);
	tg_discovery_free(&o->discovery);
	if (o->eal)
		tg_eal_end();
}

int tg_offline(const struct tg_offline_options *options)
{
	struct offline *o = calloc(1, sizeof(*o));
	int rc;

	if (o == NULL) {
		tg_config_free(options->config);
		fprintf(stderr, "tidegate: out of memory\n");
		return 1;
	}
	o->options = options;
	o->config = options->config;
	rc = run(o);
	if (rc != 0)
		fprintf(stderr, "tidegate: %s\n", o->text);
	unwind(o);
	free(o);
	return rc == 0 ? 0 : 1;
}
