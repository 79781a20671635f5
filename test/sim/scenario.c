/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenarios: what is accepted, what is named as a fault and where, and bytes of all kinds. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../unit/unit.h"
#include "scenario/scenario.h"

#define CONFIG                                                                                  \
	"\"config\": {\"services\": [{\"name\": \"q\", \"address\": \"192.0.2.10\", "           \
	"\"protocol\": \"udp\", \"ports\": [53], \"servers\": [{\"name\": \"a\", \"address\": " \
	"\"10.0.0.11\"}, {\"name\": \"b\", \"address\": \"10.0.0.12\"}]}]}"
#define SERVER_A                                                                    \
	"{\"address\": \"10.0.0.11\", \"service_us\": {\"kind\": \"exponential\", " \
	"\"mean\": 100}}"
#define SERVERS "\"servers\": [" SERVER_A ", {\"address\": \"10.0.0.12\", \"service_us\": 50}]"
#define CLIENTS                                                                           \
	"\"clients\": [{\"name\": \"c\", \"service\": \"q\", \"traffic\": \"datagram\", " \
	"\"arrivals\": \"poisson\", \"rate\": 9000}]"
#define ASKS(name, work_us)                                                        \
	"{\"name\": \"" name                                                       \
	"\", \"service\": \"q\", \"traffic\": \"datagram\", \"work_us\": " work_us \
	", \"arrivals\": \"poisson\", \"rate\": 1000}"
#define SCENARIO "{\"version\": 1, \"duration_s\": 10, " CONFIG ", " SERVERS ", " CLIENTS "}"

static struct tg_scenario *load(const char *text, const char *path, const char *value,
				struct tg_scenario_report *report)
{
	struct tg_scenario_setting set = {path, value};
	struct tg_scenario *s = NULL;
	int rc = tg_scenario_parse("t.json", text, strlen(text), &set, path != NULL, &s, report);

	ck_assert_int_eq(rc, s != NULL ? 0 : -EINVAL);
	ck_assert_int_eq(report->n_faults == 0, s != NULL);
	return s;
}

static struct tg_scenario *good(const char *path, const char *value)
{
	struct tg_scenario_report report = {0};
	struct tg_scenario *s = load(SCENARIO, path, value, &report);

	if (s == NULL)
		ck_abort_msg("%s", report.faults[0]);
	tg_scenario_report_free(&report);
	return s;
}

START_TEST(everything_optional_has_a_default)
{
	struct tg_scenario *s = good(NULL, NULL);

	ck_assert_uint_eq(s->seed, 1);
	ck_assert_uint_eq(s->replications, 5);
	ck_assert_uint_eq(s->n_gateways, 1);
	ck_assert_uint_eq(s->gateway[0].workers, 1);
	ck_assert_uint_eq(s->n_servers, 2);
	ck_assert_str_eq(s->server[1].station.name, "b");
	ck_assert_int_eq(s->server[1].station.service_us.kind, TG_DIST_CONSTANT);
	ck_assert_double_eq(s->server[1].station.service_us.mean, 50);
	ck_assert_str_eq(s->service[0].address, "192.0.2.10");
	ck_assert_uint_eq(s->service[0].port, 53);
	ck_assert_int_eq(s->group[0].traffic, TG_TRAFFIC_DATAGRAM);
	ck_assert_uint_eq(s->group[0].service, 0);
	ck_assert_double_eq(s->group[0].requests.mean, 1);
	ck_assert(!s->group[0].has_work);
	/* 9000 a second where 10000 and 20000 could be served */
	ck_assert_double_eq_tol(s->service[0].load, 0.3, 1e-12);
	tg_scenario_free(s);
}
END_TEST

