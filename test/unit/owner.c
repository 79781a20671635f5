/* SPDX-License-Identifier: BSD-3-Clause */
/* Which worker owns a flow: the Toeplitz hash against Microsoft's published verification suite
 * ("Verifying the RSS Hash Calculation"), the indirection table, and the keyed hash without one. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "owner.h"
#include "unit.h"

static const uint8_t published_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
					  0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
					  0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
					  0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
					  0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/* A port whose table names its own index, so that the owner shows the hash's low bits. */
static struct tg_port *port_with_rss(void)
{
	static struct tg_port p;

	memset(&p, 0, sizeof(p));
	memcpy(p.rss_key, published_key, sizeof(published_key));
	p.rss_key_len = sizeof(published_key);
	p.reta_size = 512;
	memset(p.hashes_ports, true, sizeof(p.hashes_ports));
	for (unsigned int i = 0; i < 512; i++)
		p.reta[i] = (uint16_t)i;
	p.rx_queues = 512;
	return &p;
}

static struct tg_pkt packet(const char *src, uint16_t sport, const char *dst, uint16_t dport)
{
	struct tg_pkt p = {.key = {.protocol = IPPROTO_TCP}};

	ck_assert_int_eq(tg_addr_parse(src, &p.key.client), 0);
	ck_assert_int_eq(tg_addr_parse(dst, &p.dst), 0);
	p.key.client_port = htons(sport);
	p.key.service_port = htons(dport);
	p.flags = tg_addr_is_v4(&p.dst) ? 0 : TG_PKT_V6;
	return p;
}

static const struct {
	const char *dst;
	uint16_t dport;
	const char *src;
	uint16_t sport;
	uint32_t addresses, with_ports;
} published[] = {
	{"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
	{"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
	{"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
	{"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
	{"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
};

START_TEST(toeplitz_as_published)
{
	const struct tg_port *port = port_with_rss();

	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		struct tg_pkt p = packet(published[i].src, published[i].sport, published[i].dst,
					 published[i].dport);

		ck_assert_uint_eq(tg_owner_of(port, 512, &p, false, 0, 0),
				  published[i].with_ports & 511);
		p.key.protocol = IPPROTO_ESP; /* no ports */
		ck_assert_uint_eq(tg_owner_of(port, 512, &p, false, 0, 0),
				  published[i].addresses & 511);
	}
}
END_TEST

/* A device that hashes no UDP ports sends all of two addresses' datagrams to one queue: their owner is that worker. */
START_TEST(a_port_that_hashes_no_udp_ports)
{
	struct tg_port port = *port_with_rss();

	port.hashes_ports[0][1] = port.hashes_ports[1][1] = false;
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		struct tg_pkt p = packet(published[i].src, published[i].sport, published[i].dst,
					 published[i].dport);

		ck_assert_uint_eq(tg_owner_of(&port, 512, &p, false, 0, 0),
				  published[i].with_ports & 511);
		p.key.protocol = IPPROTO_UDP;
		ck_assert_uint_eq(tg_owner_of(&port, 512, &p, false, 0, 0),
				  published[i].addresses & 511);
	}
}
END_TEST

START_TEST(the_port_s_own_hash_is_believed)
{
	const struct tg_port *port = port_with_rss();
	struct tg_pkt p = packet("198.51.100.1", 1, "192.0.2.1", 80);

	ck_assert_uint_eq(tg_owner_of(port, 512, &p, true, 0xabcd0123, 0), 0x123);
}
END_TEST

START_TEST(keyed_hash_without_rss)
{
	struct tg_port port = {.rx_queues = 1};
	struct tg_pkt p = packet("198.51.100.1", 1, "192.0.2.1", 80);
	unsigned int count[3] = {0};

	ck_assert_uint_eq(tg_owner_of(&port, 3, &p, false, 0, 0), 0);
	ck_assert_uint_eq(tg_owner_of(&port, 3, &p, false, 0, UINT64_MAX), 2);
	for (uint64_t i = 0; i < 3000; i++)
		count[tg_owner_of(&port, 3, &p, false, 0, i * UINT64_C(0x9e3779b97f4a7c15))]++;
	for (unsigned int w = 0; w < 3; w++)
		ck_assert(count[w] > 900 && count[w] < 1100);
}
END_TEST

START_TEST(fewer_queues_than_workers_means_no_rss)
{
	struct tg_port *port = port_with_rss();
	struct tg_pkt p = packet("198.51.100.1", 1, "192.0.2.1", 80);

	port->rx_queues = 1;
	ck_assert_uint_eq(tg_owner_of(port, 2, &p, true, 1, UINT64_MAX), 1);
	ck_assert_uint_eq(tg_owner_of(port, 2, &p, true, 1, 0), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("owner");

	UNIT_CASE(s, "owner", toeplitz_as_published, a_port_that_hashes_no_udp_ports,
		  the_port_s_own_hash_is_believed, keyed_hash_without_rss,
		  fewer_queues_than_workers_means_no_rss);
	return s;
}

UNIT_MAIN(suite)
