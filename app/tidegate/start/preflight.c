/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/preflight.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <net/if.h>
#include <numa.h>
#include <rte_common.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffers.h"
#include "restart/restart.h"
#include "routes.h"
#include "start/eal.h"
#include "start/host.h"
#include "start/merged.h"
#include "start/wanted.h"
#include "tg_config.h"

static unsigned int faults;

/* The command that mends the finding before; none is without. */
static void __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	va_list ap;

	printf("       run: ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
}

/* As the shell reads it: whatever has a sign in it that the shell takes for its own is put in quotes. */
static void print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		printf(" %s", word);
		return;
	}
	printf(" '");
	for (; *word != '\0'; word++)
		if (*word == '\'')
			printf("'\\''");
		else
			putchar(*word);
	putchar('\'');
}

/* The same from words, of which some are somebody else's; NULL ends them. */
static void __attribute__((sentinel)) run_words(const char *word, ...)
{
	va_list ap;

	printf("       run:");
	va_start(ap, word);
	for (; word != NULL; word = va_arg(ap, const char *))
		print_word(word);
	va_end(ap);
	printf("\n");
}

static void __attribute__((format(printf, 1, 2))) fault(const char *format, ...)
{
	va_list ap;

	faults++;
	printf("fault: ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
}

/* A finding that only the file can mend. */
static void run_editor(const struct tg_options *o)
{
	run_words("editor", o->config, NULL);
}

/* The start as it was given, but for this much memory, on ordinary pages. */
static void run_with_memory(const struct tg_options *o, uint64_t mib)
{
	printf("       run:");
	print_word(o->eal_argv[0]);
	printf(" --no-huge -m %llu", (unsigned long long)mib);
	for (int i = 1; i < o->eal_argc; i++) {
		if (strcmp(o->eal_argv[i], "-m") == 0)
			i++; /* and its value */
		else if (strcmp(o->eal_argv[i], "--no-huge") != 0 &&
			 strcmp(o->eal_argv[i], "--in-memory") != 0)
			print_word(o->eal_argv[i]);
	}
	printf(" -- --config");
	print_word(o->config);
	printf("%s\n", o->shadow ? " --shadow" : "");
}

/* The value of "name: N kB" or "name: N" in /proc/meminfo; 0 if it is not there. */
static uint64_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[256];
	uint64_t value = 0;
	size_t len = strlen(name);

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			value = strtoull(line + len + 1, NULL, 10);
	if (f != NULL)
		fclose(f);
	return value;
}

static const char *eal_option(const struct tg_options *o, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < o->eal_argc; i++) {
		if (strncmp(o->eal_argv[i], name, len) != 0)
			continue;
		if (o->eal_argv[i][len] == '=')
			return o->eal_argv[i] + len + 1;
		if (o->eal_argv[i][len] == '\0')
			return i + 1 < o->eal_argc ? o->eal_argv[i + 1] : "";
	}
	return NULL;
}

