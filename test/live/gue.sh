# shellcheck shell=bash
# Sourced by the cases about GUE: the server's side of it, as examples/gue/README.md sets it up.

# gue_up: on every server.
gue_up() {
	local name ns
	clang -O2 -Wall -Wextra -Werror -target bpf -idirafter "/usr/include/$(uname -m)-linux-gnu" \
		-c "$TOP/examples/gue/gue.bpf.c" -o "$WORK/gue.o" || return 1
	for name in "${SERVERS[@]}"; do
		ns=$(server_ns "$name")
		in_ns "$ns" ip link set dev eth0 xdp obj "$WORK/gue.o" sec xdp || return 1
		in_ns "$ns" tc qdisc add dev eth0 clsact || return 1
		in_ns "$ns" tc filter add dev eth0 ingress bpf direct-action obj "$WORK/gue.o" sec tc || return 1
	done
}
