/* SPDX-License-Identifier: BSD-3-Clause */
/* tg_parse over arbitrary frames. The first two bytes say how much longer the frame was on the wire than
 * what was captured; the rest lies in a buffer of its exact size, so that a read past it is seen. */
#include <stdlib.h>

#include "../../lib/parse/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tg_pkt p, again;
	uint32_t len, wire;
	uint8_t *frame;
	enum tg_reason r;

	if (size < 2 || size > 9000)
		return 0;
	len = (uint32_t)size - 2;
	wire = len + (data[0] & 1 ? 0 : (uint32_t)data[0] << 4 | data[1] >> 4);
	frame = malloc(len + !len);
	expect(frame != NULL);
	memcpy(frame, data + 2, len);
	/* all of the header is written, and by the frame alone */
	memset(&p, 0xa5, sizeof(p));
	memset(&again, 0x5a, sizeof(again));
	r = tg_parse(frame, len, wire, &p);
	expect(tg_parse(frame, len, wire, &again) == r && memcmp(&p, &again, sizeof(p)) == 0);
	/* the short way and the long one say the same; where it is dropped, of the reason alone */
	expect(tg_parse_any(frame, len, wire, &again) == r);
	expect(r != TG_DROP_NONE || memcmp(&p, &again, sizeof(p)) == 0);
	expect(r < TG_DROP_REASON_COUNT);
	if (r == TG_DROP_NONE && !(p.flags & TG_PKT_ARP)) {
		expect(p.key.service == TG_NO_SERVICE);
		expect((uint32_t)p.l3_off + p.ip_len <= wire);
		expect(p.payload_len <= p.ip_len);
		expect(!(p.flags & TG_PKT_LATER) || p.l4_off == 0);
		expect(!(p.flags & TG_PKT_FRAGMENT) ||
		       (p.key.client_port | p.key.service_port) == 0);
		expect((p.l4_off == 0) || (p.l4_off > p.l3_off && p.l4_off <= wire));
	}
	free(frame);
	return 0;
}
