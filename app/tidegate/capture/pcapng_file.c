/* SPDX-License-Identifier: BSD-3-Clause */
/* pcapng, block by block (draft-ietf-opsawg-pcapng): any mix of link types, either byte order,
 * several sections. Blocks without frames are skipped by their length. The body of a block is
 * held whole in one buffer, which is why its length has a limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "pcapng_interface.h"

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    2u /* obsolete, still found */
#define BLOCK_SIMPLE    3u
#define BLOCK_ENHANCED  6u

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define BLOCK_OVERHEAD   12u /* type, length, length again */
#define SECTION_BODY     16u /* byte order, version, section length */

struct pcapng {
	struct tg_pcapng_interfaces interfaces;
	uint64_t at; /* of the block in hand */
	uint64_t number;
	bool swapped;
	uint8_t *body;
	uint32_t room;
};

struct block {
	uint32_t type;
	uint32_t length; /* of the body */
	const uint8_t *body;
};

static int fail(struct tg_capture *cap, const char *what)
{
	const struct pcapng *ng = cap->state;

	return tg_capture_fail(cap, -EBADMSG, "block %" PRIu64 " at byte %" PRIu64 " %s",
			       ng->number, ng->at, what);
}

static uint32_t get32(const struct pcapng *ng, const uint8_t *at)
{
	return tg_pcapng_get32(at, ng->swapped);
}

/* `size` bytes, or the sentence that says how many there were. */
static int take(struct tg_capture *cap, void *to, uint32_t size, const char *of)
{
	const struct pcapng *ng = cap->state;
	size_t got = fread(to, 1, size, cap->file);

	cap->info.bytes_read += got;
	if (got == size)
		return 0;
	if (ferror(cap->file))
		return tg_capture_fail(cap, -EIO, "reading failed at byte %" PRIu64 ": %s",
				       cap->info.bytes_read, strerror(errno));
	return tg_capture_fail(cap, -EBADMSG,
			       "block %" PRIu64 " at byte %" PRIu64 " is cut: %zu of %" PRIu32
			       " %s are there",
			       ng->number, ng->at, got, size, of);
}

static int make_room(struct tg_capture *cap, uint32_t size)
{
	struct pcapng *ng = cap->state;
	uint8_t *body;

	if (size <= ng->room)
		return 0;
	body = realloc(ng->body, size);
	if (!body)
		return tg_capture_fail(cap, -ENOMEM,
				       "block %" PRIu64 " of %" PRIu32 " bytes: out of memory",
				       ng->number, size);
	ng->body = body;
	ng->room = size;
	return 0;
}

/* A section header says in its first body field how all its numbers are written; its own
 * length, before that field, included.
 */
static int section_order(struct tg_capture *cap, uint32_t *magic)
{
	struct pcapng *ng = cap->state;
	int rc = take(cap, magic, sizeof(*magic), "bytes of its byte order");

	if (rc)
		return rc;
	if (*magic != BYTE_ORDER_MAGIC && *magic != __builtin_bswap32(BYTE_ORDER_MAGIC))
		return fail(cap, "is a section header without a byte order");
	ng->swapped = *magic != BYTE_ORDER_MAGIC;
	return 0;
}

/* The rest of a block after its head: the body, then the length once more. */
static int block_body(struct tg_capture *cap, struct block *block, uint32_t total, uint32_t have)
{
	struct pcapng *ng = cap->state;
	int rc;

	if (total % 4 || total < BLOCK_OVERHEAD + have)
		return fail(cap, "has an impossible length");
	if (total > TG_CAPTURE_BLOCK_MAX)
		return tg_capture_fail(cap, -EBADMSG,
				       "block %" PRIu64 " at byte %" PRIu64 " claims %" PRIu32
				       " bytes; no block here may have over %u",
				       ng->number, ng->at, total, TG_CAPTURE_BLOCK_MAX);
	block->length = total - BLOCK_OVERHEAD;
	rc = make_room(cap, block->length + 4);
	if (!rc)
		rc = take(cap, ng->body + have, block->length + 4 - have, "bytes");
	if (rc)
		return rc;
	block->body = ng->body;
	if (get32(ng, ng->body + block->length) != total)
		return fail(cap, "ends with another length than it begins with");
	return 0;
}

/* 1 and a block, 0 at the end of the file, or a fault. */
static int block_read(struct tg_capture *cap, struct block *block)
{
	struct pcapng *ng = cap->state;
	uint32_t head[2], magic, have = 0;
	int rc;

	*block = (struct block){0};
	ng->at = cap->info.bytes_read;
	ng->number++;
	rc = fgetc(cap->file);
	if (rc == EOF && !ferror(cap->file))
		return 0;
	ungetc(rc, cap->file);
	rc = take(cap, head, sizeof(head), "bytes of its head");
	if (rc)
		return rc;
	if (head[0] == BLOCK_SECTION) {
		rc = section_order(cap, &magic);
		if (!rc)
			rc = make_room(cap, SECTION_BODY);
		if (rc)
			return rc;
		memcpy(ng->body, &magic, sizeof(magic));
		have = sizeof(magic);
	}
	block->type = get32(ng, (const uint8_t *)&head[0]);
	rc = block_body(cap, block, get32(ng, (const uint8_t *)&head[1]), have);
	return rc ? rc : 1;
}

