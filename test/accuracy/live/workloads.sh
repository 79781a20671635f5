# shellcheck shell=bash
# Sourced by run.sh: the workloads of the live accuracy run, each a function w_NAME.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# name|what the table calls it|protocol|server|in the short run|tags|commands it needs
WORKLOADS=(
	'wrk|wrk, closed loop, 5 ms|tcp|a|short|closed loop|wrk'
	'wrk20|wrk, closed loop, 20 ms|tcp|a||closed loop|wrk'
	'exp|closed loop, exponential 5 ms|tcp|a||closed loop'
	'think20|think 20 ms before every request|tcp|a||'
	'think200|think 200 ms before every request|tcp|a||'
	'think200_10|think 200 ms before 10 %|tcp|a|short|think'
	'b100|answers of 100 B, 5 ms|tcp|a||closed loop'
	'b100k|answers of 100 KB, 5 ms|tcp|a||'
	'b10m|answers of 10 MB|tcp|a||'
	'calm|5 ms, 5 ms of path|tcp|b||closed loop'
	'rough|5 ms, 5 ms of path, 1 % lost, 25 % reordered|tcp|c||'
	'far|5 ms, 20 ms of path to the client, jitter|tcp|a||far'
	'far200|the same, think 200 ms before 10 %|tcp|a||far think'
	'redis|redis-benchmark|tcp|b||closed loop|redis-server redis-benchmark'
	'redis16|redis-benchmark, pipelines of 16|tcp|b|||redis-server redis-benchmark'
	'memcaslap|memcaslap on memcached|tcp|b||closed loop|memcached memcaslap'
	'memcached8|memcached, pipelines of 8|tcp|b|||memcached'
	'h2|h2load, answers out of order|tcp|a|||nginx h2load openssl'
	'h3|HTTP/3 by ngtcp2, one request at a time|udp|b|short|closed loop|gtlsserver gtlsclient openssl'
	'h3_4|HTTP/3 by ngtcp2, four at a time|udp|b|||gtlsserver gtlsclient openssl'
	'wireguard|HTTP in WireGuard, one user, 5 ms|udp|a||closed loop|wireguard-go wg'
	'wireguard4|HTTP in WireGuard, four users, 5 ms|udp|a|||wireguard-go wg'
	'pages|24 pages in Chromium, HTTP/1.1 over TLS|tcp|b||closed loop|nginx chromium openssl'
	'pages2|24 pages in Chromium, HTTP/2 over TLS|tcp|b||closed loop|nginx chromium openssl'
	'player|30 players, 1 MB each second|tcp|a||'
)

# Service times that vary by 8 %: a constant one makes all connections of a client ask at once.
STEADY=4400,4700,5000,5300,5600
STEADY20=17600,18800,20000,21200,22400

port_of() {
	local i
	for i in "${!WORKLOADS[@]}"; do
		[ "${WORKLOADS[i]%%|*}" != "$1" ] || echo $((8001 + i))
	done
}

field() {
	local fields line
	for line in "${WORKLOADS[@]}"; do
		IFS='|' read -ra fields <<<"$line"
		[ "${fields[0]}" != "$1" ] || echo "${fields[$2]:-}"
	done
}

# observe NAME: what comes to the gateway for this workload is recorded until observed NAME.
observe() {
	sniff "$1" gw gw0 "dst port $(port_of "$1")" -Q in -s 128
	in_ns cli ip tcp_metrics flush all 2>/dev/null
}

# observed NAME KIND [SERVER-LOG]: the end, and how its truth is to be read (truth.py).
observed() {
	sleep 0.4 # the last exchanges reach the report
	stop "$1"
	printf '{"name": "%s", "title": "%s", "protocol": "%s", "kind": "%s", "server_log": %s, "tags": "%s"}\n' \
		"$1" "$(field "$1" 1)" "$(field "$1" 2)" "$2" "${3:-false}" "$(field "$1" 5)" >>"$WORK/workloads"
}

