/* SPDX-License-Identifier: BSD-3-Clause */
#include "warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void say(struct tg_warnings *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct tg_warnings *w, const char *format, ...)
{
	va_list args;

	if (w->n == TG_WARNINGS_MAX)
		return;
	va_start(args, format);
	vsnprintf(w->text[w->n], sizeof(w->text[w->n]), format, args);
	va_end(args);
	w->list[w->n] = w->text[w->n];
	w->n++;
}

static void of_reading(struct tg_warnings *w, const struct tg_capture *cap, bool interrupted)
{
	const struct tg_capture_info *info = tg_capture_info(cap);

	if (tg_capture_fault(cap) != NULL)
		say(w, "%s; the %" PRIu64 " frames before it were read", tg_capture_fault(cap),
		    info->frames);
	if (interrupted)
		say(w, "interrupted after %" PRIu64 " frames, %" PRIu64 " of %" PRIu64 " bytes",
		    info->frames, info->bytes_read, info->size);
	if (info->clamped > 0)
		say(w,
		    "%" PRIu64
		    " frames have a time before 1970 or after 2262: taken as the nearest "
		    "of these",
		    info->clamped);
	if (info->no_time > 0)
		say(w,
		    "%" PRIu64 " frames have no time: taken as simultaneous with those before them",
		    info->no_time);
}

static void of_link(struct tg_warnings *w, const struct tg_link_stats *link)
{
	if (link->malformed > 0)
		say(w, "%" PRIu64 " frames are shorter than their link header: left out",
		    link->malformed);
	for (uint32_t i = 0; i < link->kind_count && i < 4; i++) {
		const char *name = tg_link_name(link->kinds[i].link_type);

		say(w,
		    "%" PRIu64 " frames of link type %" PRIu32
		    " (%s), which is not supported: left "
		    "out",
		    link->kinds[i].frames, link->kinds[i].link_type,
		    name != NULL ? name : "unknown");
	}
	if (link->kind_count > 4)
		say(w, "and frames of other unsupported link types, %" PRIu64 " in all",
		    link->unsupported);
}

static void of_time(struct tg_warnings *w, const struct tg_timeline *line)
{
	if (line->disordered > 0)
		say(w,
		    "time goes back by up to a second at %" PRIu64
		    " frames: taken as simultaneous with those before them",
		    line->disordered);
	if (line->restarts > 0)
		say(w,
		    "time goes back by more than a second %" PRIu64
		    " times: taken as recordings one behind the other",
		    line->restarts);
}

static void of_discovery(struct tg_warnings *w, const struct tg_discovery *d)
{
	if (d->tables_full > 0)
		say(w,
		    "more conversations or servers than the tables hold: %" PRIu64
		    " packets or conversations took no part in finding services",
		    d->tables_full);
	if (d->left_out > 0)
		say(w,
		    "more services than can be configured: the %" PRIu64
		    " with the fewest packets are left out",
		    d->left_out);
}

void tg_warnings_collect(struct tg_warnings *w, const struct tg_capture *cap,
			 const struct tg_feed *feed, const struct tg_discovery *discovery,
			 bool interrupted)
{
	uint64_t not_listed = tg_flow_results_left_out(feed->results);
	const struct tg_flow_stats *flows = tg_flow_table_stats(feed->worker->flows);

	w->n = 0;
	of_reading(w, cap, interrupted);
	of_link(w, &feed->link);
	of_time(w, &feed->line);
	if (discovery != NULL)
		of_discovery(w, discovery);
	if (flows->full > 0)
		say(w,
		    "the flow table was full for %" PRIu64
		    " packets: they are forwarded, not measured (flow_table.slots_per_worker)",
		    flows->full);
	if (not_listed > 0)
		say(w,
		    "single results are kept for the first %u flows; %" PRIu64
		    " further ones count in their server's only",
		    TG_FLOW_RESULTS_MAX, not_listed);
}
