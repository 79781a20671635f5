/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE "inet tidegate_bid"

extern char **environ;

/* nft with these arguments; *in, if wanted, writes to it. What it says goes nowhere, its errors to ours. */
static pid_t run(char *const *argv, int *in)
{
	posix_spawn_file_actions_t actions;
	int ends[2] = {-1, -1}, r;
	pid_t pid = -1;

	if (in != NULL && pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	if (in != NULL)
		posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (in != NULL) {
		close(ends[0]);
		*in = ends[1];
	}
	if (r == 0)
		return pid;
	if (in != NULL)
		close(ends[1]);
	errno = r;
	return -1;
}

/* One command, to its end. */
static int run_once(char *command)
{
	static char nft[] = "nft";
	char *argv[] = {nft, command, NULL};
	int status = 0;
	pid_t pid = run(argv, NULL);

	if (pid < 0)
		return -errno;
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

static void list_ports(struct tg_mark *m, const uint16_t *ports, unsigned int n)
{
	size_t len = 0;

	for (unsigned int i = 0; i < n && len < sizeof(m->ports); i++)
		len += (size_t)snprintf(m->ports + len, sizeof(m->ports) - len, "%s%u",
					i > 0 ? ", " : "", ntohs(ports[i]));
}

int tg_mark_start(struct tg_mark *m, const uint16_t *ports, unsigned int n, char *err,
		  unsigned int err_len)
{
	static char nft[] = "nft", interactive[] = "-i";
	char *argv[] = {nft, interactive, NULL};
	char make[] = "add table " TABLE "; delete table " TABLE "; add table " TABLE
		      "; add set " TABLE
		      " bidding { type inet_service; flags timeout; timeout 1s; }"
		      "; add chain " TABLE " synack { type filter hook output priority mangle; }";
	int r = run_once(make);

	list_ports(m, ports, n);
	if (r == -ENOENT)
		snprintf(err, err_len, "the command nft is missing: install nftables");
	else if (r != 0)
		snprintf(
			err, err_len,
			"nft does not make the table tidegate_bid: run as root, or with CAP_NET_ADMIN");
	if (r != 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	m->nft = run(argv, &m->fd);
	if (m->nft > 0)
		return 0;
	r = -errno;
	snprintf(err, err_len, "nft -i does not start: %s", strerror(-r));
	return r;
}

bool tg_mark_ready(const struct tg_mark *m)
{
	int unread = 0;

	return ioctl(m->fd, FIONREAD, &unread) == 0 && unread == 0;
}

int tg_mark_set(const struct tg_mark *m, uint8_t ttl)
{
	static const char rule[] =
		"add rule " TABLE
		" synack tcp sport @bidding tcp flags & (syn | ack | rst) == syn | ack";
	char text[1024];
	int len = snprintf(text, sizeof(text),
			   "flush chain " TABLE
			   " synack; %s ip ttl set %u; %s ip6 hoplimit set %u; "
			   "add element " TABLE " bidding { %s }; delete element " TABLE
			   " bidding { %s }; "
			   "add element " TABLE " bidding { %s }\n",
			   rule, ttl, rule, ttl, m->ports, m->ports, m->ports);

	return write(m->fd, text, (size_t)len) == len ? 0 : -EPIPE;
}

void tg_mark_end(struct tg_mark *m)
{
	char drop[] = "delete table " TABLE;

	close(m->fd);
	waitpid(m->nft, NULL, 0);
	run_once(drop);
}
