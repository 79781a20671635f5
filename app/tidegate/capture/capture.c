/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a capture: which format it is, and a clear word when it is none. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format.h"

#define MAGIC_BYTES 6

/* What a file may begin with. pcap and pcapng are ours; the others are common mistakes. */
static const struct magic {
	uint8_t bytes[MAGIC_BYTES];
	uint8_t count;
	const struct tg_capture_format *format;
	const char *is; /* when not ours: what it is, and what to do */
} magics[] = {
	{{0x0a, 0x0d, 0x0d, 0x0a}, 4, &tg_capture_pcapng, NULL},
	{{0xd4, 0xc3, 0xb2, 0xa1}, 4, &tg_capture_pcap, NULL},
	{{0xa1, 0xb2, 0xc3, 0xd4}, 4, &tg_capture_pcap, NULL},
	{{0x4d, 0x3c, 0xb2, 0xa1}, 4, &tg_capture_pcap, NULL},
	{{0xa1, 0xb2, 0x3c, 0x4d}, 4, &tg_capture_pcap, NULL},
	{{0x34, 0xcd, 0xb2, 0xa1}, 4, &tg_capture_pcap, NULL},
	{{0xa1, 0xb2, 0xcd, 0x34}, 4, &tg_capture_pcap, NULL},
	{{0x1f, 0x8b}, 2, NULL, "compressed with gzip: unpack it first (gunzip)"},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, NULL, "compressed with zstd: unpack it first (unzstd)"},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, NULL, "compressed with xz: unpack it first (unxz)"},
	{{'B', 'Z', 'h'}, 3, NULL, "compressed with bzip2: unpack it first (bunzip2)"},
	{{0x04, 0x22, 0x4d, 0x18}, 4, NULL, "compressed with lz4: unpack it first (unlz4)"},
	{{'P', 'K', 3, 4}, 4, NULL, "a zip archive: unpack it first (unzip)"},
	{{'s', 'n', 'o', 'o', 'p', 0}, 6, NULL, "a snoop capture: convert it (editcap -F pcapng)"},
};

int tg_capture_fail(struct tg_capture *cap, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cap->fault, sizeof(cap->fault), format, args);
	va_end(args);
	return code;
}

uint64_t tg_capture_clamp(struct tg_capture *cap, __int128 ns)
{
	if (ns >= 0 && ns <= INT64_MAX)
		return (uint64_t)ns;
	cap->info.clamped++;
	return ns < 0 ? 0 : INT64_MAX;
}

static const struct magic *magic_find(const uint8_t *head, size_t count)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (count >= magics[i].count && !memcmp(head, magics[i].bytes, magics[i].count))
			return &magics[i];
	return NULL;
}

/* Chooses cap->format by the first bytes and goes back to the start. */
static int recognise(struct tg_capture *cap)
{
	uint8_t head[MAGIC_BYTES];
	size_t count = fread(head, 1, sizeof(head), cap->file);
	const struct magic *magic = magic_find(head, count);

	if (ferror(cap->file))
		return tg_capture_fail(cap, -EIO, "cannot be read: %s", strerror(errno));
	if (!count)
		return tg_capture_fail(cap, -ENODATA, "is empty: there is no frame to read");
	if (magic && !magic->format)
		return tg_capture_fail(cap, -EINVAL, "is %s", magic->is);
	if (!magic && count < 4)
		return tg_capture_fail(cap, -EINVAL, "has only %zu bytes: it is no capture", count);
	if (!magic)
		return tg_capture_fail(cap, -EINVAL,
				       "is no capture: it begins with the bytes %02x %02x %02x "
				       "%02x, pcap and pcapng files do not",
				       head[0], head[1], head[2], head[3]);
	if (fseeko(cap->file, 0, SEEK_SET))
		return tg_capture_fail(cap, -ESPIPE, "cannot be rewound: copy it to a file first");
	cap->format = magic->format;
	cap->info.format = magic->format->name;
	return cap->format->open(cap);
}

static int measure(struct tg_capture *cap)
{
	off_t size;

	if (fseeko(cap->file, 0, SEEK_END) || (size = ftello(cap->file)) < 0 ||
	    fseeko(cap->file, 0, SEEK_SET))
		return tg_capture_fail(cap, -ESPIPE,
				       "cannot be rewound, and a capture is read twice: "
				       "write it to a file first");
	cap->info.size = (uint64_t)size;
	return 0;
}

int tg_capture_open_stream(FILE *file, const char *name, struct tg_capture **out, char *text,
			   size_t room)
{
	struct tg_capture *cap = calloc(1, sizeof(*cap));
	int rc;

	*out = NULL;
	if (!cap) {
		fclose(file);
		snprintf(text, room, "capture '%s': out of memory", name);
		return -ENOMEM;
	}
	cap->file = file;
	cap->end = 1;
	rc = measure(cap);
	if (!rc)
		rc = recognise(cap);
	if (rc) {
		snprintf(text, room, "capture '%s' %s", name, cap->fault);
		tg_capture_close(cap);
		return rc;
	}
	*out = cap;
	return 0;
}

static int refuse(const char *path, int code, const char *why, char *text, size_t room)
{
	snprintf(text, room, "capture '%s' %s", path, why);
	return code;
}

int tg_capture_open(const char *path, struct tg_capture **out, char *text, size_t room)
{
	struct stat st;
	FILE *file;

	*out = NULL;
	if (stat(path, &st))
		return errno == ENOENT ? refuse(path, -ENOENT, "does not exist", text, room)
				       : refuse(path, -errno, strerror(errno), text, room);
	if (S_ISDIR(st.st_mode))
		return refuse(path, -EISDIR, "is a directory: name a file in it", text, room);
	if (!S_ISREG(st.st_mode))
		return refuse(path, -ESPIPE,
			      "is no regular file, and a capture is read twice: "
			      "write it to a file first",
			      text, room);
	file = fopen(path, "rbe");
	if (!file)
		return refuse(path, -errno,
			      errno == EACCES ? "may not be read: check its permissions"
					      : strerror(errno),
			      text, room);
	return tg_capture_open_stream(file, path, out, text, room);
}

int tg_capture_next(struct tg_capture *cap, struct tg_frame *frame)
{
	if (cap->end != 1)
		return cap->end;
	cap->end = cap->format->next(cap, frame);
	if (cap->end != 1)
		return cap->end;
	if (frame->wire_len < frame->cap_len) {
		frame->wire_len = frame->cap_len;
		cap->info.wire_raised++;
	}
	cap->last_ns = frame->time_ns;
	cap->info.frames++;
	return 1;
}

const char *tg_capture_fault(const struct tg_capture *cap)
{
	return cap->fault[0] ? cap->fault : NULL;
}

const struct tg_capture_info *tg_capture_info(const struct tg_capture *cap)
{
	return &cap->info;
}

void tg_capture_close(struct tg_capture *cap)
{
	if (!cap)
		return;
	if (cap->format)
		cap->format->close(cap);
	else
		fclose(cap->file);
	free(cap);
}
