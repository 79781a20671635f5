/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files are right is compared with the JSON Schema in test/config; here: what comes of them. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>

#include "tg_config.h"
#include "unit.h"

#define SERVER "{\"name\": \"a\", \"address\": \"10.0.0.11\"}"
#define SERVICE \
	"\"name\": \"web\", \"address\": \"192.0.2.10\", \"protocol\": \"tcp\", \"ports\": [80]"
#define MINIMAL "{\"version\": 1, \"services\": [{" SERVICE ", \"servers\": [" SERVER "]}]}"

static const char example[] =
	"{\n"
	"  \"version\": 1,\n"
	"  \"flow_table\": {\"slots_per_worker\": 3000, \"tcp_idle_s\": 301, \"udp_idle_s\": 31,"
	"                   \"closed_s\": 6},\n"
	"  \"control\": {\"socket\": \"/tmp/x.sock\", \"mode\": \"0640\", \"group\": \"adm\"},\n"
	"  \"ports\": [\n"
	"    {\"name\": \"front\", \"port\": \"0\", \"role\": \"client\","
	"     \"addresses\": [\"198.51.100.2/24\", \"2001:db8::2/64\"],"
	"     \"gateways\": [\"198.51.100.1\", \"fe80::1\"], \"vlan\": 12, \"mtu\": 9000},\n"
	"    {\"name\": \"back\", \"port\": \"net_tap1\", \"role\": \"server\","
	"     \"addresses\": [\"10.0.0.2/24\"], \"rx_descriptors\": 64, \"tx_descriptors\": 128,"
	"     \"rx_queues\": 3, \"rate_mbps\": 10000, \"kernel\": \"net_tap2\"}\n"
	"  ],\n"
	"  \"tiers\": [{\"name\": \"edge\", \"delay_us\": 700}],\n"
	"  \"services\": [\n"
	"    {\"name\": \"web\", \"address\": \"192.0.2.10\", \"protocol\": \"tcp\","
	"     \"ports\": [80, 443], \"forward\": \"ipip\", \"policy\": \"maglev\","
	"     \"estimator\": \"ack\", \"gap_rule\": \"top-mode\", \"sojourn_max_us\": 2000,"
	"     \"gate\": \"drop\", \"gate_margin_us\": 50, \"gate_early\": true,"
	"     \"admission_wait_max_us\": 77, \"decrement_ttl\": false, \"answer_ping\": false,\n"
	"     \"mss_clamp\": true,\n"
	"     \"servers\": [\n"
	"       {\"name\": \"a\", \"address\": \"10.0.0.11\", \"mac\": \"02:00:5E:10:00:01\"},\n"
	"       {\"name\": \"b\", \"address\": \"10.0.0.12\", \"weight\": 2, \"workers\": 8,"
	"        \"service_time_us\": 9, \"delay_us\": 300, \"alpha\": 2.5, \"state\": \"drain\","
	"        \"tier\": \"edge\"},\n"
	"       {\"name\": \"c\", \"address\": \"10.0.0.13\", \"tier\": \"edge\"}\n"
	"     ]},\n"
	"    {\"name\": \"dns\", \"address\": \"2001:db8::53\", \"protocol\": \"udp\","
	"     \"ports\": \"any\", \"servers\": [" SERVER "]},\n"
	"    {\"name\": \"rest\", \"address\": \"192.0.2.10\", \"protocol\": \"any\","
	"     \"servers\": [" SERVER "]}\n"
	"  ]\n"
	"}\n";

static struct tg_config_report report;

static int parse(const char *text, struct tg_config **out)
{
	tg_config_report_free(&report);
	return tg_config_parse("f", text, strlen(text), out, &report);
}

static struct tg_config *must_parse(const char *text)
{
	struct tg_config *c;
	int rc = parse(text, &c);

	ck_assert_msg(rc == 0, "%s", report.n_faults > 0 ? report.faults[0] : "no fault");
	ck_assert_uint_eq(report.n_faults, 0);
	return c;
}

static bool among(char *const *list, unsigned int n, const char *sentence)
{
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(list[i], sentence) == 0)
			return true;
	}
	return false;
}

