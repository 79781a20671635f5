/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries lie one after the other; an open-addressed index of their numbers, at most half full,
 * finds them.
 */
#include "map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ROOM_MIN 64u

struct tg_map {
	size_t key_size, value_at, entry_size;
	uint32_t limit, count, room;
	uint64_t seed;
	uint8_t *entries;
	uint32_t *index; /* number of an entry + 1; 0: free. 2 * room places */
};

static uint8_t *entry(const struct tg_map *map, uint32_t i)
{
	return map->entries + i * map->entry_size;
}

/* The place of the key in the index, or the free one where it belongs. */
static uint32_t *place(const struct tg_map *map, const void *key)
{
	uint32_t mask = 2 * map->room - 1;
	uint32_t at = (uint32_t)XXH3_64bits_withSeed(key, map->key_size, map->seed) & mask;

	while (map->index[at] && memcmp(entry(map, map->index[at] - 1), key, map->key_size))
		at = (at + 1) & mask;
	return &map->index[at];
}

static bool grow(struct tg_map *map)
{
	uint32_t room = map->room ? 2 * map->room : ROOM_MIN;
	uint32_t *index = calloc(2 * (size_t)room, sizeof(*index));
	uint8_t *entries = index ? realloc(map->entries, room * map->entry_size) : NULL;

	if (!entries) {
		free(index);
		return false;
	}
	free(map->index);
	map->index = index;
	map->entries = entries;
	map->room = room;
	for (uint32_t i = 0; i < map->count; i++)
		*place(map, entry(map, i)) = i + 1;
	return true;
}

struct tg_map *tg_map_create(size_t key_size, size_t value_size, uint32_t limit)
{
	struct tg_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->key_size = key_size;
	map->value_at = (key_size + 15) & ~(size_t)15;
	map->entry_size = map->value_at + ((value_size + 15) & ~(size_t)15);
	map->limit = limit;
	/* without random bytes a constant seed still works */
	if (getrandom(&map->seed, sizeof(map->seed), GRND_NONBLOCK) != sizeof(map->seed))
		map->seed = limit;
	if (!grow(map)) {
		free(map);
		return NULL;
	}
	return map;
}

void tg_map_free(struct tg_map *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map->index);
	free(map);
}

void *tg_map_find(const struct tg_map *map, const void *key)
{
	uint32_t number = *place(map, key);

	return number ? entry(map, number - 1) + map->value_at : NULL;
}

void *tg_map_add(struct tg_map *map, const void *key)
{
	uint32_t *at = place(map, key);

	if (*at)
		return entry(map, *at - 1) + map->value_at;
	if (map->count == map->limit)
		return NULL;
	if (map->count == map->room) {
		if (!grow(map))
			return NULL;
		at = place(map, key);
	}
	memset(entry(map, map->count), 0, map->entry_size);
	memcpy(entry(map, map->count), key, map->key_size);
	*at = ++map->count;
	return entry(map, *at - 1) + map->value_at;
}

uint32_t tg_map_count(const struct tg_map *map)
{
	return map->count;
}

void *tg_map_at(const struct tg_map *map, uint32_t i, const void **key)
{
	if (key)
		*key = entry(map, i);
	return entry(map, i) + map->value_at;
}
