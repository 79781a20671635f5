# shellcheck shell=bash
# The network itself, without a gateway: the client's kernel spreads connections over the servers. What fails here is
# the fault of the machine or of the test, not of the gateway. It also shows that the eyes see what other cases
# must not see, and that our decapsulator opens all four kinds of IP in IP.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands tcpdump
net_up direct
for name in a b c; do
	echo_server "$name" const:5000
done
sniff back cli eth0 "(tcp or udp) and (src host $VIP4 or src host $VIP6)"
for address in "$VIP4" "$VIP6"; do
	load tcp "$TG_CLIENT" --connections 300 --parallel 30 --requests 3 "$address" 8080
	check judge client "tcp $address" "$WORK/tcp.out" 900
	check judge shares 1e-6 "$WORK/tcp.out" a=1 b=1 c=1
	load udp "$TG_CLIENT" --udp --connections 100 --parallel 30 --requests 3 "$address" 8080
	check judge client "udp $address" "$WORK/udp.out" 300
done
stop back
check test "$(sniffed back)" -ge 2400

if decap_up 2>"$WORK/decap.err"; then
	outer4=(10.0.0.1 "$(server_address4 a)") outer6=(2001:db8:2::1 "$(server_address6 a)")
	inner4=(10.0.0.1 "$VIP4") inner6=(2001:db8:2::1 "$VIP6")
	check in_ns cli /usr/bin/python3 "$LIVE/tunnel.py" eth0 "$(server_mac a)" \
		"${outer4[@]}" "${inner4[@]}" "${outer4[@]}" "${inner6[@]}" \
		"${outer6[@]}" "${inner4[@]}" "${outer6[@]}" "${inner6[@]}"
else
	FIGURES+=("decapsulator SKIPPED: $(tail -n 1 "$WORK/decap.err")")
fi
verdict
