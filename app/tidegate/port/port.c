/* SPDX-License-Identifier: BSD-3-Clause */
#include "port.h"

#include <errno.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_random.h>
#include <stdio.h>

#include "stamp.h"

/*
 * Where packets may wait before rx: the arrival rule of the time gate depends on it. NICs keep them in
 * the descriptor ring. These devices have a queue behind it (a socket, a kernel ring, another
 * process, a bond's links) whose length is not known here.
 */
static const char *const behind_a_queue[] = {"net_pcap", "net_af_packet", "net_af_xdp", "net_tap",
					     "net_ring", "net_memif",     "net_bonding"};

static bool is_behind_a_queue(const struct tg_port *p)
{
	for (size_t i = 0; i < RTE_DIM(behind_a_queue); i++)
		if (strcmp(p->driver, behind_a_queue[i]) == 0)
			return true;
	return false;
}

static void describe_input(struct tg_port *p, uint16_t rx_descriptors, const char *devargs)
{
	bool infinite = devargs != NULL && strstr(devargs, "infinite_rx=1") != NULL;

	p->rx_ring = is_behind_a_queue(p) ? 0 : rx_descriptors;
	p->partial = strcmp(p->driver, "net_af_packet") == 0 ||
		     strcmp(p->driver, "net_af_xdp") == 0;
	p->generated = strcmp(p->driver, "net_null") == 0 ||
		       (strcmp(p->driver, "net_pcap") == 0 && infinite);
}

static const char *device_args(const struct rte_device *d)
{
	const struct rte_devargs *a = rte_dev_devargs(d);

	return a != NULL ? a->args : NULL;
}

int tg_port_find(const char *name, uint16_t *id, char *err, size_t err_len)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);
	int len;

	if (*name != '\0' && *end == '\0' && n < RTE_MAX_ETHPORTS &&
	    rte_eth_dev_is_valid_port((uint16_t)n)) {
		*id = (uint16_t)n;
		return 0;
	}
	if (rte_eth_dev_get_port_by_name(name, id) == 0)
		return 0;
	len = snprintf(err, err_len, "port \"%s\": no such DPDK port; there are", name);
	RTE_ETH_FOREACH_DEV(*id) {
		char device[RTE_ETH_NAME_MAX_LEN];

		if (len < 0 || (size_t)len >= err_len)
			break;
		if (rte_eth_dev_get_name_by_port(*id, device) == 0)
			len += snprintf(err + len, err_len - (size_t)len, " %u (%s)", *id, device);
	}
	if (rte_eth_dev_count_avail() == 0)
		snprintf(err, err_len,
			 "port \"%s\": DPDK found no port at all; name one in the EAL options (--vdev=... or -a "
			 "PCI address) or bind a device: drivers-conf/bind.sh",
			 name);
	return -ENODEV;
}

/* Queues: one a worker in both directions. Transmit queues are not shared (no locks). */
static int choose_queues(struct tg_port *p, const struct tg_config_port *c,
			 const struct rte_eth_dev_info *info, unsigned int n_workers, char *err,
			 size_t err_len)
{
	unsigned int rx = c->rx_queues != 0 ? c->rx_queues : n_workers;

	if (info->max_tx_queues < n_workers) {
		snprintf(
			err, err_len,
			"port \"%s\" (%s): has %u transmit queues and %u workers need one each; give the "
			"device more queues (for example qpairs=%u) or start with fewer lcores (-l)",
			c->name, p->driver, info->max_tx_queues, n_workers, n_workers);
		return -EINVAL;
	}
	if (c->rx_queues > info->max_rx_queues || c->rx_queues > n_workers) {
		snprintf(err, err_len, "port \"%s\" (%s): rx_queues %u is more than %s (%u)",
			 c->name, p->driver, c->rx_queues,
			 c->rx_queues > n_workers ? "there are workers" : "the device has",
			 RTE_MIN(n_workers, (unsigned int)info->max_rx_queues));
		return -EINVAL;
	}
	rx = RTE_MIN(rx, n_workers);
	p->rx_queues = (uint16_t)RTE_MIN(rx, (unsigned int)info->max_rx_queues);
	p->tx_queues = (uint16_t)n_workers;
	return 0;
}

/* One key for all ports, made once: a flow's worker does not depend on the port it comes by. */
static const uint8_t *rss_key(void)
{
	static uint8_t key[TG_RSS_KEY_MAX];

	if (key[0] != 0)
		return key;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)rte_rand();
	key[0] |= 1; /* made */
	return key;
}

/* Asks for hashing of addresses and ports, where the device can and it makes sense. */
static void choose_rss(struct tg_port *p, const struct rte_eth_dev_info *info,
		       struct rte_eth_conf *conf)
{
	uint64_t types = info->flow_type_rss_offloads &
			 (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);

