/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobs.h"

static void swap(struct jobs *q, size_t i, size_t j)
{
	struct job *t = q->heap[i];

	q->heap[i] = q->heap[j];
	q->heap[j] = t;
}

static void push(struct jobs *q, struct job *job)
{
	size_t i = q->serving++;

	if (q->serving > q->room) {
		q->room = q->room ? 2 * q->room : 256;
		q->heap = realloc(q->heap, q->room * sizeof(*q->heap));
		if (!q->heap) {
			perror("no memory for another request");
			exit(1);
		}
	}
	q->heap[i] = job;
	for (; i && q->heap[i]->due < q->heap[(i - 1) / 2]->due; i = (i - 1) / 2)
		swap(q, i, (i - 1) / 2);
}

static struct job *pop(struct jobs *q)
{
	struct job *top = q->heap[0];
	size_t i = 0;

	q->heap[0] = q->heap[--q->serving];
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child < q->serving && child <= 2 * i + 2; child++)
			if (q->heap[child]->due < q->heap[least]->due)
				least = child;
		if (least == i)
			return top;
		swap(q, i, least);
		i = least;
	}
}

static void serve(struct jobs *q, struct job *job, uint64_t now)
{
	job->began = now;
	job->due = now + delay_draw(&q->delay);
	push(q, job);
}

static void wait_for_worker(struct jobs *q, struct job *job)
{
	job->next = NULL;
	if (q->waiting++)
		q->last->next = job;
	else
		q->first = job;
	q->last = job;
}

void jobs_submit(struct jobs *q, struct job *job, uint64_t now)
{
	job->arrived = now;
	if (q->workers && q->serving >= q->workers)
		wait_for_worker(q, job);
	else
		serve(q, job, now);
	if (q->serving + q->waiting > q->open_max)
		q->open_max = q->serving + q->waiting;
}

uint64_t jobs_due(const struct jobs *q)
{
	return q->serving ? q->heap[0]->due : UINT64_MAX;
}

struct job *jobs_take(struct jobs *q, uint64_t now)
{
	struct job *done;

	if (jobs_due(q) > now)
		return NULL;
	done = pop(q);
	samples_add(&q->service, now - done->began);
	samples_add(&q->sojourn, now - done->arrived);
	if (q->log)
		fprintf(q->log, "%" PRIu64 " %" PRIu64 "\n", now, now - done->arrived);
	if (q->waiting) {
		struct job *next = q->first;

		q->first = next->next;
		q->waiting--;
		serve(q, next, now);
	}
	return done;
}