/* Lcores in a list such as "1", "0-3", "0,2-5"; 0: no list is given (all of them). */
static unsigned int lcores(const struct tg_options *o)
{
	const char *list = eal_option(o, "-l");
	unsigned int n = 0;

	while (list != NULL && *list != '\0') {
		char *end;
		unsigned long a = strtoul(list, &end, 10), b = a;

		if (end == list)
			break;
		if (*end == '-')
			b = strtoul(end + 1, &end, 10);
		n += b >= a ? (unsigned int)(b - a + 1) : 0;
		list = *end == ',' ? end + 1 : end;
	}
	return n != 0 ? n : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What the gateway allocates, MiB: flow tables, buffers on each node, and a margin for EAL itself. */
static uint64_t memory_needed(const struct tg_config *c, unsigned int workers, unsigned int nodes)
{
	return workers * ((uint64_t)c->flow_table.slots * 130 >> 20) +
	       (uint64_t)nodes * tg_buffers_mib(c, tg_buffers_wanted(c, workers)) + 48;
}

static bool in_memory(const struct tg_options *o)
{
	return eal_option(o, "--in-memory") != NULL;
}

static void check_memory(const struct tg_options *o, const struct tg_config *c)
{
	unsigned int n = lcores(o), workers = n > 1 ? n - 1 : 1;
	unsigned int nodes = numa_available() < 0 ? 1 : (unsigned int)numa_num_configured_nodes();
	bool huge = eal_option(o, "--no-huge") == NULL; /* without, all memory is of one node */
	uint64_t need = memory_needed(c, workers, huge ? RTE_MIN(nodes, TG_NODES_MAX) : 1);
	uint64_t page = meminfo("Hugepagesize") / 1024, have;
	const char *m = eal_option(o, "-m");

	printf("host: %u worker%s, %u NUMA node%s, about %llu MiB of packet memory\n", workers,
	       workers == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", (unsigned long long)need);
	if (!huge) {
		have = m != NULL ? strtoull(m, NULL, 10) : 64;
		if (have >= need)
			return;
		fault("--no-huge with %llu MiB: %llu MiB are needed", (unsigned long long)have,
		      (unsigned long long)need);
		run_with_memory(o, need);
		return;
	}
	if (page == 0)
		page = 2;
	have = meminfo("HugePages_Free") * page;
	if (!tg_eal_huge_mounted() && !in_memory(o)) {
		fault("no hugetlbfs is mounted, through which huge pages are had: mount one, or start with --in-memory");
		run("mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages");
	}
	if (have >= need)
		return;
	fault("huge pages: %llu MiB are free, %llu MiB are needed; or start without, slower: --no-huge -m %llu",
	      (unsigned long long)have, (unsigned long long)need, (unsigned long long)need);
	run("echo %llu > /proc/sys/vm/nr_hugepages",
	    (unsigned long long)(meminfo("HugePages_Total") - meminfo("HugePages_Free") +
				 (need + page - 1) / page));
}

/* Interfaces named in --vdev=...,iface=NAME must exist. */
static void check_devices(const struct tg_options *o)
{
	for (int i = 1; i < o->eal_argc; i++) {
		const char *at = strstr(o->eal_argv[i], "iface=");
		char name[64], text[512];
		const char *command;

		/* net_tap makes its own interface, net_memif's iface is none */
		if (at == NULL || strstr(o->eal_argv[i], "net_tap") != NULL)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 6, ","), at + 6);
		if (if_nametoindex(name) == 0) {
			fault("interface \"%s\" (in %s) is not here: name one of those that are",
			      name, o->eal_argv[i]);
			run("ip -brief link");
		} else if (tg_merged_sentence(name, if_nametoindex(name), text, sizeof(text))) {
			command = strstr(text, "ethtool"); /* its last words */
			printf("note: %s\n", text);
			run("%s", command);
		}
	}
}

/* What the EAL options name and the ports are made by. Without any, a note says that nothing was looked at. */
static void check_wanted(const struct tg_options *o, const struct tg_config *c)
{
	static struct tg_wanted wanted[16];
	unsigned int n;

	if (o->eal_argc <= 1) {
		printf("note: no EAL options: this host's ports and cores were not looked at; give those of the start\n");
		printf("       run:");
		print_word(o->eal_argv[0]);
		printf(" EAL-OPTIONS -- --config");
		print_word(o->config);
		printf(" --check\n");
		return;
	}
	n = tg_wanted(o->eal_argc, o->eal_argv, c, wanted, RTE_DIM(wanted));
	for (unsigned int i = 0; i < n; i++) {
		fault("%s", wanted[i].text);
		if (wanted[i].run != NULL)
			run("%s", wanted[i].run);
		else if (wanted[i].folder[0] != '\0')
			run_words("ls", "-l", wanted[i].folder, NULL);
		else
			run_editor(o);
	}
}