# client LABEL COMMAND…: in the namespace CLIENT, if not cli
client() {
	local label=$1
	shift
	timeout --foreground -k 2 40 taskset -c "${CPUS[0]}" nsenter --net="/run/netns/$NET_ID-${CLIENT:-cli}" "$@" \
		>"$WORK/$label.out" 2>"$WORK/$label.err" || FAULTS+=("$label: $(basename "$1") failed: $(tail -n 1 "$WORK/$label.err")")
}

# own_server NAME DELAY [OPTION…]: the test server, with a log of what each answer took.
own_server() {
	local name=$1 delay=$2 ns
	shift 2
	ns=$(server_ns "$(field "$name" 3)")
	start "server-$name" "$ns" "${CPUS[0]}" "$TG_SERVER" --name a --port "$(port_of "$name")" --delay "$delay" \
		--log "$WORK/$name.server" "$@"
	wait_for 5 "the server of $name" listening "$ns" "$(port_of "$name")"
}

# closed NAME SECONDS OPTION…: the test client, which asks again when it is answered. LARGE: answers that take long to
# send, so that the server's clock does not know when it is done.
closed() {
	local name=$1 seconds=$2
	shift 2
	observe "$name"
	client "$name" "$TG_CLIENT" --duration-ms "$((seconds * 1000))" --requests 4000000000 --connections 1000000 \
		--exchanges "$WORK/$name.exchanges" "$@" "$VIP4" "$(port_of "$name")"
	stop "server-$name"
	observed "$name" exchanges "${LARGE:-true}"
}

now_ns() { /usr/bin/python3 -c 'import time; print(time.monotonic_ns())'; }

# runs NAME COUNT COMMAND…: one window each, of a client that tells one figure a run. PARSER: whose, if not NAME.
runs() {
	local name=$1 count=$2 i begin end
	shift 2
	for ((i = 0; i < count; i++)); do
		begin=$(now_ns)
		client "$name" "$@"
		end=$(now_ns)
		sleep 0.3
		/usr/bin/python3 "$HERE/summary.py" "${PARSER:-$name}" "$WORK/$name.out" "$begin" "$end" >>"$WORK/$name.runs"
	done
}

w_wrk() {
	own_server wrk "set:$STEADY"
	observe wrk
	runs wrk 6 wrk -t1 -c8 -d1s -s "$LIVE/wrk.lua" "http://$VIP4:$(port_of wrk)/"
	stop server-wrk
	observed wrk runs true
}

w_wrk20() {
	own_server wrk20 "set:$STEADY20"
	observe wrk20
	PARSER=wrk runs wrk20 5 wrk -t1 -c16 -d1s -s "$LIVE/wrk.lua" "http://$VIP4:$(port_of wrk20)/"
	stop server-wrk20
	observed wrk20 runs true
}

w_exp() {
	own_server exp exp:5000
	closed exp 7 --parallel 16
}

w_think20() {
	own_server think20 exp:5000
	closed think20 7 --parallel 32 --think-ms 20
}

w_think200() {
	own_server think200 exp:5000
	closed think200 7 --parallel 64 --think-ms 200
}

w_think200_10() {
	own_server think200_10 exp:5000
	closed think200_10 7 --parallel 32 --think-ms 200 --think-share 10
}

w_b100() {
	own_server b100 "set:$STEADY" --size 100
	closed b100 6 --parallel 16
}

w_b100k() {
	own_server b100k "set:$STEADY" --size 100000
	LARGE=false closed b100k 6 --parallel 8
}

w_b10m() {
	own_server b10m const:5000 --size 10000000
	LARGE=false closed b10m 7 --parallel 4
}

w_calm() {
	own_server calm "set:$STEADY"
	closed calm 6 --parallel 16
}

w_rough() {
	own_server rough "set:$STEADY"
	closed rough 8 --parallel 32
}

w_far() {
	own_server far "set:$STEADY"
	CLIENT=far closed far 6 --parallel 32
}

w_far200() {
	own_server far200 "set:$STEADY"
	CLIENT=far closed far200 7 --parallel 64 --think-ms 200 --think-share 10
}

