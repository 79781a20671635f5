/* SPDX-License-Identifier: BSD-3-Clause */
/* Who stops the process or takes its core: children that end with it, and by themselves. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "soak.h"

#define LIFE_S 60

static pid_t child;

static void rest_us(uint32_t us)
{
	const struct timespec t = {us / 1000000, (us % 1000000) * 1000L};

	nanosleep(&t, NULL);
}

static void stop_parent(const struct soak_kind *k)
{
	pid_t parent = getppid();

	while (getppid() == parent) {
		rest_us(k->stop_every_ms * 1000);
		kill(parent, SIGSTOP);
		rest_us(k->stop_us);
		kill(parent, SIGCONT);
	}
}

static void spin_on(unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		return;
	for (volatile uint64_t i = 0;; i++)
		;
}

void soak_disturb(const struct soak_kind *k, unsigned int cpu)
{
	if (k->stop_every_ms == 0 && !k->busy)
		return;
	child = fork();
	if (child != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIFE_S);
	if (k->busy)
		spin_on(cpu);
	else
		stop_parent(k);
	_exit(0);
}

void soak_calm(void)
{
	if (child <= 0)
		return;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = 0;
}
