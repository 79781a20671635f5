/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_flow_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BYTE_ORDER_MARK 0x01020304u

static const char magic[8] = "tg-flows";

bool tg_flow_snapshot_begins(const char bytes[8])
{
	return memcmp(bytes, magic, sizeof(magic)) == 0;
}

struct block_head {
	uint32_t n;
	uint32_t unused; /* 0 */
	uint64_t wall_ns;
	uint64_t check; /* of the two above and the flows */
};

struct tg_flow_reader {
	FILE *in;
	long first_block; /* offset */
	struct tg_flow_snapshot_header header;
	struct tg_flow_saved_names names;
	uint64_t left; /* flows that have not been read */
	struct block_head head;
	uint32_t at; /* next flow of the block */
	struct tg_flow_saved flow[TG_FLOW_SNAPSHOT_BLOCK];
};

static uint64_t check_header(const struct tg_flow_snapshot_header *h)
{
	return XXH3_64bits(h, offsetof(struct tg_flow_snapshot_header, check));
}

static uint64_t check_names(const struct tg_flow_saved_names *n)
{
	uint64_t services = XXH3_64bits(n->service, n->n_services * sizeof(*n->service));

	return XXH3_64bits_withSeed(n->server, n->n_servers * sizeof(*n->server), services);
}

static uint64_t check_block(const struct block_head *b, const struct tg_flow_saved *flow)
{
	uint64_t head = XXH3_64bits(b, offsetof(struct block_head, check));

	return XXH3_64bits_withSeed(flow, b->n * sizeof(*flow), head);
}

/* fwrite, whose count of nothing is no error. */
static int put(struct tg_flow_writer *w, const void *from, size_t size, size_t n)
{
	if (n > 0 && fwrite(from, size, n, w->out) != n)
		return errno > 0 ? -errno : -EIO;
	w->header.size += size * n;
	return 0;
}

int tg_flow_snapshot_begin(struct tg_flow_writer *w, FILE *out,
			   const struct tg_flow_saved_names *names)
{
	static const struct tg_flow_snapshot_header none;
	int r;

	memset(w, 0, sizeof(*w));
	if (names->n_services > TG_FLOW_SNAPSHOT_NAMES || names->n_servers > TG_FLOW_SNAPSHOT_NAMES)
		return -EINVAL;
	w->out = out;
	memcpy(w->header.magic, magic, sizeof(magic));
	w->header.version = TG_FLOW_SNAPSHOT_VERSION;
	w->header.byte_order = BYTE_ORDER_MARK;
	w->header.n_services = names->n_services;
	w->header.n_servers = names->n_servers;
	w->header.names_check = check_names(names);
	r = put(w, &none, sizeof(none), 1);
	if (r == 0)
		r = put(w, names->service, sizeof(*names->service), names->n_services);
	if (r == 0)
		r = put(w, names->server, sizeof(*names->server), names->n_servers);
	return r;
}

int tg_flow_snapshot_block(struct tg_flow_writer *w, const struct tg_flow_saved *flow,
			   unsigned int n, uint64_t wall_ns)
{
	struct block_head b = {.n = n, .wall_ns = wall_ns};
	int r;

	if (n == 0)
		return 0;
	b.check = check_block(&b, flow);
	r = put(w, &b, sizeof(b), 1);
	if (r == 0)
		r = put(w, flow, sizeof(*flow), n);
	w->header.flows += n;
	return r;
}

int tg_flow_snapshot_end(struct tg_flow_writer *w, uint64_t wall_ns)
{
	w->header.written_ns = wall_ns;
	w->header.check = check_header(&w->header);
	if (fseek(w->out, 0, SEEK_SET) != 0 ||
	    fwrite(&w->header, sizeof(w->header), 1, w->out) != 1 || fflush(w->out) != 0)
		return errno > 0 ? -errno : -EIO;
	return 0;
}

static int bad(char text[TG_FLOW_SNAPSHOT_TEXT], const char *why)
{
	snprintf(text, TG_FLOW_SNAPSHOT_TEXT, "%s", why);
	return -EBADMSG;
}

static int judge_header(const struct tg_flow_snapshot_header *h, uint64_t size,
			char text[TG_FLOW_SNAPSHOT_TEXT])
{
	uint64_t names = (uint64_t)h->n_services * sizeof(struct tg_flow_saved_service) +
			 (uint64_t)h->n_servers * sizeof(struct tg_flow_saved_server);

	if (memcmp(h->magic, magic, sizeof(magic)) != 0)
		return bad(text, "is no snapshot of flows");
	if (h->byte_order != BYTE_ORDER_MARK)
		return bad(text, "was written by a machine of the other byte order");
	if (h->version != TG_FLOW_SNAPSHOT_VERSION) {
		snprintf(text, TG_FLOW_SNAPSHOT_TEXT,
			 "is of version %u: this tidegate reads version %u", h->version,
			 TG_FLOW_SNAPSHOT_VERSION);
		return -EBADMSG;
	}
	if (h->check != check_header(h))
		return bad(text, "is damaged: the checksum of its header is wrong");
	if (h->size != size) {
		snprintf(text, TG_FLOW_SNAPSHOT_TEXT,
			 "is cut or has grown: %llu bytes instead of %llu",
			 (unsigned long long)size, (unsigned long long)h->size);
		return -EBADMSG;
	}
	if (h->n_services > TG_FLOW_SNAPSHOT_NAMES || h->n_servers > TG_FLOW_SNAPSHOT_NAMES ||
	    size < sizeof(*h) + names)
		return bad(text, "is damaged: it is too short for its names");
	return 0;
}

