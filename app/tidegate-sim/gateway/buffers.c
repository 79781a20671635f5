/* SPDX-License-Identifier: BSD-3-Clause */
/* A mempool of our own kind: a stack that looks at what comes back. */
#include <errno.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>

#include "gateway/private.h"

#define ROOM (RTE_PKTMBUF_HEADROOM + 9216)

struct stack {
	unsigned int n;
	void *object[];
};

static int stack_alloc(struct rte_mempool *mp)
{
	mp->pool_data = calloc(1, sizeof(struct stack) + mp->size * sizeof(void *));
	return mp->pool_data != NULL ? 0 : -ENOMEM;
}

static void stack_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int stack_put(struct rte_mempool *mp, void *const *object, unsigned int n)
{
	struct stack *s = mp->pool_data;

	for (unsigned int i = 0; i < n; i++) {
		s->object[s->n++] = object[i];
		if (mp->pool_config != NULL) { /* NULL while the pool is being filled */
			struct tg_sim_buffer *b = rte_mbuf_to_priv(object[i]);

			if (b->packet != NULL)
				tg_sim_gateway_dropped(mp->pool_config, b->packet);
			b->packet = NULL;
		}
	}
	return 0;
}

static int stack_get(struct rte_mempool *mp, void **object, unsigned int n)
{
	struct stack *s = mp->pool_data;

	if (s->n < n)
		return -ENOBUFS;
	for (unsigned int i = 0; i < n; i++)
		object[i] = s->object[--s->n];
	return 0;
}

static unsigned int stack_count(const struct rte_mempool *mp)
{
	return ((const struct stack *)mp->pool_data)->n;
}

static const struct rte_mempool_ops ops = {
	.name = "tg_sim",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = stack_put,
	.dequeue = stack_get,
	.get_count = stack_count,
};
RTE_MEMPOOL_REGISTER_OPS(ops);

static void clear(struct rte_mempool *mp, void *ctx, void *object, unsigned int i)
{
	(void)mp, (void)ctx, (void)i;
	memset(rte_mbuf_to_priv(object), 0, sizeof(struct tg_sim_buffer));
}

struct rte_mempool *tg_sim_buffers_create(const char *name, unsigned int n,
					  struct tg_sim_gateway *owner)
{
	struct rte_mempool *mp = rte_pktmbuf_pool_create_by_ops(name, n, 0,
								sizeof(struct tg_sim_buffer), ROOM,
								-1, ops.name);

	if (mp != NULL) {
		rte_mempool_obj_iter(mp, clear, NULL);
		mp->pool_config = owner;
	}
	return mp;
}
