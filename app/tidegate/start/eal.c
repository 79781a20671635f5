/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/eal.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <mntent.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start/wanted.h"

#define ARGS_MAX 128

/* Files of a run that ended: sockets, locks, maps. EAL leaves them behind. */
static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	rmdir(path);
}

static bool has_option(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, len) == 0 &&
		    (argv[i][len] == '\0' || argv[i][len] == '='))
			return true;
	return false;
}

bool tg_eal_huge_mounted(void)
{
	FILE *f = setmntent("/proc/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (f != NULL && !found && (m = getmntent(f)) != NULL)
		found = strcmp(m->mnt_type, "hugetlbfs") == 0;
	if (f != NULL)
		endmntent(f);
	return found;
}

static const char *remedy(int why)
{
	switch (why) {
	case ENOMEM:
		if (!tg_eal_huge_mounted())
			return "no hugetlbfs is mounted, through which huge pages are had: mount -t hugetlbfs nodev "
			       "/dev/hugepages (and reserve pages if there are none: drivers-conf/hugepages.sh), or "
			       "add --in-memory, or --no-huge -m 256 (slower)";
		return "not enough huge pages: reserve some (drivers-conf/hugepages.sh), or add --no-huge -m 256 "
		       "(slower)";
	case EACCES:
	case EPERM:
		if (geteuid() == 0) /* EAL says so of huge pages that are not there */
			return remedy(ENOMEM);
		return "permission denied: run as root, or give CAP_NET_RAW, CAP_NET_ADMIN and CAP_IPC_LOCK and "
		       "a writable runtime folder";
	case EALREADY:
		return "already started";
	case 0:
		return "see the EAL messages above; another process may use the same --file-prefix";
	default:
		return "see the EAL messages above; `tidegate --config FILE --check` examines this host";
	}
}

static char **given;    /* while EAL reads them */
static char wrong[256]; /* the option that it stopped at */

/* EAL calls this at the end of its usage text, where it stopped: getopt's optind is behind the option. */
static void note_option(const char *program)
{
	const char *last = given[optind - 1];

	printf("%s --help shows the options that stand behind --\n", program);
	if (optind >= 3 && last[0] != '-')
		snprintf(wrong, sizeof(wrong), "%s %s", given[optind - 2], last);
	else
		snprintf(wrong, sizeof(wrong), "%s", last);
}

/* What of the options this host has not, else which option is wrong; false: it cannot be told. */
static bool cause(int argc, char **argv, char *text, size_t room)
{
	struct tg_wanted w;

	if (tg_wanted(argc, argv, NULL, &w, 1) > 0)
		snprintf(text, room, "%s", w.text);
	else if (wrong[0] != '\0')
		snprintf(text, room,
			 "EAL does not know the option %s, or not with such a value: the text above lists its "
			 "options",
			 wrong);
	else
		return false;
	return true;
}

static int start(int argc, char **argv, char *err, size_t err_len)
{
	char why[640];
	int r;

	given = argv;
	rte_set_application_usage_hook(note_option);
	r = rte_eal_init(argc, argv);
	rte_set_application_usage_hook(NULL);
	if (r >= 0)
		return 0;
	fflush(stdout); /* its usage text, so that the sentence comes last */
	/* EAL often fails without a number: "(Success)" would be no reason */
	snprintf(err, err_len, "DPDK does not start%s%s%s: %s", rte_errno > 0 ? " (" : "",
		 rte_errno > 0 ? rte_strerror(rte_errno) : "", rte_errno > 0 ? ")" : "",
		 cause(argc, argv, why, sizeof(why)) ? why : remedy(rte_errno));
	return rte_errno > 0 ? -rte_errno : -EINVAL;
}

int tg_eal_start(int argc, char **argv, char *err, size_t err_len)
{
	static char prefix[48], quiet[] = "--log-level=lib.*:warning";
	static char *args[ARGS_MAX + 3]; /* EAL keeps pointers into it */
	char socket[4096];
	int n = 0, r;

	if (argc > ARGS_MAX) {
		snprintf(err, err_len, "more than %d EAL options", ARGS_MAX);
		return -EINVAL;
	}
	args[n++] =
		argv[0]; /* ours come first: an option at the end that lacks its value shall not eat one */
	if (!has_option(argc, argv, "--file-prefix")) {
		snprintf(prefix, sizeof(prefix), "--file-prefix=tidegate-%ld", (long)getpid());
		args[n++] = prefix;
	}
	if (!has_option(argc, argv, "--log-level"))
		args[n++] = quiet;
	memcpy(args + n, argv + 1, (size_t)(argc - 1) * sizeof(*args));
	n += argc - 1;
	r = start(n, args, err, err_len);
	if (r != 0)
		return r;
	snprintf(socket, sizeof(socket), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	if (chmod(socket, 0660) != 0 && errno != ENOENT) {
		snprintf(err, err_len, "%s: cannot be made mode 0660: %s", socket, strerror(errno));
		return -errno;
	}
	return 0;
}

int tg_eal_share(const char *group, char *err, size_t err_len)
{
	const char *folder = rte_eal_get_runtime_dir();
	char socket[4096];
	struct group *g;

	snprintf(socket, sizeof(socket), "%s/dpdk_telemetry.v2", folder);
	if (group[0] == '\0' || access(socket, F_OK) != 0)
		return 0;
	g = getgrnam(group);
	if (g != NULL && chown(folder, (uid_t)-1, g->gr_gid) == 0 && chmod(folder, 0750) == 0 &&
	    chown(socket, (uid_t)-1, g->gr_gid) == 0)
		return 0;
	snprintf(err, err_len, "%s cannot be given to group \"%s\": %s; telemetry is root's alone",
		 folder, group, g == NULL ? "there is no such group" : strerror(errno));
	return -EPERM;
}

int tg_eal_start_private(const char *program, unsigned int memory_mb, char *err, size_t err_len)
{
	char prefix[48], memory[16], name[256];
	char *args[] = {name,
			(char[]){"--no-huge"},
			(char[]){"-m"},
			memory,
			(char[]){"--no-pci"},
			(char[]){"--no-telemetry"},
			(char[]){"--no-shconf"},
			(char[]){"--log-level=lib.eal:error"},
			(char[]){"-l"},
			(char[]){"0"},
			prefix};

	snprintf(name, sizeof(name), "%s", program);
	snprintf(memory, sizeof(memory), "%u", memory_mb);
	snprintf(prefix, sizeof(prefix), "--file-prefix=tidegate-%ld", (long)getpid());
	return start((int)(sizeof(args) / sizeof(args[0])), args, err, err_len);
}

void tg_eal_end(void)
{
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	remove_folder(folder);
}
