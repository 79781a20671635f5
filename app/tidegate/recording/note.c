/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording/note.h"

#include <rte_mbuf.h>
#include <stdio.h>
#include <string.h>

#include "recording/recording.h"
#include "snapshot.h"

#define OPT_COMMENT  1
#define BLOCK_EPB    6
#define EPB_CAPTURED 20 /* the captured length */
#define EPB_DATA     28

void tg_recorded_names(struct tg_recorded_names *n, const struct tg_snapshot *s)
{
	n->snapshot = s;
}

bool tg_recorded_is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static int sentence(const struct tg_recorded_names *n, const struct tg_recorded *of, char *out,
		    size_t len)
{
	const struct tg_snapshot *s = n->snapshot;
	const struct tg_config_server *server = of->server < s->n_servers ? s->server[of->server]
									  : NULL;
	const char *service = server != NULL ? s->service[s->service_of[of->server]]->name : "";

	if (of->verdict == TG_DROP && server != NULL)
		return snprintf(out, len, "dropped: %s (for %s/%s)", tg_reason_name(of->reason),
				service, server->name);
	if (of->verdict == TG_DROP)
		return snprintf(out, len, "dropped: %s", tg_reason_name(of->reason));
	if (server != NULL)
		return snprintf(out, len, "forwarded to %s/%s", service, server->name);
	return snprintf(out, len, "answered, or handed to its flow's worker");
}

static uint32_t word(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* Where a block's options end: before opt_endofopt or the length at its tail; 0: it is no sound block. */
static uint32_t options_end(const uint8_t *block, uint32_t size)
{
	uint64_t at;

	if (size < EPB_DATA + 4 || word(block) != BLOCK_EPB || word(block + 4) != size ||
	    word(block + size - 4) != size)
		return 0;
	at = EPB_DATA + RTE_ALIGN_CEIL((uint64_t)word(block + EPB_CAPTURED), 4);
	while (at + 8 <= size) {
		uint16_t option[2];

		memcpy(option, block + at, sizeof(option));
		if (option[0] == 0)
			return (uint32_t)at;
		at += 4 + RTE_ALIGN_CEIL((uint32_t)option[1], 4);
	}
	return at + 4 == size ? (uint32_t)at : 0;
}

void tg_recorded_note(const struct tg_recorded_names *n, struct rte_mbuf *m)
{
	char text[2 * TG_NAME_MAX + 64];
	int len = sentence(n, rte_mbuf_to_priv(m), text, sizeof(text));
	uint32_t size = rte_pktmbuf_pkt_len(m), more, at;
	uint16_t head[2] = {OPT_COMMENT, (uint16_t)len};
	uint8_t *block = rte_pktmbuf_mtod(m, uint8_t *);

	if (len <= 0 || (size_t)len >= sizeof(text) || m->nb_segs != 1)
		return;
	at = options_end(block, size);
	more = 4 + RTE_ALIGN_CEIL((uint32_t)len, 4);
	if (at == 0 || rte_pktmbuf_append(m, (uint16_t)more) == NULL)
		return;
	memmove(block + at + more, block + at, size - at);
	memset(block + at, 0, more);
	memcpy(block + at, head, sizeof(head));
	memcpy(block + at + 4, text, (size_t)len);
	size += more;
	memcpy(block + 4, &size, 4);
	memcpy(block + size - 4, &size, 4);
}
