# shellcheck shell=bash
# tunnel.sh ipip|gre: both versions of IP in both: TCP in its own version, UDP in the other. Servers take the outer
# headers off in XDP.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
forward=$1
need_commands clang tcpdump
net_up two-arm
decap_up 2>"$WORK/decap.err" || skip "cannot load the decapsulator: $(tail -n 1 "$WORK/decap.err")"
for name in a b c; do
	echo_server "$name" const:2000
done
over4=("$(server a)" "$(server b)" "$(server c)")
over6=("$(server6 a)" "$(server6 b)" "$(server6 c)")
gateway_config two-arm \
	"$(service tcp4 "$VIP4" tcp 8080 "$forward" maglev "${over4[@]}")" \
	"$(service tcp6 "$VIP6" tcp 8080 "$forward" maglev "${over6[@]}")" \
	"$(service udp4 "$VIP4" udp 8080 "$forward" maglev "${over6[@]}")" \
	"$(service udp6 "$VIP6" udp 8080 "$forward" maglev "${over4[@]}")"
gateway_start
sniff wire sw p-gw 'not arp and not icmp6' -Q in -s 128
for version in 4 6; do
	vip=VIP$version
	for kind in '' --udp --upload=20000; do
		load client "$TG_CLIENT" $kind --connections 200 --parallel 10 --requests 3 "${!vip}" 8080
		check judge client "IPv$version ${kind:---tcp}" "$WORK/client.out" 600
		check judge shares 1e-6 "$WORK/client.out" a=1 b=1 c=1
	done
done
stop wire
# behind GRE's first two bytes stands the EtherType; tcpdump cannot index behind ip6
case $forward in
ipip) pairs=('4 in 4:ip proto 4' '6 in 4:ip proto 41' '4 in 6:ip6 proto 4' '6 in 6:ip6 proto 41') ;;
gre) pairs=('4 in 4:ip proto 47 and ip[20:4] = 0x0800' '6 in 4:ip proto 47 and ip[20:4] = 0x86dd'
	'4 in 6:ip6 proto 47 and ether[54:4] = 0x0800' '6 in 6:ip6 proto 47 and ether[54:4] = 0x86dd') ;;
esac
for pair in "${pairs[@]}"; do
	count=$(sniffed wire "${pair#*:}")
	FIGURES+=("${pair%%:*}: $count packets")
	check test "$count" -ge 600
done
check test "$(sniffed wire 'tcp or udp')" = 0
gateway_stats
check judge totals "$WORK/stats.json" 3600
gateway_stop
verdict
