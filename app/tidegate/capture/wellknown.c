/* SPDX-License-Identifier: BSD-3-Clause */
#include "wellknown.h"

#include <stdlib.h>

/* Sorted. Ports below 1024 are here when clients use such ports too (NFS, rsh, peers). */
static const uint16_t services[] = {
	21,   22,   23,   25,   53,   67,    69,    80,    88,    110,   111,   123,   137,  139,
	143,  161,  179,  389,  443,  445,   465,   500,   502,   514,   546,   554,   587,  631,
	636,  784,  853,  993,  995,  1080,  1194,  1433,  1521,  1701,  1812,  1813,  1883, 2049,
	2152, 2181, 2375, 2376, 2379, 2775,  3128,  3260,  3268,  3306,  3389,  3478,  4222, 4433,
	4500, 4789, 4840, 5060, 5061, 5201,  5222,  5353,  5355,  5432,  5671,  5672,  5683, 5684,
	5985, 6081, 6379, 6443, 6653, 8000,  8008,  8080,  8081,  8088,  8443,  8883,  8888, 9000,
	9042, 9092, 9100, 9200, 9418, 11211, 11434, 15672, 25565, 26257, 27017, 51820,
};

static int compare(const void *key, const void *element)
{
	return *(const uint16_t *)key - *(const uint16_t *)element;
}

int tg_port_rank(uint16_t port)
{
	if (bsearch(&port, services, sizeof(services) / sizeof(services[0]), sizeof(services[0]),
		    compare) != NULL)
		return 2;
	return port != 0 && port < 1024;
}
