/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "bench.h"

#define HUGE_DIR "/sys/kernel/mm/hugepages"
#define SLACK    (UINT64_C(96) << 20) /* EAL's own, and what pages are rounded up by */

static void read_cpu(char *buf, size_t len)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(buf, len, "unknown");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || value == NULL)
			continue;
		value[strcspn(value, "\n")] = '\0';
		snprintf(buf, len, "%s", value + 1 + strspn(value + 1, " "));
		break;
	}
	fclose(f);
}

void bench_host_read(struct bench_host *h)
{
	double load[1] = {0};

	read_cpu(h->cpu, sizeof(h->cpu));
	h->cores = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	h->tsc_hz = rte_get_tsc_hz();
	h->huge_pages = rte_eal_has_hugepages() != 0;
	h->load = getloadavg(load, 1) == 1 ? load[0] : 0;
}

static uint64_t free_pages(const char *size)
{
	char path[320];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), HUGE_DIR "/%s/free_hugepages", size);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

uint64_t bench_host_free_huge(void)
{
	DIR *d = opendir(HUGE_DIR);
	struct dirent *e;
	uint64_t bytes = 0, kb;

	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL) {
		if (sscanf(e->d_name, "hugepages-%" SCNu64 "kB", &kb) == 1)
			bytes += kb * 1024 * free_pages(e->d_name);
	}
	closedir(d);
	return bytes;
}

/* The last CPU we may use: interrupts tend to be served by the first. */
static int pick_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set))
			last = i;
	}
	return last;
}

void bench_host_warn_ordinary_pages(void)
{
	fputs("\n*** WARNING: no huge pages. Every figure below is 1.65 to 1.9 times too high and\n"
	      "*** must not be compared with figures of other machines or of huge pages.\n\n",
	      stderr);
}

int bench_host_start_eal(char *program, uint64_t memory)
{
	uint64_t need = memory + SLACK, have = bench_host_free_huge();
	char lcores[32], mib[32];
	char in_memory[] = "--in-memory", no_pci[] = "--no-pci", quiet[] = "--log-level=error";
	char no_telemetry[] = "--no-telemetry", no_huge[] = "--no-huge", m[] = "-m";
	char no_files[] = "--no-shconf";
	char prefix[] = "--file-prefix=tidegate-bench";
	char *argv[11] = {program, lcores, no_pci, no_telemetry, quiet, in_memory};
	int argc = 6;

	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", pick_cpu());
	if (have < need) {
		fprintf(stderr,
			"%" PRIu64 " MiB of huge pages are free, the chosen cases take %" PRIu64
			" MiB. As root:\n  echo %" PRIu64 " > /proc/sys/vm/nr_hugepages\n",
			have >> 20, need >> 20, (need >> 21) + 1);
		snprintf(mib, sizeof(mib), "%" PRIu64, need >> 20);
		argv[5] = no_huge;
		argv[6] = no_files;
		argv[7] = m;
		argv[8] = mib;
		argv[9] = prefix;
		argc = 10;
	}
	return bench_host_start_eal_with(argc, argv);
}

int bench_host_start_eal_with(int argc, char **argv)
{
	return rte_eal_init(argc, argv) < 0 ? -rte_errno : 0;
}

/* EAL's folder goes too, unless it holds another process's files. */
void bench_host_stop_eal(void)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	rmdir(dir);
}
