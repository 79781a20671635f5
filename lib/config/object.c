/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects and lists: which members there may be, which must be, which are missing. */
#include <stdio.h>
#include <string.h>

#include "reader.h"

static const struct tg_config_key *find_key(const struct tg_config_key *keys, unsigned int n,
					    const char *name)
{
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

static void unknown_key(struct tg_reader *r, const struct tg_config_key *keys, unsigned int n,
			const char *name)
{
	char known[512];
	size_t len = 0, mark = tg_path_push_member(r, name);

	for (unsigned int i = 0; i < n && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i > 0 ? ", " : "",
					keys[i].name);
	tg_fault(r, "is no key of this place; allowed: %s", known);
	tg_path_pop(r, mark);
}

static void read_member(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *object)
{
	size_t mark;

	if (v == NULL && !k->required) {
		if (k->standard != NULL)
			tg_default(r, k->name, "%s", k->standard);
		return;
	}
	mark = tg_path_push_member(r, k->name);
	if (v == NULL) {
		tg_fault(r, "is missing");
	} else {
		k->read(r, k, v, (char *)object + k->offset);
	}
	tg_path_pop(r, mark);
}

bool tg_read_object(struct tg_reader *r, const struct tg_config_key *keys, unsigned int n,
		    json_t *v, void *object)
{
	const char *name;
	json_t *member;
	char shown[TG_SHOWN_MAX];

	if (!json_is_object(v)) {
		tg_fault(r, "is %s, must be an object {...}", tg_show(v, shown));
		return false;
	}
	json_object_foreach(v, name, member) {
		if (find_key(keys, n, name) == NULL)
			unknown_key(r, keys, n, name);
	}
	for (unsigned int i = 0; i < n; i++)
		read_member(r, &keys[i], json_object_get(v, keys[i].name), object);
	return true;
}

void tg_read_list(struct tg_reader *r, json_t *v, unsigned int min, unsigned int max,
		  const char *things,
		  void (*read)(struct tg_reader *r, json_t *v, unsigned int i, void *at), void *at)
{
	char shown[TG_SHOWN_MAX];
	size_t n = json_array_size(v);

	if (!json_is_array(v)) {
		tg_fault(r, "is %s, must be a list [...] of %s", tg_show(v, shown), things);
		return;
	}
	if (n < min || n > max) {
		tg_fault(r, "has %zu entries, must be a list of %u..%u %s", n, min, max, things);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		size_t mark = tg_path_push(r, "[%u]", i);

		read(r, json_array_get(v, i), i, at);
		tg_path_pop(r, mark);
	}
}
