/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that flows outlive a gateway in: what was written is read, and nothing else is. */
#include <errno.h>
#include <stdlib.h>

#include "flow_model.h"
#include "tg_flow_snapshot.h"

#define S UINT64_C(1000000000)

static struct tg_flow_saved_service services[] = {{.name = "web"}, {.name = "dns"}};
static struct tg_flow_saved_server servers[] = {{.service = 0}, {.service = 1}, {.service = 0}};
static const struct tg_flow_saved_names names = {2, 3, services, servers};

static char *image; /* of the file */
static size_t image_len;

static struct tg_flow_saved flow_of(uint32_t i)
{
	struct tg_flow_saved f = {
		.key = key_of(i, i % 3 == 1 ? IPPROTO_UDP : IPPROTO_TCP),
		.server = (uint16_t)(i % 3),
		.state = (uint8_t)(TG_FLOW_NEW + i % 3),
		.guess = i % 7 == 0,
		.idle_ms = i * 10,
	};

	f.key.service = servers[f.server].service;
	return f;
}

/* n flows in blocks of at most `block`, each block a second after the one before, from 1000 s on. */
static void write_image(const struct tg_flow_saved_names *of, uint32_t n, uint32_t block,
			const struct tg_flow_saved *only)
{
	FILE *out = tmpfile();
	struct tg_flow_writer w;
	uint64_t wall = 1000 * S;

	ck_assert_int_eq(tg_flow_snapshot_begin(&w, out, of), 0);
	for (uint32_t i = 0; i < n; wall += S) {
		struct tg_flow_saved flow[TG_FLOW_SNAPSHOT_BLOCK];
		uint32_t k = 0;

		while (k < block && i < n)
			flow[k++] = only != NULL ? *only : flow_of(i), i++;
		ck_assert_int_eq(tg_flow_snapshot_block(&w, flow, k, wall), 0);
	}
	ck_assert_int_eq(tg_flow_snapshot_end(&w, wall), 0);
	ck_assert_int_eq(fseek(out, 0, SEEK_END), 0);
	image_len = (size_t)ftell(out);
	image = malloc(image_len);
	rewind(out);
	ck_assert_uint_eq(fread(image, 1, image_len, out), image_len);
	ck_assert_int_eq(fclose(out), 0);
}

/* What a reader makes of these bytes: the number of flows, or -errno (and a text). */
static int read_bytes(const void *bytes, size_t len)
{
	char text[TG_FLOW_SNAPSHOT_TEXT] = "";
	FILE *in = fmemopen((void *)(uintptr_t)bytes, len, "rb");
	struct tg_flow_reader *r;
	struct tg_flow_saved f;
	uint64_t seen;
	int rc = tg_flow_reader_open(in, &r, text), n = 0;

	ck_assert((rc == 0) == (r != NULL));
	if (rc == 0)
		while ((rc = tg_flow_reader_next(r, &f, &seen, text)) == 1)
			n++;
	ck_assert((rc != 0) == (text[0] != '\0'));
	tg_flow_reader_close(r);
	fclose(in);
	return rc == 0 ? n : rc;
}

START_TEST(what_was_written_is_read)
{
	static const uint32_t numbers[] = {0, 1, 1024, 1025, 3000};
	char text[TG_FLOW_SNAPSHOT_TEXT];

	for (unsigned int k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		struct tg_flow_reader *r;
		struct tg_flow_saved f;
		uint64_t seen;
		FILE *in;

		write_image(&names, numbers[k], 1024, NULL);
		in = fmemopen(image, image_len, "rb");
		ck_assert_int_eq(tg_flow_reader_open(in, &r, text), 0);
		ck_assert_uint_eq(tg_flow_reader_header(r)->flows, numbers[k]);
		ck_assert_uint_eq(tg_flow_reader_header(r)->written_ns,
				  (1000 + (numbers[k] + 1023) / 1024) * S);
		ck_assert_uint_eq(tg_flow_reader_names(r)->n_servers, 3);
		ck_assert_str_eq(tg_flow_reader_names(r)->service[1].name, "dns");
		for (unsigned int twice = 0; twice < 2; twice++) {
			for (uint32_t i = 0; i < numbers[k]; i++) {
				struct tg_flow_saved want = flow_of(i);

				ck_assert_int_eq(tg_flow_reader_next(r, &f, &seen, text), 1);
				ck_assert_mem_eq(&f, &want, sizeof(f));
				ck_assert_uint_eq(seen, (1000 + i / 1024) * S - i * S / 100);
			}
			ck_assert_int_eq(tg_flow_reader_next(r, &f, &seen, text), 0);
			ck_assert_int_eq(tg_flow_reader_next(r, &f, &seen, text), 0);
			ck_assert_int_eq(tg_flow_reader_rewind(r), 0);
		}
		tg_flow_reader_close(r);
		fclose(in);
		free(image);
	}
}
END_TEST