	p->reta_size = 0;
	p->rss_key_len = 0;
	if (p->rx_queues < 2 || types == 0 || info->hash_key_size == 0 ||
	    info->hash_key_size > TG_RSS_KEY_MAX || info->reta_size == 0 ||
	    info->reta_size > TG_RSS_RETA_MAX)
		return;
	p->rss_key_len = info->hash_key_size;
	memcpy(p->rss_key, rss_key(), p->rss_key_len);
	if (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH)
		conf->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_key = p->rss_key;
	conf->rx_adv_conf.rss_conf.rss_key_len = p->rss_key_len;
	conf->rx_adv_conf.rss_conf.rss_hf = types;
	p->hashes_ports[0][0] = (types & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0;
	p->hashes_ports[0][1] = (types & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0;
	p->hashes_ports[1][0] = (types & RTE_ETH_RSS_NONFRAG_IPV6_TCP) != 0;
	p->hashes_ports[1][1] = (types & RTE_ETH_RSS_NONFRAG_IPV6_UDP) != 0;
	p->reta_size = info->reta_size;
}

/* The indirection table as we want it: queue i mod n. A device that refuses goes without RSS. */
static void write_reta(struct tg_port *p)
{
	struct rte_eth_rss_reta_entry64 reta[TG_RSS_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE] = {0};

	if (p->reta_size == 0)
		return;
	for (unsigned int i = 0; i < p->reta_size; i++) {
		p->reta[i] = (uint16_t)(i % p->rx_queues);
		reta[i / RTE_ETH_RETA_GROUP_SIZE].mask |= UINT64_C(1)
							  << (i % RTE_ETH_RETA_GROUP_SIZE);
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = p->reta[i];
	}
	if (rte_eth_dev_rss_reta_update(p->ethdev, reta, p->reta_size) != 0)
		p->reta_size = 0;
}

/* pools are in the order of EAL's list of nodes */
static struct rte_mempool *pool_of(const struct tg_port *p, struct rte_mempool *const *pools,
				   unsigned int n_pools)
{
	for (unsigned int i = 0; i < n_pools; i++)
		if (rte_socket_id_by_idx(i) == p->socket)
			return pools[i];
	return pools[0];
}

static int set_up_queues(struct tg_port *p, const struct tg_config_port *c, unsigned int n_workers,
			 struct rte_mempool *const *pools, unsigned int n_pools, char *err,
			 size_t err_len)
{
	uint16_t rxd = c->rx_descriptors, txd = c->tx_descriptors;
	int r = rte_eth_dev_adjust_nb_rx_tx_desc(p->ethdev, &rxd, &txd);

	if (r != 0) {
		snprintf(err, err_len,
			 "port \"%s\": %u/%u descriptors are refused by the driver (%s)", c->name,
			 c->rx_descriptors, c->tx_descriptors, strerror(-r));
		return r;
	}
	for (uint16_t q = 0; q < p->rx_queues && r == 0; q++)
		r = rte_eth_rx_queue_setup(p->ethdev, q, rxd, (unsigned int)p->socket, NULL,
					   pool_of(p, pools, n_pools));
	for (uint16_t q = 0; q < n_workers && r == 0; q++)
		r = rte_eth_tx_queue_setup(p->ethdev, q, txd, (unsigned int)p->socket, NULL);
	if (r != 0)
		snprintf(err, err_len, "port \"%s\" (%s): cannot set up its queues: %s", c->name,
			 p->driver, strerror(-r));
	p->rx_ring = rxd;
	return r;
}

static int set_mtu(struct tg_port *p, const struct tg_config_port *c, char *err, size_t err_len)
{
	int r = rte_eth_dev_set_mtu(p->ethdev, c->mtu);

	p->mtu = c->mtu;
	/* net_af_packet and its like claim 1518 bytes and pass whatever their interface does: there
	 * the configured length is ours to keep to, and the interface's own MTU the operator's to set */
	if (r == 0 || (r == -ENOTSUP && c->mtu <= RTE_ETHER_MTU) ||
	    (is_behind_a_queue(p) && !p->bonded))
		return 0;
	snprintf(
		err, err_len,
		"port \"%s\" (%s): mtu %u is refused (%s); set ports[].mtu to what the device allows",
		c->name, p->driver, c->mtu, strerror(-r));
	return r;
}

static int start(struct tg_port *p, bool promiscuous, const char *args, char *err, size_t err_len)
{
	int r;

	describe_input(p, (uint16_t)p->rx_ring, args);
	p->started = rte_rdtsc();
	r = rte_eth_dev_start(p->ethdev);
	if (r != 0) {
		snprintf(err, err_len, "port \"%s\" (%s): does not start: %s%s", p->name, p->driver,
			 strerror(-r),
			 p->bonded
				 ? "; each of its links must let its MAC be set (af_packet, af_xdp, "
				   "memif, pcap and ring do not)"
				 : "");
		return r;
	}
	write_reta(p);
	/* neighbour solicitations are multicast; a mirror's frames are for others */
	r = promiscuous ? rte_eth_promiscuous_enable(p->ethdev)
			: rte_eth_allmulticast_enable(p->ethdev);
	if (r != 0 && r != -ENOTSUP)
		fprintf(stderr, "tidegate: port \"%s\" (%s): refuses %s (%s): %s\n", p->name,
			p->driver, promiscuous ? "promiscuous mode" : "all multicast", strerror(-r),
			promiscuous ? "a mirror's frames may not be seen"
				    : "IPv6 addresses may not be found by neighbours");
	return 0;
}

int tg_port_check(const struct tg_port *p, char *err, size_t err_len)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(p->ethdev, &info) != 0 ||
	    !(*info.dev_flags & RTE_ETH_DEV_BONDED_SLAVE))
		return 0;
	snprintf(err, err_len,
		 "port \"%s\" (%s): is a link of a bonded device; name that one in ports[].port",
		 p->name, rte_dev_name(info.device));
	return -EBUSY;
}

