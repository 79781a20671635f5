/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Frames out of a pcap or pcapng file, one after the other.
 *
 * pcap in all its forms (either byte order, microseconds or nanoseconds, "modified") is read by
 * libpcap. pcapng is read block by block here, because libpcap refuses a file whose interfaces
 * have different link types. A damaged or cut file is read up to the fault; the fault is then a
 * sentence with the record's number and byte offset. No length in the file is believed before
 * it was compared with what is there, and no file makes the reader hold more than about
 * TG_CAPTURE_BLOCK_MAX bytes.
 *
 * Units: time in nanoseconds since 1970-01-01 00:00:00 UTC, lengths and offsets in bytes.
 *
 * Thread-safety: a struct tg_capture belongs to one thread at a time; two captures are
 * independent. Nothing here belongs on a packet path: it reads files and allocates.
 *
 * Errors: -errno, and a sentence that names file, thing and remedy.
 *
 * Source: draft-ietf-opsawg-pcap (pcap), draft-ietf-opsawg-pcapng (blocks and options).
 */
#ifndef TG_CAPTURE_H
#define TG_CAPTURE_H

#include <stdint.h>
#include <stdio.h>

/** Largest pcapng block that is accepted; real blocks are under 300 KiB. */
#define TG_CAPTURE_BLOCK_MAX (16u << 20)

/** Interfaces one pcapng section may describe. */
#define TG_CAPTURE_INTERFACES_MAX 65536u

/** Room for any sentence this reader writes. */
#define TG_CAPTURE_TEXT 512

/** One frame. `data` stays valid until the next call on the same capture. */
struct tg_frame {
	uint64_t time_ns;    /**< 0…INT64_MAX; what lies outside is clamped and counted */
	uint32_t link_type;  /**< LINKTYPE_ value as tcpdump.org registers them (see link.h) */
	uint32_t interface;  /**< index in its pcapng section; 0 in a pcap file */
	uint32_t cap_len;    /**< bytes at `data` */
	uint32_t wire_len;   /**< bytes the frame had on the wire, >= cap_len */
	const uint8_t *data; /**< never NULL, not aligned */
};

/** What is known of a capture while and after it is read. */
struct tg_capture_info {
	const char *format;   /**< "pcap" or "pcapng" */
	uint64_t size;        /**< bytes in the file when it was opened */
	uint64_t bytes_read;  /**< bytes used so far; bytes_read / size is the progress */
	uint64_t frames;      /**< frames handed out */
	uint64_t no_time;     /**< frames in blocks without a time: they carry their forerunner's */
	uint64_t clamped;     /**< frames whose time lay before 1970 or after the year 2262 */
	uint32_t sections;    /**< pcapng sections begun; 1 for pcap */
	uint32_t interfaces;  /**< interfaces described, all sections together; 1 for pcap */
	uint64_t skipped;     /**< pcapng blocks that hold no frame (names, statistics, unknown) */
	uint64_t wire_raised; /**< frames said to be shorter on the wire than in the file: raised */
};

struct tg_capture;

/**
 * Open a capture by path.
 *
 * @param path a regular file; pipes are refused, since captures are read twice
 * @param out  the capture, to be closed by tg_capture_close()
 * @param text on failure a sentence for the user, cut at `room`
 * @return 0; -ENOENT, -EACCES, -EISDIR, -ESPIPE …, -ENODATA if empty, -EINVAL if no capture
 */
int tg_capture_open(const char *path, struct tg_capture **out, char *text, size_t room);

/**
 * The same from an open, seekable stream at its start (fmemopen() will do). The stream is owned
 * by the capture from here on, and is closed here if the call fails.
 *
 * @param name what sentences call it
 */
int tg_capture_open_stream(FILE *file, const char *name, struct tg_capture **out, char *text,
			   size_t room);

/**
 * The next frame.
 *
 * @return 1 with *frame filled; 0 at the end; -EBADMSG at damage, -EIO if reading failed,
 *         -ENOMEM. After 0 or an error every further call returns the same.
 */
int tg_capture_next(struct tg_capture *cap, struct tg_frame *frame);

/** The sentence that names the fault, or NULL while there is none. Lives as long as `cap`. */
const char *tg_capture_fault(const struct tg_capture *cap);

/** Counters; the pointer lives as long as `cap`. */
const struct tg_capture_info *tg_capture_info(const struct tg_capture *cap);

/** Close the file and free everything; NULL is allowed. */
void tg_capture_close(struct tg_capture *cap);

#endif
