/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface Description Blocks: link type, snap length and the meaning of the clock. */
#include "pcapng_interface.h"

#include <stdlib.h>

#include "capture.h"

#define BODY_MIN          8u
#define OPTION_END        0
#define OPTION_RESOLUTION 9
#define OPTION_OFFSET     14

#define RESOLUTION_DEFAULT 6 /* microseconds */
#define RESOLUTION_BINARY  0x80

static int64_t get64(const uint8_t *at, bool swapped)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return (int64_t)(swapped ? __builtin_bswap64(value) : value);
}

static void option(struct tg_pcapng_interface *to, uint16_t code, const uint8_t *value,
		   uint16_t length, bool swapped)
{
	if (code == OPTION_RESOLUTION && length >= 1)
		to->resolution = value[0];
	else if (code == OPTION_OFFSET && length >= 8)
		to->offset_s = get64(value, swapped);
}

static bool options(struct tg_pcapng_interface *to, const uint8_t *at, uint32_t left, bool swapped)
{
	while (left >= 4) {
		uint16_t code = tg_pcapng_get16(at, swapped);
		uint16_t length = tg_pcapng_get16(at + 2, swapped);
		uint32_t padded = (length + 3u) & ~3u;

		if (code == OPTION_END)
			return true;
		if (padded > left - 4)
			return false;
		option(to, code, at + 4, length, swapped);
		at += 4 + padded;
		left -= 4 + padded;
	}
	return true;
}

static bool make_room(struct tg_pcapng_interfaces *table)
{
	uint32_t room = table->room ? table->room * 2 : 16;
	struct tg_pcapng_interface *at;

	if (table->count < table->room)
		return true;
	at = realloc(table->at, room * sizeof(*at));
	if (!at)
		return false;
	table->at = at;
	table->room = room;
	return true;
}

const char *tg_pcapng_interface_add(struct tg_pcapng_interfaces *table, const uint8_t *body,
				    uint32_t length, bool swapped)
{
	struct tg_pcapng_interface interface = {.resolution = RESOLUTION_DEFAULT};

	if (length < BODY_MIN)
		return "is an interface description that is too short";
	interface.link_type = tg_pcapng_get16(body, swapped);
	interface.snap_len = tg_pcapng_get32(body + 4, swapped);
	if (!options(&interface, body + BODY_MIN, length - BODY_MIN, swapped))
		return "is an interface description with an option beyond its end";
	if (table->count >= TG_CAPTURE_INTERFACES_MAX)
		return "describes one interface more than a section may have";
	if (!make_room(table))
		return "describes an interface there is no memory for";
	table->at[table->count++] = interface;
	return NULL;
}

static __int128 power10(unsigned int exponent)
{
	__int128 value = 1;

	while (exponent--)
		value *= 10;
	return value;
}

__int128 tg_pcapng_time(const struct tg_pcapng_interface *from, uint64_t units)
{
	unsigned int exponent = from->resolution & ~RESOLUTION_BINARY;
	__int128 ns;

	if (from->resolution & RESOLUTION_BINARY) /* 2^64 units of 1e9 ns fit in 94 bits */
		ns = exponent > 94 ? 0 : (__int128)units * 1000000000 >> exponent;
	else if (exponent <= 9)
		ns = units * power10(9 - exponent);
	else /* a unit under 1e-28 s: 2^64 of them are less than a nanosecond */
		ns = exponent > 28 ? 0 : units / power10(exponent - 9);
	return ns + (__int128)from->offset_s * 1000000000;
}
