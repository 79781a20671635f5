/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording/filter.h"

#include <ctype.h>
#include <errno.h>
#include <pcap.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The words of the language; what else begins with a letter is somebody's name. */
static bool is_word(const char *word, size_t len)
{
	static const char *const words[] = {
		"and",       "arp",      "broadcast", "byte",  "decnet",     "dst",   "ether",
		"gateway",   "geneve",   "greater",   "host",  "icmp",       "icmp6", "icmp6code",
		"icmp6type", "icmpcode", "icmptype",  "ip",    "ip6",        "len",   "less",
		"mask",      "mpls",     "multicast", "net",   "not",        "or",    "port",
		"portrange", "pppoed",   "pppoes",    "proto", "protochain", "rarp",  "sctp",
		"src",       "tcp",      "tcpflags",  "udp",   "vlan",       "vxlan",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && strncmp(words[i], word, len) == 0)
			return true;
	/* values of fields: tcp-syn, icmp-echo, icmp6-echo ... */
	return strncmp(word, "tcp-", 4) == 0 || strncmp(word, "icmp-", 5) == 0 ||
	       strncmp(word, "icmp6-", 6) == 0;
}

/* The first name in it, or NULL. Addresses of hexadecimal digits and colons are none. */
static const char *find_name(const char *text, size_t *len)
{
	for (const char *p = text; *p != '\0'; p += *len > 0 ? *len : 1) {
		bool letters = isalpha((unsigned char)*p) || *p == '_';

		*len = 0;
		while (isalnum((unsigned char)p[*len]) ||
		       (p[*len] != '\0' && strchr("._-:", p[*len]) != NULL))
			++*len;
		if (letters && memchr(p, ':', *len) == NULL && !is_word(p, *len))
			return p;
	}
	return NULL;
}

int tg_recording_filter(const char *text, struct rte_bpf **out, char *err, size_t err_len)
{
	struct bpf_program classic = {0};
	struct rte_bpf_prm *prm;
	const char *name;
	size_t len;
	pcap_t *p;

	*out = NULL;
	if (text[0] == '\0')
		return 0;
	name = find_name(text, &len);
	if (name != NULL) {
		snprintf(
			err, err_len,
			"filter \"%s\": names are not looked up: give a number or an address for \"%.*s\"",
			text, (int)len, name);
		return -EINVAL;
	}
	p = pcap_open_dead(DLT_EN10MB, 65535);
	if (p == NULL)
		return -ENOMEM;
	if (pcap_compile(p, &classic, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		snprintf(err, err_len, "filter \"%s\": %s (pcap-filter(7))", text, pcap_geterr(p));
		pcap_close(p);
		return -EINVAL;
	}
	prm = rte_bpf_convert(&classic);
	*out = prm != NULL ? rte_bpf_load(prm) : NULL;
	rte_free(prm);
	pcap_freecode(&classic);
	pcap_close(p);
	if (*out != NULL)
		return 0;
	snprintf(err, err_len, "filter \"%s\": rte_bpf does not take it (%s)", text,
		 rte_strerror(rte_errno));
	return -EINVAL;
}
