/* SPDX-License-Identifier: BSD-3-Clause */
#include "mss.h"

#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_tcp.h>

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MSS 2
#define MSS_LEN    4

#define V4_TCP_LEN 40 /* both headers */
#define V6_TCP_LEN 60

/* Where the option's value begins; 0: there is none, or what stands before it is malformed. */
static unsigned int find(const uint8_t *tcp, unsigned int end)
{
	unsigned int at = sizeof(struct rte_tcp_hdr);

	while (at + MSS_LEN <= end && tcp[at] != OPTION_END) {
		unsigned int len = tcp[at] == OPTION_NOP ? 1 : tcp[at + 1];

		if (tcp[at] == OPTION_MSS)
			return len == MSS_LEN ? at + 2 : 0;
		if (len == 0 || (len == 1 && tcp[at] != OPTION_NOP))
			return 0;
		at += len;
	}
	return 0;
}

/* RFC 1624, equation 3, for a word of the data; at an odd place its bytes count the other way round. */
static void mend_checksum(uint8_t *at, uint16_t was, uint16_t is, bool odd)
{
	uint16_t sum16;
	uint32_t sum;

	if (odd) {
		was = rte_bswap16(was);
		is = rte_bswap16(is);
	}
	memcpy(&sum16, at, sizeof(sum16));
	sum = (uint32_t)(uint16_t)~rte_be_to_cpu_16(sum16) + (uint16_t)~was + is;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum16 = rte_cpu_to_be_16((uint16_t)~sum);
	memcpy(at, &sum16, sizeof(sum16));
}

bool tg_mss_lower(uint8_t *tcp, unsigned int len, uint16_t max)
{
	unsigned int end, at;
	uint16_t was;

	if (len < sizeof(struct rte_tcp_hdr))
		return false;
	end = (tcp[offsetof(struct rte_tcp_hdr, data_off)] >> 4) * 4u;
	at = find(tcp, end < len ? end : len);
	if (at == 0)
		return false;
	was = (uint16_t)(tcp[at] << 8 | tcp[at + 1]);
	if (was <= max)
		return false;
	tcp[at] = (uint8_t)(max >> 8);
	tcp[at + 1] = (uint8_t)max;
	mend_checksum(tcp + offsetof(struct rte_tcp_hdr, cksum), was, max, at % 2 != 0);
	return true;
}

uint16_t tg_mss_of(unsigned int room, bool v6)
{
	unsigned int headers = v6 ? V6_TCP_LEN : V4_TCP_LEN;

	return (uint16_t)(room > headers + TG_MSS_LEAST ? room - headers : TG_MSS_LEAST);
}
