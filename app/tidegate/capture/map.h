/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A bounded hash map of fixed-size keys to fixed-size values, for what is remembered of a capture:
 * conversations, services, results by flow. Grows by doubling up to a limit, then says so instead
 * of growing further. Entries keep their order of arrival.
 *
 * Keys are compared and hashed as bytes: zero their padding. The hash is seeded at random, since
 * whoever made the capture chose the keys.
 *
 * Thread-safety: one thread. Allocates: not for a packet path.
 */
#ifndef TG_MAP_H
#define TG_MAP_H

#include <stddef.h>
#include <stdint.h>

struct tg_map;

/** A map of at most `limit` entries; NULL without memory. */
struct tg_map *tg_map_create(size_t key_size, size_t value_size, uint32_t limit);
void tg_map_free(struct tg_map *map);

/** The value of `key`, NULL if there is none. Valid until the next tg_map_add(). */
void *tg_map_find(const struct tg_map *map, const void *key);

/** The value of `key`, zeroed if it is new; NULL if the map is full or memory is out. */
void *tg_map_add(struct tg_map *map, const void *key);

/** Entries so far. */
uint32_t tg_map_count(const struct tg_map *map);

/** Entry `i` (0…count-1) in order of arrival; *key may be NULL if it is not wanted. */
void *tg_map_at(const struct tg_map *map, uint32_t i, const void **key);

#endif
