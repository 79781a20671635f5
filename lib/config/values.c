/* SPDX-License-Identifier: BSD-3-Clause */
/* Single values: a fault, or the field is filled. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

/* Beyond it not every whole number is a double of its own: 2^53. */
#define EXACT_MAX 9007199254740992.0

bool tg_whole_number(const json_t *v, json_int_t *out)
{
	double d;

	if (json_is_integer(v)) {
		*out = json_integer_value(v);
		return true;
	}
	if (!json_is_real(v))
		return false;
	d = json_real_value(v);
	if (d < -EXACT_MAX || d > EXACT_MAX || d != (double)(json_int_t)d)
		return false;
	*out = (json_int_t)d;
	return true;
}

static void store(void *at, uint8_t size, uint64_t value)
{
	uint16_t u16 = (uint16_t)value;
	uint32_t u32 = (uint32_t)value;

	if (size == sizeof(u16))
		memcpy(at, &u16, sizeof(u16));
	else
		memcpy(at, &u32, sizeof(u32));
}

void tg_read_uint(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	json_int_t n;

	if (!json_is_number(v))
		tg_fault(r, "%s is no number (%ju..%ju is allowed)", tg_show(v, shown),
			 (uintmax_t)k->min, (uintmax_t)k->max);
	else if (json_is_real(v) && fabs(json_real_value(v)) > EXACT_MAX)
		tg_fault(r, "%s is out of range (%ju..%ju)", tg_show(v, shown), (uintmax_t)k->min,
			 (uintmax_t)k->max);
	else if (!tg_whole_number(v, &n))
		tg_fault(r, "%s is no whole number (%ju..%ju)", tg_show(v, shown),
			 (uintmax_t)k->min, (uintmax_t)k->max);
	else if (n < 0 || (uint64_t)n < k->min || (uint64_t)n > k->max)
		tg_fault(r, "%s is out of range (%ju..%ju)", tg_show(v, shown), (uintmax_t)k->min,
			 (uintmax_t)k->max);
	else
		store(at, k->size, (uint64_t)n);
}

void tg_read_slots(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	uint32_t *slots = at, given = 0;

	tg_read_uint(r, k, v, &given);
	if (given == 0)
		return;
	/* both bounds are powers of two: this ends at the upper one */
	for (*slots = (uint32_t)k->min; *slots < given;)
		*slots *= 2;
	if (*slots != given)
		tg_note(r, "%u is rounded up to %u, a power of two", given, *slots);
}

void tg_read_bool(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	bool value = json_is_true(v);

	(void)k;
	if (!json_is_boolean(v))
		tg_fault(r, "%s must be true or false", tg_show(v, shown));
	else
		memcpy(at, &value, sizeof(value));
}

void tg_read_choice(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX], names[256] = "";
	size_t len = 0;
	unsigned int i;

	for (i = 0; k->choice(i) != NULL; i++) {
		if (json_is_string(v) && strcmp(json_string_value(v), k->choice(i)) == 0) {
			store(at, k->size, i);
			return;
		}
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"",
						i > 0 ? ", " : "", k->choice(i));
	}
	tg_fault(r, "%s is not allowed; this version has %s", tg_show(v, shown), names);
}

/* Names are parameters of commands and of telemetry requests: no spaces, no commas. */
static bool is_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		if (s[i] <= ' ' || s[i] > '~' || s[i] == ',')
			return false;
	}
	return n >= 1 && n < TG_NAME_MAX;
}

void tg_read_name(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];

	(void)k;
	if (!json_is_string(v) || !is_name(json_string_value(v)))
		tg_fault(r,
			 "%s must be a text of 1..%d printable ASCII characters, "
			 "without spaces, commas and control characters",
			 tg_show(v, shown), TG_NAME_MAX - 1);
	else
		snprintf(at, TG_NAME_MAX, "%s", json_string_value(v));
}

bool tg_is_set(const struct tg_addr *a)
{
	static const struct tg_addr unset;

	return !tg_addr_eq(a, &unset);
}

bool tg_is_host(const struct tg_addr *a)
{
	static const uint8_t zero[16];

	if (tg_addr_is_v4(a)) {
		/* 0/8 is "this network", 127/8 the host itself (RFC 1122 section 3.2.1.3); 224/4 is
		 * multicast, 240/4 reserved, its last address broadcast: none is a host */
		return a->b[12] != 0 && a->b[12] != 127 && a->b[12] < 224;
	}
	/* not ::, not ::1 (RFC 4291 section 2.5) */
	return a->b[0] != 0xff && (memcmp(a->b, zero, 15) != 0 || a->b[15] > 1);
}

bool tg_is_link_local(const struct tg_addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80; /* RFC 4291 section 2.5.6 */
}

bool tg_is_end_of(const struct tg_prefix *p, const struct tg_addr *a)
{
	uint32_t host_mask, host;

	/* RFC 3021: two addresses, both of hosts; RFC 1122 section 3.2.1.3 for longer host parts */
	if (!tg_addr_is_v4(&p->addr) || !tg_addr_is_v4(a) || p->len >= 127 || p->len < 96 ||
	    !tg_prefix_contains(p, a))
		return false;
	host_mask = p->len == 96 ? UINT32_MAX : (1u << (128 - p->len)) - 1;
	host = __builtin_bswap32(tg_addr_to_v4(a)) & host_mask;
	return host == 0 || host == host_mask;
}

void tg_read_address(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX], plain[TG_ADDR_STRLEN];
	struct tg_addr a;

	(void)k;
	if (!json_is_string(v) || tg_addr_parse(json_string_value(v), &a) < 0)
		tg_fault(r, "%s is no IPv4 or IPv6 address", tg_show(v, shown));
	else if (tg_addr_is_v4(&a) && strchr(json_string_value(v), ':') != NULL)
		tg_fault(r, "%s is an IPv4 address as IPv6 writes it: write %s", tg_show(v, shown),
			 tg_addr_format(&a, plain, sizeof(plain)));
	else if (!tg_is_host(&a))
		tg_fault(r, "%s is unspecified, loopback, multicast or reserved: no host has it",
			 tg_show(v, shown));
	else
		memcpy(at, &a, sizeof(a));
}

void tg_read_network(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at)
{
	char shown[TG_SHOWN_MAX];
	struct tg_prefix prefix;

	(void)k;
	if (!json_is_string(v) || tg_prefix_parse(json_string_value(v), &prefix) < 0)
		tg_fault(r, "%s is no address with prefix length (as 10.0.0.0/24, 2001:db8::/32)",
			 tg_show(v, shown));
	else
		memcpy(at, &prefix, sizeof(prefix));
}
