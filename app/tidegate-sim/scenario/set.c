/* SPDX-License-Identifier: BSD-3-Clause */
/* --set PATH=VALUE: a value of the command line in place of the file's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario_reader.h"

#define DEPTH_MAX 16

/* One step of a path: a member's name, or an index. */
struct step {
	char name[64];
	bool is_index, every;
	unsigned long index;
};

static const char *index_step(const char *p, struct step *out)
{
	char *end;

	out->is_index = true;
	if (strncmp(p, "[*]", 3) == 0) {
		out->every = true;
		return p + 3;
	}
	if (p[1] < '0' || p[1] > '9')
		return NULL;
	out->index = strtoul(p + 1, &end, 10);
	return *end == ']' ? end + 1 : NULL;
}

/* The next step; NULL: the path is not well formed. */
static const char *next_step(const char *p, struct step *out)
{
	size_t n;

	*out = (struct step){0};
	if (*p == '[')
		return index_step(p, out);
	p += *p == '.';
	n = strcspn(p, ".[");
	if (n == 0 || n >= sizeof(out->name))
		return NULL;
	memcpy(out->name, p, n);
	return p + n;
}

/* Why it cannot be set; NULL: done. */
static const char *set_at(json_t *at, const char *path, json_t *value, unsigned int depth);

static const char *set_entry(json_t *list, size_t i, const char *rest, json_t *value,
			     unsigned int depth)
{
	if (i >= json_array_size(list))
		return "there is no such entry";
	if (*rest != '\0')
		return set_at(json_array_get(list, i), rest, value, depth + 1);
	return json_array_set_new(list, i, json_deep_copy(value)) == 0 ? NULL : "not enough memory";
}

static const char *set_every(json_t *list, const char *rest, json_t *value, unsigned int depth)
{
	const char *why = json_array_size(list) > 0 ? NULL : "the list has no entries";

	for (size_t i = 0; i < json_array_size(list) && why == NULL; i++)
		why = set_entry(list, i, rest, value, depth);
	return why;
}

static const char *set_member(json_t *object, const char *name, const char *rest, json_t *value,
			      unsigned int depth)
{
	json_t *member = json_object_get(object, name);

	if (!json_is_object(object))
		return "what is before the last name is no object";
	if (*rest == '\0')
		return json_object_set_new(object, name, json_deep_copy(value)) == 0
			       ? NULL
			       : "not enough memory";
	if (member == NULL && *rest == '.') {
		member = json_object();
		if (json_object_set_new(object, name, member) != 0)
			return "not enough memory";
	}
	return set_at(member, rest, value, depth + 1);
}

static const char *set_at(json_t *at, const char *path, json_t *value, unsigned int depth)
{
	struct step step;
	const char *rest = depth < DEPTH_MAX ? next_step(path, &step) : NULL;

	if (rest == NULL)
		return "is no path (as clients[0].rate, config.services[*].policy)";
	if (!step.is_index)
		return set_member(at, step.name, rest, value, depth);
	if (!json_is_array(at))
		return "there is no list where the path has an index";
	return step.every ? set_every(at, rest, value, depth)
			  : set_entry(at, step.index, rest, value, depth);
}

bool tg_scenario_set(struct tg_reader *r, json_t *root, const struct tg_scenario_setting *set,
		     unsigned int n)
{
	bool all = true;

	for (unsigned int i = 0; i < n; i++) {
		const char *path = set[i].path, *why;
		json_t *value = json_loads(set[i].value, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
					   NULL);

		if (value == NULL)
			value = json_string(set[i].value);
		path += *path == '$';
		why = value == NULL ? "the value is no text" : set_at(root, path, value, 0);
		json_decref(value);
		if (why == NULL)
			continue;
		tg_fault(r, "--set %.100s: %s", set[i].path, why);
		all = false;
	}
	return all;
}
