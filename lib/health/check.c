/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_health.h"

#include <stddef.h>

#include "tg_packet.h"

static const struct {
	const char *name, *text;
} reasons[] = {
#define ROW(id, name, text) {name, text},
	TG_HEALTH_REASONS(ROW)
#undef ROW
};

const char *tg_health_reason_name(enum tg_health_reason r)
{
	return r < TG_HEALTH_REASON_COUNT ? reasons[r].name : "?";
}

const char *tg_health_reason_text(enum tg_health_reason r)
{
	return r < TG_HEALTH_REASON_COUNT ? reasons[r].text : "?";
}

const char *tg_health_type_name(unsigned int type)
{
	static const char *const names[] = {
		[TG_HEALTH_OFF] = "off",
		[TG_HEALTH_TCP] = "tcp",
		[TG_HEALTH_UDP] = "udp",
		[TG_HEALTH_HTTP] = "http",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

struct tg_check_rule tg_check_compile(const struct tg_health_params *p,
				      const struct tg_clock *clock)
{
	return (struct tg_check_rule){
		.type = p->type,
		.expect = p->expect,
		.rise = p->rise,
		.fall = p->fall,
		.interval = tg_us_to_ticks(clock, (uint64_t)p->interval_ms * 1000),
		.timeout = tg_us_to_ticks(clock, (uint64_t)p->timeout_ms * 1000),
	};
}

void tg_check_init(struct tg_check *c, bool up, uint64_t due)
{
	*c = (struct tg_check){.up = up, .due = due};
}

bool tg_check_due(const struct tg_check *c, uint64_t now)
{
	return c->phase == TG_CHECK_IDLE && now >= c->due;
}

void tg_check_hurry(struct tg_check *c, uint64_t now)
{
	if (c->due > now)
		c->due = now;
}

/* The check is over; why: TG_HEALTH_NONE, it passed. */
static void settle(struct tg_check *c, const struct tg_check_rule *r, enum tg_health_reason why,
		   uint64_t now)
{
	bool passed = why == TG_HEALTH_NONE;

	c->phase = TG_CHECK_IDLE;
	c->checks++;
	c->failures += !passed;
	c->why = why;
	if (passed == c->up) {
		c->in_row = 0;
		return;
	}
	if (++c->in_row < (c->up ? r->fall : r->rise))
		return;
	if (!passed)
		c->fell = why;
	c->up = passed;
	c->in_row = 0;
	c->changes++;
	c->changed = now;
}

enum tg_check_act tg_check_begin(struct tg_check *c, const struct tg_check_rule *r, uint32_t seq,
				 uint64_t now)
{
	c->begun = now;
	c->deadline = now + r->timeout;
	c->due = now + r->interval;
	c->seq = seq + 1; /* a SYN takes one number (RFC 9293 section 3.4) */
	c->phase = r->type == TG_HEALTH_UDP ? TG_CHECK_DATAGRAM : TG_CHECK_SYN;
	return r->type == TG_HEALTH_UDP ? TG_ACT_DATAGRAM : TG_ACT_SYN;
}

static enum tg_check_act answer_to_syn(struct tg_check *c, const struct tg_check_rule *r,
				       const struct tg_check_answer *a, uint64_t now)
{
	uint8_t f = a->tcp_flags & (TG_TCP_SYN | TG_TCP_ACK | TG_TCP_RST);

	if ((f & TG_TCP_ACK) == 0 || a->ack != c->seq)
		return TG_ACT_NOTHING;
	if ((f & TG_TCP_RST) != 0) {
		settle(c, r, TG_HEALTH_REFUSED, now);
		return TG_ACT_NOTHING;
	}
	if ((f & TG_TCP_SYN) == 0)
		return TG_ACT_NOTHING;
	c->peer = a->seq + 1;
	if (r->type == TG_HEALTH_HTTP) {
		c->phase = TG_CHECK_REQUEST;
		return TG_ACT_REQUEST;
	}
	settle(c, r, TG_HEALTH_NONE, now);
	return TG_ACT_RESET;
}

static enum tg_check_act answer_to_request(struct tg_check *c, const struct tg_check_rule *r,
					   const struct tg_check_answer *a, uint64_t now)
{
	if (a->seq != c->peer || (a->tcp_flags & TG_TCP_SYN) != 0)
		return TG_ACT_NOTHING;
	if ((a->tcp_flags & TG_TCP_RST) != 0) {
		settle(c, r, TG_HEALTH_BROKEN, now);
		return TG_ACT_NOTHING;
	}
	if (a->len > 0)
		settle(c, r, tg_http_judge(a->data, a->len), now);
	else if ((a->tcp_flags & TG_TCP_FIN) != 0)
		settle(c, r, TG_HEALTH_BROKEN, now);
	else
		return TG_ACT_NOTHING; /* a mere acknowledgement */
	return TG_ACT_RESET;
}

/* The sequence number of what an error can be about: the SYN, or the request. */
static uint32_t sent(const struct tg_check *c)
{
	return c->phase == TG_CHECK_SYN ? c->seq - 1 : c->seq;
}

enum tg_check_act tg_check_answer(struct tg_check *c, const struct tg_check_rule *r,
				  const struct tg_check_answer *a, uint64_t now)
{
	if (c->phase == TG_CHECK_IDLE)
		return TG_ACT_NOTHING;
	if (a->kind == TG_ANSWER_UNREACHABLE) {
		if (c->phase != TG_CHECK_DATAGRAM && a->seq != sent(c))
			return TG_ACT_NOTHING;
		settle(c, r, TG_HEALTH_UNREACHABLE, now);
		return TG_ACT_NOTHING;
	}
	if (c->phase == TG_CHECK_DATAGRAM) {
		if (a->kind == TG_ANSWER_UDP)
			settle(c, r, TG_HEALTH_NONE, now);
		return TG_ACT_NOTHING;
	}
	if (a->kind != TG_ANSWER_TCP)
		return TG_ACT_NOTHING;
	return c->phase == TG_CHECK_SYN ? answer_to_syn(c, r, a, now)
					: answer_to_request(c, r, a, now);
}

enum tg_check_act tg_check_expire(struct tg_check *c, const struct tg_check_rule *r, uint64_t now)
{
	enum tg_check_phase phase = c->phase;

	if (phase == TG_CHECK_IDLE || now < c->deadline)
		return TG_ACT_NOTHING;
	settle(c, r, phase == TG_CHECK_DATAGRAM && !r->expect ? TG_HEALTH_NONE : TG_HEALTH_SILENT,
	       now);
	/* the server holds a connection: it need not wait for its end */
	return phase == TG_CHECK_REQUEST ? TG_ACT_RESET : TG_ACT_NOTHING;
}

void tg_check_failed(struct tg_check *c, const struct tg_check_rule *r, enum tg_health_reason why,
		     uint64_t now)
{
	if (c->phase != TG_CHECK_IDLE)
		settle(c, r, why, now);
}

void tg_check_cancel(struct tg_check *c, uint64_t due)
{
	c->phase = TG_CHECK_IDLE;
	c->due = due;
}