static void check_rights(const struct tg_options *o)
{
	char program[TG_PATH_MAX];
	bool devices = false;
	ssize_t n;

	for (int i = 1; i < o->eal_argc; i++)
		devices |= strstr(o->eal_argv[i], "net_af_") != NULL ||
			   strstr(o->eal_argv[i], "net_tap") != NULL;
	if (capng_get_caps_process() != 0 || !devices)
		return;
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_RAW) &&
	    capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN))
		return;
	fault("CAP_NET_RAW or CAP_NET_ADMIN is missing, which af_packet, af_xdp and tap need: run as root, or "
	      "give them to the program");
	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[RTE_MAX(n, 0)] = '\0';
	run_words("setcap", "cap_net_raw,cap_net_admin,cap_ipc_lock+ep", program, NULL);
}

/* What lies there stays, under another name. */
static void run_move_away(const struct tg_options *o, const char *path)
{
	char old[TG_PATH_MAX + 4];

	snprintf(old, sizeof(old), "%s.old", path);
	/* elsewhere it is somebody's: /etc/passwd stays where it is */
	if (strstr(path, "/..") == NULL &&
	    (strncmp(path, "/run/", 5) == 0 || strncmp(path, "/var/lib/tidegate/", 18) == 0))
		run_words("mv", "-n", path, old, NULL);
	else
		run_editor(o);
}

/* A folder that this user may write in. */
static void run_make_folder(const char *folder)
{
	char user[16];

	snprintf(user, sizeof(user), "%u", (unsigned int)geteuid());
	run_words("install", "-d", "-o", user, folder, NULL);
}

