/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libpcap expression (pcap-filter(7)) as a program for rte_bpf. Names are refused before libpcap sees them: it
 * would ask a resolver for them, and control, which answers ARP and checks servers, would wait for that.
 *
 * Thread-safety: control.
 */
#ifndef TG_RECORDING_FILTER_H
#define TG_RECORDING_FILTER_H

#include <stddef.h>

struct rte_bpf;

/* *out: NULL for "", which takes every packet; rte_bpf_destroy frees it. 0, or -errno and a sentence. */
int tg_recording_filter(const char *text, struct rte_bpf **out, char *err, size_t err_len);

#endif