START_TEST(silence_longer_than_the_clock_is_bounded)
{
	struct tg_flow_saved f = flow_of(1);
	char text[TG_FLOW_SNAPSHOT_TEXT];
	struct tg_flow_reader *r;
	uint64_t seen;
	FILE *in;

	f.idle_ms = UINT32_MAX;
	write_image(&names, 1, 1, &f);
	in = fmemopen(image, image_len, "rb");
	ck_assert_int_eq(tg_flow_reader_open(in, &r, text), 0);
	ck_assert_int_eq(tg_flow_reader_next(r, &f, &seen, text), 1);
	ck_assert_uint_eq(seen, 0);
	tg_flow_reader_close(r);
	fclose(in);
	free(image);
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
	write_image(&names, 7, 4, NULL);
	ck_assert_int_eq(read_bytes(image, image_len), 7);
	for (size_t i = 0; i < image_len * 8; i++) {
		image[i / 8] ^= (char)(1 << i % 8);
		ck_assert_msg(read_bytes(image, image_len) == -EBADMSG, "bit %zu", i);
		image[i / 8] ^= (char)(1 << i % 8);
	}
	free(image);
}
END_TEST

START_TEST(every_cut_and_growth_is_found)
{
	char *more;

	write_image(&names, 7, 4, NULL);
	for (size_t len = 1; len < image_len; len++)
		ck_assert_msg(read_bytes(image, len) == -EBADMSG, "%zu bytes", len);
	more = calloc(1, image_len + 32);
	memcpy(more, image, image_len);
	for (size_t len = image_len + 1; len <= image_len + 32; len++)
		ck_assert_msg(read_bytes(more, len) == -EBADMSG, "%zu bytes", len);
	free(more);
	free(image);
}
END_TEST

START_TEST(what_cannot_be_is_found)
{
	struct tg_flow_saved bad[6];

	for (unsigned int i = 0; i < 6; i++)
		bad[i] = flow_of(0);
	bad[0].state = TG_FLOW_FREE;
	bad[1].state = TG_FLOW_SHUT + 1;
	bad[2].server = 3;
	bad[3].key.service = 1; /* its server is of service 0 */
	bad[4].key.flags = TG_KEY_FRAGMENT;
	bad[5].guess = 2;
	for (unsigned int i = 0; i < 6; i++) {
		write_image(&names, 2, 2, &bad[i]);
		ck_assert_msg(read_bytes(image, image_len) == -EBADMSG, "flow %u", i);
		free(image);
	}
}
END_TEST

START_TEST(names_that_cannot_be_are_found)
{
	struct tg_flow_saved_service endless = {.name = "web"};
	struct tg_flow_saved_server astray = {.service = 1};
	struct tg_flow_saved_names n = {1, 1, &endless, &astray};

	write_image(&n, 0, 1, NULL);
	ck_assert_int_eq(read_bytes(image, image_len), -EBADMSG);
	free(image);
	astray.service = 0;
	memset(endless.name, 'x', sizeof(endless.name));
	write_image(&n, 0, 1, NULL);
	ck_assert_int_eq(read_bytes(image, image_len), -EBADMSG);
	free(image);
	endless.name[63] = '\0';
	write_image(&n, 0, 1, NULL);
	ck_assert_int_eq(read_bytes(image, image_len), 0);
	free(image);
}
END_TEST