/* text is refused, among others with exactly this sentence. */
static void refused(const char *text, const char *sentence)
{
	struct tg_config *c;

	ck_assert_int_eq(parse(text, &c), -EINVAL);
	ck_assert_ptr_null(c);
	ck_assert_msg(among(report.faults, report.n_faults, sentence), "not among them: %s (%s)",
		      sentence, report.faults[0]);
}

static void done(struct tg_config *c)
{
	tg_config_free(c);
	tg_config_report_free(&report);
}

static struct tg_addr addr(const char *text)
{
	struct tg_addr a;

	ck_assert_int_eq(tg_addr_parse(text, &a), 0);
	return a;
}

START_TEST(every_key_arrives)
{
	struct tg_config *c = must_parse(example);
	const struct tg_config_port *p = &c->ports[0];
	struct tg_addr a;

	ck_assert_uint_eq(c->flow_table.slots, 4096);
	ck_assert_uint_eq(c->flow_table.tcp_idle_s, 301);
	ck_assert_uint_eq(c->flow_table.udp_idle_s, 31);
	ck_assert_uint_eq(c->flow_table.closed_s, 6);
	ck_assert_str_eq(c->control_socket, "/tmp/x.sock");
	ck_assert_uint_eq(c->control_mode, 0640);
	ck_assert_str_eq(c->control_group, "adm");
	ck_assert_uint_eq(c->n_ports, 2);
	ck_assert_str_eq(p->name, "front");
	ck_assert_str_eq(p->port, "0");
	ck_assert_int_eq(p->role, TG_ROLE_CLIENT);
	ck_assert_uint_eq(p->n_addresses, 2);
	a = addr("198.51.100.2");
	ck_assert(tg_addr_eq(&p->addresses[0].addr, &a));
	ck_assert_uint_eq(p->addresses[0].len, 120);
	ck_assert_uint_eq(p->addresses[1].len, 64);
	ck_assert_uint_eq(p->n_gateways, 2);
	a = addr("fe80::1");
	ck_assert(tg_addr_eq(&p->gateways[1], &a));
	ck_assert_uint_eq(p->vlan, 12);
	ck_assert_uint_eq(p->mtu, 9000);
	p++;
	ck_assert_int_eq(p->role, TG_ROLE_SERVER);
	ck_assert_str_eq(p->port, "net_tap1");
	ck_assert_uint_eq(p->rx_descriptors, 64);
	ck_assert_uint_eq(p->tx_descriptors, 128);
	ck_assert_uint_eq(p->rx_queues, 3);
	ck_assert_uint_eq(p->rate_mbps, 10000);
	ck_assert_str_eq(p->kernel, "net_tap2");
	done(c);
}
END_TEST

START_TEST(every_service_key_arrives)
{
	struct tg_config *c = must_parse(example);
	const struct tg_config_service *s = &c->services[0];
	struct tg_addr a = addr("192.0.2.10");

	ck_assert_uint_eq(c->n_services, 3);
	ck_assert_str_eq(s->name, "web");
	ck_assert(tg_addr_eq(&s->address, &a));
	ck_assert_uint_eq(s->protocol, IPPROTO_TCP);
	ck_assert_uint_eq(s->n_ports, 2);
	ck_assert_uint_eq(s->ports[0], 80);
	ck_assert_uint_eq(s->ports[1], 443);
	ck_assert_int_eq(s->forward, TG_FORWARD_IPIP);
	ck_assert_int_eq(s->policy, TG_POLICY_MAGLEV);
	ck_assert_int_eq(s->pirate.estimator, TG_ESTIMATOR_ACK);
	ck_assert_int_eq(s->pirate.gap_rule, TG_GAP_TOP_MODE);
	ck_assert_uint_eq(s->gate.sojourn_max_us, 2000);
	ck_assert_uint_eq(s->gate.margin_us, 50);
	ck_assert_int_eq(s->gate.action, TG_GATE_DROP);
	ck_assert(s->gate.early);
	ck_assert_uint_eq(s->admission_wait_max_us, 77);
	ck_assert(!s->decrement_ttl);
	ck_assert(s->mss_clamp);
	ck_assert(!s->answer_ping);
	ck_assert_uint_eq(s[1].protocol, IPPROTO_UDP);
	ck_assert_uint_eq(s[1].n_ports, 0);
	ck_assert_uint_eq(s[2].protocol, TG_PROTOCOL_ANY);
	ck_assert_uint_eq(s[2].n_ports, 0);
	done(c);
}
END_TEST

