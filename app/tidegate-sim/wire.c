/* SPDX-License-Identifier: BSD-3-Clause */
/* How a segment of the engine looks on the wire, by traffic. */
#include "end.h"

#define QUIC_PAYLOAD          1350u
#define QUIC_OVERHEAD         31u   /* flags 1, connection id 8, number 2, stream frame 4, tag 16 */
#define QUIC_INITIAL          1200u /* RFC 9000 14.1 */
#define QUIC_ACK              30u   /* and up to 15 more by what is acknowledged */
#define QUIC_RESET            40u
#define QUIC_SERVER_HANDSHAKE 2200u /* certificate and all, after the Initial packet */
#define QUIC_CLIENT_HANDSHAKE 74u

#define INITIAL_BYTE   0xc0 /* long header forms, RFC 9000 17.2 */
#define HANDSHAKE_BYTE 0xe0
#define SHORT_BYTE     0x40

#define WIREGUARD_DATA     4
#define WIREGUARD_OVERHEAD 32u
#define INNER_HEADERS      40u
#define INNER_TIMESTAMP    12u
#define INNER_SYN_OPTIONS  20u
#define INNER_MSS          1368u /* of an MTU of 1420 */

uint32_t tg_wire_mss(enum tg_traffic t, const struct tg_tcp_params *p)
{
	if (t == TG_TRAFFIC_QUIC)
		return QUIC_PAYLOAD - QUIC_OVERHEAD;
	if (t == TG_TRAFFIC_TUNNEL && p->mss > INNER_MSS)
		return INNER_MSS;
	return p->mss;
}

uint64_t tg_wire_handshake(enum tg_traffic t, bool by_server)
{
	if (t != TG_TRAFFIC_QUIC)
		return 1;
	return 1 + (by_server ? QUIC_SERVER_HANDSHAKE : QUIC_CLIENT_HANDSHAKE);
}

static uint32_t inner_header(const struct tg_sim_packet *p)
{
	uint32_t options = (p->tcp_flags & TG_TCP_SYN) ? INNER_SYN_OPTIONS
			   : p->timestamps             ? INNER_TIMESTAMP
						       : 0;

	return WIREGUARD_OVERHEAD + INNER_HEADERS + options;
}

/* The bits that header protection hides look random. */
static uint8_t hidden(const struct tg_sim_packet *p, uint32_t below)
{
	return (uint8_t)((p->seq * UINT32_C(2654435761) ^ p->ack * UINT32_C(2246822519)) >> 16) %
	       below;
}

static void dress_quic(struct tg_sim_packet *p, bool handshake, uint32_t data)
{
	p->timestamps = false;
	p->window = (uint16_t)data;
	if (p->tcp_flags & TG_TCP_SYN) {
		p->payload = QUIC_INITIAL;
		p->first_byte = INITIAL_BYTE | hidden(p, 16);
		return;
	}
	if (handshake)
		p->first_byte = HANDSHAKE_BYTE | hidden(p, 16);
	else
		p->first_byte = SHORT_BYTE | hidden(p, 64);
	if (p->tcp_flags & TG_TCP_RST)
		p->payload = QUIC_RESET;
	else if (data == 0)
		p->payload = (uint16_t)(QUIC_ACK + hidden(p, 16));
	else
		p->payload = (uint16_t)(data + QUIC_OVERHEAD);
}

void tg_wire_dress(struct tg_sim_packet *p, bool handshake, uint32_t data)
{
	switch (p->connection->traffic) {
	case TG_TRAFFIC_QUIC:
		dress_quic(p, handshake, data);
		return;
	case TG_TRAFFIC_TUNNEL:
		p->first_byte = WIREGUARD_DATA;
		p->payload = (uint16_t)(data + inner_header(p));
		return;
	default:
		p->payload = (uint16_t)data;
	}
}

uint32_t tg_wire_data(const struct tg_sim_packet *p)
{
	switch (p->connection->traffic) {
	case TG_TRAFFIC_QUIC:
		return p->window;
	case TG_TRAFFIC_TUNNEL:
		return p->payload - inner_header(p);
	default:
		return p->payload;
	}
}

void tg_wire_send(struct tg_connection *c, struct tg_sim_packet *p)
{
	if (p->to_server)
		tg_network_to_service(c->sim, p);
	else
		tg_network_to_client(c->sim, p);
}
