/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet ports. The files of this folder are the only users of rte_eth_*.
 *
 * Thread-safety: set up by the main thread; afterwards immutable but for the link state.
 */
#ifndef TG_PORT_H
#define TG_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tg_config.h"
#include "tg_device_clock.h"

struct rte_mempool;

#define TG_RSS_KEY_MAX  64
#define TG_RSS_RETA_MAX 512

/* What a packet's arrival is taken from. */
enum tg_arrival_kind {
	TG_ARRIVAL_CONSERVATIVE = 0, /* the rule of tg_arrival.h: earliest time possible */
	TG_ARRIVAL_NIC,              /* the device's time stamp */
	TG_ARRIVAL_POLL,             /* input made up as it is read: the poll */
};

struct tg_port {
	char name[TG_NAME_MAX]; /* as configured */
	uint16_t ethdev;        /* DPDK's port id */
	char device[TG_NAME_MAX];
	char driver[32];
	enum tg_port_role role;
	unsigned int if_index; /* of the kernel's interface it reads from; 0: of none */
	bool on_interface;     /* it lives as long as that interface does */
	int socket;            /* NUMA node, -1 unknown */
	uint8_t mac[6];
	uint16_t mtu;
	uint32_t rate_mbps; /* of the line, as configured; 0: not known */
	uint16_t rx_queues, tx_queues;
	uint32_t rx_ring; /* places that packets can wait in before rx; 0: not known */
	uint64_t started; /* ticks, read before the device started: nothing has arrived earlier */
	bool bonded;      /* several links under one name (net_bonding) */
	bool partial;     /* checksums may be left to the NIC by kernels of this host */
	bool generated;   /* input is made up as it is read (net_null, infinite_rx): no ring */
	/* receive time stamps, where the device offers them and its clock can be read; -1: none. What
	 * control learns of that clock is the one thing that changes while workers run */
	int stamp_offset; /* of the stamp in the buffer's dynamic fields */
	uint64_t stamp_flag;
	struct tg_device_clock clock;
	uint64_t clock_due; /* control's */
	/* receive side scaling: 0 when the port has none in use */
	uint8_t rss_key_len;
	_Alignas(4) uint8_t rss_key[TG_RSS_KEY_MAX]; /* rte_softrss reads words */
	bool hashes_ports[2][2];                     /* [IPv6][UDP]; else by the addresses alone */
	uint16_t reta_size;
	uint16_t reta[TG_RSS_RETA_MAX];
};

/* Opens, configures and starts a port for n_workers. pool by NUMA node (pools[0] for unknown).
 * 0 or -errno and a sentence that names the port and the remedy. */
int tg_port_start(struct tg_port *p, const struct tg_config_port *config, unsigned int n_workers,
		  const struct tg_clock *clock, bool promiscuous, struct rte_mempool *const *pools,
		  unsigned int n_pools, char *err, size_t err_len);
void tg_port_stop(struct tg_port *p);

/* After all have started too: -EBUSY and a sentence if the port is a link of a bond, which takes in
 * its links as it starts. */
int tg_port_check(const struct tg_port *p, char *err, size_t err_len);

/* The DPDK device of that number or name. -ENODEV and a sentence that lists those there are. */
int tg_port_find(const char *name, uint16_t *ethdev, char *err, size_t err_len);

/* After all have started: where ports hash differently a flow that changes ports would change
 * workers, so then none is believed and our own keyed hash decides for all. */
void tg_port_agree(struct tg_port *ports, unsigned int n);

/* "conservative", "nic", "poll": `nic` once the device's clock has been compared with ours. */
enum tg_arrival_kind tg_port_arrival(const struct tg_port *p);
const char *tg_arrival_name(enum tg_arrival_kind kind);

/* Control, at every tick: reads the clock of a port that stamps packets, every 100 ms. */
void tg_port_compare_clocks(struct tg_port *p, const struct tg_clock *clock, uint64_t now);

/* Control: what is there now. Of a port on an interface of the kernel's the kernel is asked, as such
 * drivers say "up" for ever. */
enum tg_port_state {
	TG_PORT_UP,
	TG_PORT_NO_CARRIER,
	TG_PORT_OFF,  /* the interface was set down */
	TG_PORT_GONE, /* for good: a device of the same name is another one */
};
enum tg_port_state tg_port_state(const struct tg_port *p);
const char *tg_port_state_text(enum tg_port_state link);

/* Link and device counters for telemetry. */
struct tg_port_stats {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed, rx_nombuf, rx_errors,
		tx_errors;
	bool link_up;
	uint32_t link_mbps;
};
int tg_port_stats(const struct tg_port *p, struct tg_port_stats *out);

#endif
