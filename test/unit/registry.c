/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids outlive configurations; a server that goes away is recognised by its generation. */
#include <rte_rcu_qsbr.h>

#include "control.h"
#include "gateway.h"
#include "registry.h"
#include "snapshot.h"
#include "unit.h"

static struct tg_registry *registry;
static uint16_t service_id[8], server_id[32];

static void set_up(void)
{
	const int node = -1;

	ck_assert_int_eq(tg_registry_create(1, &node, &registry), 0);
}

static void tear_down(void)
{
	tg_registry_free(registry);
}

/* "web:a=1,b=2" : service web with server a at 10.0.0.1 and b at 10.0.0.2; states by suffix. */
static struct tg_config *config(const char *service, const char *servers)
{
	struct tg_config *c = tg_config_new();
	struct tg_config_service *v = tg_config_add_service(c);

	snprintf(v->name, sizeof(v->name), "%s", service);
	for (; *servers != '\0'; servers += 2) {
		struct tg_config_server *s = tg_config_add_server(v);
		char text[32];

		snprintf(s->name, sizeof(s->name), "%c", servers[0]);
		snprintf(text, sizeof(text), "10.0.0.%c", servers[0] - 'a' + '1');
		ck_assert_int_eq(tg_addr_parse(text, &s->address), 0);
		s->state = servers[1] == '+'   ? TG_SERVER_UP
			   : servers[1] == '~' ? TG_SERVER_DRAIN
					       : TG_SERVER_DOWN;
	}
	return c;
}

static void assign(const char *service, const char *servers)
{
	struct tg_config *c = config(service, servers);

	ck_assert_int_eq(tg_registry_assign(registry, c, service_id, server_id), 0);
	tg_config_free(c);
}

START_TEST(same_name_same_id)
{
	uint16_t b, service;

	assign("web", "a+b+c+");
	b = server_id[1];
	service = service_id[0];
	assign("web", "c+b+");
	ck_assert_uint_eq(server_id[1], b);
	ck_assert_uint_eq(service_id[0], service);
	ck_assert_uint_eq(registry->server[b].generation, 0);
}
END_TEST

START_TEST(gone_means_a_new_generation)
{
	uint16_t a;

	assign("web", "a+b+");
	a = server_id[0];
	assign("web", "b+");
	ck_assert(!registry->server[a].used);
	ck_assert_uint_eq(registry->server[a].generation, 1);
	assign("web", "b+d+"); /* d gets the free id, and a's flows are not d's */
	ck_assert_uint_eq(server_id[1], a);
	ck_assert_uint_eq(registry->server[a].generation, 1);
}
END_TEST

START_TEST(drain_keeps_flows_and_down_does_not)
{
	uint16_t a;

	assign("web", "a+b+");
	a = server_id[0];
	assign("web", "a~b+");
	ck_assert_uint_eq(registry->server[a].generation, 0);
	assign("web", "a-b+");
	ck_assert_uint_eq(registry->server[a].generation, 1);
	assign("web", "a-b+");
	ck_assert_uint_eq(registry->server[a].generation, 1);
	assign("web", "a+b+");
	ck_assert_uint_eq(registry->server[a].generation, 1);
}
END_TEST

START_TEST(statistics_stay_and_start_again)
{
	uint16_t a;

	assign("web", "a+b+");
	a = server_id[0];
	registry->server[a].stats[0]->flows = 7;
	assign("web", "a+");
	ck_assert_uint_eq(registry->server[a].stats[0]->flows, 7);
	assign("web", "b+");
	assign("web", "e+"); /* the free id is given away */
	ck_assert_uint_eq(server_id[0], a);
	ck_assert_uint_eq(registry->server[a].stats[0]->flows, 0);
}
END_TEST

START_TEST(another_service_another_server)
{
	uint16_t a;

	assign("web", "a+");
	a = server_id[0];
	assign("api", "a+"); /* workers may still count for web's a: another id */
	ck_assert_uint_ne(server_id[0], a);
	assign("api", "a+b+"); /* now nobody does: given away with a new generation */
	ck_assert_uint_eq(server_id[1], a);
	ck_assert_uint_eq(registry->server[a].generation, 1);
	ck_assert_uint_eq(registry->n_servers, 2);
}
END_TEST

START_TEST(ids_do_not_run_out)
{
	for (unsigned int i = 0; i < 3 * TG_SERVERS_MAX; i++)
		assign("web", i % 2 != 0 ? "a+b+" : "c+d+");
	ck_assert_uint_le(registry->n_servers, 4);
}
END_TEST

/* A configuration becomes a snapshot, or the error's sentence. */
static int compile(struct tg_config *c, struct tg_snapshot **out, char err[512])
{
	const struct tg_snapshot_env env = {.registry = registry,
					    .clock = tg_clock_init(1000000000)};
	int r = tg_snapshot_create(&env, c, out, err, 512);

	if (r != 0)
		tg_config_free(c);
	return r;
}

static struct tg_registry *copy_registry(void)
{
	struct tg_registry *x = malloc(sizeof(*x));

	ck_assert_ptr_nonnull(x);
	memcpy(x, registry, sizeof(*x));
	return x;
}

static void is_unchanged(const struct tg_registry *before)
{
	ck_assert_uint_eq(registry->n_services, before->n_services);
	ck_assert_uint_eq(registry->n_servers, before->n_servers);
	ck_assert_mem_eq(registry->service, before->service,
			 before->n_services * sizeof(before->service[0]));
	ck_assert_mem_eq(registry->server, before->server,
			 before->n_servers * sizeof(before->server[0]));
	for (unsigned int i = before->n_servers; i < TG_SERVERS_MAX; i++)
		ck_assert(!registry->server[i].used);
}

/* Another service, other servers, one gone, one down: and then two services claim the same. */
#define THOUSANDS 2048

