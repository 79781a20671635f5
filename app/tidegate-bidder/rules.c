/* SPDX-License-Identifier: BSD-3-Clause */
#include "rules.h"

#include <arpa/inet.h> /* in front of linux/netfilter.h */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <stdbool.h>
#include <stdlib.h>

#include "mark.h"

#define CHAIN           "synack"
#define MAP             "bids"
#define MAP_ID          1
#define PRIORITY_MANGLE (-150)
#define TYPE_INTEGER    4 /* nft's own numbers of data types */
#define TYPE_PORT       13
#define TCP_FLAGS       13 /* offset in the header */
#define SYN_ACK         0x12
#define SYN_ACK_RST     0x16
#define IP4_TTL         8
#define IP4_CHECKSUM    10
#define IP6_HOP_LIMIT   7
#define NFQ_INFO_LEN    8 /* of xt_NFQ_info_v3, as xtables aligns it */

void tg_batch_begin(struct tg_batch *b, uint32_t seq)
{
	b->at = b->text;
	b->seq = seq;
	nftnl_batch_begin(b->at, b->seq++);
	tg_batch_next(b);
}

struct nlmsghdr *tg_batch_put(struct tg_batch *b, uint16_t type, uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(b->at, type, NFPROTO_INET, flags, b->seq++);
}

void tg_batch_next(struct tg_batch *b)
{
	const struct nlmsghdr *h = (const void *)b->at;

	b->at += MNL_ALIGN(h->nlmsg_len);
}

void tg_batch_end(struct tg_batch *b)
{
	nftnl_batch_end(b->at, b->seq++);
	tg_batch_next(b);
}

size_t tg_batch_len(const struct tg_batch *b)
{
	return (size_t)(b->at - b->text);
}

static int add_table(struct tg_batch *b, const char *table)
{
	struct nftnl_table *t = nftnl_table_alloc();

	if (t == NULL)
		return -ENOMEM;
	nftnl_table_set_str(t, NFTNL_TABLE_NAME, table);
	nftnl_table_set_u32(t, NFTNL_TABLE_FLAGS, NFT_TABLE_F_OWNER);
	nftnl_table_nlmsg_build_payload(tg_batch_put(b, NFT_MSG_NEWTABLE,
						     NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK),
					t);
	tg_batch_next(b);
	nftnl_table_free(t);
	return 0;
}

static int add_chain(struct tg_batch *b, const char *table)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (c == NULL)
		return -ENOMEM;
	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, table);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, CHAIN);
	nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter");
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, PRIORITY_MANGLE);
	nftnl_chain_nlmsg_build_payload(tg_batch_put(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE), c);
	tg_batch_next(b);
	nftnl_chain_free(c);
	return 0;
}

struct nftnl_set *tg_rules_map(const char *table)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (s != NULL) {
		nftnl_set_set_str(s, NFTNL_SET_TABLE, table);
		nftnl_set_set_str(s, NFTNL_SET_NAME, MAP);
	}
	return s;
}

static int add_map(struct tg_batch *b, const char *table)
{
	struct nftnl_set *s = tg_rules_map(table);

	if (s == NULL)
		return -ENOMEM;
	nftnl_set_set_u32(s, NFTNL_SET_ID, MAP_ID);
	nftnl_set_set_u32(s, NFTNL_SET_FLAGS, NFT_SET_MAP | NFT_SET_TIMEOUT);
	nftnl_set_set_u64(s, NFTNL_SET_TIMEOUT, MARK_LEASE_MS);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, TYPE_PORT);
	nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, sizeof(uint16_t));
	nftnl_set_set_u32(s, NFTNL_SET_DATA_TYPE, TYPE_INTEGER);
	nftnl_set_set_u32(s, NFTNL_SET_DATA_LEN, sizeof(uint8_t));
	nftnl_set_nlmsg_build_payload(tg_batch_put(b, NFT_MSG_NEWSET, NLM_F_CREATE), s);
	tg_batch_next(b);
	nftnl_set_free(s);
	return 0;
}

/* An expression of the rule, of up to seven numbers; false: no memory. Register 1 is all that is used. */
struct value {
	uint16_t what;
	uint32_t is;
};

static struct nftnl_expr *add_expr(struct nftnl_rule *r, const char *name, const struct value *v,
				   unsigned int n)
{
	struct nftnl_expr *e = nftnl_expr_alloc(name);

	if (e == NULL)
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		nftnl_expr_set_u32(e, v[i].what, v[i].is);
	nftnl_rule_add_expr(r, e);
	return e;
}

#define EXPR(r, name, ...)                                     \
	add_expr(r, name, (const struct value[]){__VA_ARGS__}, \
		 sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value))

static bool is(struct nftnl_rule *r, const void *value, uint32_t len)
{
	struct nftnl_expr *e = EXPR(r, "cmp", {NFTNL_EXPR_CMP_SREG, NFT_REG_1},
				    {NFTNL_EXPR_CMP_OP, NFT_CMP_EQ});

	if (e != NULL)
		nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, len);
	return e != NULL;
}

static bool is_byte(struct nftnl_rule *r, uint8_t value)
{
	return is(r, &value, sizeof(value));
}

static bool meta_is(struct nftnl_rule *r, enum nft_meta_keys key, uint8_t value)
{
	return EXPR(r, "meta", {NFTNL_EXPR_META_KEY, key}, {NFTNL_EXPR_META_DREG, NFT_REG_1}) !=
		       NULL &&
	       is_byte(r, value);
}