static void check_socket(const struct tg_options *o, const struct tg_config *c)
{
	char path[TG_PATH_MAX], parent[TG_PATH_MAX];
	const char *folder;
	struct stat st;

	if (c->control_group[0] != '\0' && getgrnam(c->control_group) == NULL) {
		fault("control.group: there is no group \"%s\" on this host: make it, or set another",
		      c->control_group);
		run_words("groupadd", "--system", c->control_group, NULL);
	}
	if (stat(c->control_socket, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		fault("control.socket: %s is there and is no socket: set another path",
		      c->control_socket);
		run_move_away(o, c->control_socket);
		return;
	}
	snprintf(path, sizeof(path), "%s", c->control_socket);
	folder = dirname(path);
	if (access(folder, F_OK) != 0) { /* the gateway makes the last folder itself */
		snprintf(parent, sizeof(parent), "%s", folder);
		folder = dirname(parent);
	}
	if (access(folder, W_OK) != 0) {
		fault("control.socket: %s cannot be made: %s: %s: make the folder this user's (as root), or set "
		      "another path",
		      c->control_socket, folder, strerror(errno));
		snprintf(path, sizeof(path), "%s", c->control_socket);
		run_make_folder(dirname(path));
	}
}

/* The file of the flows is made anew each time: in its folder. */
static void check_snapshot(const struct tg_options *o, const struct tg_config *c)
{
	char path[TG_PATH_MAX];
	const char *folder;
	int there = tg_restart_may_replace(c->flow_snapshot);

	if (c->flow_snapshot[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%s", c->flow_snapshot);
	folder = dirname(path);
	if (access(folder, W_OK | X_OK) != 0) {
		fault("flow_table.snapshot: %s cannot be written: %s: %s: make the folder this user's (as root), "
		      "or set another path",
		      c->flow_snapshot, folder, strerror(errno));
		run_make_folder(folder);
	} else if (there != 0 && there != -EEXIST) {
		fault("flow_table.snapshot: %s is there and cannot be read: %s: give it to this user (as "
		      "root), or set another path",
		      c->flow_snapshot, strerror(-there));
		snprintf(path, sizeof(path), "%u", (unsigned int)geteuid());
		run_words("chown", path, c->flow_snapshot, NULL);
	} else if (there != 0) {
		fault("flow_table.snapshot: %s is there and is no snapshot of flows: move it away, or set "
		      "another path",
		      c->flow_snapshot);
		run_move_away(o, c->flow_snapshot);
	}
}

/* Captures are written there long after the start; the folder that is used when none is named may be missing
 * where nobody captures. */
static void check_captures(const struct tg_options *o, const struct tg_config *c)
{
	struct stat st;
	bool missing = stat(c->captures, &st) != 0;

	if (!missing && !S_ISDIR(st.st_mode)) {
		fault("control.captures: %s is no folder: set another", c->captures);
		run_editor(o);
	} else if (missing && strcmp(c->captures, TG_CAPTURES_STANDARD) != 0) {
		fault("control.captures: %s: %s: make the folder, or set another", c->captures,
		      strerror(errno));
		run_make_folder(c->captures);
	} else if (!missing && access(c->captures, W_OK | X_OK) != 0) {
		fault("control.captures: %s cannot be written: %s: make it this user's (as root), or set another",
		      c->captures, strerror(errno));
		run_make_folder(c->captures);
	}
}

/* Can every server be reached from a port, as the start will ask? */
static void check_routes(const struct tg_options *o, const struct tg_config *c)
{
	unsigned int before = faults;
	char err[512];

	for (unsigned int i = 0; c->n_ports > 0 && i < c->n_services; i++)
		for (unsigned int j = 0; j < c->services[i].n_servers; j++)
			if (tg_route_check(c, &c->services[i], &c->services[i].servers[j], err,
					   sizeof(err)) != 0)
				fault("%s", err);
	if (faults > before)
		run_editor(o);
}

/* What works and surprises: of the ways, and of the time gate on this host. */
static void note_surprises(const struct tg_options *o, const struct tg_config *c)
{
	uint64_t stall = 0;
	char text[768];

	for (unsigned int i = 0; c->n_ports > 0 && i < c->n_services; i++) {
		const struct tg_config_service *v = &c->services[i];

		if (tg_host_narrow(c, v, text, sizeof(text))) {
			printf("note: %s\n", text);
			run_editor(o);
		}
		if (v->gate.sojourn_max_us != 0 && stall == 0)
			stall = tg_host_stall_ns();
		if (tg_host_limit_sentence(v->name, v->gate.sojourn_max_us, stall, text,
					   sizeof(text))) {
			printf("note: %s\n", text);
			run_editor(o);
		}
	}
}

static void print_all(const char *label, char *const *lines, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		printf("%s: %s\n", label, lines[i]);
}

int tg_check(const struct tg_options *o)
{
	struct tg_config_report report = {0};
	struct tg_config *c = NULL;
	bool ports = false;
	int r;

	if (o->config == NULL) {
		fault("--check examines a configuration: name one with --config FILE");
		run_words(o->eal_argv[0], "--config", "/etc/tidegate/tidegate.json", "--check",
			  NULL);
		return 1;
	}
	r = tg_config_load(o->config, &c, &report);
	faults = report.n_faults;
	print_all("default", report.defaults, report.n_defaults);
	print_all("note", report.notes, report.n_notes);
	if (report.n_notes > 0)
		run_editor(o); /* unless it is meant so */
	print_all("fault", report.faults, report.n_faults);
	if (report.n_faults > 0)
		run_editor(o);
	if (r == 0) {
		check_memory(o, c);
		check_devices(o);
		ports = c->n_ports > 0;
		if (ports)
			check_wanted(o, c);
		check_rights(o);
		check_socket(o, c);
		check_snapshot(o, c);
		check_captures(o, c);
		if (!o->shadow) {
			check_routes(o, c);
			note_surprises(o, c);
		}
		if (c->n_ports == 0) {
			printf("note: no ports: this configuration serves --capture only\n");
			run_words(o->eal_argv[0], "--capture", "FILE", "--config", o->config, NULL);
		}
		tg_config_free(c);
	}
	tg_config_report_free(&report);
	if (faults == 0)
		printf("%s: all right%s\n", o->config,
		       o->eal_argc > 1 || !ports ? ""
						 : ", as far as can be told without EAL options");
	else
		printf("%s: %u fault%s\n", o->config, faults, faults == 1 ? "" : "s");
	return faults == 0 ? 0 : 1;
}
