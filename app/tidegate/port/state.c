/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"

/* By number, not by name: one that was removed and made again is another one, and ours stays dead. */
static enum tg_port_state interface_link(unsigned int if_index)
{
	struct ifreq r = {.ifr_ifindex = (int)if_index};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enum tg_port_state link = TG_PORT_UP;

	if (fd < 0) /* not known: the device's own word */
		return link;
	if (ioctl(fd, SIOCGIFNAME, &r) != 0 || ioctl(fd, SIOCGIFFLAGS, &r) != 0)
		link = errno == ENODEV || errno == ENXIO ? TG_PORT_GONE : TG_PORT_UP;
	else if ((r.ifr_flags & IFF_UP) == 0)
		link = TG_PORT_OFF;
	else if ((r.ifr_flags & IFF_RUNNING) == 0)
		link = TG_PORT_NO_CARRIER;
	close(fd);
	return link;
}

enum tg_port_state tg_port_state(const struct tg_port *p)
{
	struct rte_eth_link link = {0};
	enum tg_port_state kernel = p->on_interface ? interface_link(p->if_index) : TG_PORT_UP;

	if (kernel != TG_PORT_UP)
		return kernel;
	if (!rte_eth_dev_is_valid_port(p->ethdev) || rte_eth_dev_is_removed(p->ethdev))
		return TG_PORT_GONE;
	rte_eth_link_get_nowait(p->ethdev, &link);
	return link.link_status != 0 ? TG_PORT_UP : TG_PORT_NO_CARRIER;
}

const char *tg_port_state_text(enum tg_port_state link)
{
	static const char *const texts[] = {
		[TG_PORT_UP] = "its link is up",
		[TG_PORT_NO_CARRIER] = "its link has no carrier: cable, switch, a pair's other end",
		[TG_PORT_OFF] = "its interface was set down: ip link set NAME up",
		[TG_PORT_GONE] = "its device was removed: make it again, then restart tidegate",
	};

	return texts[link];
}