/* A bond takes in its links when it is configured for the first time: only then it knows its MAC,
 * queues and offloads. */
static int ask(struct tg_port *p, struct rte_eth_dev_info *info, struct rte_ether_addr *mac)
{
	const struct rte_eth_conf first = {0};
	int r = rte_eth_dev_info_get(p->ethdev, info);

	p->bonded = r == 0 && strcmp(info->driver_name, "net_bonding") == 0;
	if (p->bonded) {
		r = rte_eth_dev_configure(p->ethdev, 1, 1, &first);
		if (r == 0)
			r = rte_eth_dev_info_get(p->ethdev, info);
	}
	return r != 0 ? r : rte_eth_macaddr_get(p->ethdev, mac);
}

int tg_port_start(struct tg_port *p, const struct tg_config_port *config, unsigned int n_workers,
		  const struct tg_clock *clock, bool promiscuous, struct rte_mempool *const *pools,
		  unsigned int n_pools, char *err, size_t err_len)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int r;

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", config->name);
	r = tg_port_find(config->port, &p->ethdev, err, err_len);
	if (r == 0)
		r = tg_port_check(p, err, err_len);
	if (r != 0)
		return r;
	r = ask(p, &info, &mac);
	if (r != 0) {
		snprintf(err, err_len, "port \"%s\": does not answer: %s", config->name,
			 strerror(-r));
		return r;
	}
	snprintf(p->driver, sizeof(p->driver), "%s", info.driver_name);
	snprintf(p->device, sizeof(p->device), "%s", rte_dev_name(info.device));
	memcpy(p->mac, mac.addr_bytes, sizeof(p->mac));
	p->if_index = info.if_index;
	p->on_interface = info.if_index != 0 && is_behind_a_queue(p);
	p->role = config->role;
	p->rate_mbps = config->rate_mbps;
	p->socket = rte_eth_dev_socket_id(p->ethdev);
	r = choose_queues(p, config, &info, n_workers, err, err_len);
	if (r != 0)
		return r;
	choose_rss(p, &info, &conf);
	if (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (!p->bonded) /* each link would stamp by a clock of its own */
		conf.rxmode.offloads |= tg_stamp_offload(&info);
	r = rte_eth_dev_configure(p->ethdev, p->rx_queues, p->tx_queues, &conf);
	if (r != 0) {
		snprintf(err, err_len,
			 "port \"%s\" (%s): refuses %u receive and %u transmit queues: %s",
			 config->name, p->driver, p->rx_queues, p->tx_queues, strerror(-r));
		return r;
	}
	r = set_mtu(p, config, err, err_len);
	if (r == 0)
		r = set_up_queues(p, config, n_workers, pools, n_pools, err, err_len);
	if (r == 0)
		r = start(p, promiscuous, device_args(info.device), err, err_len);
	if (r == 0)
		tg_stamp_start(p, clock, conf.rxmode.offloads);
	if (r != 0)
		rte_eth_dev_close(p->ethdev);
	return r;
}

void tg_port_agree(struct tg_port *ports, unsigned int n)
{
	bool same = true;

	for (unsigned int i = 1; i < n; i++)
		same = same && ports[i].reta_size == ports[0].reta_size &&
		       ports[i].rx_queues == ports[0].rx_queues &&
		       memcmp(ports[i].hashes_ports, ports[0].hashes_ports,
			      sizeof(ports[0].hashes_ports)) == 0 &&
		       ports[i].rss_key_len == ports[0].rss_key_len;
	for (unsigned int i = 0; i < n && !same; i++)
		ports[i].reta_size = 0;
}

void tg_port_stop(struct tg_port *p)
{
	rte_eth_dev_stop(p->ethdev);
	rte_eth_dev_close(p->ethdev);
}

int tg_port_stats(const struct tg_port *p, struct tg_port_stats *out)
{
	struct rte_eth_stats s;
	struct rte_eth_link link = {0};
	int r = rte_eth_stats_get(p->ethdev, &s);

	if (r != 0)
		return r;
	rte_eth_link_get_nowait(p->ethdev, &link);
	*out = (struct tg_port_stats){
		.rx_packets = s.ipackets,
		.rx_bytes = s.ibytes,
		.tx_packets = s.opackets,
		.tx_bytes = s.obytes,
		.rx_missed = s.imissed,
		.rx_nombuf = s.rx_nombuf,
		.rx_errors = s.ierrors,
		.tx_errors = s.oerrors,
		.link_up = tg_port_state(p) == TG_PORT_UP,
		.link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed,
	};
	return 0;
}
