# shellcheck shell=bash
# health.sh tcp|http: one of two nginx is killed (tcp) or hangs (http) under a steady load: it is out within the time
# that its checks allow, requests fail only until then; started again it comes back.
# shellcheck source=../case.sh
. "$(dirname "$0")/../case.sh"
need_commands nginx
type=$1
interval=300 timeout=300 fall=3
# shellcheck disable=SC2034 # read by net.sh
SERVERS=(a b)
net_up two-arm
nginx_server a
nginx_server b
# what control itself adds on a busy host: its tick and the new snapshot
slack=300
# shellcheck disable=SC2034 # read by gateway.sh
SERVICE_MORE="\"health\": {\"type\": \"$type\", \"interval_ms\": $interval, \"timeout_ms\": $timeout, \"rise\": 2, \"fall\": $fall}"
gateway_config two-arm "$(service web "$VIP4" tcp 80 l2 maglev "$(server a)" "$(server b)")"
gateway_start

health_now() {
	/usr/bin/python3 "$LIVE/steady.py" wait "$WORK/control.sock" "$1" || die "server a did not become $1"
}

ends() {
	case $type in
	tcp) stop nginx-a KILL ;;
	http) kill -STOP "${PID[nginx-a]}" ;;
	esac
}

begins() {
	case $type in
	tcp) nginx_server a ;;
	http) kill -CONT "${PID[nginx-a]}" ;;
	esac
}

sleep 1
health_now up >"$WORK/first"
start steady cli "${CPUS[0]}" /usr/bin/python3 "$LIVE/steady.py" "$VIP4" 80 10 9 1000
sleep 1.5
died=$(judge now)
ends || true
detected=$(health_now down)
# connections that were placed just before are over
sleep 1.2
back=$(judge now)
begins
health_now up >"$WORK/back"
finish steady || FAULTS+=("the client failed")
check /usr/bin/python3 "$LIVE/steady.py" judge "$WORK/steady.out" "$died" "$detected" "$back" \
	$(((interval * fall + timeout + slack) * 1000000))
FIGURES+=("back $((($(cat "$WORK/back") - back) / 1000000)) ms after its start")
check test "$(grep -c 'health: .*server "a" is down' "$WORK/gateway.err")" = 1
gateway_stop
verdict
