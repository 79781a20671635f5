/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What capture.c and the two file formats share. Not for others.
 */
#ifndef TG_CAPTURE_FORMAT_H
#define TG_CAPTURE_FORMAT_H

#include "capture.h"

/** A file format: how to begin, to go on and to end. */
struct tg_capture_format {
	const char *name;
	/** Reads the file header and sets cap->state; writes the fault on failure. */
	int (*open)(struct tg_capture *cap);
	/** 1, 0 or -errno as tg_capture_next(); writes the fault on failure. */
	int (*next)(struct tg_capture *cap, struct tg_frame *frame);
	/** Frees cap->state and closes cap->file. */
	void (*close)(struct tg_capture *cap);
};

struct tg_capture {
	const struct tg_capture_format *format;
	FILE *file;
	void *state;
	int end; /* what next returns from now on, once it is not 1 */
	uint64_t last_ns;
	struct tg_capture_info info;
	char fault[TG_CAPTURE_TEXT];
};

extern const struct tg_capture_format tg_capture_pcap;
extern const struct tg_capture_format tg_capture_pcapng;

/** Write the fault's sentence and return `code`. */
int tg_capture_fail(struct tg_capture *cap, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Nanoseconds into the frame's unsigned range; what does not fit is clamped and counted. */
uint64_t tg_capture_clamp(struct tg_capture *cap, __int128 ns);

#endif
