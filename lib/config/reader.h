/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to lib/config: from JSON values to C fields. An object's keys are a table of
 * tg_config_key; tg_read_object walks it and says what is unknown, missing, of the wrong type or
 * out of range. A reader of a value knows where it stands (r->path) and puts only good values in
 * place: after a fault the field keeps its default.
 *
 * Thread-safety: one thread a reader.
 */
#ifndef TG_CONFIG_READER_H
#define TG_CONFIG_READER_H

#include <jansson.h>

#include "report.h"

struct tg_reader {
	const char *file; /* stands first in every sentence */
	struct tg_config_report *report;
	char path[256]; /* "services[0].servers[1]" */
	size_t path_len;
	unsigned int unsaid, unsaid_notes; /* faults and notes beyond the bound of the report */
	unsigned int n_servers;            /* over all services */
	json_t *tiers;                     /* name -> delay_us */
	bool no_memory;
};

struct tg_config_key {
	const char *name;
	/* v is what the file has at r->path; at is the field, the object plus `offset` */
	void (*read)(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
	size_t offset;
	uint8_t size;      /* of the field: 2 or 4 bytes (numbers and choices), or a text's room */
	uint64_t min, max; /* numbers */
	const char *(*choice)(unsigned int i); /* choices: name of value i, NULL after the last */
	const char *standard; /* the default as text, told when the key is absent */
	bool required;
};

/* Rows of a table: a field whose key has its name. */
#define TG_FIELD(type, field) \
	.offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)
#define TG_KEY(type, field, reader)    .name = #field, .read = (reader), TG_FIELD(type, field)
#define TG_UINT(type, field, from, to) TG_KEY(type, field, tg_read_uint), .min = (from), .max = (to)
#define TG_COUNT(table)                (sizeof(table) / sizeof((table)[0]))

int tg_reader_init(struct tg_reader *r, const char *file, struct tg_config_report *report);
void tg_reader_free(struct tg_reader *r);

/* Appends to the path; what it returns is given to tg_path_pop to take it off again. */
size_t tg_path_push(struct tg_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tg_path_pop(struct tg_reader *r, size_t mark);
/* Appends a member of an object: ".name", or ["any text"] when it is no plain word. */
size_t tg_path_push_member(struct tg_reader *r, const char *name);

/* "FILE: PATH: " and what is wrong there. */
void tg_fault(struct tg_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tg_note(struct tg_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "PATH.key = value" among the defaults in use. */
void tg_default(struct tg_reader *r, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A value as it may stand in a sentence: short, ASCII. */
#define TG_SHOWN_MAX 72
const char *tg_show(const json_t *v, char buf[TG_SHOWN_MAX]);

/* The members of object v by a table of n keys; false (and a fault) if it is no object. */
bool tg_read_object(struct tg_reader *r, const struct tg_config_key *keys, unsigned int n,
		    json_t *v, void *object);
/* The entries of v, a list of min..max things (else a fault), one by one: read(r, entry, index, at). */
void tg_read_list(struct tg_reader *r, json_t *v, unsigned int min, unsigned int max,
		  const char *things,
		  void (*read)(struct tg_reader *r, json_t *v, unsigned int i, void *at), void *at);

/* Readers of values for the tables. */
void tg_read_uint(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
/* A power of two: what lies between two is rounded up, with a note. min and max are such themselves. */
void tg_read_slots(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_bool(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_choice(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_name(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
/* A network: an address with a prefix length. */
void tg_read_network(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);
void tg_read_address(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *at);

/* A whole number, 2.0 too (JSON has one kind of number). */
bool tg_whole_number(const json_t *v, json_int_t *out);
/* Can a host have this address: not unspecified, loopback, multicast or broadcast? */
bool tg_is_host(const struct tg_addr *a);
bool tg_is_link_local(const struct tg_addr *a);
/* The first or last address of an IPv4 network, which are its own and its broadcast. */
bool tg_is_end_of(const struct tg_prefix *network, const struct tg_addr *a);
/* Was it read at all? */
bool tg_is_set(const struct tg_addr *a);

/* Keys that an object of the file repeats; text is valid JSON. */
void tg_find_repeated_keys(struct tg_reader *r, const char *text, size_t len);

/* The tables (read.c, read_workers.c, read_port.c, read_service.c, read_server.c); false if root is no object. */
bool tg_read_top(struct tg_reader *r, json_t *root, struct tg_config *c);
void tg_read_workers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *workers);
void tg_read_ports(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *config);
void tg_read_services(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *config);
void tg_read_health(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *health);
void tg_read_limits(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *guard);
void tg_read_access(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *guard);
void tg_read_bid(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *bid);
void tg_read_servers(struct tg_reader *r, const struct tg_config_key *k, json_t *v, void *service);
void tg_read_admission(struct tg_reader *r, const struct tg_config_key *k, json_t *v,
		       void *service); /* read_admission.c */

/* What no single value shows: names and addresses used twice, services that clash … */
void tg_cross_check(struct tg_reader *r, const struct tg_config *c);
/* A limit that a sleeping worker cannot keep. */
void tg_note_sleep(struct tg_reader *r, const struct tg_config_workers *w,
		   const struct tg_config_service *s);
void tg_cross_check_guard(struct tg_reader *r, const struct tg_guard_params *p);
void tg_cross_check_ports(struct tg_reader *r, const struct tg_config *c);
void tg_cross_check_admission(struct tg_reader *r, const struct tg_config *c);

/* protocol of a service whose destination could not be read: left out of cross checks */
#define TG_PROTOCOL_UNREAD 255

#endif
