/* SPDX-License-Identifier: BSD-3-Clause */
/* One function a kind of link header: it says how long the header is and which ethertype follows.
 * What it says is put into an Ethernet header by one function for all.
 */
#include "link.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <string.h>

#define ETHER_HEADER 14u
#define ETHER_IPV4   0x0800
#define ETHER_IPV6   0x86dd
#define ETHER_MPLS   0x8847
#define ETHER_MPLS_M 0x8848

/* Below this a type field is a length (IEEE 802.3). */
#define ETHER_TYPE_MIN 0x0600

/* Linux ARPHRD_ values whose cooked protocol field is no ethertype. */
#define ARPHRD_FRAD    770
#define ARPHRD_RADIO   803
#define ARPHRD_NETLINK 824

/* The link header of one frame. */
struct head {
	uint32_t length;
	uint16_t type; /* ethertype; under ETHER_TYPE_MIN: IEEE 802.2 follows */
};

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint16_t ip_type(uint8_t first)
{
	switch (first >> 4) {
	case 4:
		return ETHER_IPV4;
	case 6:
		return ETHER_IPV6;
	default:
		return TG_LINK_NOT_IP;
	}
}

static int raw_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (!length)
		return -EBADMSG;
	head->length = 0;
	head->type = ip_type(data[0]);
	return 0;
}

/* The family is in the byte order of the host that captured, which nothing tells: a small number
 * has its byte at one end or the other. AF_INET is 2 everywhere, AF_INET6 is 10 on Linux, 24 on
 * NetBSD and OpenBSD, 28 on FreeBSD, 30 on Darwin.
 */
static int null_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (length < 4)
		return -EBADMSG;
	head->length = 4;
	head->type = TG_LINK_NOT_IP;
	if (data[1] || data[2] || (data[0] && data[3]))
		return 0;
	switch (data[0] | data[3]) {
	case 2:
		head->type = ETHER_IPV4;
		break;
	case 10:
	case 24:
	case 28:
	case 30:
		head->type = ETHER_IPV6;
		break;
	}
	return 0;
}

static uint16_t cooked_type(uint16_t hardware, uint16_t protocol)
{
	switch (hardware) {
	case ARPHRD_FRAD:
	case ARPHRD_RADIO:
	case ARPHRD_NETLINK:
		return TG_LINK_NOT_IP;
	default:
		return protocol;
	}
}

static int cooked1_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (length < 16)
		return -EBADMSG;
	head->length = 16;
	head->type = cooked_type(be16(data + 2), be16(data + 14));
	return 0;
}

static int cooked2_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (length < 20)
		return -EBADMSG;
	head->length = 20;
	head->type = cooked_type(be16(data + 8), be16(data));
	return 0;
}

static int cisco_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (length < 4)
		return -EBADMSG;
	head->length = 4;
	head->type = be16(data + 2);
	if (head->type < ETHER_TYPE_MIN)
		head->type = TG_LINK_NOT_IP;
	return 0;
}

static uint16_t ppp_type(uint16_t protocol)
{
	switch (protocol) {
	case 0x0021:
		return ETHER_IPV4;
	case 0x0057:
		return ETHER_IPV6;
	case 0x0281:
		return ETHER_MPLS;
	case 0x0283:
		return ETHER_MPLS_M;
	default:
		return TG_LINK_PPP;
	}
}

/* RFC 1662 §3.1: address and control are ff 03 or left out; RFC 1661 §6.5: a protocol number
 * whose first byte is odd was compressed to that byte.
 */
static int ppp_head(const uint8_t *data, uint32_t length, struct head *head)
{
	uint32_t at = length >= 2 && data[0] == 0xff && data[1] == 0x03 ? 2 : 0;

	if (length < at + 1)
		return -EBADMSG;
	if (data[at] & 1) {
		head->type = ppp_type(data[at]);
		head->length = at + 1;
		return 0;
	}
	if (length < at + 2)
		return -EBADMSG;
	head->type = ppp_type(be16(data + at));
	head->length = at + 2;
	return 0;
}

