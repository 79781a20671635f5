/* SPDX-License-Identifier: BSD-3-Clause */
/* services[].bid */
#include "reader.h"

#define WINDOW_MAX_US 100000
#define RATE_MAX      10000000
#define MISSED_MAX    1000
#define PROBE_MAX_S   3600

#define UINT(field, from, to) TG_UINT(tg_bid_params, field, from, to)

static const struct tg_config_key bid_keys[] = {
	{UINT(window_us, 0, WINDOW_MAX_US), .standard = "300"},
	{UINT(syn_rate, 1, RATE_MAX), .standard = "10000"},
	{UINT(auctions, 1, TG_BID_TABLE), .standard = "1024"},
	{UINT(missed, 1, MISSED_MAX), .standard = "3"},
	{UINT(probe_s, 1, PROBE_MAX_S), .standard = "10"},
};

void tg_read_bid(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *bid)
{
	(void)k;
	tg_read_object(r, bid_keys, TG_COUNT(bid_keys), v, bid);
}

unsigned int tg_config_auctions(const struct tg_config *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n_services; i++)
		if (c->services[i].policy == TG_POLICY_BID)
			n += c->services[i].bid.auctions;
	return n;
}