START_TEST(addresses_are_one_text)
{
	struct tg_scenario_report report = {0};
	char text[sizeof(SCENARIO) + 64];
	struct tg_scenario *s;

	snprintf(text, sizeof(text), "%s", SCENARIO);
	s = good("config.services[0].servers[1]",
		 "{\"name\": \"b\", \"address\": \"10.0.0.12\", \"weight\": 3}");
	ck_assert_str_eq(s->server[1].station.address, "10.0.0.12");
	tg_scenario_free(s);
	tg_scenario_report_free(&report);
}
END_TEST

static const struct {
	const char *path, *value, *says;
} wrong[] = {
	{"version", "2", "$.version: 2"},
	{"duration_s", "0", "$.duration_s: 0 is out of range"},
	{"duration_s", "1e300", "$.duration_s"},
	{"warmup_s", "-1", "$.warmup_s: -1 is out of range"},
	{"replications", "0", "$.replications: 0 is out of range (1..1000)"},
	{"replications", "1.5", "$.replications: 1.5 is no whole number"},
	{"seed", "-1", "$.seed: -1"},
	{"sed", "1", "$.sed: is no key of this place"},
	{"series_s", "1e-9", "$.series_s"},
	{"gateways", "[]", "$.gateways: has 0 entries"},
	{"gateways[0].rx_ring", "1000", "$.gateways[0].rx_ring: 1000 is no power of two"},
	{"gateways[0].workers", "17", "$.gateways[0].workers: 17 is out of range"},
	{"gateways[0].returns_s", "3", "$.gateways[0].fails_s: is missing"},
	{"gateways[0].keeps_flows", "true", "$.gateways[0].returns_s: is missing"},
	{"gateways[0].stall_us", "3", "$.gateways[0].stall_every_ms"},
	{"config.ports", "[]", "$.config.ports: must be left out"},
	{"config.services[0].policy", "best", "$.config.services[0].policy: \"best\""},
	{"config.services[0].servers[0].address", "10.9.9.9",
	 "$.config.services[0].servers[0].address: 10.9.9.9: nobody has it"},
	{"servers[0].address", "10.9.9.9", "$.servers[0].address: 10.9.9.9 is no server"},
	{"servers[1].address", "10.0.0.11",
	 "$.servers[1].address: 10.0.0.11 is that of servers[0]"},
	{"servers[1].name", "a", "$.servers[1].name: \"a\""},
	{"servers[0].workers", "0", "$.servers[0].workers: 0 is out of range"},
	{"servers[0].changes", "[{\"at_s\": 2}, {\"at_s\": 1}]", "$.servers[0].changes[1].at_s: 1"},
	{"servers[0].changes", "[{\"at_s\": 1, \"slow\": 0}]", "$.servers[0].changes[0].slow: 0"},
	{"servers[0].repeat_s", "5", "$.servers[0].repeat_s"},
	{"servers[0].in", "{\"loss\": 1.1}", "$.servers[0].in.loss: 1.1"},
	{"servers[0].in", "{\"reorder\": 0.1, \"reorder_us\": 99}", "$.servers[0].in.reorder_us"},
	{"servers[0].service_us", "{\"kind\": \"pareto\", \"mean\": 1, \"alpha\": 1}",
	 "$.servers[0].service_us.alpha: 1 is out of range"},
	{"servers[0].service_us", "{\"kind\": \"gamma\"}", "$.servers[0].service_us.kind"},
	{"servers[0].service_us", "{\"kind\": \"uniform\", \"low\": 2, \"high\": 1}",
	 "$.servers[0].service_us.high: 1 is below low"},
	{"servers[0].service_us", "{\"kind\": \"trace\", \"values\": \"no such file\"}",
	 "$.servers[0].service_us.values: \"no such file\" cannot be opened"},
	{"servers[0].service_us", "{\"kind\": \"trace\", \"values\": [1, -1]}",
	 "$.servers[0].service_us.values[1]: -1"},
	{"servers[0].service_us", "-5", "$.servers[0].service_us: -5 is out of range"},
	{"clients[0].service", "web", "$.clients[0].service: \"web\" is no service of config"},
	{"clients[0].rate", "-1", "$.clients[0].rate: -1 is out of range"},
	{"clients[0].rate", "\"much\"", "$.clients[0].rate: \"much\" is no number"},
	{"clients[0].rate", "30000", "$.clients[0]: service \"q\" is overloaded without end: 1"},
	{"clients[0].work_us", "1000",
	 "$.clients[0]: service \"q\" is overloaded without end: 4.5"},
	{"clients[0].traffic", "tcp", "$.clients[0].traffic: goes by TCP"},
	{"clients[0].gap_us", "1", "$.clients[0].gap_us: means nothing"},
	{"clients[0].arrivals", "on-off", "$.clients[0].on_ms: is missing"},
	{"clients[0].arrivals", "closed", "$.clients[0].rate: means nothing"},
	{"clients[0].prefix", "2001:db8::/64", "$.clients[0].prefix: 2001:db8::/64 is not of the"},
	{"clients[0].prefix", "10.1.0.0/33", "$.clients[0].prefix: \"10.1.0.0/33\" is no prefix"},
	{"clients[0].prefix", "10.1.0.0/30", "$.clients[0].clients: 1000 are more"},
	{"clients[0].stop_s", "0.5", NULL}, /* this one is right */
	{"clients[0].requests", "0", "$.clients[0].requests: 0 is out of range"},
	{"clients[7].rate", "0", "--set clients[7].rate: there is no such entry"},
	{"clients[0", "0", "--set clients[0: is no path"},
};

