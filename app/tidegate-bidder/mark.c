/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "rules.h"

#define FAULTS_MAX 16 /* messages a batch may be answered with */

/* All that stands in the batch, at once or not at all. The kernel has answered when send returns. */
static int commit(struct tg_mark *m, struct tg_batch *b)
{
	char answer[8192];
	ssize_t len;
	int r;

	tg_batch_end(b);
	if (mnl_socket_sendto(m->nl, b->text, tg_batch_len(b)) < 0)
		return -errno;
	m->seq = b->seq;
	for (unsigned int i = 0; i < FAULTS_MAX; i++) {
		len = recv(mnl_socket_get_fd(m->nl), answer, sizeof(answer), MSG_DONTWAIT);
		if (len <= 0)
			return len < 0 && errno != EAGAIN ? -errno : 0;
		r = mnl_cb_run(answer, (size_t)len, 0, mnl_socket_get_portid(m->nl), NULL, NULL);
		if (r < 0)
			return -errno;
	}
	return -EPROTO;
}

/* What it was refused for. */
static void explain(const struct tg_mark *m, int r, char *err, unsigned int err_len)
{
	if (r == -EPERM || r == -EEXIST)
		snprintf(err, err_len,
			 "nftables refuses the table %s: run as root or with CAP_NET_ADMIN, and one "
			 "tidegate-bidder a port",
			 m->table);
	else
		snprintf(err, err_len, "nftables refuses the table %s: %s", m->table, strerror(-r));
}

int tg_mark_start(struct tg_mark *m, const uint16_t *ports, unsigned int n, bool wait, char *err,
		  unsigned int err_len)
{
	struct tg_batch b;
	int r;

	*m = (struct tg_mark){.nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC), .n = n};
	memcpy(m->ports, ports, n * sizeof(*ports));
	snprintf(m->table, sizeof(m->table), "tidegate_bid_%u", ntohs(ports[0]));
	if (m->nl == NULL || mnl_socket_bind(m->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		r = -errno;
		snprintf(err, err_len, "the kernel has no netlink for nftables: %s", strerror(-r));
		tg_mark_end(m);
		return r;
	}
	tg_batch_begin(&b, m->seq);
	r = tg_rules_add(&b, m->table);
	if (r == 0 && wait)
		r = tg_rules_add_queue(&b, m->table, ports, n, ntohs(ports[0]));
	if (r == 0)
		r = commit(m, &b);
	if (r == 0)
		return 0;
	explain(m, r, err, err_len);
	tg_mark_end(m);
	return r;
}

/* The map's entries, one a port. */
static int add_entries(struct tg_batch *b, const struct tg_mark *m, uint8_t ttl)
{
	struct nftnl_set *map = tg_rules_map(m->table);

	if (map == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < m->n; i++) {
		struct nftnl_set_elem *e = nftnl_set_elem_alloc();

		if (e == NULL) {
			nftnl_set_free(map);
			return -ENOMEM;
		}
		nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, &m->ports[i], sizeof(m->ports[i]));
		nftnl_set_elem_set(e, NFTNL_SET_ELEM_DATA, &ttl, sizeof(ttl));
		nftnl_set_elem_add(map, e);
	}
	nftnl_set_elems_nlmsg_build_payload(tg_batch_put(b, NFT_MSG_NEWSETELEM,
							 NLM_F_CREATE | NLM_F_ACK),
					    map);
	tg_batch_next(b);
	nftnl_set_free(map);
	return 0;
}

int tg_mark_set(struct tg_mark *m, uint8_t ttl)
{
	struct nftnl_set *all = tg_rules_map(m->table);
	struct tg_batch b;
	int r;

	if (all == NULL)
		return -ENOMEM;
	tg_batch_begin(&b, m->seq);
	/* without entries: all of the map, those too whose time has come meanwhile */
	nftnl_set_elems_nlmsg_build_payload(tg_batch_put(&b, NFT_MSG_DELSETELEM, 0), all);
	tg_batch_next(&b);
	nftnl_set_free(all);
	r = add_entries(&b, m, ttl);
	return r == 0 ? commit(m, &b) : r;
}

void tg_mark_end(struct tg_mark *m)
{
	if (m->nl != NULL)
		mnl_socket_close(m->nl);
	m->nl = NULL;
}
