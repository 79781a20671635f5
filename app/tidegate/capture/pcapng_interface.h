/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The interfaces a pcapng section describes, and what their clocks mean. Not for others than
 * pcapng_file.c.
 */
#ifndef TG_PCAPNG_INTERFACE_H
#define TG_PCAPNG_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct tg_pcapng_interface {
	uint32_t snap_len; /* 0 = no limit */
	uint16_t link_type;
	uint8_t resolution; /* if_tsresol: a power of 10, or of 2 with the top bit set */
	int64_t offset_s;   /* if_tsoffset */
};

struct tg_pcapng_interfaces {
	struct tg_pcapng_interface *at;
	uint32_t count;
	uint32_t room;
};

static inline uint32_t tg_pcapng_get32(const uint8_t *at, bool swapped)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

static inline uint16_t tg_pcapng_get16(const uint8_t *at, bool swapped)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return swapped ? __builtin_bswap16(value) : value;
}

/**
 * Add the interface an Interface Description Block's body describes.
 *
 * @return NULL, or what is wrong with the block ("is …", "has …")
 */
const char *tg_pcapng_interface_add(struct tg_pcapng_interfaces *table, const uint8_t *body,
				    uint32_t length, bool swapped);

/** Nanoseconds since 1970 of a timestamp of that interface. */
__int128 tg_pcapng_time(const struct tg_pcapng_interface *from, uint64_t units);

#endif
