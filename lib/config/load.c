/* SPDX-License-Identifier: BSD-3-Clause */
/* The file: bounded, and read at once, so that what is parsed is one moment's content. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

#define FILE_MAX (16u << 20)

/* errno of read as -errno; *len is what was read, at most room. */
static int read_all(int fd, char *buf, size_t room, size_t *len)
{
	*len = 0;
	while (*len < room) {
		ssize_t n = read(fd, buf + *len, room - *len);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			*len += (size_t)n;
	}
	return 0;
}

/* Not NULL: the sentence's end, why this file cannot be read. */
static const char *unfit(int fd, size_t *size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file (a reload has to read it again)";
	if (st.st_size > FILE_MAX)
		return "is longer than 16 MiB: hardly a configuration";
	*size = (size_t)st.st_size;
	return NULL;
}

static int load_fd(const char *path, int fd, struct tg_config **out,
		   struct tg_config_report *report)
{
	const char *why;
	size_t size = 0, len;
	char *text;
	int rc;

	why = unfit(fd, &size);
	if (why != NULL) {
		rc = tg_report_add(report, TG_FAULT, "%s: %s", path, why);
		return rc < 0 ? rc : -EINVAL;
	}
	text = malloc(size + 1);
	if (text == NULL)
		return -ENOMEM;
	rc = read_all(fd, text, size, &len);
	if (rc == 0)
		rc = tg_config_parse(path, text, len, out, report);
	else if (tg_report_add(report, TG_FAULT, "%s: %s", path, strerror(-rc)) < 0)
		rc = -ENOMEM;
	else
		rc = -EINVAL;
	free(text);
	return rc;
}

int tg_config_load(const char *path, struct tg_config **out, struct tg_config_report *report)
{
	/* not blocking: opening a FIFO that nobody writes would wait for ever */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	*out = NULL;
	if (fd < 0) {
		rc = tg_report_add(report, TG_FAULT, "%s: cannot be opened: %s", path,
				   strerror(errno));
		return rc < 0 ? rc : -EINVAL;
	}
	rc = load_fd(path, fd, out, report);
	close(fd);
	return rc;
}
