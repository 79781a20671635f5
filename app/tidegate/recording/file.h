/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording as the operator sees it: `capture start NAME [FILTER [OPTIONS]]`, `capture list`, `capture stop`.
 *
 * One at a time. Its files are NAME-0.pcapng, NAME-1.pcapng, … in control.captures, made anew and never written over;
 * when one is full the next begins, and only the last `files` are kept. It ends by itself after
 * `seconds`, or `packets`. Each packet has a comment: which server it went to, or why it was dropped.
 *
 * OPTIONS, comma-separated: seconds=60 (1..86400), packets=0 (no bound), megabytes=16 a file (1..1024),
 * files=4 (1..64), snaplen=262 bytes of each packet (64..9000).
 *
 * Thread-safety: control's thread.
 */
#ifndef TG_RECORDING_FILE_H
#define TG_RECORDING_FILE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct tg_gateway;
struct tg_recording_file;

/* Commands of the control socket. */
json_t *tg_recording_start(struct tg_gateway *g, char **args, char *err, size_t err_len);
json_t *tg_recording_stop(struct tg_gateway *g, char **args, char *err, size_t err_len);
json_t *tg_recording_list(struct tg_gateway *g, char **args, char *err, size_t err_len);

/* Each of control's ticks: writes what came, ends what is over. */
void tg_recording_tick(struct tg_gateway *g, uint64_t now);

/* The workers have ended. */
void tg_recording_end(struct tg_gateway *g);

#endif
