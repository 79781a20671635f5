/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as a capture file, every frame of it through the link conversion. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture.h"
#include "link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the reader promises of every frame, and a room small enough to be overrun. */
static void check(const struct tg_frame *frame)
{
	static uint8_t out[256];
	struct tg_link_result result;

	if (frame->time_ns > INT64_MAX || frame->wire_len < frame->cap_len)
		abort();
	if (tg_link_to_ethernet(frame, out, sizeof(out), &result))
		return;
	if (result.cap_len > sizeof(out) || result.wire_len < result.cap_len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TG_CAPTURE_TEXT];
	struct tg_frame frame;
	struct tg_capture *cap;
	FILE *stream;
	int rc;

	stream = fmemopen((void *)(uintptr_t)data, size, "rb");
	if (!stream || tg_capture_open_stream(stream, "fuzz", &cap, text, sizeof(text)))
		return 0;
	while ((rc = tg_capture_next(cap, &frame)) == 1)
		check(&frame);
	if ((rc < 0) != (tg_capture_fault(cap) != NULL))
		abort();
	tg_capture_close(cap);
	return 0;
}