START_TEST(every_server_key_arrives)
{
	struct tg_config *c = must_parse(example);
	const struct tg_config_server *e = c->services[0].servers;

	ck_assert_uint_eq(c->services[0].n_servers, 3);
	ck_assert(e->has_mac);
	ck_assert_mem_eq(e->mac, "\x02\x00\x5e\x10\x00\x01", 6);
	ck_assert_uint_eq(e->delay_us, 0);
	e++;
	ck_assert_str_eq(e->name, "b");
	ck_assert(!e->has_mac);
	ck_assert_uint_eq(e->weight, 2);
	ck_assert_uint_eq(e->workers, 8);
	ck_assert_uint_eq(e->service_time_us, 9);
	ck_assert_uint_eq(e->delay_us, 300);
	ck_assert_double_eq(e->alpha, 2.5);
	ck_assert_int_eq(e->state, TG_SERVER_DRAIN);
	ck_assert_str_eq(e->tier, "edge");
	e++;
	ck_assert_uint_eq(e->delay_us, 700);
	ck_assert(among(report.defaults, report.n_defaults,
			"services[0].servers[2].delay_us = 700 (of its tier)"));
	done(c);
}
END_TEST

/* What the file leaves out is what a program gets that fills the structures itself. */
START_TEST(defaults_are_one)
{
	struct tg_config *c = must_parse(MINIMAL), *fresh = tg_config_new();
	struct tg_config_service *s = tg_config_add_service(fresh);
	struct tg_config_server *e = tg_config_add_server(s);

	ck_assert_mem_eq(&c->flow_table, &fresh->flow_table, sizeof(c->flow_table));
	ck_assert_str_eq(c->control_socket, fresh->control_socket);
	ck_assert_uint_eq(c->control_mode, fresh->control_mode);
	ck_assert_str_eq(c->control_group, "");
	ck_assert_uint_eq(c->n_ports, 0);
	ck_assert_int_eq(c->services->policy, s->policy);
	ck_assert_int_eq(c->services->forward, s->forward);
	ck_assert_mem_eq(&c->services->pirate, &s->pirate, sizeof(s->pirate));
	ck_assert_mem_eq(&c->services->gate, &s->gate, sizeof(s->gate));
	ck_assert_uint_eq(c->services->admission_wait_max_us, s->admission_wait_max_us);
	ck_assert(c->services->decrement_ttl && s->decrement_ttl && !s->mss_clamp);
	ck_assert(c->services->answer_ping && s->answer_ping);
	snprintf(e->name, sizeof(e->name), "a");
	e->address = addr("10.0.0.11");
	ck_assert_mem_eq(c->services->servers, e, sizeof(*e));
	tg_config_free(fresh);
	done(c);
}
END_TEST

START_TEST(gate_default_is_by_protocol)
{
	struct tg_config *c = must_parse(MINIMAL);

	ck_assert_int_eq(c->services->gate.action, TG_GATE_SHADOW);
	ck_assert(among(report.defaults, report.n_defaults, "services[0].gate = shadow"));
	done(c);
	c = must_parse(example);
	ck_assert_int_eq(c->services[1].gate.action, TG_GATE_DROP);
	ck_assert_int_eq(c->services[2].gate.action, TG_GATE_DROP);
	ck_assert(among(report.defaults, report.n_defaults, "services[1].gate = drop"));
	done(c);
}
END_TEST

START_TEST(notes)
{
	struct tg_config *c = must_parse(example);

	ck_assert(
		among(report.notes, report.n_notes,
		      "f: flow_table.slots_per_worker: 3000 is rounded up to 4096, a power of two"));
	done(c); /* not on the server side's link */
	c = must_parse("{\"version\": 1, \"services\": [{" SERVICE ", \"servers\": ["
		       "{\"name\": \"a\", \"address\": \"10.0.0.11\", \"weight\": 0},"
		       "{\"name\": \"b\", \"address\": \"10.0.0.12\", \"state\": \"down\"},"
		       "{\"name\": \"c\", \"address\": \"10.0.0.13\", \"state\": \"drain\"}"
		       "]}, {\"name\": \"v\", \"address\": \"192.0.2.77\", \"protocol\": \"any\","
		       "\"servers\": ["
		       "{\"name\": \"a\", \"address\": \"10.0.0.11\"}]}]}");
	ck_assert_uint_eq(report.n_notes, 1);
	ck_assert(
		among(report.notes, report.n_notes,
		      "f: services[0]: takes no new flows: no server is up with a weight above 0"));
	done(c);
}
END_TEST

