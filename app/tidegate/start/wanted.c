/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/wanted.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <rte_pci.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCI_DEVICES "/sys/bus/pci/devices"

struct look {
	int argc;
	char *const *argv;
	struct tg_wanted *out;
	unsigned int n, room;
	unsigned int made; /* ports that --vdev makes */
	bool pci;          /* is that bus looked at? */
};

static struct tg_wanted *__attribute__((format(printf, 3, 4)))
say(struct look *l, const char *run, const char *format, ...)
{
	struct tg_wanted *w = &l->out[l->n < l->room ? l->n++ : l->room - 1];
	va_list ap;

	*w = (struct tg_wanted){.run = run};
	va_start(ap, format);
	vsnprintf(w->text, sizeof(w->text), format, ap);
	va_end(ap);
	return w;
}

/* The value of word i if it is this option, in any of getopt's ways to write it. */
static const char *value(const struct look *l, int i, const char *brief, const char *option)
{
	const char *word = l->argv[i], *rest;
	size_t len = strlen(option);

	if (brief != NULL && strncmp(word, brief, 2) == 0)
		rest = word + 2;
	else if (strncmp(word, option, len) == 0 && (word[len] == '=' || word[len] == '\0'))
		rest = word + len + (word[len] == '=');
	else
		return NULL;
	return *rest != '\0' ? rest : i + 1 < l->argc ? l->argv[i + 1] : "";
}

/* As EAL asks whether it is there, and whether this process's cpuset has it. */
static bool may_run_on(unsigned long cpu)
{
	cpu_set_t before, only;
	char path[96];
	bool may;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%lu/topology/core_id", cpu);
	if (cpu >= CPU_SETSIZE || access(path, F_OK) != 0)
		return false;
	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		return true;
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	may = sched_setaffinity(0, sizeof(only), &only) == 0;
	sched_setaffinity(0, sizeof(before), &before);
	return may;
}

/* The cores of one item of a list: "3", "0-3", "(0,2)". Returns how many are not here. */
static unsigned int absent(const char *s, const char *end, unsigned long *first)
{
	unsigned int n = 0;

	while (s < end) {
		unsigned long a, b;
		char *after;

		if (!isdigit((unsigned char)*s)) {
			s++;
			continue;
		}
		a = b = strtoul(s, &after, 10);
		if (*after == '-' && isdigit((unsigned char)after[1]))
			b = strtoul(after + 1, &after, 10);
		s = after;
		if (b < a || b - a > CPU_SETSIZE)
			b = a; /* no list for EAL either, which says so */
		for (; a <= b; a++)
			if (!may_run_on(a) && n++ == 0)
				*first = a;
	}
	return n;
}

/* "0-3,5" of -l, "0@0,(1-2)@1" of --lcores: behind an @ stand the cores. */
static void look_cores(struct look *l, const char *option, const char *list)
{
	unsigned long first = 0, one = 0;
	unsigned int n = 0, more;

	for (const char *s = list; *s != '\0';) {
		const char *from = s;
		int depth = 0;

		for (; *s != '\0' && (*s != ',' || depth > 0); s++) {
			depth += (*s == '(') - (*s == ')');
			if (*s == '@')
				from = s + 1;
		}
		more = absent(from, s, &one);
		if (n == 0)
			first = one;
		n += more;
		if (*s == ',')
			s++;
	}
	if (n > 0)
		say(l, "grep Cpus_allowed_list /proc/self/status",
		    "%s %s: core %lu is not on this host, or not for this process%s: name cores that are",
		    option, list, first, n > 1 ? ", nor are others of them" : "");
}

static bool is_pci(const char *name)
{
	struct rte_pci_addr a;

	return rte_pci_addr_parse(name, &a) == 0;
}

static bool pci_is_here(const char *name)
{
	struct rte_pci_addr a;
	char path[64];

	if (rte_pci_addr_parse(name, &a) != 0)
		return false;
	snprintf(path, sizeof(path), PCI_DEVICES "/" PCI_PRI_FMT, a.domain, a.bus, a.devid,
		 a.function);
	return access(path, F_OK) == 0;
}

static void look_device(struct look *l, const char *args)
{
	const char *name = strncmp(args, "pci:", 4) == 0 ? args + 4 : args;
	char address[32];

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(name, ","), name);
	if (is_pci(address) && !pci_is_here(address))
		say(l, "lspci -D",
		    "-a %s: there is no such PCI device on this host: name one of those that are",
		    args);
}

