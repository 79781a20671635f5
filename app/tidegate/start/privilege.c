/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/privilege.h"

#include <cap-ng.h>
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define PATIENCE_MS 1000

/* The thread that keeps CAP_NET_ADMIN, if there is one. */
static pid_t keeper;

static int signal_number(void)
{
	return SIGRTMAX - 3;
}

/* In a signal's handler: libcap-ng is not made for it, the system call is. */
static int drop_this_thread(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &head, none) != 0)
		return -errno;
	return 0;
}

static void on_signal(int signo)
{
	int saved = errno;

	(void)signo;
	if (gettid() != __atomic_load_n(&keeper, __ATOMIC_ACQUIRE))
		drop_this_thread(); /* that it did is looked for from outside */
	errno = saved;
}

int tg_privilege_drop(void)
{
	return drop_this_thread();
}

int tg_privilege_keep_net_admin(void)
{
	bool has;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	has = capng_get_caps_process() == 0 &&
	      capng_have_capability(CAPNG_PERMITTED, CAP_NET_ADMIN) == 1;
	capng_clear(CAPNG_SELECT_BOTH);
	if (has && capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN) != 0)
		return -EPERM;
	__atomic_store_n(&keeper, gettid(), __ATOMIC_RELEASE);
	return capng_apply(CAPNG_SELECT_CAPS) == 0 ? 0 : -EPERM;
}

/* What a thread may have of capabilities; 0 too when it has ended. */
static unsigned long long permitted(pid_t tid, char *name, size_t room)
{
	static const char label[] = "CapPrm:", comm[] = "Name:";
	unsigned long long caps = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, label, sizeof(label) - 1) == 0)
			caps = strtoull(line + sizeof(label) - 1, NULL, 16);
		else if (strncmp(line, comm, sizeof(comm) - 1) == 0)
			snprintf(name, room, "%.15s", line + sizeof(comm)); /* a tab between */
	}
	if (f != NULL)
		fclose(f);
	return caps;
}

/* How many other threads still have some; they are asked to drop them when `ask`. */
static int others_with(bool ask, char *name, size_t room)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	if (d == NULL)
		return -errno;
	while ((e = readdir(d)) != NULL) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0 || tid == gettid() ||
		    tid == __atomic_load_n(&keeper, __ATOMIC_ACQUIRE) ||
		    permitted(tid, name, room) == 0)
			continue;
		n++;
		if (ask)
			syscall(SYS_tgkill, getpid(), tid, signal_number());
		else
			break; /* its name is kept */
	}
	closedir(d);
	return n;
}

int tg_privilege_drop_others(char *err, size_t err_len)
{
	/* what the signal breaks goes on: DPDK's threads wait in accept and recvmsg */
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct timespec ms = {.tv_nsec = 1000000};
	char name[64] = "";
	int n;

	sigaction(signal_number(), &a, NULL);
	n = others_with(true, name, sizeof(name));
	for (unsigned int i = 0; n > 0 && i < PATIENCE_MS; i++) {
		nanosleep(&ms, NULL);
		n = others_with(false, name, sizeof(name));
	}
	if (n == 0)
		return 0;
	if (n < 0)
		snprintf(err, err_len,
			 "DPDK's threads keep their capabilities: /proc cannot be read: %s",
			 strerror(-n));
	else
		snprintf(err, err_len, "thread \"%s\" keeps its capabilities: it blocks signals",
			 name);
	return n < 0 ? n : -EPERM;
}

int tg_privilege_drop_and_run(void *worker)
{
	if (tg_privilege_drop() != 0) {
		/* nobody may poll its queues with rights it should not have, nor leave them unpolled */
		static const char why[] =
			"tidegate: a worker cannot drop its capabilities: stops\n";

		(void)!write(STDERR_FILENO, why, sizeof(why) - 1);
		kill(getpid(), SIGTERM);
		return -EPERM;
	}
	return tg_worker_main(worker);
}
