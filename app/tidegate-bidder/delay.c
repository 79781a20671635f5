/* SPDX-License-Identifier: BSD-3-Clause */
#include "delay.h"

#include <arpa/inet.h> /* in front of linux/netfilter.h */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROOM        8192
#define NS_A_S      1000000000
#define SOCKET_ROOM (4 << 20) /* bytes the kernel may have for us: HOLD_MAX messages */

uint64_t tg_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_A_S + (uint64_t)t.tv_nsec;
}

static struct nlmsghdr *message(const struct tg_delay *d, void *at, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(at);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = (uint16_t)(NFNL_SUBSYS_QUEUE << 8 | type);
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	g->nfgen_family = AF_UNSPEC;
	g->version = NFNETLINK_V0;
	g->res_id = htons(d->queue);
	return h;
}

/* One message, and what the kernel says to it. */
static int ask(struct tg_delay *d, const struct nlmsghdr *h)
{
	char answer[ROOM];
	ssize_t n;

	if (mnl_socket_sendto(d->nl, h, h->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(d->nl, answer, sizeof(answer));
	if (n < 0 || mnl_cb_run(answer, (size_t)n, 0, mnl_socket_get_portid(d->nl), NULL, NULL) < 0)
		return -errno;
	return 0;
}

static int take_queue(struct tg_delay *d)
{
	const struct nfqnl_msg_config_cmd bind = {.command = NFQNL_CFG_CMD_BIND};
	_Alignas(8) char room[MNL_NLMSG_HDRLEN + 128];
	struct nlmsghdr *h = message(d, room, NFQNL_MSG_CONFIG, NLM_F_ACK);

	mnl_attr_put(h, NFQA_CFG_CMD, sizeof(bind), &bind);
	return ask(d, h);
}

/* Numbers only; what finds no place leaves at once. */
static int set_up_queue(struct tg_delay *d)
{
	const struct nfqnl_msg_config_params p = {.copy_mode = NFQNL_COPY_META};
	_Alignas(8) char room[MNL_NLMSG_HDRLEN + 128];
	struct nlmsghdr *h = message(d, room, NFQNL_MSG_CONFIG, NLM_F_ACK);

	mnl_attr_put(h, NFQA_CFG_PARAMS, sizeof(p), &p);
	mnl_attr_put_u32(h, NFQA_CFG_QUEUE_MAXLEN, htonl(HOLD_MAX));
	mnl_attr_put_u32(h, NFQA_CFG_FLAGS, htonl(NFQA_CFG_F_FAIL_OPEN));
	mnl_attr_put_u32(h, NFQA_CFG_MASK, htonl(NFQA_CFG_F_FAIL_OPEN));
	return ask(d, h);
}

int tg_delay_start(struct tg_delay *d, uint16_t queue, char *err, unsigned int err_len)
{
	int r, room = SOCKET_ROOM;

	*d = (struct tg_delay){.nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC),
			       .queue = queue,
			       .random = tg_now_ns() | 1};
	r = d->nl == NULL || mnl_socket_bind(d->nl, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
	r = r == 0 ? take_queue(d) : r;
	r = r == 0 ? set_up_queue(d) : r;
	if (r == 0) {
		/* if that is not permitted, fewer wait at a time */
		(void)setsockopt(mnl_socket_get_fd(d->nl), SOL_SOCKET, SO_RCVBUFFORCE, &room,
				 sizeof(room));
		return 0;
	}
	snprintf(err, err_len,
		 "the kernel gives no queue %u for SYN-ACKs: %s; run as root or with CAP_NET_ADMIN, "
		 "one tidegate-bidder a port, on a kernel with nfnetlink_queue",
		 queue, strerror(-r));
	tg_delay_end(d);
	return r;
}

static int let_go(const struct tg_delay *d, uint32_t id)
{
	const struct nfqnl_msg_verdict_hdr v = {.verdict = htonl(NF_ACCEPT), .id = htonl(id)};
	_Alignas(8) char room[MNL_NLMSG_HDRLEN + 64];
	struct nlmsghdr *h = message(d, room, NFQNL_MSG_VERDICT, 0);

	mnl_attr_put(h, NFQA_VERDICT_HDR, sizeof(v), &v);
	return mnl_socket_sendto(d->nl, h, h->nlmsg_len) < 0 ? -errno : 0;
}

static int let_go_due(struct tg_delay *d, uint64_t now)
{
	uint32_t id;
	int r = 0;

	while (r == 0 && tg_hold_take(&d->hold, now, &id))
		r = let_go(d, id);
	return r;
}

/* 0..step; xorshift64*. */
static uint64_t part_of(struct tg_delay *d, uint64_t step)
{
	uint64_t x = d->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	d->random = x;
	return ((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32) * step >> 32;
}

/* What is to be done with those of one datagram. */
struct arrivals {
	struct tg_delay *d;
	uint64_t now, delay, step;
};

static int on_attribute(const struct nlattr *a, void *packet)
{
	if (mnl_attr_get_type(a) == NFQA_PACKET_HDR &&
	    mnl_attr_get_payload_len(a) >= sizeof(struct nfqnl_msg_packet_hdr))
		*(const struct nfqnl_msg_packet_hdr **)packet = mnl_attr_get_payload(a);
	return MNL_CB_OK;
}

static int on_packet(const struct nlmsghdr *h, void *arrivals)
{
	const struct arrivals *a = arrivals;
	const struct nfqnl_msg_packet_hdr *p = NULL;
	int r = 0;

	if ((h->nlmsg_type & 0xff) != NFQNL_MSG_PACKET)
		return MNL_CB_OK;
	mnl_attr_parse(h, sizeof(struct nfgenmsg), on_attribute, &p);
	if (p == NULL)
		return MNL_CB_OK;
	if (!tg_hold_put(&a->d->hold, ntohl(p->packet_id),
			 a->now + a->delay + part_of(a->d, a->step)))
		r = let_go(a->d, ntohl(p->packet_id));
	errno = -r;
	return r == 0 ? MNL_CB_OK : MNL_CB_ERROR;
}

static int take(struct tg_delay *d, uint64_t delay, uint64_t step)
{
	_Alignas(8) char text[ROOM];
	struct arrivals a = {.d = d, .now = tg_now_ns(), .delay = delay, .step = step};
	ssize_t n;

	while ((n = recv(mnl_socket_get_fd(d->nl), text, sizeof(text), MSG_DONTWAIT)) > 0)
		if (mnl_cb_run(text, (size_t)n, 0, mnl_socket_get_portid(d->nl), on_packet, &a) < 0)
			return -errno;
	/* no room for a message: its SYN-ACK has left already */
	return n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR ? -errno : 0;
}

static int pause_until(struct tg_delay *d, uint64_t now, uint64_t until)
{
	const uint64_t next = tg_hold_next(&d->hold), end = next < until ? next : until;
	const uint64_t ns = end > now ? end - now : 0;
	const struct timespec t = {.tv_sec = (time_t)(ns / NS_A_S), .tv_nsec = (long)(ns % NS_A_S)};
	struct pollfd f = {.fd = mnl_socket_get_fd(d->nl), .events = POLLIN};

	return ppoll(&f, 1, &t, NULL) < 0 ? -errno : 0;
}

int tg_delay_run(struct tg_delay *d, uint64_t until, uint64_t delay, uint64_t step)
{
	uint64_t now;
	int r = 0;

	while (r == 0 && (now = tg_now_ns()) < until) {
		r = pause_until(d, now, until);
		r = r == 0 ? take(d, delay, step) : r;
		r = r == 0 ? let_go_due(d, tg_now_ns()) : r;
	}
	return r;
}

void tg_delay_end(struct tg_delay *d)
{
	if (d->nl == NULL)
		return;
	let_go_due(d, UINT64_MAX);
	mnl_socket_close(d->nl);
	d->nl = NULL;
}