static int section_begin(struct tg_capture *cap, const struct block *block)
{
	struct pcapng *ng = cap->state;

	if (block->length < SECTION_BODY)
		return fail(cap, "is a section header that is too short");
	if (tg_pcapng_get16(block->body + 4, ng->swapped) != 1)
		return fail(cap, "is a section of another major version than 1");
	ng->interfaces.count = 0;
	cap->info.sections++;
	return 0;
}

static int interface_add(struct tg_capture *cap, const struct block *block)
{
	struct pcapng *ng = cap->state;
	const char *why = tg_pcapng_interface_add(&ng->interfaces, block->body, block->length,
						  ng->swapped);

	if (why)
		return fail(cap, why);
	cap->info.interfaces++;
	return 0;
}

/* Where a packet block keeps what; `header` bytes come before the frame. */
static int packet(struct tg_capture *cap, const struct block *block, struct tg_frame *frame)
{
	struct pcapng *ng = cap->state;
	const uint32_t header = 20;
	const struct tg_pcapng_interface *from;

	if (block->length < header)
		return fail(cap, "is a packet block that is too short");
	/* the obsolete block has a 16-bit interface and a drop count where this one has 32 bits */
	frame->interface = block->type == BLOCK_PACKET ? tg_pcapng_get16(block->body, ng->swapped)
						       : get32(ng, block->body);
	if (frame->interface >= ng->interfaces.count)
		return fail(cap, "belongs to an interface that was not described before it");
	from = &ng->interfaces.at[frame->interface];
	frame->cap_len = get32(ng, block->body + 12);
	frame->wire_len = get32(ng, block->body + 16);
	if (frame->cap_len > block->length - header)
		return tg_capture_fail(cap, -EBADMSG,
				       "block %" PRIu64 " at byte %" PRIu64 " claims a frame of "
				       "%" PRIu32 " bytes and has room for %" PRIu32,
				       ng->number, ng->at, frame->cap_len, block->length - header);
	frame->data = block->body + header;
	frame->link_type = from->link_type;
	frame->time_ns = tg_capture_clamp(cap,
					  tg_pcapng_time(from, (uint64_t)get32(ng, block->body + 4)
									       << 32 |
								       get32(ng, block->body + 8)));
	return 1;
}

/* A simple packet is from interface 0 and has no time and no captured length: the interface's
 * snap length and the block's end bound it.
 */
static int simple_packet(struct tg_capture *cap, const struct block *block, struct tg_frame *frame)
{
	struct pcapng *ng = cap->state;
	uint32_t snap;

	if (block->length < 4)
		return fail(cap, "is a simple packet block that is too short");
	if (!ng->interfaces.count)
		return fail(cap, "is a packet before any interface was described");
	frame->wire_len = get32(ng, block->body);
	frame->cap_len = frame->wire_len;
	snap = ng->interfaces.at[0].snap_len;
	if (snap && frame->cap_len > snap)
		frame->cap_len = snap;
	if (frame->cap_len > block->length - 4)
		frame->cap_len = block->length - 4;
	frame->data = block->body + 4;
	frame->interface = 0;
	frame->link_type = ng->interfaces.at[0].link_type;
	frame->time_ns = cap->last_ns;
	cap->info.no_time++;
	return 1;
}

static int pcapng_step(struct tg_capture *cap, struct tg_frame *frame)
{
	struct block block;
	int rc;

	while ((rc = block_read(cap, &block)) == 1) {
		switch (block.type) {
		case BLOCK_SECTION:
			rc = section_begin(cap, &block);
			break;
		case BLOCK_INTERFACE:
			rc = interface_add(cap, &block);
			break;
		case BLOCK_ENHANCED:
		case BLOCK_PACKET:
			return packet(cap, &block, frame);
		case BLOCK_SIMPLE:
			return simple_packet(cap, &block, frame);
		default:
			cap->info.skipped++;
			rc = 0;
		}
		if (rc)
			return rc;
	}
	return rc;
}

static int pcapng_begin(struct tg_capture *cap)
{
	cap->state = calloc(1, sizeof(struct pcapng));
	return cap->state ? 0 : tg_capture_fail(cap, -ENOMEM, "cannot be read: out of memory");
}

static void pcapng_end(struct tg_capture *cap)
{
	struct pcapng *ng = cap->state;

	if (ng) {
		free(ng->interfaces.at);
		free(ng->body);
	}
	free(ng);
	fclose(cap->file);
}

const struct tg_capture_format tg_capture_pcapng = {
	.name = "pcapng",
	.open = pcapng_begin,
	.next = pcapng_step,
	.close = pcapng_end,
};