START_TEST(faults_are_named_with_their_place)
{
	struct tg_scenario_report report = {0};
	struct tg_scenario *s = load(SCENARIO, wrong[_i].path, wrong[_i].value, &report);
	bool said = wrong[_i].says == NULL && s != NULL;

	for (unsigned int i = 0; i < report.n_faults && wrong[_i].says != NULL; i++)
		said |= strstr(report.faults[i], wrong[_i].says) != NULL &&
			strncmp(report.faults[i], "t.json: ", 8) == 0;
	if (!said)
		ck_abort_msg("%s=%s: \"%s\"", wrong[_i].path, wrong[_i].value,
			     report.n_faults > 0 ? report.faults[0] : "was accepted");
	tg_scenario_free(s);
	tg_scenario_report_free(&report);
}
END_TEST

START_TEST(all_faults_are_said_at_once)
{
	struct tg_scenario_report report = {0};
	const char *text = "{\"version\": 1, \"duration_s\": -1, \"warmup_s\": \"x\", " CONFIG
			   ", \"servers\": 3, \"clients\": [{}]}";

	ck_assert_ptr_null(load(text, NULL, NULL, &report));
	ck_assert_uint_ge(report.n_faults, 5);
	tg_scenario_report_free(&report);
}
END_TEST

START_TEST(overload_that_ends_is_allowed)
{
	static const struct {
		const char *path, *value;
	} fine[] = {
		{"clients[0]", "{\"name\": \"c\", \"service\": \"q\", \"traffic\": \"datagram\", "
			       "\"arrivals\": \"poisson\", \"rate\": 90000, \"stop_s\": 2}"},
		{"clients[0]", "{\"name\": \"c\", \"service\": \"q\", \"traffic\": \"datagram\", "
			       "\"arrivals\": \"on-off\", \"rate\": 90000, \"on_ms\": 10, "
			       "\"off_ms\": 100}"},
		{"clients[0]",
		 "{\"name\": \"c\", \"service\": \"q\", \"traffic\": \"datagram\", "
		 "\"arrivals\": \"varying\", \"points\": [[0, 1], [1, 90000], [2, 1]]}"},
	};

	tg_scenario_free(good(fine[_i].path, fine[_i].value));
}
END_TEST