static bool load_tcp(struct nftnl_rule *r, uint32_t offset, uint32_t len)
{
	return EXPR(r, "payload", {NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER},
		    {NFTNL_EXPR_PAYLOAD_OFFSET, offset}, {NFTNL_EXPR_PAYLOAD_LEN, len},
		    {NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1}) != NULL;
}

static bool is_syn_ack(struct nftnl_rule *r)
{
	const uint8_t mask = SYN_ACK_RST, zero = 0;
	struct nftnl_expr *e;

	if (!load_tcp(r, TCP_FLAGS, 1))
		return false;
	e = EXPR(r, "bitwise", {NFTNL_EXPR_BITWISE_SREG, NFT_REG_1},
		 {NFTNL_EXPR_BITWISE_DREG, NFT_REG_1}, {NFTNL_EXPR_BITWISE_LEN, 1});
	if (e == NULL)
		return false;
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof(mask));
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &zero, sizeof(zero));
	return is_byte(r, SYN_ACK);
}

static bool look_up_port(struct nftnl_rule *r)
{
	struct nftnl_expr *e;

	if (!load_tcp(r, 0, sizeof(uint16_t)))
		return false;
	e = EXPR(r, "lookup", {NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1},
		 {NFTNL_EXPR_LOOKUP_DREG, NFT_REG_1}, {NFTNL_EXPR_LOOKUP_SET_ID, MAP_ID});
	if (e != NULL)
		nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, MAP);
	return e != NULL;
}

static bool write_ttl(struct nftnl_rule *r, bool v6)
{
	return EXPR(r, "payload", {NFTNL_EXPR_PAYLOAD_SREG, NFT_REG_1},
		    {NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER},
		    {NFTNL_EXPR_PAYLOAD_OFFSET, v6 ? IP6_HOP_LIMIT : IP4_TTL},
		    {NFTNL_EXPR_PAYLOAD_LEN, 1},
		    {NFTNL_EXPR_PAYLOAD_CSUM_TYPE,
		     v6 ? NFT_PAYLOAD_CSUM_NONE : NFT_PAYLOAD_CSUM_INET},
		    {NFTNL_EXPR_PAYLOAD_CSUM_OFFSET, v6 ? 0 : IP4_CHECKSUM}) != NULL;
}

static bool enqueue(struct nftnl_rule *r, uint16_t queue)
{
	/* libnftnl frees what it is given */
	struct xt_NFQ_info_v3 *info = calloc(1, NFQ_INFO_LEN);
	struct nftnl_expr *e;

	if (info == NULL)
		return false;
	info->queuenum = queue;
	info->queues_total = 1;
	info->flags = NFQ_FLAG_BYPASS;
	e = EXPR(r, "target", {NFTNL_EXPR_TG_REV, 3});
	if (e == NULL) {
		free(info);
		return false;
	}
	nftnl_expr_set_str(e, NFTNL_EXPR_TG_NAME, "NFQUEUE");
	nftnl_expr_set(e, NFTNL_EXPR_TG_INFO, info, NFQ_INFO_LEN);
	return true;
}

static struct nftnl_rule *new_rule(const char *table)
{
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (r != NULL) {
		nftnl_rule_set_str(r, NFTNL_RULE_TABLE, table);
		nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, CHAIN);
	}
	return r;
}

/* The end of a rule: into the batch, if it was put together as a whole. */
static int add_rule(struct tg_batch *b, struct nftnl_rule *r, bool whole)
{
	if (whole) {
		nftnl_rule_nlmsg_build_payload(tg_batch_put(b, NFT_MSG_NEWRULE,
							    NLM_F_CREATE | NLM_F_APPEND),
					       r);
		tg_batch_next(b);
	}
	nftnl_rule_free(r);
	return whole ? 0 : -ENOMEM;
}

static int add_mark_rule(struct tg_batch *b, const char *table, bool v6)
{
	struct nftnl_rule *r = new_rule(table);

	return r == NULL
		       ? -ENOMEM
		       : add_rule(b, r,
				  meta_is(r, NFT_META_NFPROTO, v6 ? NFPROTO_IPV6 : NFPROTO_IPV4) &&
					  meta_is(r, NFT_META_L4PROTO, IPPROTO_TCP) &&
					  is_syn_ack(r) && look_up_port(r) && write_ttl(r, v6));
}

static int add_queue_rule(struct tg_batch *b, const char *table, uint16_t port, uint16_t queue)
{
	struct nftnl_rule *r = new_rule(table);

	return r == NULL ? -ENOMEM
			 : add_rule(b, r,
				    meta_is(r, NFT_META_L4PROTO, IPPROTO_TCP) && is_syn_ack(r) &&
					    load_tcp(r, 0, sizeof(port)) &&
					    is(r, &port, sizeof(port)) && enqueue(r, queue));
}

int tg_rules_add(struct tg_batch *b, const char *table)
{
	int r = add_table(b, table);

	r = r == 0 ? add_chain(b, table) : r;
	r = r == 0 ? add_map(b, table) : r;
	r = r == 0 ? add_mark_rule(b, table, false) : r;
	return r == 0 ? add_mark_rule(b, table, true) : r;
}

int tg_rules_add_queue(struct tg_batch *b, const char *table, const uint16_t *ports, unsigned int n,
		       uint16_t queue)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < n; i++)
		r = add_queue_rule(b, table, ports[i], queue);
	return r;
}