static const char *with(const char *service, const char *server, const char *port0,
			const char *port1)
{
	static char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"version\": 1, \"ports\": [{\"name\": \"arm\", \"port\": \"0\", \"role\": \"both\","
		"\"addresses\": [%s]}%s], \"services\": [{\"name\": \"web\", \"protocol\": \"tcp\","
		"\"ports\": [80], %s, \"servers\": [{\"name\": \"a\", \"address\": \"%s\"}]}]}",
		port0, port1, service, server);
	return text;
}

#define VIP "\"address\": \"192.0.2.10\""
#define ARM "\"10.0.0.2/24\""

START_TEST(addresses_that_no_host_has)
{
	static const char *const none[] = {"127.0.0.1", "0.0.0.7", "::1", "240.0.0.1"};
	char text[128], wanted[256];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "\"address\": \"%s\"", none[i]);
		snprintf(wanted, sizeof(wanted),
			 "f: services[0].address: \"%s\" is unspecified, loopback, multicast or "
			 "reserved: no host has it",
			 none[i]);
		refused(with(text, "10.0.0.11", ARM, ""), wanted);
	}
	refused(with("\"address\": \"::ffff:192.0.2.10\"", "10.0.0.11", ARM, ""),
		"f: services[0].address: \"::ffff:192.0.2.10\" is an IPv4 address as IPv6 writes "
		"it: write 192.0.2.10");
	refused(with("\"address\": \"fe80::1\"", "10.0.0.11", ARM, ""),
		"f: services[0].address: fe80::1 is a link-local address: routers forward nothing "
		"to it");
	refused(with(VIP, "10.0.0.0", ARM, ""),
		"f: services[0].servers[0]: address 10.0.0.0 is the own or the broadcast address of "
		"a network of port \"arm\": no host has it");
	refused(with(VIP, "10.0.0.255", ARM, ""),
		"f: services[0].servers[0]: address 10.0.0.255 is the own or the broadcast address "
		"of a network of port \"arm\": no host has it");
	refused(with(VIP, "10.0.0.11", ARM "], \"gateways\": [\"10.0.0.255\"", ""),
		"f: ports[0].gateways[0]: 10.0.0.255 is a network's own or its broadcast address: no "
		"host has it");
	done(must_parse(with(VIP, "10.0.0.254", ARM, "")));
	ck_assert_uint_eq(report.n_notes, 0);
}
END_TEST

#define NET(prefix, action) "{\"prefix\": \"" prefix "\", \"action\": \"" action "\"}"
#define ACCESS(rules)       VIP ", \"access\": [" rules "]"

START_TEST(contradictions)
{
	struct tg_config *c;

	refused(with(ACCESS(NET("203.0.113.0/24", "allow") "," NET("203.0.113.7/24", "deny")),
		     "10.0.0.11", ARM, ""),
		"f: services[0].access[1]: denies the network that access[0] allows: leave one of "
		"them out");
	refused(with(ACCESS(NET("::/0", "deny") "," NET("::/0", "allow")), "10.0.0.11", ARM, ""),
		"f: services[0].access[1]: allows the network that access[0] denies: leave one of "
		"them out");
	c = must_parse(
		with(ACCESS(NET("::/0", "deny") "," NET("::/0", "deny")), "10.0.0.11", ARM, ""));
	ck_assert(among(report.notes, report.n_notes,
			"f: services[0].access[1]: says what access[0] says already"));
	done(c);
	c = must_parse(
		with(ACCESS(NET("203.0.113.0/24", "allow") "," NET("203.0.113.0/25", "deny")),
		     "10.0.0.11", ARM, ""));
	ck_assert_uint_eq(report.n_notes, 0);
	done(c);
	c = must_parse(with(VIP ", \"limits\": {\"new_per_s\": 5, \"new_drop_per_s\": 2,"
				"\"packets_per_s\": 7, \"packets_drop_per_s\": 8}",
			    "10.0.0.11", ARM, ""));
	ck_assert_uint_eq(report.n_notes, 1);
	ck_assert_str_eq(
		report.notes[0],
		"f: services[0].limits: new_per_s, 5, is not below new_drop_per_s, which is "
		"2: the first never acts");
	done(c);
}
END_TEST

