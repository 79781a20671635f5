/* SPDX-License-Identifier: BSD-3-Clause */
/* Where clients are: a small cache of sets, filled by their SYNs. Only clients on a port's own link are
 * looked for here, and learnt; behind a router there is the router. Keyed, so that nobody computes addresses that push
 * out somebody else's. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "auction/private.h"

static struct tg_peer *set_of(const struct tg_auctions *x, const struct tg_addr *client)
{
	uint64_t h = XXH3_64bits_withSeed(client->b, sizeof(client->b), x->peer_seed);

	return &x->peer[h % PEER_SETS * PEER_WAYS];
}

const struct tg_peer *tg_peer_find(const struct tg_auctions *x, const struct tg_addr *client)
{
	const struct tg_peer *set = set_of(x, client);

	for (unsigned int i = 0; i < PEER_WAYS; i++)
		if (set[i].mac != 0 && tg_addr_eq(&set[i].client, client))
			return &set[i];
	return NULL;
}

void tg_peer_learn(struct tg_auctions *x, const struct tg_addr *client, const uint8_t mac[6],
		   uint16_t port)
{
	struct tg_peer *set = set_of(x, client), *at = NULL;

	for (unsigned int i = 0; at == NULL && i < PEER_WAYS; i++)
		if (set[i].mac == 0 || tg_addr_eq(&set[i].client, client))
			at = &set[i];
	if (at == NULL)
		at = &set[x->peer_turn++ % PEER_WAYS];
	*at = (struct tg_peer){.client = *client, .mac = tg_mac_word(mac), .port = port};
}
