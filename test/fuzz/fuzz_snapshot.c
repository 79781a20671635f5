/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a snapshot of flows. Checksums would stop nearly all of them at the door: by the first byte
 * they are put right first, so that what lies behind is reached. The reader is compiled in for that.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/flow/snapshot.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Puts block checksums right as far as lengths allow; the flows in them. */
static uint64_t mend_blocks(uint8_t *at, size_t left)
{
	uint64_t flows = 0;
	struct block_head b;

	while (left >= sizeof(b)) {
		memcpy(&b, at, sizeof(b));
		b.n = b.n % 4 + 1;
		if (left < sizeof(b) + b.n * sizeof(struct tg_flow_saved))
			break;
		b.check = check_block(&b, (const struct tg_flow_saved *)(at + sizeof(b)));
		memcpy(at, &b, sizeof(b));
		flows += b.n;
		at += sizeof(b) + b.n * sizeof(struct tg_flow_saved);
		left -= sizeof(b) + b.n * sizeof(struct tg_flow_saved);
	}
	return flows;
}

static void mend(uint8_t *file, size_t size, bool count)
{
	struct tg_flow_snapshot_header h;
	struct tg_flow_saved_names n;
	size_t names;
	uint64_t flows;

	if (size < sizeof(h))
		return;
	memcpy(&h, file, sizeof(h));
	memcpy(h.magic, magic, sizeof(magic));
	h.version = TG_FLOW_SNAPSHOT_VERSION;
	h.byte_order = BYTE_ORDER_MARK;
	h.size = size;
	h.n_services %= 3;
	h.n_servers %= 3;
	n = (struct tg_flow_saved_names){.n_services = h.n_services, .n_servers = h.n_servers};
	n.service = (struct tg_flow_saved_service *)(file + sizeof(h));
	n.server = (struct tg_flow_saved_server *)(n.service + n.n_services);
	names = n.n_services * sizeof(*n.service) + n.n_servers * sizeof(*n.server);
	if (size >= sizeof(h) + names) {
		h.names_check = check_names(&n);
		flows = mend_blocks(file + sizeof(h) + names, size - sizeof(h) - names);
		if (count)
			h.flows = flows;
	}
	h.check = check_header(&h);
	memcpy(file, &h, sizeof(h));
}

static void read_all(FILE *in)
{
	char text[TG_FLOW_SNAPSHOT_TEXT] = "";
	struct tg_flow_reader *r;
	struct tg_flow_saved f;
	uint64_t seen, n = 0;
	int rc = tg_flow_reader_open(in, &r, text);

	must((rc == 0) == (r != NULL) && (rc == 0) == (text[0] == '\0'));
	if (rc != 0)
		return;
	while ((rc = tg_flow_reader_next(r, &f, &seen, text)) == 1) {
		const struct tg_flow_saved_names *names = tg_flow_reader_names(r);

		must(f.server < names->n_servers && f.key.service < names->n_services);
		must(strlen(names->service[f.key.service].name) < TG_FLOW_SERVICE_NAME);
		must(f.state != TG_FLOW_FREE && f.state <= TG_FLOW_SHUT);
		n++;
	}
	must((rc == 0) == (text[0] == '\0'));
	must(rc != 0 || n == tg_flow_reader_header(r)->flows);
	tg_flow_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file;
	FILE *in;

	if (size < 2)
		return 0;
	/* in a buffer of its exact size, aligned as the structures want it */
	file = malloc(size - 1);
	must(file != NULL);
	memcpy(file, data + 1, size - 1);
	if (data[0] & 1)
		mend(file, size - 1, (data[0] & 2) != 0);
	in = fmemopen(file, size - 1, "rb");
	if (in != NULL) {
		read_all(in);
		fclose(in);
	}
	free(file);
	return 0;
}
