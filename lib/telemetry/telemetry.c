/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>

#include "tg_telemetry.h"

/* DPDK 22.11 builds a reply {"/command":{...}} in 16 KiB; what does not fit is lost in silence. */
#define REPLY_MAX   (16 * 1024)
#define COMMAND_MAX 64
#define U64_DIGITS  20
#define TRUNCATED   "truncated"

/* The reply under way on this thread: a dictionary cannot be asked how full it is. */
static _Thread_local struct {
	struct rte_tel_data *reply;
	unsigned int entries, bytes;
} now;

int tg_tel_start(struct rte_tel_data *d)
{
	now.reply = d;
	now.entries = 0;
	now.bytes = COMMAND_MAX + sizeof("{\"\":{}}");
	return rte_tel_data_start_dict(d);
}

/* Room for one more entry of so many bytes ("key":value,)? The last is kept for "truncated". */
static int reserve(struct rte_tel_data *d, unsigned int bytes)
{
	const unsigned int last = sizeof("\"" TRUNCATED "\":1,");

	if (d != now.reply)
		return -EINVAL;
	if (now.entries >= RTE_TEL_MAX_DICT_ENTRIES)
		return -E2BIG;
	if (now.entries == RTE_TEL_MAX_DICT_ENTRIES - 1 || now.bytes + bytes + last > REPLY_MAX) {
		now.entries = RTE_TEL_MAX_DICT_ENTRIES;
		rte_tel_data_add_dict_u64(d, TRUNCATED, 1);
		return -E2BIG;
	}
	now.entries++;
	now.bytes += bytes;
	return 0;
}

/* The key as DPDK takes it; returns its length. */
static unsigned int clean_key(const char *key, char out[RTE_TEL_MAX_STRING_LEN])
{
	unsigned int n;

	for (n = 0; key[n] != '\0' && n < RTE_TEL_MAX_STRING_LEN - 1; n++) {
		const char c = key[n];

		out[n] = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
					 (c >= 'a' && c <= 'z') || c == '/'
				 ? c
				 : '_';
	}
	out[n] = '\0';
	return n;
}

/* The value in one entry; returns its length in JSON, at most. */
static unsigned int clean_value(const char *value, char out[RTE_TEL_MAX_STRING_LEN])
{
	static const char cut[] = "...";
	unsigned int n, escapes = 0;

	for (n = 0; value[n] != '\0' && n < RTE_TEL_MAX_STRING_LEN - 1; n++) {
		const unsigned char c = (unsigned char)value[n];

		out[n] = c < ' ' || c == 0x7f ? '?' : value[n];
		escapes += c == '"' || c == '\\';
	}
	out[n] = '\0';
	if (value[n] != '\0')
		memcpy(out + RTE_TEL_MAX_STRING_LEN - sizeof(cut), cut, sizeof(cut));
	return n + escapes;
}

int tg_tel_u64(struct rte_tel_data *d, const char *key, uint64_t value)
{
	char name[RTE_TEL_MAX_STRING_LEN];
	unsigned int len = clean_key(key, name);
	int rc = reserve(d, len + U64_DIGITS + sizeof("\"\":,") - 1);

	return rc < 0 ? rc : rte_tel_data_add_dict_u64(d, name, value);
}

int tg_tel_u64f(struct rte_tel_data *d, uint64_t value, const char *key_format, ...)
{
	char key[RTE_TEL_MAX_STRING_LEN];
	va_list ap;

	va_start(ap, key_format);
	vsnprintf(key, sizeof(key), key_format, ap);
	va_end(ap);
	return tg_tel_u64(d, key, value);
}

int tg_tel_string(struct rte_tel_data *d, const char *key, const char *value)
{
	char name[RTE_TEL_MAX_STRING_LEN], text[RTE_TEL_MAX_STRING_LEN];
	unsigned int len = clean_key(key, name) + clean_value(value, text);
	int rc = reserve(d, len + sizeof("\"\":\"\",") - 1);

	return rc < 0 ? rc : rte_tel_data_add_dict_string(d, name, text);
}

int tg_tel_stringf(struct rte_tel_data *d, const char *value, const char *key_format, ...)
{
	char key[RTE_TEL_MAX_STRING_LEN];
	va_list ap;

	va_start(ap, key_format);
	vsnprintf(key, sizeof(key), key_format, ap);
	va_end(ap);
	return tg_tel_string(d, key, value);
}

int tg_tel_params(const char *params, char *buf, unsigned int len, char **argv, unsigned int max)
{
	unsigned int argc = 0;

	if (params == NULL || params[0] == '\0')
		return 0;
	if (strlen(params) >= len)
		return -E2BIG;
	strcpy(buf, params);
	for (char *p = buf; p != NULL;) {
		if (argc == max)
			return -E2BIG;
		argv[argc++] = p;
		p = strchr(p, ',');
		if (p != NULL)
			*p++ = '\0';
	}
	return (int)argc;
}