START_TEST(other_versions_and_orders_are_named)
{
	struct tg_flow_snapshot_header h;
	char text[TG_FLOW_SNAPSHOT_TEXT];
	struct tg_flow_reader *r;
	FILE *in;

	write_image(&names, 1, 1, NULL);
	memcpy(&h, image, sizeof(h));
	h.version = 9;
	memcpy(image, &h, sizeof(h));
	in = fmemopen(image, image_len, "rb");
	ck_assert_int_eq(tg_flow_reader_open(in, &r, text), -EBADMSG);
	ck_assert_str_eq(text, "is of version 9: this tidegate reads version 1");
	fclose(in);
	h.byte_order = __builtin_bswap32(h.byte_order);
	memcpy(image, &h, sizeof(h));
	in = fmemopen(image, image_len, "rb");
	ck_assert_int_eq(tg_flow_reader_open(in, &r, text), -EBADMSG);
	ck_assert_str_eq(text, "was written by a machine of the other byte order");
	fclose(in);
	free(image);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct tg_flow_saved flow[TG_FLOW_SNAPSHOT_BLOCK];
	struct tg_flow_writer w;
	FILE *out = fopen("/dev/full", "wb");
	int rc;

	if (out == NULL)
		return;
	for (uint32_t i = 0; i < TG_FLOW_SNAPSHOT_BLOCK; i++)
		flow[i] = flow_of(i);
	rc = tg_flow_snapshot_begin(&w, out, &names);
	if (rc == 0)
		rc = tg_flow_snapshot_block(&w, flow, TG_FLOW_SNAPSHOT_BLOCK, S);
	if (rc == 0)
		rc = tg_flow_snapshot_end(&w, S);
	ck_assert_int_eq(rc, -ENOSPC);
	fclose(out);
}
END_TEST

START_TEST(too_many_names_are_refused)
{
	struct tg_flow_saved_names many = {.n_services = TG_FLOW_SNAPSHOT_NAMES + 1};
	struct tg_flow_writer w;

	ck_assert_int_eq(tg_flow_snapshot_begin(&w, stdout, &many), -EINVAL);
}
END_TEST

static void tick_off(void *ctx, const struct tg_flow *f)
{
	uint8_t *seen = ctx;

	seen[ntohl(tg_addr_to_v4(&f->key.client)) % 1024 * 4 + f->key.client_port % 4]++;
}

START_TEST(visits_each_entry_once_in_bounded_steps)
{
	struct tg_flow_table *t = table(4096);
	uint8_t seen[4096] = {0};
	uint64_t bucket = 0, steps = 1;

	for (uint32_t i = 0; i < 2500; i++) {
		struct tg_key k = key_of(i, IPPROTO_TCP);

		ck_assert_ptr_nonnull(insert(t, &k, 5));
	}
	while (tg_flow_visit(t, &bucket, 3, tick_off, seen)) {
		ck_assert_uint_eq(bucket, steps * 3);
		steps++;
	}
	ck_assert_uint_eq(steps, (256 + 2) / 3);
	ck_assert_uint_eq(bucket, 256);
	for (uint32_t i = 0; i < 4096; i++)
		ck_assert_uint_eq(seen[i], i < 2500);
	ck_assert(!tg_flow_visit(t, &bucket, 3, tick_off, seen));
	tg_flow_table_free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flow snapshot");

	UNIT_CASE(s, "sound", what_was_written_is_read, silence_longer_than_the_clock_is_bounded,
		  visits_each_entry_once_in_bounded_steps);
	UNIT_CASE(s, "broken", every_flipped_bit_is_found, every_cut_and_growth_is_found,
		  what_cannot_be_is_found, names_that_cannot_be_are_found,
		  other_versions_and_orders_are_named);
	UNIT_CASE(s, "refused", a_full_disk_is_an_error, too_many_names_are_refused);
	return s;
}

UNIT_MAIN_EAL(suite)