redis() {
	local name=$1 count=$2 depth=$3
	start "redis-$name" "$(server_ns b)" "${CPUS[0]}" redis-server --bind "$VIP4" --port "$(port_of "$name")" --save '' \
		--appendonly no --protected-mode no --daemonize no --dir "$WORK"
	wait_for 5 redis listening "$(server_ns b)" "$(port_of "$name")"
	observe "$name"
	PARSER=redis runs "$name" 6 redis-benchmark -h "$VIP4" -p "$(port_of "$name")" -c 16 -n "$count" -P "$depth" -t get \
		--precision 3
	stop "redis-$name"
	observed "$name" runs
}

w_redis() { redis redis 3000 1; }
w_redis16() { redis redis16 40000 16; }

memcached_up() {
	start "memcached-$1" "$(server_ns b)" "${CPUS[0]}" memcached -u root -t 1 -l "$VIP4" -p "$(port_of "$1")"
	wait_for 5 memcached listening "$(server_ns b)" "$(port_of "$1")"
}

w_memcaslap() {
	local begin
	memcached_up memcaslap
	observe memcaslap
	begin=$(now_ns)
	client memcaslap memcaslap -s "$VIP4:$(port_of memcaslap)" -T 1 -c 16 -t 6s -S 1s
	/usr/bin/python3 "$HERE/summary.py" memcaslap "$WORK/memcaslap.out" "$begin" 0 >"$WORK/memcaslap.runs"
	stop memcached-memcaslap
	observed memcaslap runs
}

w_memcached8() {
	memcached_up memcached8
	observe memcached8
	client memcached8 /usr/bin/python3 "$HERE/pipeline.py" "$VIP4" "$(port_of memcached8)" 8 8 6 "$WORK/memcached8.exchanges"
	stop memcached-memcached8
	observed memcached8 exchanges
}

