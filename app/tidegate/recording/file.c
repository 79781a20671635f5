/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <rte_bpf.h>
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway.h"
#include "recording/filter.h"
#include "recording/note.h"
#include "recording/recording.h"

#define TICK_PACKETS  512 /* written a tick */
#define BUFFERS       2047
#define CLOSE_WAIT_US 100

struct tg_recording_file {
	struct tg_recording r;
	char folder[TG_PATH_MAX]; /* as control.captures was when it began */
	char name[TG_NAME_MAX];
	char filter[256];
	uint32_t seconds, packets, megabytes, files;
	uint64_t ends;  /* ticks */
	bool over;      /* told by stop or by its bounds: nothing more is written */
	uint64_t token; /* of the turn after which no worker holds it; 0: it is under way */
	rte_pcapng_t *out;
	unsigned int number; /* of the file under way */
	uint64_t bytes;      /* in it */
	uint64_t written, failed;
	struct tg_recorded_names names;
};

struct option {
	const char *name;
	uint32_t min, max, value;
};

enum { SECONDS, PACKETS, MEGABYTES, FILES, SNAPLEN, OPTIONS };

/* "seconds=5,files=2" into o[]; -EINVAL and a sentence. */
static int read_options(const char *text, struct option *o, char *err, size_t err_len)
{
	char buf[256], *rest = buf, *word;

	snprintf(buf, sizeof(buf), "%s", text != NULL ? text : "");
	while ((word = strsep(&rest, ",")) != NULL) {
		size_t name = strcspn(word, "=");
		unsigned long v;
		char *end;
		unsigned int k = 0;

		if (word[0] == '\0')
			continue;
		while (k < OPTIONS &&
		       (strncmp(o[k].name, word, name) != 0 || o[k].name[name] != '\0'))
			k++;
		if (k == OPTIONS) {
			snprintf(
				err, err_len,
				"%s: no such option; there are seconds, packets, megabytes, files, snaplen",
				word);
			return -EINVAL;
		}
		v = word[name] == '=' ? strtoul(word + name + 1, &end, 10) : 0;
		if (word[name] != '=' || word[name + 1] < '0' || word[name + 1] > '9' ||
		    *end != '\0' || v < o[k].min || v > o[k].max) {
			snprintf(err, err_len, "%s: %s must be a number, %u..%u", word, o[k].name,
				 o[k].min, o[k].max);
			return -EINVAL;
		}
		o[k].value = (uint32_t)v;
	}
	return 0;
}

static void file_path(const struct tg_recording_file *f, unsigned int number,
		      char path[TG_PATH_MAX + TG_NAME_MAX + 32])
{
	snprintf(path, TG_PATH_MAX + TG_NAME_MAX + 32, "%s/%s-%u.pcapng", f->folder, f->name,
		 number);
}