START_TEST(a_bounded_queue_may_be_overloaded)
{
	struct tg_scenario_setting set[] = {{"servers[*].listen_queue", "5"},
					    {"clients[0].rate", "90000"}};
	struct tg_scenario_report report = {0};
	struct tg_scenario *s = NULL;

	ck_assert_int_eq(tg_scenario_parse("t", SCENARIO, strlen(SCENARIO), set, 2, &s, &report),
			 0);
	ck_assert_uint_eq(report.n_notes, 1);
	ck_assert_double_eq_tol(s->service[0].load, 3, 1e-12);
	tg_scenario_free(s);
	tg_scenario_report_free(&report);
}
END_TEST

/* Half of the time at half speed: three quarters of the capacity. */
START_TEST(changes_count_in_the_load)
{
	struct tg_scenario_setting set[] = {{"servers[*].changes",
					     "[{\"at_s\": 0}, {\"at_s\": 1, \"slow\": 2}]"},
					    {"servers[*].repeat_s", "2"}};
	struct tg_scenario_report report = {0};
	struct tg_scenario *s = NULL;

	ck_assert_int_eq(tg_scenario_parse("t", SCENARIO, strlen(SCENARIO), set, 2, &s, &report),
			 0);
	ck_assert_double_eq_tol(s->service[0].load, 0.4, 1e-12);
	tg_scenario_free(s);
	tg_scenario_report_free(&report);
}
END_TEST

/* What the oracle takes a server for: what is asked of it. */
START_TEST(a_server_without_a_time_takes_what_is_asked)
{
	struct tg_scenario_report report = {0};
	struct tg_scenario *s =
		load("{\"version\": 1, \"duration_s\": 10, " CONFIG
		     ", \"servers\": [{\"address\": \"10.0.0.11\", \"workers\": 9}, "
		     "{\"address\": \"10.0.0.12\", \"service_us\": 50}], "
		     "\"clients\": [" ASKS("1", "100") ", " ASKS("2", "300") "]}",
		     NULL, NULL, &report);

	if (s == NULL)
		ck_abort_msg("%s", report.faults[0]);
	ck_assert_double_eq(s->server[0].station.service_us.mean, 200);
	ck_assert_double_eq(s->server[1].station.service_us.mean, 50);
	tg_scenario_free(s);
	tg_scenario_report_free(&report);
}
END_TEST

START_TEST(no_text_is_too_strange)
{
	char deep[8192], text[sizeof(SCENARIO)];
	struct tg_scenario_report report = {0};
	struct tg_scenario *s;
	uint64_t random = 88172645463325252u;

	memset(deep, '[', sizeof(deep));
	ck_assert_int_eq(tg_scenario_parse("t", deep, sizeof(deep), NULL, 0, &s, &report), -EINVAL);
	ck_assert_int_eq(tg_scenario_parse("t", "{\"a\0\": 1}", 10, NULL, 0, &s, &report), -EINVAL);
	ck_assert_int_eq(tg_scenario_parse("t", "", 0, NULL, 0, &s, &report), -EINVAL);
	tg_scenario_report_free(&report);
	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(text, SCENARIO, sizeof(text));
		for (unsigned int k = 0; k <= i % 3; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			text[random % (sizeof(text) - 1)] =
				"0e9-]}\",[{:.1ax \t"[random >> 32 & 15];
		}
		tg_scenario_parse("t", text, sizeof(text) - 1, NULL, 0, &s, &report);
		tg_scenario_free(s);
		tg_scenario_report_free(&report);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("scenario");
	TCase *tc = tcase_create("faults");

	UNIT_CASE(s, "good", everything_optional_has_a_default, addresses_are_one_text,
		  changes_count_in_the_load, a_bounded_queue_may_be_overloaded);
	tcase_add_loop_test(tc, faults_are_named_with_their_place, 0,
			    sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_loop_test(tc, overload_that_ends_is_allowed, 0, 3);
	suite_add_tcase(s, tc);
	UNIT_CASE(s, "times", a_server_without_a_time_takes_what_is_asked);
	UNIT_CASE(s, "bad", all_faults_are_said_at_once, no_text_is_too_strange);
	return s;
}

UNIT_MAIN(suite)