# certificate: for all that speaks TLS here, once
certificate() {
	[ -e "$WORK/cert.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-keyout "$WORK/key.pem" -out "$WORK/cert.pem" -subj /CN=test -addext "subjectAltName=IP:$VIP4" 2>/dev/null ||
		die "openssl made no certificate"
}

# tls_nginx NAME: static files of $WORK/www, and /wait?s=SECONDS; HTTP/2 where the client offers it.
tls_nginx() {
	local name=$1 dir="$WORK/nginx-$1" ns kind temp=''
	ns=$(server_ns "$(field "$name" 3)")
	certificate
	mkdir -p "$dir" "$WORK/www"
	for kind in client_body proxy fastcgi uwsgi scgi; do
		temp+="${kind}_temp_path $dir/$kind; "
	done
	cat >"$dir/nginx.conf" <<-END
		load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;
		daemon off;
		master_process off;
		user root;
		pid $dir/pid;
		error_log $dir/error.log;
		events { worker_connections 1024; }
		http {
			access_log off;
			types { text/html html; image/png png; text/css css; application/javascript js; }
			default_type text/plain;
			keepalive_requests 10000000;
			http2_max_concurrent_streams 128;
			$temp
			server {
				listen $VIP4:$(port_of "$name") ssl${2:+ $2} backlog=1024;
				ssl_certificate $WORK/cert.pem;
				ssl_certificate_key $WORK/key.pem;
				root $WORK/www;
				location = /wait { echo_sleep \$arg_s; echo done; }
			}
		}
	END
	start "nginx-$name" "$ns" "${CPUS[0]}" nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
	wait_for 5 "nginx of $name" listening "$ns" "$(port_of "$name")"
}

w_h2() {
	local ms
	tls_nginx h2 http2
	for ms in 5 20 8 40 10 5 30; do
		printf 'https://%s:%s/wait?s=%s\n' "$VIP4" "$(port_of h2)" "$(awk -v ms=$ms 'BEGIN {print ms / 1000}')"
	done >"$WORK/h2.urls"
	observe h2
	client h2 h2load -t 1 -c 8 -m 8 -D 6 --log-file="$WORK/h2.h2load" -i "$WORK/h2.urls"
	stop nginx-h2
	observed h2 h2load
}

# http3 NAME STREAMS: so many requests at a time, on each of eight connections
http3() {
	local name=$1 streams=$2 port i uri
	port=$(port_of "$name")
	certificate
	mkdir -p "$WORK/www"
	echo hello >"$WORK/www/hello.html"
	uri=https://$VIP4:$port/hello.html
	start "gtlsserver-$name" "$(server_ns b)" "${CPUS[0]}" gtlsserver -q -d "$WORK/www" --max-streams-bidi="$streams" \
		"$VIP4" "$port" "$WORK/key.pem" "$WORK/cert.pem"
	sleep 0.3
	observe "$name"
	for i in 0 1 2 3 4 5 6 7; do
		now_ns >>"$WORK/$name.begin"
		start "$name-$i" cli "${CPUS[0]}" gtlsclient -q --exit-on-all-streams-close --qlog-file="$WORK/$name.$i.qlog" \
			-n "$((500 * streams))" "$VIP4" "$port" "$uri"
	done
	for i in 0 1 2 3 4 5 6 7; do
		finish "$name-$i" || FAULTS+=("$name: gtlsclient failed: $(tail -n 1 "$WORK/$name-$i.err")")
	done
	stop "gtlsserver-$name"
	observed "$name" qlog
}

w_h3() { http3 h3 1; }
w_h3_4() { http3 h3_4 4; }

# wireguard_end NAME NAMESPACE INTERFACE ADDRESS: one end, with a key in $WORK/INTERFACE.key
wireguard_end() {
	local name=$1 ns=$2 dev=$3 address=$4
	start "$dev" "$ns" "${CPUS[0]}" env LOG_LEVEL=error wireguard-go -f "$dev"
	wait_for 5 "wireguard-go $dev" in_ns "$ns" wg show "$dev"
	(umask 077 && wg genkey >"$WORK/$dev.key")
	in_ns "$ns" ip address add "$address" dev "$dev"
	in_ns "$ns" ip link set "$dev" mtu 1400 up
}

# in_wireguard NAME USERS
in_wireguard() {
	local name=$1 port near=tgc$$ far=tgs$$ ns
	port=$(port_of "$name")
	ns=$(server_ns a)
	start "server-$name" "$ns" "${CPUS[0]}" "$TG_SERVER" --name a --port 8000 --delay "set:$STEADY"
	wait_for 5 "the server of $name" listening "$ns" 8000
	wireguard_end "$name" "$ns" "$far" 10.99.0.1/24
	wireguard_end "$name" home "$near" 10.99.0.2/24
	in_ns "$ns" wg set "$far" listen-port "$port" private-key "$WORK/$far.key" \
		peer "$(wg pubkey <"$WORK/$near.key")" allowed-ips 10.99.0.2/32
	in_ns home wg set "$near" private-key "$WORK/$near.key" \
		peer "$(wg pubkey <"$WORK/$far.key")" allowed-ips 10.99.0.1/32 endpoint "$VIP4:$port"
	observe "$name"
	CLIENT=home client "$name" "$TG_CLIENT" --duration-ms 6000 --requests 4000000000 --parallel "$2" --exchanges "$WORK/$name.exchanges" \
		10.99.0.1 8000
	stop "server-$name"
	stop "$near"
	stop "$far"
	observed "$name" exchanges
}

w_wireguard() { in_wireguard wireguard 1; }
w_wireguard4() { in_wireguard wireguard4 4; }

w_player() {
	own_server player const:5000 --size 1000000
	LARGE=false closed player 9 --parallel 30 --every-ms 1000
}

# pages NAME PROTOCOL: Chromium loads each model once.
pages() {
	local name=$1 protocol=$2
	/usr/bin/python3 "$HERE/pages.py" make "$WORK/www"
	observe "$name"
	client "$name" env HOME="$WORK" TMPDIR="$WORK" /usr/bin/python3 "$HERE/pages.py" load "https://$VIP4:$(port_of "$name")" \
		"$WORK/chromium-$name" "$WORK/$name.runs"
	[ "$(cat "$WORK/$name.out")" = "$protocol" ] || FAULTS+=("$name: Chromium spoke $(cat "$WORK/$name.out")")
	observed "$name" pages
}

w_pages() {
	tls_nginx pages
	pages pages http/1.1
	stop nginx-pages
}

w_pages2() {
	tls_nginx pages2 http2
	pages pages2 h2
	stop nginx-pages2
}
