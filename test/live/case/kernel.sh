# shellcheck shell=bash
# The way to the kernel, one arm: a TCP server of the gateway's own host answers at the gateway's address, as sshd would,
# while services are forwarded by the same interface; the host reaches the network by it as well.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands nft ping
# shellcheck disable=SC2034 # read by gateway.sh
KERNEL=yes
[ -e /dev/net/tun ] || skip "/dev/net/tun is missing"
net_up one-arm
kernel_up gw gw1 2>"$WORK/nft.err" || skip "nft cannot drop at ingress: $(tail -n 1 "$WORK/nft.err")"
for name in a b c; do
	echo_server "$name" const:2000
done
# shellcheck disable=SC2034
SERVICE_MORE='"announce": true'
gateway_config one-arm "$(service web4 "$VIP4" tcp 8080 l2 maglev "$(server a)" "$(server b)" "$(server c)")" \
	"$(service web6 "$VIP6" tcp 8080 l2 maglev "$(server6 a)" "$(server6 b)" "$(server6 c)")"
gateway_start

has() { [ -n "$(in_ns gw ip -o address show dev tgk0 to "$1")" ]; }
for address in 10.0.0.2 2001:db8:2::2 "$VIP4" "$VIP6"; do
	wait_for 5 "$address on tgk0" has "$address"
done
start server-host gw "${CPUS[0]}" "$TG_SERVER" --name host --port 22 --delay const:100
wait_for 5 "the host's server" listening gw 22

for to in 10.0.0.2 2001:db8:2::2; do
	load "host-$to" "$TG_CLIENT" --connections 50 --parallel 5 --requests 3 "$to" 22
	check judge client "the host at $to" "$WORK/host-$to.out" 150
done
load upload "$TG_CLIENT" --upload=200000 --connections 10 --parallel 2 --requests 2 10.0.0.2 22
check judge client "uploads to the host" "$WORK/upload.out" 20
# both at once
start side cli "${CPUS[0]}" "$TG_CLIENT" --connections 50 --parallel 2 --requests 3 10.0.0.2 22
for vip in "$VIP4" "$VIP6"; do
	load "web-$vip" "$TG_CLIENT" --connections 300 --parallel 10 --requests 4 "$vip" 8080
	check judge client "services at $vip" "$WORK/web-$vip.out" 1200
done
finish side || FAULTS+=("the host's clients failed under load")
check judge client "the host meanwhile" "$WORK/side.out" 150
# from the host
check quiet in_ns gw ping -q -c 3 -i 0.2 -W 2 10.0.0.1
check quiet in_ns gw ping -q -c 3 -i 0.2 -W 2 2001:db8:2::1
# what is for a service's address is never the kernel's, whatever its port
check eval '! in_ns cli timeout 1 bash -c "exec 3<>/dev/tcp/$VIP4/22" 2>/dev/null'
# the thread that serves the kernel keeps one right, the others none
for task in "/proc/${PID[gateway]}"/task/*; do
	printf '%s %s\n' "$(cat "$task/comm")" "$(sed -n 's/^CapEff:[[:space:]]*//p' "$task/status")"
done >"$WORK/capabilities"
check test "$(awk '$1 == "kernel" {print $2}' "$WORK/capabilities")" = 0000000000001000
gateway_stats
check /usr/bin/python3 -c "
import json
p = json.load(open('$WORK/stats.json'))
p = p.get('result', p)['packets']
assert p['to_kernel'] > 1000, p
assert p['received'] == p['forwarded'] + p['dropped'] + p['replied'] + p['to_kernel'], p
print(p['to_kernel'], 'packets to the kernel')"
gateway_stop
verdict
