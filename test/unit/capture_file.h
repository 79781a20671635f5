/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture files built byte by byte, and what reading them must say: for the tests of the reader. */
#ifndef CAPTURE_FILE_H
#define CAPTURE_FILE_H

#include "capture.h"

#include "unit.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in the making. */
static struct {
	uint8_t bytes[1 << 16];
	size_t used;
	bool big; /* byte order of what is put */
} file;

static char text[TG_CAPTURE_TEXT];

static inline void begin(bool big)
{
	file.used = 0;
	file.big = big;
	text[0] = 0;
}

static inline void put(const void *data, size_t size)
{
	ck_assert_uint_le(file.used + size, sizeof(file.bytes));
	memcpy(file.bytes + file.used, data, size);
	file.used += size;
}

static inline void put_number(uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		unsigned int shift = 8 * (file.big ? bytes - 1 - i : i);
		uint8_t byte = (uint8_t)(value >> shift);

		put(&byte, 1);
	}
}

static inline void put16(uint16_t value)
{
	put_number(value, 2);
}

static inline void put32(uint32_t value)
{
	put_number(value, 4);
}

static inline void pcap_header(uint32_t magic, uint32_t snap_len, uint32_t link_type)
{
	put32(magic);
	put16(2);
	put16(4);
	put32(0);
	put32(0);
	put32(snap_len);
	put32(link_type);
}

static inline void pcap_record(uint32_t seconds, uint32_t fraction, uint32_t captured,
			       uint32_t wire)
{
	uint8_t data[256];

	put32(seconds);
	put32(fraction);
	put32(captured);
	put32(wire);
	memset(data, 0xab, sizeof(data));
	put(data, captured < sizeof(data) ? captured : sizeof(data));
}

/* A pcapng block around a body; padded as the format wants it. */
static inline void block(uint32_t type, const void *body, size_t length)
{
	uint32_t padded = (uint32_t)(length + 3) & ~3u;

	put32(type);
	put32(padded + 12);
	put(body, length);
	put("\0\0\0", padded - length);
	put32(padded + 12);
}

/* Body built in place: begin_block, puts, end_block. */
static inline size_t begin_block(uint32_t type)
{
	size_t at = file.used;

	put32(type);
	put32(0);
	return at;
}

static inline void end_block(size_t at)
{
	size_t end;

	while (file.used % 4)
		put("", 1);
	put32((uint32_t)(file.used + 4 - at));
	end = file.used;
	file.used = at + 4;
	put32((uint32_t)(end - at));
	file.used = end;
}

static inline void section(uint16_t major)
{
	size_t at = begin_block(0x0a0d0d0a);

	put32(0x1a2b3c4d);
	put16(major);
	put16(0);
	put_number(UINT64_MAX, 8);
	end_block(at);
}

/* resolution < 0: without the option; offset 0: without that option */
static inline void interface(uint16_t link_type, uint32_t snap_len, int resolution, int64_t offset)
{
	size_t at = begin_block(1);

	put16(link_type);
	put16(0);
	put32(snap_len);
	if (resolution >= 0) {
		put16(9);
		put16(1);
		put_number((uint64_t)resolution, 1);
		put("\0\0\0", 3);
	}
	if (offset) {
		put16(14);
		put16(8);
		put_number((uint64_t)offset, 8);
	}
	put16(0);
	put16(0);
	end_block(at);
}

static inline void enhanced(uint32_t from, uint64_t units, uint32_t captured, uint32_t wire,
			    uint32_t present)
{
	size_t at = begin_block(6);

	put32(from);
	put32((uint32_t)(units >> 32));
	put32((uint32_t)units);
	put32(captured);
	put32(wire);
	for (uint32_t i = 0; i < present; i++)
		put("\xcd", 1);
	end_block(at);
}

/* A heap copy of exactly the bytes, so that a sanitizer sees reads beyond. */
static inline struct tg_capture *open_bytes(size_t count)
{
	FILE *stream = tmpfile();
	struct tg_capture *cap;

	ck_assert_ptr_nonnull(stream);
	ck_assert_uint_eq(fwrite(file.bytes, 1, count, stream), count);
	rewind(stream);
	tg_capture_open_stream(stream, "made.pcap", &cap, text, sizeof(text));
	return cap;
}

static inline struct tg_capture *open_file(void)
{
	struct tg_capture *cap = open_bytes(file.used);

	ck_assert_msg(cap != NULL, "%s", text);
	return cap;
}

static inline struct tg_frame next(struct tg_capture *cap)
{
	struct tg_frame frame;

	ck_assert_msg(tg_capture_next(cap, &frame) == 1, "%s", tg_capture_fault(cap));
	return frame;
}

static inline void expect_end(struct tg_capture *cap)
{
	struct tg_frame frame;

	ck_assert_int_eq(tg_capture_next(cap, &frame), 0);
	ck_assert_int_eq(tg_capture_next(cap, &frame), 0);
	ck_assert_ptr_null(tg_capture_fault(cap));
	ck_assert_uint_eq(tg_capture_info(cap)->bytes_read, file.used);
	ck_assert_uint_eq(tg_capture_info(cap)->size, file.used);
	tg_capture_close(cap);
}

static inline void expect_fault(struct tg_capture *cap, const char *sentence)
{
	struct tg_frame frame;

	ck_assert_int_eq(tg_capture_next(cap, &frame), -EBADMSG);
	ck_assert_int_eq(tg_capture_next(cap, &frame), -EBADMSG);
	ck_assert_ptr_nonnull(tg_capture_fault(cap));
	ck_assert_ptr_nonnull(strstr(tg_capture_fault(cap), sentence));
	tg_capture_close(cap);
}

#endif