START_TEST(odd_networks)
{
	struct tg_config *c;

	c = must_parse(with(VIP, "10.0.0.11", "\"198.51.100.2/0\"", ""));
	ck_assert_uint_eq(report.n_notes, 1);
	ck_assert_str_eq(
		report.notes[0],
		"f: ports[0].addresses[0]: \"198.51.100.2/0\" makes every address of its "
		"family a neighbour on this link: no gateway is asked; is the prefix length "
		"meant so?");
	done(c);
	c = must_parse(with(VIP, "10.0.0.11", ARM,
			    ", {\"name\": \"b\", \"port\": \"1\", \"role\": \"server\","
			    "\"addresses\": [\"10.0.0.3/16\", \"10.1.0.3/24\"]}"));
	ck_assert_uint_eq(report.n_notes, 1);
	ck_assert_str_eq(report.notes[0],
			 "f: ports[1]: addresses[0]: its network overlaps addresses[0] of port "
			 "\"arm\": what is in both goes by the first port that is not a client's");
	done(c);
}
END_TEST

START_TEST(faults_say_the_right_thing)
{
	refused(with(VIP, "192.0.2.10", ARM, ""),
		"f: services[0].servers[0]: address 192.0.2.10 is the service's own: its packets "
		"would come back to it");
	refused(with(VIP, "10.0.0.2", ARM, ""),
		"f: services[0].servers[0]: address 10.0.0.2 is the gateway's own: its packets would "
		"come back to it");
	refused("{\"version\": 1, \"services\": [{\"name\": \"web\", \"address\": \"192.0.2.10\","
		"\"protocol\": \"tcp\", \"ports\": [80, 80], \"servers\": [" SERVER "]}]}",
		"f: services[0].ports[1]: 80 is given twice");
	ck_assert_uint_eq(report.n_faults, 1);
	refused("{\"version\": 1, \"control\": {\"mode\": \"06600\"}}",
		"f: control.mode: \"06600\" must be a text of three octal digits, a 0 before them or "
		"not: \"000\"..\"0777\", no setuid, setgid or sticky bit");
	refused("{\"version\": 1, \"x\": \"a\\u0000b\"}",
		"f: line 1, column 30: \\u0000 is a zero byte: no text here has one");
	refused("{\"version\": 1, \"flow_table\": {\"closed_s\": 100000000000000000000}}",
		"f: flow_table.closed_s: 1e20 is out of range (1..86400)");
	refused("{\"version\": 1, \"flow_table\": {\"closed_s\": -100000000000000000000}}",
		"f: flow_table.closed_s: -1e20 is out of range (1..86400)");
	tg_config_report_free(&report);
}
END_TEST

START_TEST(notes_are_bounded)
{
	static char text[64 * 1024];
	size_t n =
		(size_t)snprintf(text, sizeof(text),
				 "{\"version\": 1, \"ports\": [{\"name\": \"arm\", \"port\": \"0\","
				 "\"role\": \"both\"}], \"services\": [{" SERVICE
				 ", \"servers\": [" SERVER);
	struct tg_config *c;

	for (unsigned int i = 1; i < 500; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      ", {\"name\": \"b%u\", \"address\": \"10.1.%u.%u\"}", i,
				      i / 100, i % 100 + 1);
	snprintf(text + n, sizeof(text) - n, "]}]}");
	c = must_parse(text);
	ck_assert_uint_eq(report.n_notes, 101);
	ck_assert_str_eq(report.notes[100], "f: and 400 more notes");
	done(c);
}
END_TEST

