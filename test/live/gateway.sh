# shellcheck shell=bash
# Sourced by case.sh: the gateway under test, its configuration and its control socket.

# server NAME [EXTRA]: a server of the configuration, by its IPv4 address; server6 by its IPv6 address.
server() { printf '{"name": "%s", "address": "%s"%s}' "$1" "$(server_address4 "$1")" "${2:+, $2}"; }
server6() { printf '{"name": "%s", "address": "%s"%s}' "$1" "$(server_address6 "$1")" "${2:+, $2}"; }

list() {
	local IFS=,
	echo "[$*]"
}

# service NAME ADDRESS PROTOCOL PORT FORWARD POLICY SERVER…; SERVICE_MORE: further keys of it
service() {
	local name=$1 address=$2 protocol=$3 port=$4 forward=$5 policy=$6
	shift 6
	printf '{"name": "%s", "address": "%s", "protocol": "%s", "ports": [%s], "forward": "%s", "policy": "%s"%s, "servers": %s}' \
		"$name" "$address" "$protocol" "$port" "$forward" "$policy" "${SERVICE_MORE:+, $SERVICE_MORE}" "$(list "$@")"
}

# gateway_config FORM SERVICE…: writes $WORK/gateway.json for the network of that form. KERNEL=yes: the port that
# clients come by has the kernel's interface tgk0 as its twin.
gateway_config() {
	local form=$1 ports kernel="${KERNEL:+, \"kernel\": \"net_tap0\"}"
	shift
	if [ "$form" = two-arm ]; then
		ports='{"name": "front", "port": "net_af_packet0", "role": "client",
			"addresses": ["198.51.100.2/24", "2001:db8:1::2/64"]'"$kernel"'},
			{"name": "back", "port": "net_af_packet1", "role": "server", "mtu": 1600,
			"addresses": ["10.0.0.2/24", "2001:db8:2::2/64"]}'
	else
		ports='{"name": "switch", "port": "net_af_packet1", "role": "both", "mtu": 1600,
			"addresses": ["10.0.0.2/24", "2001:db8:2::2/64"]'"$kernel"'}'
	fi
	cat >"$WORK/gateway.json" <<-END
		{"version": 1,
		 "flow_table": {"slots_per_worker": 65536},
		 "control": {"socket": "$WORK/control.sock"},
		 "ports": [$ports],
		 "services": $(list "$@")}
	END
	GATEWAY_VDEVS=("--vdev=net_af_packet1,iface=gw1")
	[ "$form" != two-arm ] || GATEWAY_VDEVS+=("--vdev=net_af_packet0,iface=gw0")
	[ -z "$kernel" ] || GATEWAY_VDEVS+=("--vdev=net_tap0,iface=tgk0")
}

gateway_start() {
	start gateway gw "${CPUS[0]},${CPUS[1]}" "$TIDEGATE" -l "${CPUS[1]}" --no-pci --no-huge -m 256 \
		--file-prefix "$NET_ID" "${GATEWAY_VDEVS[@]}" -- --config "$WORK/gateway.json" "$@"
	wait_for 10 "the gateway" gateway_answers_or_ended
	running gateway || die "the gateway ended at once: $(tail -n 1 "$WORK/gateway.err")"
}

gateway_answers_or_ended() {
	ctl service list || ! running gateway
}

ctl() {
	timeout --foreground 5 "$TIDEGATECTL" --socket "$WORK/control.sock" "$@"
}

gateway_stats() {
	ctl stats show --json >"$WORK/stats.json" ||
		die "tidegatectl stats show --json failed: $(head -c 300 "$WORK/stats.json")"
}

# Ends the gateway; it must end well and print what it did.
gateway_stop() {
	local code=0
	stop gateway || code=$?
	check gateway_ended_well "$code"
}

gateway_ended_well() {
	[ "$1" = 0 ] || {
		echo "the gateway ended with exit code $1"
		return 1
	}
	[ ! -e "/var/run/dpdk/$NET_ID" ] || {
		echo "the gateway left /var/run/dpdk/$NET_ID behind"
		return 1
	}
}