/* Of two services, whose servers have the same names and addresses. */
static struct tg_config *thousands(bool backwards)
{
	struct tg_config *c = tg_config_new();

	for (unsigned int k = 0; k < 2; k++) {
		struct tg_config_service *v = tg_config_add_service(c);

		snprintf(v->name, sizeof(v->name), "%c", "ab"[k ^ backwards]);
		for (unsigned int n = 0; n < THOUSANDS / 2; n++) {
			struct tg_config_server *s = tg_config_add_server(v);
			unsigned int i = backwards ? THOUSANDS / 2 - 1 - n : n;

			snprintf(s->name, sizeof(s->name), "s%u", i / 2);
			s->address.b[14] = (uint8_t)(i >> 8);
			s->address.b[15] = (uint8_t)i;
		}
	}
	return c;
}

START_TEST(thousands_keep_their_ids)
{
	static uint16_t before[THOUSANDS], after[THOUSANDS];
	static bool given[THOUSANDS];
	struct tg_config *c = thousands(false);

	ck_assert_int_eq(tg_registry_assign(registry, c, service_id, before), 0);
	tg_config_free(c);
	c = thousands(true);
	ck_assert_int_eq(tg_registry_assign(registry, c, service_id, after), 0);
	tg_config_free(c);
	for (unsigned int i = 0; i < THOUSANDS; i++) {
		ck_assert(!given[before[i]]);
		given[before[i]] = true;
		ck_assert_uint_eq(after[i], before[THOUSANDS - 1 - i]);
	}
}
END_TEST

START_TEST(a_late_fault_changes_nothing)
{
	struct tg_config *c = config("web", "a+b+c+");
	struct tg_config_service *v;
	struct tg_registry *before;
	struct tg_snapshot *s, *none;
	char err[512];

	ck_assert_int_eq(compile(c, &s, err), 0);
	before = copy_registry();
	c = config("web", "b-c+d+e+");
	for (unsigned int i = 0; i < 2; i++) {
		v = tg_config_add_service(c);
		ck_assert_ptr_nonnull(v);
		snprintf(v->name, sizeof(v->name), "more%u", i);
		v->protocol = 6;
	}
	ck_assert_int_eq(compile(c, &none, err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err, "service \"more1\" claims"));
	is_unchanged(before);
	tg_snapshot_free(s);
	/* and the next one takes the ids that it would have had */
	ck_assert_int_eq(compile(config("web", "a+b+c+d+"), &s, err), 0);
	ck_assert_uint_eq(registry->n_servers, 4);
	ck_assert_uint_eq(tg_snapshot_server(s, tg_snapshot_service(s, "web"), "d"), 3);
	tg_snapshot_free(s);
	free(before);
}
END_TEST

START_TEST(no_id_is_free)
{
	struct tg_registry *before;
	struct tg_snapshot *s, *none;
	char err[512];

	ck_assert_int_eq(compile(config("web", "a+b+"), &s, err), 0);
	/* all others are there too, and go with the next one */
	registry->n_servers = TG_SERVERS_MAX;
	for (unsigned int i = 2; i < TG_SERVERS_MAX; i++) {
		registry->server[i].used = true;
		registry->server[i].service = 1;
	}
	before = copy_registry();
	ck_assert_int_eq(compile(config("web", "b+c+"), &none, err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err, "take the old ones away first"));
	is_unchanged(before);
	tg_snapshot_free(s);
	/* as the sentence says */
	ck_assert_int_eq(compile(config("web", "b+"), &s, err), 0);
	tg_snapshot_free(s);
	ck_assert_int_eq(compile(config("web", "b+c+"), &s, err), 0);
	tg_snapshot_free(s);
	free(before);
}
END_TEST

/* A worker that stands still must not hold control for ever. */
START_TEST(a_worker_that_does_not_take_it)
{
	static struct tg_gateway g;
	struct tg_worker *w = calloc(1, sizeof(*w));
	size_t size = rte_rcu_qsbr_get_memsize(1);
	char err[512] = "";

	ck_assert_ptr_nonnull(w);
	pthread_mutex_init(&g.mutex, NULL);
	g.worker[0] = w;
	g.qsbr = aligned_alloc(64, size);
	ck_assert_int_eq(rte_rcu_qsbr_init(g.qsbr, 1), 0);
	rte_rcu_qsbr_thread_register(g.qsbr, 0);
	rte_rcu_qsbr_thread_online(g.qsbr, 0);
	ck_assert_int_eq(compile(config("web", "a+"), &g.retired, err), 0);
	g.leaving = true;
	g.retired_token = rte_rcu_qsbr_start(g.qsbr);
	ck_assert_int_eq(tg_control_apply(&g, config("web", "a+b+"), err, sizeof(err)), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err, "Nothing was changed"));
	ck_assert_ptr_nonnull(g.retired);
	ck_assert_uint_eq(registry->n_servers, 1);
	tg_snapshot_free(g.retired);
	free(g.qsbr);
	free(w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("registry");
	TCase *tc = tcase_create("ids");

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, same_name_same_id);
	tcase_add_test(tc, gone_means_a_new_generation);
	tcase_add_test(tc, drain_keeps_flows_and_down_does_not);
	tcase_add_test(tc, statistics_stay_and_start_again);
	tcase_add_test(tc, another_service_another_server);
	tcase_add_test(tc, ids_do_not_run_out);
	tcase_add_test(tc, thousands_keep_their_ids);
	tcase_add_test(tc, a_late_fault_changes_nothing);
	tcase_add_test(tc, no_id_is_free);
	tcase_add_test(tc, a_worker_that_does_not_take_it);
	suite_add_tcase(s, tc);
	return s;
}

UNIT_MAIN_EAL(suite)