/* One file of net_pcap: read it must be there, written its folder. */
static void look_file(struct look *l, const char *path, bool read)
{
	char copy[512];
	struct tg_wanted *w;
	const char *folder;

	snprintf(copy, sizeof(copy), "%s", path);
	folder = dirname(copy);
	if (access(read ? path : folder, read ? R_OK : W_OK | X_OK) == 0)
		return;
	w = say(l, NULL, "%s=%s (in --vdev): %s: name a file that can be %s",
		read ? "rx_pcap" : "tx_pcap", path, strerror(errno), read ? "read" : "written");
	snprintf(w->folder, sizeof(w->folder), "%s", folder);
}

static void look_virtual(struct look *l, const char *args)
{
	char copy[4096], *rest = copy, *part;

	l->made += strncmp(args, "net_", 4) == 0 || strncmp(args, "eth_", 4) == 0 ||
		   strncmp(args, "virtio_user", 11) == 0;
	if (strncmp(args, "net_pcap", 8) != 0)
		return;
	snprintf(copy, sizeof(copy), "%s", args);
	while ((part = strsep(&rest, ",")) != NULL)
		if (strncmp(part, "rx_pcap=", 8) == 0 || strncmp(part, "tx_pcap=", 8) == 0)
			look_file(l, part + 8, part[0] == 'r');
}

/* Has DPDK a network device to find on the PCI bus? One that the kernel's driver holds is not for it, but
 * for Mellanox's, which share. */
static bool pci_to_find(void)
{
	static const char *const shared[] = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core",
					     "mlx5_core"};
	DIR *d = opendir(PCI_DEVICES);
	struct dirent *e;
	bool found = false;

	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		char path[512], driver[512], class[16] = "";
		FILE *f;
		ssize_t n;

		snprintf(path, sizeof(path), PCI_DEVICES "/%s/class", e->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fgets(class, sizeof(class), f) == NULL)
			class[0] = '\0';
		fclose(f);
		if (strncmp(class, "0x02", 4) != 0)
			continue;
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver", e->d_name);
		n = readlink(path, driver, sizeof(driver) - 1);
		driver[n > 0 ? n : 0] = '\0';
		found = n <= 0;
		for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
			found |= n > 0 && strcmp(basename(driver), shared[i]) == 0;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* Does a --vdev (or -a) name it, itself or within a device of several? */
static bool is_named(const struct look *l, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < l->argc; i++)
		for (const char *at = l->argv[i]; (at = strstr(at, name)) != NULL; at += len)
			if (!isalnum((unsigned char)at[len]) && at[len] != '_')
				return true;
	return false;
}

/* Devices that make others, of names which only they know. */
static bool makes_others(const struct look *l)
{
	for (int i = 1; i < l->argc; i++)
		if (strstr(l->argv[i], "net_failsafe") != NULL ||
		    strstr(l->argv[i], "net_vdev_netvsc") != NULL)
			return true;
	return false;
}

static void look_port(struct look *l, const char *port, const char *name)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	bool wrong = false;

	if (name[0] == '\0' || makes_others(l))
		return;
	if (*end == '\0')
		wrong = number >= l->made && !(l->pci && pci_to_find());
	else if (is_pci(name))
		wrong = !l->pci || !pci_is_here(name);
	else if (strncmp(name, "net_", 4) == 0 || strncmp(name, "eth_", 4) == 0 ||
		 strncmp(name, "virtio_user", 11) == 0)
		wrong = !is_named(l, name);
	if (wrong)
		say(l, NULL,
		    "port \"%s\": no EAL option makes DPDK's port \"%s\", nor does this host have it: name it "
		    "in them (--vdev=..., -a ...), or another one here",
		    port, name);
}

unsigned int tg_wanted(int argc, char *const *argv, const struct tg_config *c,
		       struct tg_wanted *out, unsigned int room)
{
	struct look l = {.argc = argc, .argv = argv, .out = out, .room = room, .pci = true};
	const char *v;

	for (int i = 1; i < argc; i++) {
		if ((v = value(&l, i, "-l", "-l")) != NULL)
			look_cores(&l, "-l", v);
		else if ((v = value(&l, i, NULL, "--lcores")) != NULL)
			look_cores(&l, "--lcores", v);
		else if ((v = value(&l, i, "-a", "--allow")) != NULL)
			look_device(&l, v);
		else if ((v = value(&l, i, NULL, "--vdev")) != NULL)
			look_virtual(&l, v);
		else if (strcmp(argv[i], "--no-pci") == 0)
			l.pci = false;
	}
	for (unsigned int p = 0; c != NULL && p < c->n_ports; p++) {
		look_port(&l, c->ports[p].name, c->ports[p].port);
		look_port(&l, c->ports[p].name, c->ports[p].kernel);
	}
	return l.n;
}
