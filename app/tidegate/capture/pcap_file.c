/* SPDX-License-Identifier: BSD-3-Clause */
/* pcap files, by libpcap: it knows all the old variants. The fault of a cut file is worked out
 * here, because libpcap's message names neither the record nor its place.
 */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdbool.h>

#include "format.h"

/* "modified" pcap (magic a1b2cd34) has 8 bytes more in every record header */
#define MAGIC_MODIFIED 0xa1b2cd34u
#define MODIFIED_EXTRA 8
#define FILE_HEADER    24
#define RECORD_HEADER  16
#define CAP_LEN_OFFSET 8         /* of the captured length in a record header */
#define CAP_LEN_MAX    (1 << 18) /* the most libpcap writes or reads */

static int pcap_begin(struct tg_capture *cap)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(cap->file,
								PCAP_TSTAMP_PRECISION_NANO, text);

	if (!pcap && cap->info.size < FILE_HEADER)
		return tg_capture_fail(cap, -EBADMSG,
				       "is cut in its header: %" PRIu64 " of %d bytes are there",
				       cap->info.size, FILE_HEADER);
	if (!pcap)
		return tg_capture_fail(cap, -EINVAL, "cannot be read as pcap: %s", text);
	cap->state = pcap;
	cap->info.sections = 1;
	cap->info.interfaces = 1;
	return 0;
}

static bool read_at(FILE *file, off_t at, void *to, size_t size)
{
	return !fseeko(file, at, SEEK_SET) && fread(to, 1, size, file) == size;
}

/* Called after libpcap gave up on the record at byte `at`: cut, or damaged? */
static int name_fault(struct tg_capture *cap, off_t at)
{
	char why[PCAP_ERRBUF_SIZE];
	bool swapped = pcap_is_swapped(cap->state);
	uint64_t number = cap->info.frames + 1;
	uint64_t left = cap->info.size - (uint64_t)at;
	uint32_t magic, want, header = RECORD_HEADER;

	snprintf(why, sizeof(why), "%s", pcap_geterr(cap->state));
	if (!read_at(cap->file, 0, &magic, sizeof(magic)))
		goto damaged;
	if (magic == MAGIC_MODIFIED || magic == __builtin_bswap32(MAGIC_MODIFIED))
		header += MODIFIED_EXTRA;
	if (left < header)
		return tg_capture_fail(cap, -EBADMSG,
				       "record %" PRIu64 " at byte %jd is cut: %" PRIu64
				       " of %" PRIu32 " header bytes are there",
				       number, (intmax_t)at, left, header);
	if (!read_at(cap->file, at + CAP_LEN_OFFSET, &want, sizeof(want)))
		goto damaged;
	if (swapped)
		want = __builtin_bswap32(want);
	if (want <= CAP_LEN_MAX && left - header < want)
		return tg_capture_fail(cap, -EBADMSG,
				       "record %" PRIu64 " at byte %jd is cut: %" PRIu64
				       " of %" PRIu32 " bytes are there",
				       number, (intmax_t)at, left - header, want);
damaged:
	return tg_capture_fail(cap, -EBADMSG, "record %" PRIu64 " at byte %jd is damaged: %s",
			       number, (intmax_t)at, why);
}

static int pcap_step(struct tg_capture *cap, struct tg_frame *frame)
{
	off_t at = ftello(cap->file);
	struct pcap_pkthdr *head;
	const u_char *data;
	int rc = pcap_next_ex(cap->state, &head, &data);

	if (rc == PCAP_ERROR_BREAK) {
		cap->info.bytes_read = (uint64_t)at;
		return 0;
	}
	if (rc != 1 && ferror(cap->file))
		return tg_capture_fail(cap, -EIO, "reading failed at byte %jd: %s", (intmax_t)at,
				       pcap_geterr(cap->state));
	if (rc != 1)
		return name_fault(cap, at);
	/* Seconds are unsigned in the file, good to 2106; libpcap hands them out signed. */
	frame->time_ns = tg_capture_clamp(cap, (__int128)(uint32_t)head->ts.tv_sec * 1000000000 +
						       head->ts.tv_usec);
	frame->link_type = (uint32_t)pcap_datalink(cap->state);
	frame->interface = 0;
	frame->cap_len = head->caplen;
	frame->wire_len = head->len;
	frame->data = data;
	cap->info.bytes_read = (uint64_t)ftello(cap->file);
	return 1;
}

static void pcap_end(struct tg_capture *cap)
{
	if (cap->state)
		pcap_close(cap->state); /* closes the stream too */
	else
		fclose(cap->file);
}

const struct tg_capture_format tg_capture_pcap = {
	.name = "pcap",
	.open = pcap_begin,
	.next = pcap_step,
	.close = pcap_end,
};