static bool names_valid(const struct tg_flow_saved_names *n)
{
	for (uint32_t i = 0; i < n->n_services; i++)
		if (memchr(n->service[i].name, '\0', sizeof(n->service[i].name)) == NULL)
			return false;
	for (uint32_t i = 0; i < n->n_servers; i++)
		if (n->server[i].service >= n->n_services)
			return false;
	return true;
}

static int read_names(struct tg_flow_reader *r, char text[TG_FLOW_SNAPSHOT_TEXT])
{
	struct tg_flow_saved_names *n = &r->names;

	n->n_services = r->header.n_services;
	n->n_servers = r->header.n_servers;
	n->service = calloc((size_t)n->n_services + 1, sizeof(*n->service));
	n->server = calloc((size_t)n->n_servers + 1, sizeof(*n->server));
	if (n->service == NULL || n->server == NULL)
		return -ENOMEM;
	if (fread(n->service, sizeof(*n->service), n->n_services, r->in) != n->n_services ||
	    fread(n->server, sizeof(*n->server), n->n_servers, r->in) != n->n_servers)
		return bad(text, "cannot be read to the end of its names");
	if (r->header.names_check != check_names(n) || !names_valid(n))
		return bad(text, "is damaged: the checksum of its names is wrong");
	r->first_block = ftell(r->in);
	r->left = r->header.flows;
	return r->first_block < 0 ? -errno : 0;
}

int tg_flow_reader_open(FILE *in, struct tg_flow_reader **out, char text[TG_FLOW_SNAPSHOT_TEXT])
{
	struct tg_flow_reader *r = calloc(1, sizeof(*r));
	long size = -1;
	int rc;

	*out = NULL;
	if (r == NULL)
		return -ENOMEM;
	r->in = in;
	if (fseek(in, 0, SEEK_END) == 0)
		size = ftell(in);
	if (size < 0 || fseek(in, 0, SEEK_SET) != 0)
		rc = bad(text, "cannot be read: it is no plain file");
	else if (fread(&r->header, sizeof(r->header), 1, in) != 1)
		rc = bad(text, "is no snapshot of flows: too short");
	else
		rc = judge_header(&r->header, (uint64_t)size, text);
	if (rc == 0)
		rc = read_names(r, text);
	if (rc != 0)
		tg_flow_reader_close(r);
	else
		*out = r;
	return rc;
}

static int read_block(struct tg_flow_reader *r, char text[TG_FLOW_SNAPSHOT_TEXT])
{
	if (fread(&r->head, sizeof(r->head), 1, r->in) != 1)
		return bad(text, "is damaged: it ends before its last flow");
	if (r->head.n == 0 || r->head.n > TG_FLOW_SNAPSHOT_BLOCK || r->head.n > r->left)
		return bad(text, "is damaged: a block of it has an impossible length");
	if (fread(r->flow, sizeof(*r->flow), r->head.n, r->in) != r->head.n)
		return bad(text, "is damaged: it ends before its last flow");
	if (r->head.check != check_block(&r->head, r->flow))
		return bad(text, "is damaged: the checksum of a block is wrong");
	r->at = 0;
	r->left -= r->head.n;
	return 0;
}

static int at_end(const struct tg_flow_reader *r, char text[TG_FLOW_SNAPSHOT_TEXT])
{
	return ftell(r->in) == (long)r->header.size
		       ? 0
		       : bad(text, "is damaged: it goes on behind its last flow");
}

static bool flow_valid(const struct tg_flow_reader *r, const struct tg_flow_saved *f)
{
	return f->state > TG_FLOW_FREE && f->state <= TG_FLOW_SHUT && f->guess <= 1 &&
	       f->key.flags == 0 && f->server < r->names.n_servers &&
	       r->names.server[f->server].service == f->key.service;
}

int tg_flow_reader_next(struct tg_flow_reader *r, struct tg_flow_saved *flow, uint64_t *seen_ns,
			char text[TG_FLOW_SNAPSHOT_TEXT])
{
	uint64_t idle_ns;

	if (r->at == r->head.n) {
		int rc;

		if (r->left == 0)
			return at_end(r, text);
		rc = read_block(r, text);
		if (rc != 0)
			return rc;
	}
	*flow = r->flow[r->at];
	if (!flow_valid(r, flow))
		return bad(text, "is damaged: it has a flow that cannot be");
	r->at++;
	idle_ns = flow->idle_ms * UINT64_C(1000000);
	*seen_ns = r->head.wall_ns > idle_ns ? r->head.wall_ns - idle_ns : 0;
	return 1;
}

int tg_flow_reader_rewind(struct tg_flow_reader *r)
{
	r->left = r->header.flows;
	r->at = r->head.n = 0;
	return fseek(r->in, r->first_block, SEEK_SET) == 0 ? 0 : -errno;
}

const struct tg_flow_saved_names *tg_flow_reader_names(const struct tg_flow_reader *r)
{
	return &r->names;
}

const struct tg_flow_snapshot_header *tg_flow_reader_header(const struct tg_flow_reader *r)
{
	return &r->header;
}

void tg_flow_reader_close(struct tg_flow_reader *r)
{
	if (r == NULL)
		return;
	free(r->names.service);
	free(r->names.server);
	free(r);
}