START_TEST(faults_say_what_is_allowed)
{
	refused("{\"version\": 2, \"services\": []}",
		"f: version: 2 is not allowed: this tidegate reads version 1");
	refused("{\"version\": 1}", "f: services: is missing");
	refused("{\"version\": 1, \"services\": []}",
		"f: services: has 0 entries, must be a list of 1..4096 services");
	refused("[]", "f: is a list, must be an object {...}");
	refused("7", "f: is 7, must be an object {...}");
	refused("{\"version\": 1, \"services\": [{" SERVICE ", \"servers\": [{\"name\": \"a\","
		"\"address\": \"10.0.0.11\"}, {\"name\": \"b\", \"address\": \"10.0.0.12\","
		"\"weight\": 70000}]}]}",
		"f: services[0].servers[1].weight: 70000 is out of range (0..65535)");
	refused("{\"version\": 1, \"services\": [{" SERVICE ", \"policy\": \"bids\"}]}",
		"f: services[0].policy: \"bids\" is not allowed; this version has \"maglev\", "
		"\"rendezvous\", \"round-robin\", \"weighted-round-robin\", "
		"\"least-connections\", \"jsq\", \"two-choices\", \"random\", \"model\", \"queue\", "
		"\"hybrid-seed\", \"completion\", \"latency\", \"bid\"");
	refused("{\"version\": 1, \"services\": [{" SERVICE ", \"estimator\": \"syn\"}]}",
		"f: services[0].estimator: \"syn\" is not allowed; this version has \"auto\", "
		"\"gap\", \"ack\", \"off\", \"echo\"");
	refused("{\"version\": 1, \"services\": [{" SERVICE ", \"forward\": \"vxlan\"}]}",
		"f: services[0].forward: \"vxlan\" is not allowed; this version has \"l2\", \"ipip\", \"gre\", "
		"\"gue\"");
	refused("{\"version\": 1, \"services\": [{" SERVICE ", \"sojourn_max_us\": 15}]}",
		"f: services[0].gate_margin_us: 20 must be below sojourn_max_us, which is 15 "
		"(0 turns the gate off)");
	refused("{\"version\": 1, \"control\": {\"sockets\": 1}}",
		"f: control.sockets: is no key of this place; allowed: socket, mode, group, captures");
	tg_config_report_free(&report);
}
END_TEST

START_TEST(all_faults_in_one_go)
{
	struct tg_config *c;

	ck_assert_int_eq(
		parse("{\"version\": 3, \"flow_table\": 1, \"control\": {\"mode\": \"9\"},"
		      "\"services\": [{\"name\": \"a b\", \"address\": \"x\","
		      "\"protocol\": \"icmp\", \"servers\": [{}, {\"name\": 7}]}], \"x\": 1}",
		      &c),
		-EINVAL);
	/* version, flow_table, mode, name, address, protocol, servers: 2 + 2, x */
	ck_assert_uint_eq(report.n_faults, 11);
	tg_config_report_free(&report);
}
END_TEST

START_TEST(repeated_keys_have_a_place)
{
	refused("{\"version\": 1,\n \"version\": 1}",
		"f: version: is given twice (again on line 2)");
	refused("{\"version\": 1, \"services\": [{" SERVICE
		",\n\n\"servers\": [{\"name\": \"}\\\\\\\"\","
		"\"n\\u0061me\": \"b\"}]}]}",
		"f: services[0].servers[0].name: is given twice (again on line 3)");
	refused("{\"a b\": [[], [{\"x\": \"]\", \"x\": {}}]], \"a b\": -1.5e3}",
		"f: [\"a b\"][1][0].x: is given twice (again on line 1)");
	refused("{\"a b\": [[], [{\"x\": \"]\", \"x\": {}}]], \"a b\": -1.5e3}",
		"f: [\"a b\"]: is given twice (again on line 1)");
	tg_config_report_free(&report);
}
END_TEST

START_TEST(sentences_stay_short_and_printable)
{
	static char text[20000];
	struct tg_config *c;
	int n = snprintf(text, sizeof(text), "{\"version\": \"\\u0007\xc3\xa9");

	memset(text + n, 'q', 9000);
	snprintf(text + n + 9000, 9000, "\", \"\\u001b[31m%s", "\": 1}");
	ck_assert_int_eq(parse(text, &c), -EINVAL);
	for (unsigned int i = 0; i < report.n_faults; i++) {
		ck_assert_uint_lt(strlen(report.faults[i]), 300);
		for (const char *p = report.faults[i]; *p != '\0'; p++)
			ck_assert(*p >= ' ' && *p <= '~');
	}
	tg_config_report_free(&report);
}
END_TEST

