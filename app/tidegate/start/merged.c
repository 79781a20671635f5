/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/merged.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A flag of the kernel's; 0 where the driver does not know the question. */
static uint32_t flag(int fd, const char *interface, uint32_t command)
{
	struct ethtool_value v = {.cmd = command};
	struct ifreq r = {.ifr_data = (void *)&v};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &r) == 0 ? v.data : 0;
}

bool tg_merged_sentence(const char *port, unsigned int if_index, char *text, size_t room)
{
	char interface[IF_NAMESIZE];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool gro, lro;

	if (fd < 0)
		return false;
	if (if_indextoname(if_index, interface) == NULL) {
		close(fd);
		return false;
	}
	gro = flag(fd, interface, ETHTOOL_GGRO) != 0;
	lro = (flag(fd, interface, ETHTOOL_GFLAGS) & ETH_FLAG_LRO) != 0;
	close(fd);
	if (!gro && !lro)
		return false;
	snprintf(text, room,
		 "port \"%s\": the kernel merges packets that %s receives; merged, several count as one "
		 "and are too long to be sent on: ethtool -K %s%s%s",
		 port, interface, interface, gro ? " gro off" : "", lro ? " lro off" : "");
	return true;
}
