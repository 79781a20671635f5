/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel/addresses.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define REQUEST_MAX 1024 /* and the answer, which quotes it */
#define AGAIN_S     5

struct list {
	struct tg_kernel_address *entry; /* sorted */
	unsigned int n;
};

struct tg_kernel_addresses {
	pthread_mutex_t mutex;
	struct list wanted; /* under the mutex */
	bool changed;
	struct list applied; /* the applying thread's */
	struct mnl_socket *netlink;
	unsigned int sequence;
	uint64_t again_s; /* when all are set again */
};

int tg_kernel_addresses_create(struct tg_kernel_addresses **out)
{
	struct tg_kernel_addresses *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	pthread_mutex_init(&a->mutex, NULL);
	*out = a;
	return 0;
}

void tg_kernel_addresses_free(struct tg_kernel_addresses *a)
{
	if (a == NULL)
		return;
	if (a->netlink != NULL)
		mnl_socket_close(a->netlink);
	pthread_mutex_destroy(&a->mutex);
	free(a->wanted.entry);
	free(a->applied.entry);
	free(a);
}

static int compare(const void *x, const void *y)
{
	const struct tg_kernel_address *a = x, *b = y;
	int r = memcmp(&a->prefix.addr, &b->prefix.addr, sizeof(a->prefix.addr));

	if (r == 0)
		r = (int)a->prefix.len - (int)b->prefix.len;
	return r != 0 ? r : (a->if_index > b->if_index) - (a->if_index < b->if_index);
}

/* Sorted, each once. False without memory. */
static bool make_list(struct list *l, const struct tg_kernel_address *from, unsigned int n)
{
	l->entry = calloc(n + 1, sizeof(*l->entry));
	l->n = 0;
	if (l->entry == NULL)
		return false;
	if (n == 0)
		return true;
	memcpy(l->entry, from, n * sizeof(*from));
	qsort(l->entry, n, sizeof(*from), compare);
	for (unsigned int i = 0; i < n; i++)
		if (i == 0 || compare(&l->entry[l->n - 1], &l->entry[i]) != 0)
			l->entry[l->n++] = l->entry[i];
	return true;
}

static bool same(const struct list *a, const struct list *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned int i = 0; i < a->n; i++)
		if (compare(&a->entry[i], &b->entry[i]) != 0)
			return false;
	return true;
}

void tg_kernel_addresses_want(struct tg_kernel_addresses *a, const struct tg_kernel_address *list,
			      unsigned int n)
{
	struct list now;

	if (!make_list(&now, list, n))
		return;
	pthread_mutex_lock(&a->mutex);
	if (same(&now, &a->wanted)) {
		free(now.entry);
	} else {
		free(a->wanted.entry);
		a->wanted = now;
		a->changed = true;
	}
	pthread_mutex_unlock(&a->mutex);
}

static bool open_netlink(struct tg_kernel_addresses *a)
{
	if (a->netlink == NULL) {
		a->netlink = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
		if (a->netlink != NULL && mnl_socket_bind(a->netlink, 0, MNL_SOCKET_AUTOPID) < 0) {
			mnl_socket_close(a->netlink);
			a->netlink = NULL;
		}
	}
	return a->netlink != NULL;
}

/* RTM_NEWADDR or RTM_DELADDR of one address; 0 or -errno. */
static int request(struct tg_kernel_addresses *a, uint16_t type, const struct tg_kernel_address *e)
{
	char buf[REQUEST_MAX];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	bool v4 = tg_addr_is_v4(&e->prefix.addr);
	const uint8_t *bytes = v4 ? &e->prefix.addr.b[12] : e->prefix.addr.b;
	size_t size = v4 ? 4 : 16;
	ssize_t n;

	h->nlmsg_type = type;
	h->nlmsg_seq = ++a->sequence;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (type == RTM_NEWADDR)
		h->nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE;
	m->ifa_family = v4 ? AF_INET : AF_INET6;
	m->ifa_prefixlen = (uint8_t)(v4 ? e->prefix.len - 96 : e->prefix.len);
	m->ifa_flags = IFA_F_NODAD; /* several gateways have the same service's */
	m->ifa_index = e->if_index;
	mnl_attr_put(h, IFA_LOCAL, size, bytes);
	mnl_attr_put(h, IFA_ADDRESS, size, bytes);
	if (!open_netlink(a) || mnl_socket_sendto(a->netlink, h, h->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(a->netlink, buf, sizeof(buf));
	if (n < 0) { /* its answer may still come, and would be taken for the next one's */
		int why = errno;

		mnl_socket_close(a->netlink);
		a->netlink = NULL;
		return -why;
	}
	if (mnl_cb_run(buf, (size_t)n, h->nlmsg_seq, mnl_socket_get_portid(a->netlink), NULL,
		       NULL) < 0)
		return -errno;
	return 0;
}

static void complain(const struct tg_kernel_address *e, const char *what, int why)
{
	char text[TG_ADDR_STRLEN], name[IF_NAMESIZE] = "?";

	if_indextoname(e->if_index, name);
	fprintf(stderr, "tidegate: kernel: cannot %s %s on %s: %s%s\n", what,
		tg_addr_format(&e->prefix.addr, text, sizeof(text)), name, strerror(-why),
		why == -EACCES  ? " (is IPv6 disabled there?)"
		: why == -EPERM ? " (CAP_NET_ADMIN is missing: start as root or with it)"
				: "");
}

/* Those of `from` that `other` has not. What fails is said once, when it is news. */
static void change(struct tg_kernel_addresses *a, uint16_t type, const struct list *from,
		   const struct list *other, bool news)
{
	for (unsigned int i = 0; i < from->n; i++) {
		const struct tg_kernel_address *e = &from->entry[i];
		int r;

		if (other->n > 0 && bsearch(e, other->entry, other->n, sizeof(*e), compare) != NULL)
			continue;
		r = request(a, type, e);
		if (news && r != 0 && r != -EEXIST && r != -EADDRNOTAVAIL)
			complain(e, type == RTM_NEWADDR ? "add" : "remove", r);
	}
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* All that is wanted is set again every few seconds too: what could not be set, what somebody took away, and what went
 * with a removed address of the same network (Linux removes secondary ones with their primary one). */
void tg_kernel_addresses_apply(struct tg_kernel_addresses *a)
{
	static const struct list none;
	struct list now;
	bool news = __atomic_load_n(&a->changed, __ATOMIC_RELAXED), made;

	if (!news && now_s() < a->again_s)
		return;
	a->again_s = now_s() + AGAIN_S;
	pthread_mutex_lock(&a->mutex);
	made = make_list(&now, a->wanted.entry, a->wanted.n);
	a->changed = !made;
	pthread_mutex_unlock(&a->mutex);
	if (!made)
		return;
	change(a, RTM_DELADDR, &a->applied, &now, news);
	change(a, RTM_NEWADDR, &now, &none, news);
	free(a->applied.entry);
	a->applied = now;
}