START_TEST(faults_are_bounded)
{
	static char text[64 * 1024];
	size_t n = (size_t)snprintf(text, sizeof(text), "{");
	struct tg_config *c;

	for (unsigned int i = 0; i < 1000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\"x%u\": 1, ", i);
	snprintf(text + n, sizeof(text) - n, "\"version\": 1}");
	ck_assert_int_eq(parse(text, &c), -EINVAL);
	ck_assert_uint_eq(report.n_faults, 101);
	ck_assert_str_eq(report.faults[100], "f: and 901 more faults");
	tg_config_report_free(&report);
}
END_TEST

/* A file that is being written may end anywhere. */
START_TEST(half_written)
{
	struct tg_config *c;

	for (size_t len = 0; len < sizeof(example) - 3; len++) {
		tg_config_report_free(&report);
		ck_assert_int_eq(tg_config_parse("f", example, len, &c, &report), -EINVAL);
		ck_assert_ptr_null(c);
		ck_assert_uint_eq(report.n_faults, 1);
	}
	refused("", "f: is empty (half written?): must be an object {\"version\": 1, ...}");
	tg_config_report_free(&report);
}
END_TEST

START_TEST(byte_order_mark)
{
	static char text[sizeof(example) + 3] = "\xef\xbb\xbf";
	struct tg_config *c;

	memcpy(text + 3, example, sizeof(example));
	tg_config_report_free(&report);
	ck_assert_int_eq(tg_config_parse("f", text, sizeof(text) - 1, &c, &report), 0);
	tg_config_free(c);
	tg_config_report_free(&report);
	refused("\xff\xfe{", "f: is UTF-16: save it as UTF-8");
	tg_config_report_free(&report);
	refused("\xef\xbb\xbf",
		"f: is empty (half written?): must be an object {\"version\": 1, ...}");
	tg_config_report_free(&report);
}
END_TEST

START_TEST(zero_bytes)
{
	static char text[sizeof(example)];
	char wanted[128];
	struct tg_config *c;

	for (size_t i = 0; i < sizeof(example) - 1; i++) {
		memcpy(text, example, sizeof(text));
		text[i] = '\0';
		tg_config_report_free(&report);
		ck_assert_int_eq(tg_config_parse("f", text, sizeof(text) - 1, &c, &report),
				 -EINVAL);
		snprintf(wanted, sizeof(wanted),
			 "f: has a zero byte at offset %zu: is no text (half written?)", i);
		ck_assert_str_eq(report.faults[0], wanted);
	}
	tg_config_report_free(&report);
}
END_TEST

START_TEST(any_byte_may_be_wrong)
{
	static char text[sizeof(example)];
	struct tg_config *c;

	for (size_t i = 0; i < sizeof(example) - 1; i++) {
		memcpy(text, example, sizeof(text));
		for (unsigned int bit = 0; bit < 8; bit++) {
			int rc;

			text[i] = (char)(example[i] ^ (1 << bit));
			rc = tg_config_parse("f", text, sizeof(text) - 1, &c, &report);
			ck_assert((rc == 0) == (c != NULL) && (rc == 0) == (report.n_faults == 0));
			done(c);
		}
	}
}
END_TEST

START_TEST(too_many)
{
	struct tg_config *c = tg_config_new();
	struct tg_config_service *s;
	struct tg_config_server *e;
	unsigned int n;

	for (n = 0; (s = tg_config_add_service(c)) != NULL; n++)
		ck_assert_ptr_eq(s, &c->services[n]);
	ck_assert_uint_eq(n, TG_SERVICES_MAX);
	for (n = 0; (e = tg_config_add_server(c->services)) != NULL; n++)
		e->weight = (uint16_t)n;
	ck_assert_uint_eq(n, TG_SERVERS_MAX);
	ck_assert_uint_eq(c->services[0].servers[4321].weight, 4321);
	tg_config_free(c);
	tg_config_free(NULL);
}
END_TEST

static char folder[] = "/tmp/tidegate-unit-XXXXXX";

static const char *file(const char *name, const char *content)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
	return path;
}

