#!/usr/bin/env bash
# Records a run of the live test's own client and servers for the quickstart and for tests without a network. Needs root.
#
#   test/live/record.sh [--direct] [FOLDER]   default folder: test/data
#
# Writes quickstart.pcap (nanoseconds; the client→server packets as they leave for the servers, each with its server's
# MAC address, and nothing else), quickstart.json (the gateway's configuration, which knows the servers by their MAC
# addresses) and quickstart.truth.json (the latencies the client saw). Three servers take 2, 5 and 20 ms.
# --direct: the client's kernel spreads the connections instead of the gateway; the packets look the same.
set -u

case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac
form=two-arm
if [ "${1:-}" = --direct ]; then
	form=direct
	shift
fi
folder=${1:-$(dirname "$0")/../data}
set --
# shellcheck source=case.sh
. "$(dirname "$0")/case.sh"
need_commands tcpdump
mkdir -p "$folder" || die "cannot make the folder $folder"

net_up $form
declare -A delay_us=([a]=2000 [b]=5000 [c]=20000)
four=() six=()
for name in a b c; do
	echo_server $name "const:${delay_us[$name]}"
	four+=("$(server $name "\"mac\": \"$(server_mac $name)\"")")
	six+=("$(server6 $name "\"mac\": \"$(server_mac $name)\"")")
done
gateway_config two-arm \
	"$(service web "$VIP4" tcp 8080 l2 maglev "${four[@]}")" \
	"$(service web6 "$VIP6" tcp 8080 l2 maglev "${six[@]}")" \
	"$(SERVICE_MORE='"gap_rule": "mode-sum"' service echo "$VIP4" udp 8080 l2 maglev "${four[@]}")" # they never pause
filter="(tcp or udp) and (dst host $VIP4 or dst host $VIP6)"
if [ $form = two-arm ]; then
	gateway_start
	sniff wire sw p-gw "$filter" -Q in
else
	sniff wire cli eth0 "$filter" -Q out
fi
load web "$TG_CLIENT" --connections 60 --parallel 6 --requests 12 "$VIP4" 8080
load web6 "$TG_CLIENT" --connections 24 --parallel 6 --requests 8 "$VIP6" 8080
load echo "$TG_CLIENT" --udp --connections 30 --parallel 6 --requests 8 "$VIP4" 8080
sleep 0.3
stop wire
for name in web web6 echo; do
	check judge client $name "$WORK/$name.out" 192
done
[ $form = direct ] || gateway_stop
[ ${#FAULTS[@]} -eq 0 ] || verdict

size=$(stat -c %s "$WORK/wire.pcap")
[ "$size" -le 200000 ] || die "the capture has $size bytes; at most 200000 belong in the project"
cp "$WORK/wire.pcap" "$folder/quickstart.pcap"
judge truth web="$WORK/web.out" web6="$WORK/web6.out" echo="$WORK/echo.out" >"$folder/quickstart.truth.json"
# the socket's folder is this run's: leave it to the default
/usr/bin/python3 - "$WORK/gateway.json" >"$folder/quickstart.json" <<-'END'
	import json, sys
	config = json.load(open(sys.argv[1], encoding="utf-8"))
	del config["control"]
	print(json.dumps(config, indent=2))
END
FIGURES+=("quickstart.pcap $(sniffed wire) packets, $size bytes")
verdict