/* The next file; the oldest beyond `files` goes. -errno and a sentence. */
static int next_file(struct tg_recording_file *f, char *err, size_t err_len)
{
	char path[TG_PATH_MAX + TG_NAME_MAX + 32];
	int fd, why;

	if (f->out != NULL) {
		rte_pcapng_close(f->out);
		f->out = NULL;
		f->number++;
	}
	file_path(f, f->number, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	why = errno;
	if (fd >= 0)
		f->out = rte_pcapng_fdopen(fd, NULL, NULL, "tidegate " TG_VERSION,
					   f->filter[0] != '\0' ? f->filter : NULL);
	if (f->out == NULL) {
		snprintf(err, err_len, "%s: %s; %s", path,
			 fd < 0 ? strerror(why) : "not enough memory",
			 fd < 0 && why == EEXIST ? "choose another name"
						 : "control.captures names the folder");
		if (fd >= 0)
			close(fd);
		return fd < 0 ? -why : -ENOMEM;
	}
	f->bytes = 0;
	if (f->number >= f->files) {
		file_path(f, f->number - f->files, path);
		unlink(path);
	}
	return 0;
}

static int make_buffers(struct tg_recording_file *f, char *err, size_t err_len)
{
	uint32_t size = rte_pcapng_mbuf_size(f->r.snaplen) + TG_RECORDED_NOTE_MAX;

	f->r.pool = rte_pktmbuf_pool_create("recording", BUFFERS, 32,
					    RTE_ALIGN(sizeof(struct tg_recorded),
						      RTE_MBUF_PRIV_ALIGN),
					    (uint16_t)(size + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
	f->r.ring = rte_ring_create("recording", TG_RECORDING_RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (f->r.pool != NULL && f->r.ring != NULL)
		return 0;
	snprintf(err, err_len,
		 "not enough packet memory for a capture (%u MiB): give more huge pages or a larger -m, or take "
		 "a smaller snaplen",
		 (unsigned int)((uint64_t)BUFFERS * (size + 256) >> 20) + 1);
	return -ENOMEM;
}

static void release(struct tg_recording_file *f)
{
	struct rte_mbuf *m;

	if (f->out != NULL)
		rte_pcapng_close(f->out);
	while (f->r.ring != NULL && rte_ring_sc_dequeue(f->r.ring, (void **)&m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(f->r.ring);
	rte_mempool_free(f->r.pool);
	rte_bpf_destroy(f->r.filter);
	free(f);
}

static void show_workers(struct tg_gateway *g, struct tg_recording *r)
{
	for (unsigned int i = 0; i < g->n_workers; i++)
		__atomic_store_n(&g->worker[i]->recording, r, __ATOMIC_RELEASE);
}

static bool plain_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strlen(name) < TG_NAME_MAX &&
	       strchr(name, '/') == NULL && tg_recorded_is_plain(name);
}

static int prepare(struct tg_gateway *g, struct tg_recording_file *f, char **args, char *err,
		   size_t err_len)
{
	struct option o[OPTIONS] = {
		{"seconds", 1, 86400, 60},  {"packets", 0, UINT32_MAX, 0},
		{"megabytes", 1, 1024, 16}, {"files", 1, 64, 4},
		{"snaplen", 64, 9000, 262},
	};
	int r;

	if (!plain_name(args[0]) || (args[1] != NULL && strlen(args[1]) >= sizeof(f->filter))) {
		snprintf(err, err_len,
			 "capture start NAME [FILTER [OPTIONS]]: NAME is a plain file name of at most %d bytes "
			 "without a slash, FILTER at most %zu bytes",
			 TG_NAME_MAX - 1, sizeof(f->filter) - 1);
		return -EINVAL;
	}
	snprintf(f->folder, sizeof(f->folder), "%s", g->snapshot->config->captures);
	snprintf(f->name, sizeof(f->name), "%s", args[0]);
	snprintf(f->filter, sizeof(f->filter), "%s", args[1] != NULL ? args[1] : "");
	r = read_options(args[2], o, err, err_len);
	if (r != 0)
		return r;
	f->seconds = o[SECONDS].value;
	f->packets = o[PACKETS].value;
	f->megabytes = o[MEGABYTES].value;
	f->files = o[FILES].value;
	f->r.snaplen = o[SNAPLEN].value;
	r = tg_recording_filter(f->filter, &f->r.filter, err, err_len);
	if (r == 0)
		r = make_buffers(f, err, err_len);
	return r == 0 ? next_file(f, err, err_len) : r;
}

json_t *tg_recording_start(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_recording_file *f;

	if (g->recording != NULL) {
		snprintf(err, err_len,
			 "a capture is under way (\"%s\"): one at a time; `capture stop` ends it",
			 g->recording->name);
		return NULL;
	}
	snprintf(err, err_len, "not enough memory");
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	if (prepare(g, f, args, err, err_len) != 0) {
		release(f);
		return NULL;
	}
	f->ends = rte_rdtsc() + tg_s_to_ticks(&g->clock, f->seconds);
	g->recording = f;
	show_workers(g, &f->r);
	return tg_recording_list(g, args, err, err_len);
}

/* Writes up to so many copies. */
static unsigned int drain(struct tg_gateway *g, struct tg_recording_file *f)
{
	struct rte_mbuf *m[64];
	unsigned int n = rte_ring_sc_dequeue_burst(f->r.ring, (void **)m, RTE_DIM(m), NULL);
	unsigned int from = n;
	char err[512];

	tg_recorded_names(&f->names, g->snapshot);
	for (unsigned int i = 0; i < n; i++) {
		if (f->over || (f->packets != 0 && f->written + i >= f->packets)) {
			from = i;
			break;
		}
		tg_recorded_note(&f->names, m[i]);
		f->bytes += rte_pktmbuf_pkt_len(m[i]);
	}
	if (from > 0 && rte_pcapng_write_packets(f->out, m, (uint16_t)from) < 0) {
		f->failed += from; /* the disk is full, most likely */
		f->over = true;
	} else {
		f->written += from;
	}
	rte_pktmbuf_free_bulk(m, n);
	if (f->packets != 0 && f->written >= f->packets)
		f->over = true;
	if (!f->over && f->bytes >= (uint64_t)f->megabytes * 1000000 &&
	    next_file(f, err, sizeof(err)) != 0) {
		fprintf(stderr, "tidegate: capture ends: %s\n", err);
		f->over = true;
	}
	return n;
}

/* Workers see it no more; freed when none can hold it. */
static void retire(struct tg_gateway *g, struct tg_recording_file *f)
{
	show_workers(g, NULL);
	f->token = rte_rcu_qsbr_start(g->qsbr);
}

void tg_recording_tick(struct tg_gateway *g, uint64_t now)
{
	struct tg_recording_file *f = g->recording;

	if (likely(f == NULL))
		return;
	for (unsigned int n = 0; n < TICK_PACKETS && !f->over;) {
		unsigned int more = drain(g, f);

		n += more;
		if (more == 0)
			break;
	}
	if (f->token == 0 && (f->over || now >= f->ends))
		retire(g, f);
	if (f->token == 0 || rte_rcu_qsbr_check(g->qsbr, f->token, false) == 0)
		return;
	tg_recording_end(g);
}

json_t *tg_recording_stop(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	struct tg_recording_file *f = g->recording;
	json_t *result;

	if (f == NULL) {
		snprintf(err, err_len, "no capture is under way");
		return NULL;
	}
	/* what is there already belongs to it; what workers add while this goes on has its bound */
	show_workers(g, NULL);
	for (unsigned int n = 0, more = 1; n < TG_RECORDING_RING && !f->over && more > 0; n += more)
		more = drain(g, f);
	result = tg_recording_list(g, args, err, err_len);
	f->over = true; /* the reply has told how many there are */
	if (f->token == 0)
		retire(g, f);
	return result;
}

json_t *tg_recording_list(struct tg_gateway *g, char **args, char *err, size_t err_len)
{
	const struct tg_recording_file *f = g->recording;
	char path[TG_PATH_MAX + TG_NAME_MAX + 32];
	uint64_t now = rte_rdtsc();

	(void)args, (void)err, (void)err_len;
	if (f == NULL || f->token != 0)
		return json_array();
	file_path(f, f->number, path);
	return json_pack("[{s:s, s:s, s:s, s:I, s:I, s:I, s:i, s:i, s:i}]", "name", f->name, "file",
			 path, "filter", f->filter, "packets", (json_int_t)f->written, "lost",
			 (json_int_t)(tg_stat_read(&f->r.lost) + f->failed), "file_bytes",
			 (json_int_t)f->bytes, "snaplen", (int)f->r.snaplen, "files", (int)f->files,
			 "seconds_left",
			 (int)(f->ends > now ? tg_ticks_to_ns(&g->clock, f->ends - now) / 1000000000
					     : 0));
}

void tg_recording_end(struct tg_gateway *g)
{
	struct tg_recording_file *f = g->recording;

	if (f == NULL)
		return;
	while (!f->over && drain(g, f) > 0) /* nobody adds to it any more */
		;
	release(f);
	g->recording = NULL;
}
