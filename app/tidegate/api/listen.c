/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/listen.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

static int set_address(struct sockaddr_un *a, const char *path)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(a->sun_path))
		return -ENAMETOOLONG;
	strcpy(a->sun_path, path);
	return 0;
}

/* Does anybody answer? 0: nobody does, the file is left over; else -errno. */
static int knock(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 ? errno : 0;
	close(fd);
	if (rc == ECONNREFUSED)
		return 0;
	/* EAGAIN: so many wait already that it must be alive */
	return rc == 0 || rc == EAGAIN ? -EADDRINUSE : -rc;
}

static int remove_stale(const struct sockaddr_un *a, char *err, size_t err_len)
{
	const char *path = a->sun_path;
	struct stat st;
	int rc;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(err, err_len,
			 "%s is there and is no socket: remove it, or set another path", path);
		return -EEXIST;
	}
	rc = knock(a);
	if (rc == -EADDRINUSE)
		snprintf(err, err_len,
			 "another tidegate listens on %s: stop it, or set another path", path);
	else if (rc < 0)
		snprintf(err, err_len, "%s belongs to somebody else: %s; set another path", path,
			 strerror(-rc));
	else if (unlink(path) < 0)
		rc = -errno;
	return rc;
}

/* The folder of path, if only that is missing. */
static void make_folder(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash == NULL || slash == folder)
		return;
	*slash = '\0';
	mkdir(folder, 0755); /* what is wrong with it, bind says */
}

static int set_owner(const char *path, uint32_t mode, const char *group, char *err, size_t err_len)
{
	const struct group *g;

	if (group != NULL && group[0] != '\0') {
		g = getgrnam(group);
		if (g == NULL) {
			snprintf(err, err_len,
				 "control.group: there is no group \"%s\": groupadd --system %s, or "
				 "set another one",
				 group, group);
			return -ENOENT;
		}
		if (chown(path, (uid_t)-1, g->gr_gid) < 0) {
			snprintf(err, err_len,
				 "control.group: %s cannot be given to group \"%s\": %s; start as "
				 "root or as a member",
				 path, group, strerror(errno));
			return -errno;
		}
	}
	return chmod(path, mode) < 0 ? -errno : 0;
}

/* Bound and with its owner before it listens: until then every connect is refused. */
static int bind_file(int fd, const struct sockaddr_un *a, struct stat *made)
{
	/* the file gets the socket's own mode, so there is no moment of too wide a one */
	if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return -errno;
	return lstat(a->sun_path, made) < 0 ? -errno : 0;
}

int tg_control_listen(const char *path, uint32_t mode, const char *group, struct stat *made,
		      char *err, size_t err_len)
{
	struct sockaddr_un a;
	int fd = -1, rc;

	err[0] = '\0';
	rc = set_address(&a, path);
	if (rc == 0)
		rc = remove_stale(&a, err, err_len);
	if (rc < 0)
		goto fail;
	make_folder(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : bind_file(fd, &a, made);
	if (rc < 0)
		goto fail;
	rc = set_owner(path, mode, group, err, err_len);
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	tg_control_unlink(path, made);
fail:
	if (fd >= 0)
		close(fd);
	if (err[0] == '\0')
		snprintf(err, err_len,
			 "socket %s cannot be made: %s; is its folder there and yours to "
			 "write? Else set another path",
			 path, strerror(-rc));
	return rc;
}

void tg_control_unlink(const char *path, const struct stat *made)
{
	struct stat now;

	if (lstat(path, &now) == 0 && now.st_dev == made->st_dev && now.st_ino == made->st_ino)
		unlink(path);
}
