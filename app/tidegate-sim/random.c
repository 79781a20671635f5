/* SPDX-License-Identifier: BSD-3-Clause */
#include "random.h"

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Each part passes the mixer, which is a bijection, before the next one joins: parts in another
 * order, or one moved into its neighbour, make another stream. */
static uint64_t joined(uint64_t state, uint64_t part)
{
	state ^= part;
	return splitmix64(&state);
}

void tg_random_init(struct tg_random *r, uint64_t seed, uint64_t replication, const char *purpose,
		    uint64_t index)
{
	uint64_t state = joined(joined(0, seed), replication);

	for (; *purpose != '\0'; purpose++)
		state = joined(state, (unsigned char)*purpose);
	state = joined(state, 256); /* no character: ends the purpose */
	state = joined(state, index);
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&state);
}

static inline uint64_t rotated(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t tg_random_next(struct tg_random *r)
{
	uint64_t *s = r->s, t = s[1] << 17;
	uint64_t result = rotated(s[0] + s[3], 23) + s[0];

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotated(s[3], 45);
	return result;
}

/* The middle of one of 2^52 equal parts: neither 0 nor 1, whose logarithms hurt. */
double tg_random_uniform(struct tg_random *r)
{
	return ((double)(tg_random_next(r) >> 12) + 0.5) * 0x1p-52;
}

uint64_t tg_random_below(struct tg_random *r, uint64_t n)
{
	__extension__ unsigned __int128 m = (unsigned __int128)tg_random_next(r) * n;

	if ((uint64_t)m < n) {
		uint64_t bias = -n % n; /* 2^64 mod n */

		while ((uint64_t)m < bias)
			m = (unsigned __int128)tg_random_next(r) * n;
	}
	return m >> 64;
}
