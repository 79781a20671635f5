/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin.h"

#include <errno.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <stdio.h>

#define DESCRIPTORS 256
#define LINK_MAX    (RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + 4) /* and a VLAN tag */

/* The port's, as far as the device goes: net_tap takes no jumbo frames. */
static uint16_t mtu_of(const struct tg_config_port *config, const struct rte_eth_dev_info *info)
{
	unsigned int most = info->max_rx_pktlen > RTE_ETHER_MTU + LINK_MAX
				    ? info->max_rx_pktlen - LINK_MAX
				    : RTE_ETHER_MTU;

	return (uint16_t)RTE_MIN((unsigned int)config->mtu, most);
}

static int configure(struct tg_twin *t, uint16_t mtu, struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = {0};
	uint16_t rxd = DESCRIPTORS, txd = DESCRIPTORS;
	int r = rte_eth_dev_configure(t->ethdev, 1, 1, &conf);

	if (r == 0)
		r = rte_eth_dev_set_mtu(t->ethdev, mtu);
	if (r == 0)
		r = rte_eth_dev_adjust_nb_rx_tx_desc(t->ethdev, &rxd, &txd);
	if (r == 0)
		r = rte_eth_rx_queue_setup(t->ethdev, 0, rxd, SOCKET_ID_ANY, NULL, pool);
	if (r == 0)
		r = rte_eth_tx_queue_setup(t->ethdev, 0, txd, SOCKET_ID_ANY, NULL);
	return r;
}

int tg_twin_start(struct tg_twin *t, const struct tg_config_port *config,
		  const struct tg_port *port, struct rte_mempool *pool, char *err, size_t err_len)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int r = tg_port_find(config->kernel, &t->ethdev, err, err_len);

	if (r != 0)
		return r;
	memcpy(mac.addr_bytes, port->mac, sizeof(mac.addr_bytes));
	r = rte_eth_dev_info_get(t->ethdev, &info);
	if (r == 0)
		r = configure(t, mtu_of(config, &info), pool);
	/* the kernel answers for the port: frames to it have the port's address */
	if (r == 0)
		r = rte_eth_dev_default_mac_addr_set(t->ethdev, &mac);
	if (r == 0)
		r = rte_eth_dev_start(t->ethdev);
	if (r != 0) {
		snprintf(err, err_len,
			 "port \"%s\": kernel device \"%s\" (%s) does not start: %s; it needs one queue and the "
			 "port's link address",
			 config->name, config->kernel, info.driver_name, strerror(-r));
		rte_eth_dev_close(t->ethdev);
		return r;
	}
	t->if_index = info.if_index;
	if (t->if_index == 0 || if_indextoname(t->if_index, t->name) == NULL)
		snprintf(t->name, sizeof(t->name), "?");
	t->used = true;
	return 0;
}

void tg_twin_stop(struct tg_twin *t)
{
	if (!t->used)
		return;
	rte_eth_dev_stop(t->ethdev);
	rte_eth_dev_close(t->ethdev);
	t->used = false;
}

uint16_t tg_twin_receive(const struct tg_twin *t, struct rte_mbuf **m, uint16_t n)
{
	return rte_eth_rx_burst(t->ethdev, 0, m, n);
}

uint16_t tg_twin_send(const struct tg_twin *t, struct rte_mbuf **m, uint16_t n)
{
	return rte_eth_tx_burst(t->ethdev, 0, m, n);
}
