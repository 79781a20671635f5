# shellcheck shell=bash
# Sourced by case.sh: the servers behind the gateway, and the eyes on the wires.

need_commands() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null ||
			skip "the command $tool is missing (drivers-conf/install-deps.sh test)"
	done
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
	local limit=$1 what=$2 i
	shift 2
	for ((i = 0; i < limit * 20; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	die "$what did not come up within $limit s"
}

listening() {
	[ -n "$(in_ns "$1" ss -Hltn "sport = :$2")" ]
}

# echo_server NAME DELAY [OPTION…]: our own, on port 8080 TCP and UDP of every address.
echo_server() {
	local name=$1 delay=$2 ns
	shift 2
	ns=$(server_ns "$name")
	start "server-$name" "$ns" "${CPUS[0]}" "$TG_SERVER" --name "$name" --port 8080 --delay "$delay" "$@"
	wait_for 5 "server $name" listening "$ns" 8080
}

# nginx_server NAME: / answers at once, /slow after 5 ms; the log has a line a request.
nginx_server() {
	local name=$1 ns dir="$WORK/nginx-$1"
	ns=$(server_ns "$name")
	mkdir -p "$dir"
	cat >"$dir/nginx.conf" <<-END
		load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;
		daemon off;
		master_process off;
		user root;
		pid $dir/pid;
		error_log $dir/error.log;
		events { worker_connections 4096; }
		http {
			log_format ports '\$remote_addr \$remote_port \$connection \$status';
			access_log $dir/access.log ports;
			default_type text/plain;
			keepalive_requests 10000000;
			client_body_temp_path $dir/body;
			proxy_temp_path $dir/proxy;
			fastcgi_temp_path $dir/fastcgi;
			uwsgi_temp_path $dir/uwsgi;
			scgi_temp_path $dir/scgi;
			server {
				listen $VIP4:80 backlog=1024;
				listen [$VIP6]:80 backlog=1024;
				location = / { return 200 "$name\n"; }
				location = /slow { echo_sleep 0.005; echo "$name"; }
			}
		}
	END
	start "nginx-$name" "$ns" "${CPUS[0]}" nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
	wait_for 5 "nginx $name" listening "$ns" 80
}

redis_server() {
	local name=$1 ns
	ns=$(server_ns "$name")
	mkdir -p "$WORK/redis-$name"
	start "redis-$name" "$ns" "${CPUS[0]}" redis-server --bind "$VIP4" --port 6379 --save '' \
		--appendonly no --protected-mode no --daemonize no --dir "$WORK/redis-$name"
	wait_for 5 "redis $name" listening "$ns" 6379
}

# Bound to the VIP so that UDP answers leave with it.
memcached_server() {
	local name=$1 ns
	ns=$(server_ns "$name")
	start "memcached-$name" "$ns" "${CPUS[0]}" memcached -u root -t 1 -l "$VIP4" -p 11211 -U 11211
	wait_for 5 "memcached $name" listening "$ns" 11211
}

# sniff LABEL NAMESPACE INTERFACE FILTER [TCPDUMP-OPTION…]: into $WORK/LABEL.pcap.
sniff() {
	local label=$1 ns=$2 dev=$3 filter=$4
	shift 4
	start "$label" "$ns" "${CPUS[0]}" tcpdump -Z root -n -U -B 8192 --immediate-mode -i "$dev" \
		--time-stamp-precision=nano -w "$WORK/$label.pcap" "$@" "$filter"
	wait_for 5 "tcpdump on $dev" grep -q listening "$WORK/$label.err"
}

# sniffed LABEL [FILTER]: how many packets it saw.
sniffed() {
	tcpdump -n -r "$WORK/$1.pcap" ${2:+"$2"} 2>/dev/null | wc -l
}
