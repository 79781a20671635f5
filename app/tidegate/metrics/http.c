/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/listen.h"
#include "gateway.h"
#include "metrics/metrics.h"
#include "metrics/rows.h"

#define CONNECTIONS_MAX 4
#define TIMEOUT_S       10

enum { TCP, UNIX, LISTENERS };

struct tg_metrics_http {
	struct tg_gateway *g;
	struct MHD_Daemon *daemon[LISTENERS]; /* NULL: not wanted */
	char path[TG_PATH_MAX];
	struct stat made;
	uint64_t now;
	/* the page */
	char *text;
	size_t len;
	uint64_t made_at; /* ticks; 0: never */
};

/* A second old at most. */
static int refresh(struct tg_metrics_http *h)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int r;

	if (h->made_at != 0 && h->now - h->made_at < tg_s_to_ticks(&h->g->clock, 1))
		return 0;
	out = open_memstream(&text, &len);
	if (out == NULL)
		return -ENOMEM;
	tg_metrics_rows(h->g, out);
	r = tg_metrics_write(h->g, h->now, out);
	if (fclose(out) != 0 || r != 0) {
		free(text);
		return -ENOMEM;
	}
	free(h->text);
	h->text = text;
	h->len = len;
	h->made_at = h->now;
	return 0;
}

static enum MHD_Result respond(struct MHD_Connection *c, unsigned int code, const char *type,
			       const char *allow, const char *text, size_t len)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)text,
								 MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (r == NULL)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (allow != NULL)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
	result = MHD_queue_response(c, code, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int code, const char *allow,
			   const char *text)
{
	return respond(c, code, "text/plain", allow, text, strlen(text));
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	static int begun; /* its address marks a request whose head was seen */
	struct tg_metrics_http *h = ctx;

	(void)version, (void)data;
	if (*state == NULL) {
		*state = &begun;
		return MHD_YES;
	}
	if (*size != 0) { /* a body is nothing to us */
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") != 0)
		return say(c, MHD_HTTP_NOT_FOUND, NULL, "there is only /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD", "GET or HEAD\n");
	if (refresh(h) != 0)
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "not enough memory\n");
	return respond(c, MHD_HTTP_OK, TG_METRICS_TYPE, NULL, h->text, h->len);
}

static int listen_tcp(uint16_t port, char *err, size_t err_len)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, why;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, CONNECTIONS_MAX) == 0)
		return fd;
	why = errno;
	if (fd >= 0)
		close(fd);
	snprintf(err, err_len, "metrics.port: 127.0.0.1 port %u: %s; set another port", port,
		 strerror(why));
	return -why;
}

/* Takes fd over. */
static int start(struct tg_metrics_http *h, unsigned int which, int fd, char *err, size_t err_len)
{
	h->daemon[which] = MHD_start_daemon(MHD_NO_FLAG, 0, NULL, NULL, on_request, h,
					    MHD_OPTION_LISTEN_SOCKET, fd,
					    MHD_OPTION_CONNECTION_LIMIT,
					    (unsigned int)CONNECTIONS_MAX,
					    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)TIMEOUT_S,
					    MHD_OPTION_END);
	if (h->daemon[which] != NULL)
		return 0;
	close(fd);
	snprintf(err, err_len, "metrics: the HTTP server does not start");
	return -EIO;
}

int tg_metrics_http_open(struct tg_gateway *g, struct tg_metrics_http **out, char *err,
			 size_t err_len)
{
	const struct tg_config *c = g->snapshot->config;
	struct tg_metrics_http *h;
	int fd, r = 0;

	*out = NULL;
	if (c->metrics.port == 0 && c->metrics.socket[0] == '\0')
		return 0;
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		snprintf(err, err_len, "not enough memory for the page of metrics");
		return -ENOMEM;
	}
	h->g = g;
	if (c->metrics.port != 0) {
		fd = listen_tcp((uint16_t)c->metrics.port, err, err_len);
		r = fd < 0 ? fd : start(h, TCP, fd, err, err_len);
	}
	if (r == 0 && c->metrics.socket[0] != '\0') {
		fd = tg_control_listen(c->metrics.socket, c->control_mode, c->control_group,
				       &h->made, err, err_len);
		if (fd >= 0)
			snprintf(h->path, sizeof(h->path), "%s", c->metrics.socket);
		r = fd < 0 ? fd : start(h, UNIX, fd, err, err_len);
	}
	if (r == 0)
		*out = h;
	else
		tg_metrics_http_close(h);
	return r;
}

void tg_metrics_http_close(struct tg_metrics_http *h)
{
	if (h == NULL)
		return;
	for (unsigned int i = 0; i < LISTENERS; i++)
		if (h->daemon[i] != NULL)
			MHD_stop_daemon(h->daemon[i]);
	if (h->path[0] != '\0')
		tg_control_unlink(h->path, &h->made);
	free(h->text);
	free(h);
}

void tg_metrics_http_poll(struct tg_metrics_http *h, uint64_t now)
{
	if (h == NULL)
		return;
	h->now = now;
	for (unsigned int i = 0; i < LISTENERS; i++)
		if (h->daemon[i] != NULL)
			MHD_run(h->daemon[i]);
}
