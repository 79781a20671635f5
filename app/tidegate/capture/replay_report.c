/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "replay.h"
#include "table.h"

json_t *tg_replay_json(const struct tg_replay *r)
{
	json_t *points = json_array();

	for (unsigned int i = 0; i < r->n_points; i++) {
		const struct tg_replay_point *p = &r->point[i];

		json_array_append_new(
			points,
			json_pack("{s:i, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", "sojourn_max_us",
				  (int)p->limit_us, "forecast", p->forecast, "dropped", p->dropped,
				  "sent", (json_int_t)p->sent, "violations",
				  (json_int_t)p->violations, "wire_p99_ns", (json_int_t)p->p99_ns,
				  "wire_max_ns", (json_int_t)p->max_ns, "server_wait_p99_ns",
				  r->servers ? json_integer((json_int_t)p->server_wait_p99_ns)
					     : json_null()));
	}
	return json_pack("{s:f, s:i, s:I, s:I, s:{s:I, s:I, s:I}, s:o}", "speed", r->speed,
			 "rate_mbps", (int)r->rate_mbps, "packets", (json_int_t)r->packets,
			 "lost_otherwise", (json_int_t)r->other, "unlimited_ns", "p50",
			 (json_int_t)r->p50_ns, "p99", (json_int_t)r->p99_ns, "max",
			 (json_int_t)r->max_ns, "points", points);
}

static void row(struct tg_table *t, const struct tg_replay *r, const struct tg_replay_point *p)
{
	char text[TG_DURATION];

	tg_table_row(t);
	tg_table_cell(t, 0, "%s", tg_table_duration(p->limit_us * 1000ull, text));
	tg_table_cell(t, 1, "%.2f %%", 100 * p->forecast);
	tg_table_cell(t, 2, "%.2f %%", 100 * p->dropped);
	tg_table_cell(t, 3, "%" PRIu64, p->sent);
	tg_table_cell(t, 4, "%" PRIu64, p->violations);
	tg_table_cell(t, 5, "%s", tg_table_duration(p->p99_ns, text));
	tg_table_cell(t, 6, "%s", tg_table_duration(p->max_ns, text));
	if (r->servers)
		tg_table_cell(t, 7, "%s", tg_table_duration(p->server_wait_p99_ns, text));
}

void tg_replay_text(const struct tg_replay *r, FILE *to)
{
	static const char *const head[] = {"T",          "forecast", "dropped", "sent",
					   "violations", "p99",      "max",     "server wait p99"};
	char p50[TG_DURATION], p99[TG_DURATION], max[TG_DURATION];
	struct tg_table t;

	fprintf(to,
		"\nreplay at speed %g by a link of %u Mbit/s: %" PRIu64
		" packets for a service; without a limit p50 %s, p99 %s, longest %s",
		r->speed, r->rate_mbps, r->packets, tg_table_duration(r->p50_ns, p50),
		tg_table_duration(r->p99_ns, p99), tg_table_duration(r->max_ns, max));
	if (r->other > 0)
		fprintf(to, ", %" PRIu64 " lost to full rings", r->other);
	fprintf(to, "\n");
	if (r->n_points == 0)
		return;
	tg_table_begin(&t, "rrrrrrrr");
	tg_table_row(&t);
	for (unsigned int i = 0; i < (r->servers ? 8 : 7); i++)
		tg_table_cell(&t, i, "%s", head[i]);
	for (unsigned int i = 0; i < r->n_points; i++)
		row(&t, r, &r->point[i]);
	tg_table_print(&t, 2, to);
	fprintf(to,
		"T:          sojourn_max_us of every service\n"
		"forecast:   late without a limit, as --shadow counts it; dropping relieves the queue, so less "
		"is dropped\n"
		"violations: left by the link later than T; p99, max: from arrival to the last bit, of those sent\n");
}

/* The picture: T on a logarithmic axis, shares in percent. */

#define LEFT   70.0
#define TOP    30.0
#define WIDTH  560.0
#define HEIGHT 300.0

static double x_of(const struct tg_replay *r, double us)
{
	double low = log10(r->point[0].limit_us), high = log10(r->point[r->n_points - 1].limit_us);

	return LEFT + (high > low ? (log10(us) - low) / (high - low) : 0.5) * WIDTH;
}

static double y_of(double share)
{
	return TOP + (1 - share) * HEIGHT;
}

static void curve(FILE *f, const struct tg_replay *r, bool forecast, const char *colour)
{
	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
	for (unsigned int i = 0; i < r->n_points; i++)
		fprintf(f, "%.1f,%.1f ", x_of(r, r->point[i].limit_us),
			y_of(forecast ? r->point[i].forecast : r->point[i].dropped));
	fprintf(f, "\"/>\n");
	for (unsigned int i = 0; i < r->n_points; i++)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
			x_of(r, r->point[i].limit_us),
			y_of(forecast ? r->point[i].forecast : r->point[i].dropped), colour);
}

static void axes(FILE *f, const struct tg_replay *r)
{
	for (int p = 0; p <= 100; p += 20)
		fprintf(f,
			"<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
			"<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
			LEFT, y_of(p / 100.0), LEFT + WIDTH, y_of(p / 100.0), LEFT - 8,
			y_of(p / 100.0) + 4, p);
	for (unsigned int i = 0; i<r->n_points; i += r->n_points> 5 ? 2 : 1) {
		char text[TG_DURATION];

		fprintf(f, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
			x_of(r, r->point[i].limit_us), TOP + HEIGHT + 20,
			tg_table_duration(r->point[i].limit_us * 1000ull, text));
	}
	fprintf(f,
		"<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">T (sojourn_max_us), speed %g, %u Mbit/s</text>\n"
		"<text x=\"%.0f\" y=\"%.0f\" fill=\"#c40\">dropped by the gate</text>\n"
		"<text x=\"%.0f\" y=\"%.0f\" fill=\"#06c\">late without a limit</text>\n",
		LEFT + WIDTH / 2, TOP + HEIGHT + 44, r->speed, r->rate_mbps, LEFT + WIDTH - 160,
		TOP + 16, LEFT + WIDTH - 160, TOP + 34);
}

int tg_replay_picture(const struct tg_replay *r, const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "we");
	bool good = f != NULL;

	if (good) {
		fprintf(f,
			"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" "
			"height=\"390\" font-family=\"sans-serif\" font-size=\"12\">\n"
			"<rect width=\"660\" height=\"390\" fill=\"white\"/>\n");
		if (r->n_points > 0) {
			axes(f, r);
			curve(f, r, true, "#06c");
			curve(f, r, false, "#c40");
		}
		fprintf(f, "</svg>\n");
		good = ferror(f) == 0;
	}
	if (f != NULL && fclose(f) != 0)
		good = false;
	if (good)
		return 0;
	snprintf(text, room, "picture '%s' cannot be written: %s", path, strerror(errno));
	return errno > 0 ? -errno : -EIO;
}
