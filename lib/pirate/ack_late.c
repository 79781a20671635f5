/* SPDX-License-Identifier: BSD-3-Clause */
#include "ack_late.h"

#include "echo.h"
#include "log2.h"

#define SEGMENT 1460              /* more than one is acknowledged at once: RFC 9293, 3.8.6.3 */
#define PAUSED  (4 * TG_LOG2_ONE) /* 16 times what is usual */
#define UNUSUAL (2 * TG_LOG2_ONE) /* 4 times, and .. */
#define USUAL   (3 * TG_LOG2_ONE) /* .. at most 8 times without a timer: that was in it */
#define FAR     (6 * TG_LOG2_ONE) /* 64 times */
#define KNOWN   4                 /* answers that tell what is usual */

static int32_t log_of(uint32_t units)
{
	return tg_log2_of(units > 0 ? units : 1, 0);
}

/* So much longer than the handshake that every exchange may hold a pause; or no handshake was seen. */
static bool is_far(const struct tg_ack_far *f, int32_t usual)
{
	return !f->path_known || usual - log_of(f->path) > FAR;
}

/* The next request acknowledged the answer. */
static void carried(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
		    struct tg_ack_far *f, uint32_t waited, struct tg_sample *out)
{
	struct tg_ack_late *l = &f->late;
	int32_t log = log_of(waited), usual = l->usual;
	uint64_t pause;
	bool paused;

	if (usual == 0)
		usual = s != NULL && s->usual > 0 && f->path_known ? log_of(f->path + s->usual)
								   : log;
	pause = out->latency - tg_log2_ticks((uint16_t)usual, c->gap_shift);
	paused = log - usual > PAUSED;
	l->mute |= paused && !l->speaks && pause > c->delayed;
	out->unsure = (paused && (!l->speaks || pause < c->delayed)) ||
		      (l->mute && is_far(f, usual));
	usual += (log - usual) / (l->seen < 8 ? 4 : 16);
	l->usual = (uint16_t)most(usual, 1);
	l->seen += l->seen < UINT8_MAX;
}

/* The client acknowledged a segment by itself: at once, or when its timer ended? */
static void spoken(const struct tg_pirate_config *c, struct tg_ack_late *l, uint32_t waited,
		   struct tg_sample *out)
{
	l->speaks = true;
	l->mute = false;
	if (l->seen < KNOWN || log_of(waited) - l->usual <= UNUSUAL)
		return;
	for (unsigned int k = 0; k < 2; k++) {
		int32_t rest = (int32_t)waited - c->timer[k];

		if (rest <= 0 || log_of((uint32_t)rest) - l->usual > USUAL)
			continue;
		out->latency = ticks_of(c, rest);
		out->lo = out->lo < out->latency ? out->lo : out->latency;
		return;
	}
}

void tg_ack_judge(const struct tg_pirate_config *c, const struct tg_pirate_server *s,
		  const struct tg_ack_near *n, struct tg_ack_far *f, struct tg_sample *out)
{
	uint32_t waited = (uint32_t)(out->latency >> c->gap_shift);

	if (!n->prompt)
		carried(c, s, f, waited, out);
	else if (f->late.advance <= SEGMENT)
		spoken(c, &f->late, waited, out);
	f->late.advance = 0;
}
