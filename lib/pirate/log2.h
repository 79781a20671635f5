/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations as 16-bit binary logarithms: 5 bits of octave, 11 of fraction, one step is 0.034 %.
 * 32 octaves are fewer than the ticks of a minute need, so the scale starts at 2^shift ticks: the
 * caller passes nothing shorter, and nothing 2^32 times longer.
 *
 * No division and no libm: a count of leading zeros, then a table of 64 chords one way (error
 * 0.003 %) and a polynomial the other (0.0005 %). Rounding to a step comes on top.
 */
#ifndef TG_PIRATE_LOG2_H
#define TG_PIRATE_LOG2_H

#include <stdint.h>

#define TG_LOG2_BITS    11
#define TG_LOG2_OCTAVES 32
#define TG_LOG2_ONE     (1 << TG_LOG2_BITS) /* one octave */

/* log2(1 + i/64) in 32768ths, rounded. */
static const uint16_t tg_log2_chord[65] = {
	0,     733,   1455,  2166,  2866,  3556,  4236,  4907,  5568,  6220,  6863,  7498,  8124,
	8742,  9352,  9954,  10549, 11136, 11716, 12289, 12855, 13415, 13968, 14514, 15055, 15589,
	16117, 16639, 17156, 17667, 18173, 18673, 19168, 19658, 20143, 20623, 21098, 21568, 22034,
	22495, 22952, 23404, 23852, 24296, 24736, 25172, 25604, 26031, 26455, 26876, 27292, 27705,
	28114, 28520, 28922, 29321, 29717, 30109, 30498, 30884, 31267, 31647, 32024, 32397, 32768,
};

/* 2^shift <= ticks < 2^(shift + 32). */
static inline uint16_t tg_log2_of(uint64_t ticks, unsigned int shift)
{
	unsigned int octave = 63 - (unsigned int)__builtin_clzll(ticks);
	uint64_t fraction = ticks << (63 - octave) << 1; /* 0.64, the leading one fell off */
	unsigned int i = (unsigned int)(fraction >> 58);
	uint32_t along = (uint32_t)(fraction >> 42) & 0xffff; /* the chord, in 65536ths */
	uint32_t rise = (uint32_t)(tg_log2_chord[i + 1] - tg_log2_chord[i]);
	uint32_t log = ((octave - shift) << 15) + tg_log2_chord[i] + (rise * along >> 16);

	log = (log + 8) >> 4;
	return (uint16_t)(log < UINT16_MAX ? log : UINT16_MAX);
}

/* The way back: 2^x on [0,1) as 1 + x - x(1-x)(a + bx + cx^2), exact at both ends. */
static inline uint64_t tg_log2_ticks(uint16_t log, unsigned int shift)
{
	const uint64_t a = 1318533996, b = 281129277, c = 58795762; /* in 2^-32 */
	uint64_t x = (uint64_t)(log & (TG_LOG2_ONE - 1)) << (32 - TG_LOG2_BITS);
	uint64_t bow = a + ((b + (c * x >> 32)) * x >> 32);
	uint64_t one = UINT64_C(1) << 32;
	uint64_t mantissa = one + x - ((x * (one - x) >> 32) * bow >> 32);
	unsigned int octave = (log >> TG_LOG2_BITS) + shift;

	if (octave >= 32)
		return mantissa << (octave - 32);
	return (mantissa + (UINT64_C(1) << (31 - octave))) >> (32 - octave);
}

#endif