static void load_refused(const char *path, const char *end)
{
	struct tg_config *c;

	tg_config_report_free(&report);
	ck_assert_int_eq(tg_config_load(path, &c, &report), -EINVAL);
	ck_assert_ptr_null(c);
	ck_assert_uint_eq(report.n_faults, 1);
	ck_assert_msg(strncmp(report.faults[0], path, strlen(path)) == 0 &&
			      strstr(report.faults[0], end) != NULL,
		      "%s", report.faults[0]);
}

START_TEST(files)
{
	struct tg_config *c;
	const char *path;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	path = file("good.json", example);
	ck_assert_int_eq(tg_config_load(path, &c, &report), 0);
	done(c);
	load_refused(file("empty.json", ""), "is empty");
	ck_assert_int_eq(truncate(path, (16 << 20) + 1), 0);
	load_refused(path, "longer than 16 MiB");
	ck_assert_int_eq(unlink(path), 0);
	load_refused(path, "cannot be opened: No such file");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	load_refused(path, "is no regular file");
	ck_assert_int_eq(unlink(path), 0);
	snprintf(strrchr((char *)(uintptr_t)path, '/'), 16, "/good.json");
	unlink(path);
	load_refused(folder, "is no regular file");
	ck_assert_int_eq(rmdir(folder), 0);
	tg_config_report_free(&report);
}
END_TEST

START_TEST(reload_or_restart)
{
	struct tg_config *a = must_parse(example), *b = must_parse(example);

	ck_assert_int_eq(tg_config_reloadable(a, b, &report), 0);
	ck_assert_uint_eq(report.n_faults, 0);
	b->flow_table.tcp_idle_s = 7;
	b->ports[0].n_addresses = 1;
	b->ports[0].n_gateways = 0;
	b->ports[0].vlan = 9;
	b->n_services = 1;
	b->services[0].policy = TG_POLICY_LATENCY;
	ck_assert_int_eq(tg_config_reloadable(a, b, &report), 0);
	b->n_services = 3;
	b->flow_table.slots = 8192;
	b->control_mode = 0600;
	strcpy(b->control_socket, "/tmp/y.sock");
	b->control_group[0] = '\0';
	b->ports[1].role = TG_ROLE_BOTH;
	b->ports[1].mtu = 9001;
	b->ports[1].rx_descriptors = 65;
	b->ports[1].tx_descriptors = 129;
	b->ports[1].rx_queues = 4;
	b->ports[1].rate_mbps = 9;
	strcpy(b->ports[1].kernel, "net_tap3");
	strcpy(b->ports[0].port, "5");
	ck_assert_int_eq(tg_config_reloadable(a, b, &report), -EBUSY);
	ck_assert_uint_eq(report.n_faults, 12);
	ck_assert_str_eq(report.faults[0],
			 "flow_table.slots_per_worker: changing 4096 to 8192 needs a restart");
	ck_assert_str_eq(report.faults[2], "control.mode: changing 0640 to 0600 needs a restart");
	ck_assert_str_eq(report.faults[4],
			 "ports[0].port: changing \"0\" to \"5\" needs a restart");
	ck_assert_str_eq(report.faults[5],
			 "ports[1].role: changing \"server\" to \"both\" needs a restart");
	b->n_ports = 1;
	tg_config_report_free(&report);
	ck_assert_int_eq(tg_config_reloadable(a, b, &report), -EBUSY);
	ck_assert_uint_eq(report.n_faults, 5);
	tg_config_free(b);
	done(a);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config");

	UNIT_CASE(s, "arrives", every_key_arrives, every_service_key_arrives,
		  every_server_key_arrives, defaults_are_one, gate_default_is_by_protocol, notes);
	UNIT_CASE(s, "refused", addresses_that_no_host_has, contradictions, odd_networks,
		  faults_say_the_right_thing, notes_are_bounded, faults_say_what_is_allowed,
		  all_faults_in_one_go, repeated_keys_have_a_place,
		  sentences_stay_short_and_printable, faults_are_bounded, half_written,
		  byte_order_mark, zero_bytes, any_byte_may_be_wrong, too_many);
	UNIT_CASE(s, "files", files, reload_or_restart);
	return s;
}

UNIT_MAIN(suite)
