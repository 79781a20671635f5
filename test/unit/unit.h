/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every unit test shares: a main for check, and an EAL that needs neither huge pages nor
 * root. Use:
 *
 *	START_TEST(adds) { ck_assert_int_eq(1 + 1, 2); } END_TEST
 *	static Suite *suite(void)
 *	{
 *		Suite *s = suite_create("sums");
 *
 *		UNIT_CASE(s, "small", adds);
 *		return s;
 *	}
 *	UNIT_MAIN(suite)        no EAL
 *	UNIT_MAIN_EAL(suite)    EAL is up before the first test (main lcore only, 64 MiB)
 *
 * Tests run in a child each, so one that crashes fails alone; CK_FORK=no (check's own variable)
 * keeps them in one process, for a debugger. CK_RUN_CASE=small runs one case. EAL's memory is
 * shared between the children: what a test leaves there (a named ring, a pool) the next one
 * finds, so each frees what it made.
 */
#ifndef TG_UNIT_H
#define TG_UNIT_H

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <check.h>

/* check writes to a file at every assertion, passed or not, to name the last one before a crash: half
 * of the time of tests that assert by the million. Under this one only a failed assertion writes. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                        \
	((expr) ? (void)0                                                               \
		: _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", \
				    ##__VA_ARGS__))

#define UNIT_TIMEOUT_S 30

/* A case of the tests named after it. */
#define UNIT_CASE(s, name, ...) unit_case(s, name, (const TTest *const[]){__VA_ARGS__, NULL})

static inline void unit_case(Suite *s, const char *name, const TTest *const *tests)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	for (; *tests != NULL; tests++)
		tcase_add_test(tc, *tests);
	suite_add_tcase(s, tc);
}

static inline int unit_run(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int failed;

	if (getenv("CK_FORK") == NULL)
		srunner_set_fork_status(sr, CK_FORK);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define UNIT_MAIN(make_suite)                  \
	int main(void)                         \
	{                                      \
		return unit_run(make_suite()); \
	}

/* Only where the test is built against DPDK. */
#if __has_include(<rte_eal.h>)
#include <rte_eal.h>
#include <rte_errno.h>

/* EAL keeps its runtime folder; under a new name a run those would pile up. */
static inline void unit_eal_remove_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	rmdir(path);
}

/* The process whose EAL it is: tests' children inherit the exit handler too. */
static inline pid_t *unit_eal_owner(void)
{
	static pid_t owner;

	return &owner;
}

static inline void unit_eal_exit(void)
{
	char dir[256];

	if (*unit_eal_owner() != getpid())
		return;
	*unit_eal_owner() = 0;
	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	unit_eal_remove_dir(dir);
}

/* A quiet EAL of one lcore under a name of its own; it goes, folder and all, when the process
 * ends. The process does not run without it. */
static inline void unit_eal_init(void)
{
	char lcores[32], prefix[48];
	static char name[] = "unit", no_huge[] = "--no-huge", m[] = "-m", mib[] = "64";
	static char no_pci[] = "--no-pci", quiet[] = "--log-level=error";
	static char no_telemetry[] = "--no-telemetry";
	char *argv[] = {name, no_huge, m, mib, no_pci, no_telemetry, quiet, lcores, prefix, NULL};
	cpu_set_t cpus;

	/* lcore 0 on a CPU we may use; EAL pins this thread to it, which is undone below */
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", sched_getcpu());
	snprintf(prefix, sizeof(prefix), "--file-prefix=tidegate-unit-%d", (int)getpid());
	sched_getaffinity(0, sizeof(cpus), &cpus);
	if (rte_eal_init(9, argv) < 0) {
		fprintf(stderr, "EAL does not start: %s\n", rte_strerror(rte_errno));
		exit(EXIT_FAILURE);
	}
	sched_setaffinity(0, sizeof(cpus), &cpus);
	*unit_eal_owner() = getpid();
	atexit(unit_eal_exit);
}

#define UNIT_MAIN_EAL(make_suite)              \
	int main(void)                         \
	{                                      \
		unit_eal_init();               \
		return unit_run(make_suite()); \
	}

#endif

#endif
