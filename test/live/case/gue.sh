# shellcheck shell=bash
# GUE, both versions in both: nginx over TCP in its own version, UDP in the other. Servers open it in XDP.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
# shellcheck source=../gue.sh
. "$LIVE/gue.sh"
need_commands clang tcpdump nginx tc
net_up two-arm
gue_up 2>"$WORK/gue.err" || skip "cannot load the server's side of GUE: $(tail -n 1 "$WORK/gue.err")"
for name in a b c; do
	nginx_server "$name"
	echo_server "$name" const:1000
done
over4=("$(server a)" "$(server b)" "$(server c)")
over6=("$(server6 a)" "$(server6 b)" "$(server6 c)")
gateway_config two-arm \
	"$(service web4 "$VIP4" tcp 80 gue maglev "${over4[@]}")" \
	"$(service web6 "$VIP6" tcp 80 gue maglev "${over6[@]}")" \
	"$(service big4 "$VIP4" tcp 8080 gue maglev "${over4[@]}")" \
	"$(service big6 "$VIP6" tcp 8080 gue maglev "${over6[@]}")" \
	"$(service udp4 "$VIP4" udp 8080 gue maglev "${over6[@]}")" \
	"$(service udp6 "$VIP6" udp 8080 gue maglev "${over4[@]}")"
gateway_start
sniff wire sw p-gw 'not arp and not icmp6' -Q in -s 128
for version in 4 6; do
	vip=VIP$version
	load client "$TG_CLIENT" --connections 200 --parallel 10 --requests 3 "${!vip}" 80
	check judge client "IPv$version nginx" "$WORK/client.out" 600
	check judge shares 1e-6 "$WORK/client.out" a=1 b=1 c=1
	for kind in --udp --upload=20000; do
		load client "$TG_CLIENT" $kind --connections 200 --parallel 10 --requests 3 "${!vip}" 8080
		check judge client "IPv$version $kind" "$WORK/client.out" 600
	done
done
stop wire
# by the protocol in the GUE header, behind 28 or 48 bytes; tcpdump cannot index behind ip6
for pair in '4 in 4:ip and udp dst port 6080 and ip[29] = 4' '6 in 4:ip and udp dst port 6080 and ip[29] = 41' \
	'4 in 6:ip6 and udp dst port 6080 and ip6[49] = 4' '6 in 6:ip6 and udp dst port 6080 and ip6[49] = 41'; do
	count=$(sniffed wire "${pair#*:}")
	FIGURES+=("${pair%:*}: $count packets")
	check test "$count" -ge 600
done
check test "$(sniffed wire 'not (udp dst port 6080)')" = 0
check test "$(sniffed wire 'not (udp src portrange 49152-65535)')" = 0
ports=$(tcpdump -n -r "$WORK/wire.pcap" 2>/dev/null | sed -E 's/.* IP6? [^ ]*\.([0-9]+) > .*/\1/' | sort -u | wc -l)
FIGURES+=("$ports source ports")
check test "$ports" -ge 1000
gateway_stats
check judge totals "$WORK/stats.json" 3600
gateway_stop
verdict