/* The link type for serial PPP is also used for Cisco's framing on the same lines: 0f or 8f. */
static int serial_head(const uint8_t *data, uint32_t length, struct head *head)
{
	if (length && (data[0] == 0x0f || data[0] == 0x8f))
		return cisco_head(data, length, head);
	return ppp_head(data, length, head);
}

static int find_head(const struct tg_frame *frame, struct head *head)
{
	switch (frame->link_type) {
	case 12: /* DLT_RAW here and on BSD, which some writers put into files */
	case 14: /* DLT_RAW on OpenBSD */
	case 101:
		return raw_head(frame->data, frame->cap_len, head);
	case 228:
		*head = (struct head){0, ETHER_IPV4};
		return frame->cap_len ? 0 : -EBADMSG;
	case 229:
		*head = (struct head){0, ETHER_IPV6};
		return frame->cap_len ? 0 : -EBADMSG;
	case 0:
	case 108:
		return null_head(frame->data, frame->cap_len, head);
	case 113:
		return cooked1_head(frame->data, frame->cap_len, head);
	case 276:
		return cooked2_head(frame->data, frame->cap_len, head);
	case 9:
		return ppp_head(frame->data, frame->cap_len, head);
	case 50:
		return serial_head(frame->data, frame->cap_len, head);
	case 104:
		return cisco_head(frame->data, frame->cap_len, head);
	default:
		return -EPROTONOSUPPORT;
	}
}

static void write_header(uint8_t *out, uint16_t type)
{
	static const uint8_t addresses[12] = {0x02, 0x74, 0x67, 0, 0, 2, 0x02, 0x74, 0x67, 0, 0, 1};

	memcpy(out, addresses, sizeof(addresses));
	out[12] = (uint8_t)(type >> 8);
	out[13] = (uint8_t)type;
}

int tg_link_to_ethernet(const struct tg_frame *frame, uint8_t *out, uint32_t room,
			struct tg_link_result *result)
{
	uint32_t added = 0, left = frame->cap_len, wire = frame->wire_len;
	struct head head = {0, 0};
	int rc;

	if (room < ETHER_HEADER)
		return -ENOBUFS;
	if (frame->link_type != TG_LINK_ETHERNET) {
		rc = find_head(frame, &head);
		if (rc)
			return rc;
		wire = wire > head.length ? wire - head.length : 0;
		left -= head.length;
		if (head.type < ETHER_TYPE_MIN) /* IEEE 802.3: the length stands there */
			head.type = wire < ETHER_TYPE_MIN ? (uint16_t)wire : TG_LINK_NOT_IP;
		write_header(out, head.type);
		added = ETHER_HEADER;
	}
	if (left > room - added)
		left = room - added;
	memcpy(out + added, frame->data + head.length, left);
	result->cap_len = added + left;
	result->wire_len = wire > UINT32_MAX - added ? UINT32_MAX : wire + added;
	if (result->wire_len < result->cap_len)
		result->wire_len = result->cap_len;
	return 0;
}

void tg_link_count(struct tg_link_stats *stats, const struct tg_frame *frame, int rc)
{
	uint32_t i;

	if (!rc)
		stats->converted++;
	else if (rc != -EPROTONOSUPPORT)
		stats->malformed++;
	if (rc != -EPROTONOSUPPORT)
		return;
	stats->unsupported++;
	for (i = 0; i < stats->kind_count; i++)
		if (stats->kinds[i].link_type == frame->link_type)
			break;
	if (i == TG_LINK_KINDS)
		return;
	if (i == stats->kind_count)
		stats->kinds[stats->kind_count++].link_type = frame->link_type;
	stats->kinds[i].frames++;
}

const char *tg_link_name(uint32_t link_type)
{
	return pcap_datalink_val_to_name((int)link_type);
}
