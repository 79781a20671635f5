"""What an operator uses: the page of metrics, Telegraf, dpdk-telemetry.py. cases.py registers these."""
import json
import os
import shutil
import socket
import subprocess
import time

from gateway import TIDEGATECTL, Gateway, server, service


class Telegraf:
    """
    What Telegraf's inputs.dpdk (1.19 and later) does, from its documentation and source: it is no Debian package.
    One SOCK_SEQPACKET connection; the greeting says version and the longest reply; /ethdev/list, then stats,
    xstats and link_status of each port, then additional_commands; every reply is one object whose only
    key is the command, flattened to fields by "_", numbers as they are.
    """

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(5)
        self.socket.connect(path)
        greeting = json.loads(self.socket.recv(1024))
        assert greeting["version"].startswith("DPDK") and greeting["pid"] > 0, greeting
        self.longest = greeting["max_output_len"]

    def ask(self, command):
        assert len(command) < 1024
        self.socket.send(command.encode())
        text = self.socket.recv(self.longest)
        reply = json.loads(text)
        key = command.split(",")[0]
        assert list(reply) == [key], (command, list(reply))
        return reply[key]

    def flatten(self, value, name=""):
        if isinstance(value, dict):
            return {k: v for n, x in value.items() for k, v in self.flatten(x, f"{name}_{n}" if name else n).items()}
        if isinstance(value, list):
            return {k: v for i, x in enumerate(value) for k, v in self.flatten(x, f"{name}_{i}" if name else str(i)).items()}
        return {name: value}

    def gather(self, additional):
        points = {}
        for port in self.ask("/ethdev/list"):
            for command in ("stats", "xstats", "link_status"):
                points[f"/ethdev/{command},{port}"] = self.flatten(self.ask(f"/ethdev/{command},{port}"))
        for command in additional:
            points[command] = self.flatten(self.ask(command))
        return points


def http(connect, request):
    """Status, headers, body of one request."""
    with connect() as s:
        s.settimeout(5)
        s.sendall(request)
        data = b""
        while chunk := s.recv(65536):
            data += chunk
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), body.decode()


def get(connect, path="/metrics", method="GET"):
    return http(connect, f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def families_of(text):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    families = {f.name: f for f in text_string_to_metric_families(text)}
    for f in families.values():
        assert f.name.startswith("tidegate_") and f.documentation and f.type, f.name
        assert not f.unit or f.name.endswith("_" + f.unit), f.name
    for unit, suffix in (("packets", "_packets"), ("bytes", "_bytes"), ("seconds", "_seconds")):
        for f in families.values():
            assert not f.name.endswith(suffix) or f.unit == unit or f.type == "unknown", f"{f.name} tells no unit"
    return families


def register(case, run, syn, skip):
    @case(quick=True)
    def page_of_metrics():
        """OpenMetrics over HTTP: a parser takes every line, numbers are the report's, series are bounded"""
        try:
            import prometheus_client  # noqa: F401
        except ImportError:
            raise skip("python3-prometheus-client is missing") from None
        port = free_port()

        def judge(g):
            def tcp():
                return socket.create_connection(("127.0.0.1", port), 5)

            def unix():
                s = socket.socket(socket.AF_UNIX)
                s.connect(f"{g.dir}/metrics.sock")
                return s
            status, head, text = get(tcp)
            assert status == 200 and head["content-type"].startswith("application/openmetrics-text; version=1.0.0"), (status, head)
            f, report = families_of(text), g.report()
            total = sum(s.value for s in f["tidegate_received_packets"].samples)
            assert 100 <= total <= report["packets"]["received"], total  # the back port hears the loopback
            dropped = {s.labels["reason"]: s.value for s in f["tidegate_dropped_packets"].samples}
            assert dropped["no_service"] == 20 and set(report["drops"]) <= set(dropped), dropped
            servers = [s.labels["server"] for s in f["tidegate_server_flows"].samples]
            assert len(servers) == 2 and f["tidegate_metrics_servers_left_out"].samples[0].value == 1, servers
            odd = {s.labels["service"] for s in f["tidegate_service_servers"].samples}
            assert odd == {'w"e\\b'}, odd
            assert {"tidegate_task_rounds", "tidegate_stage_calls", "tidegate_response_latency_seconds"} <= set(f), sorted(f)
            assert get(unix)[0] == 200 and oct(os.stat(f"{g.dir}/metrics.sock").st_mode & 0o777) == "0o660"
            assert get(tcp, "/")[0] == 404 and get(tcp, method="DELETE")[0] == 405
            status, head, text = get(tcp, method="HEAD")
            assert status == 200 and text == "" and int(head["content-length"]) > 1000
            for nonsense in (b"nonsense\r\n\r\n", b"\0" * 100, b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100000):
                with tcp() as s:
                    s.settimeout(5)
                    try:
                        s.sendall(nonsense)
                        s.shutdown(socket.SHUT_WR)
                        assert b" 200 " not in s.recv(65536)
                    except (ConnectionResetError, BrokenPipeError):
                        pass
            idle = [tcp() for _ in range(8)]  # who connects and says nothing takes no other's turn for ever
            assert g.ask("service list")["ok"]
            for s in idle:
                s.close()
            time.sleep(0.1)
            assert get(tcp)[0] == 200
            g.document["metrics"]["port"] = port + 1
            g.write()
            assert "metrics.port" in g.ask("config reload")["error"]
        packets = [syn(n) for n in range(80)] + [syn(n, dport=81) for n in range(20)]
        web = service(name='w"e\\b')
        run(packets, [web], before_end=judge,
            document=lambda gw: {"metrics": {"port": port, "socket": f"{gw.dir}/metrics.sock", "servers_max": 2}})

    @case()
    def telegraf_and_dpdk_telemetry():
        """Telegraf's inputs.dpdk (emulated) and DPDK's own dpdk-telemetry.py read every command unchanged"""
        tool = shutil.which("dpdk-telemetry.py")
        if tool is None:
            raise skip("dpdk-telemetry.py is missing (package dpdk)")
        with Gateway([service()]) as g:
            path = f"/var/run/dpdk/{g.prefix}/dpdk_telemetry.v2"
            ours = [c for c in Telegraf(path).ask("/") if c.startswith("/tidegate/")]
            parameters = {"/tidegate/servers": "web", "/tidegate/latency": "web,a", "/tidegate/lcore": "1", "/tidegate/tasks": "1",
                          "/tidegate/stages": "1", "/tidegate/flow": "tcp,198.51.100.9,4000,192.0.2.10,80"}
            commands = [c + ("," + parameters[c] if c in parameters else "") for c in ours]
            assert len(commands) >= 10, commands
            telegraf = Telegraf(path)
            first, second = telegraf.gather(commands), telegraf.gather(commands)
            for command, fields in first.items():
                assert fields, f"{command}: no fields"
                assert set(fields) == set(second[command]), f"{command}: keys change"
                assert all(isinstance(v, (int, float, str)) for v in fields.values()), (command, fields)
            for command in ours:  # the help of each
                assert telegraf.ask(f"/help,{command}"), command
            said = subprocess.run([tool, "-f", g.prefix], input="\n".join(commands) + "\nquit\n", capture_output=True, text=True,
                                  timeout=20)
            assert said.returncode == 0, said
            for command in ours:
                assert f'"{command}": {{' in said.stdout, (command, said.stdout[-2000:], said.stderr)

    @case(quick=True)
    def who_may_send():
        """Rules by prefix, IPv4 and IPv6, over a reload and in flow explain; established flows obey them too"""
        rules = [{"prefix": "198.51.100.0/25", "action": "deny"}, {"prefix": "198.51.100.16/28", "action": "allow"}]
        web = service(access=rules)

        def judge(g):
            report = g.report()
            assert report["drops"]["access_denied"] == denied, report["drops"]
            why = g.ask("flow explain", "tcp,198.51.100.10,4000,192.0.2.10,80")["result"]
            assert why["drop"] == "access_denied", why
            assert g.ask("flow explain", "tcp,198.51.100.17,4000,192.0.2.10,80")["result"].get("drop") != "access_denied"
            rows = g.ask("access list", "web")["result"]
            assert rows == [{"service": "web", "prefix": r["prefix"], "action": r["action"]} for r in rules], rows
            g.document["services"][0]["access"] = [{"prefix": "0.0.0.0/0", "action": "deny"}]
            g.write()
            assert g.ask("config reload")["ok"] and len(g.ask("access list")["result"]) == 1
            assert g.ask("flow explain", "tcp,203.0.113.1,4000,192.0.2.10,80")["result"]["drop"] == "access_denied"
            g.document["services"][0]["access"][0]["prefix"] = "1.2.3.4"
            g.write()
            assert "access[0].prefix" in g.ask("config reload")["error"]
        packets = [syn(n) for n in range(200)]
        denied = sum(p["IP"].src not in {f"198.51.100.{k}" for k in [*range(16, 32), *range(128, 256)]} for p in packets)
        _, back, _ = run(packets, [web], before_end=judge)
        assert len(back) == 200 - denied, len(back)

    @case()
    def floods_spare_established_flows():
        """A SYN flood over its two limits: named drops, the table is spared, known flows keep their servers"""
        known = [syn(n) for n in range(20)]
        flood = [syn(n) for n in range(1000, 4000)]
        later = [p.copy() for p in known]
        for p in later:
            p["TCP"].flags = "A"
        web = service(limits={"new_per_s": 1000, "new_drop_per_s": 5000})

        def judge(g):
            row = g.ask("limit list")["result"][0]
            assert row["without_entry"] > 0 and row["new_dropped"] > 0, row
            assert g.report()["drops"]["new_flow_rate"] == row["new_dropped"], row
            flows = next(iter(g.telemetry("/tidegate/flows").values()))
            assert flows["used"] < 1000, flows  # 3020 without the limit
        _, back, report = run(known + flood + later, [web], before_end=judge)
        server = {}
        for p in back:
            if p["TCP"].sport < 11000 and p["TCP"].flags == "S":
                server[p["TCP"].sport] = p.dst
        kept = [p for p in back if p["TCP"].flags == "A"]
        assert len(kept) == 20 and all(server[p["TCP"].sport] == p.dst for p in kept), (len(kept), report["drops"])

    @case(quick=True)
    def scans_leave_no_trace():
        """A scan of 1000 ports, and FIN, null and Xmas scans of an open one: named drops, no entry, known flows keep their servers"""
        known = [syn(n) for n in range(20)]
        ports = [syn(0, dport=1000 + n) for n in range(1000)]
        odd = [syn(5000 + n) for n in range(300)]
        for n, p in enumerate(odd):
            p["TCP"].flags = ("F", "", "FPU")[n % 3]
        later = [p.copy() for p in known]
        for p in later:
            p["TCP"].flags = "A"

        def judge(g):
            flows = next(iter(g.telemetry("/tidegate/flows").values()))
            assert flows["used"] == 20 and flows["full"] == 0, flows
        _, back, report = run(known + ports + odd + later, [service(policy="round-robin")], before_end=judge)
        assert report["drops"]["no_service"] == 1000 and report["drops"]["tcp_stray"] == 300, report["drops"]
        server = {p["TCP"].sport: p.dst for p in back if p["TCP"].flags == "S"}
        kept = {p["TCP"].sport: p.dst for p in back if p["TCP"].flags == "A"}
        assert len(server) == 20 and kept == server, (server, kept)
        assert len(back) == 40, len(back)

    @case(root=True)
    def full_table_and_back():
        """A UDP flood fills the table: known flows keep their servers, the rest is counted; after ageing new flows have entries"""
        from scapy.all import IP, UDP, AsyncSniffer, Ether, sendp
        if not os.path.exists("/dev/net/tun"):
            raise skip("/dev/net/tun is missing")
        a, b = f"tgf{os.getpid() % 10000}", f"tgb{os.getpid() % 10000}"
        services = [service(policy="round-robin"), service(name="dns", protocol="udp", ports=[53], policy="round-robin")]
        with Gateway(services, front=f"net_tap0,iface={a}", back=f"net_tap1,iface={b}", slots=1024,
                     flow_table={"udp_idle_s": 6}) as g:
            mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
            for i in (a, b):
                subprocess.run(["ip", "link", "set", i, "up"], check=True)
            sniffer = AsyncSniffer(iface=b, store=True, filter="tcp dst port 80")
            sniffer.start()
            time.sleep(0.5)

            def flows():
                return next(iter(g.telemetry("/tidegate/flows").values()))

            def until(what, true, seconds=20):
                end = time.time() + seconds
                while not true():
                    assert time.time() < end, f"{what}: {flows()}"
                    time.sleep(0.05)

            def send(packets):
                for p in packets:
                    p.dst = mac
                sendp(packets, iface=a, verbose=False)

            def tcp(numbers, flags):
                packets = [syn(n) for n in numbers]
                for p in packets:
                    p["TCP"].flags = flags
                return packets
            send(tcp(range(20), "S"))
            until("known", lambda: flows()["inserted"] >= 20)
            send(tcp(range(20), "A"))  # open: idle after 300 s
            time.sleep(0.2)
            send([Ether(src=syn(0).src) / IP(src=f"198.51.100.{10 + n % 40}", dst="192.0.2.10") / UDP(sport=2000 + n, dport=53)
                  for n in range(2500)])
            until("full", lambda: flows()["full"] > 100)
            full = flows()
            assert full["used"] > 800 and full["stateless_packets"] >= full["full"], full
            send(tcp(range(20), "PA"))
            send(tcp(range(100, 120), "S"))  # who begins now is served all the same
            time.sleep(0.3)
            until("aged", lambda: flows()["used"] <= 40, 30)
            before = flows()
            send(tcp(range(200, 220), "S"))
            until("entries again", lambda: flows()["inserted"] >= before["inserted"] + 20)
            assert flows()["full"] == before["full"] and flows()["stateless_packets"] == before["stateless_packets"], flows()
            time.sleep(0.3)
            server, kept, begun = {}, {}, set()
            for p in sniffer.stop():
                n = p["TCP"].sport - 10000
                if p["TCP"].flags == "S":
                    server[n] = p.dst
                    begun.add(n)
                elif p["TCP"].flags == "PA":
                    kept[n] = p.dst
            assert len(kept) == 20 and all(server[n] == m for n, m in kept.items()), (server, kept)
            assert len({server[n] for n in kept}) == 3, server  # round robin: not where the hash would send all of them
            assert {*range(100, 120), *range(200, 220)} <= begun, begun
            assert g.stop() == 0

    @case()
    def prompt():
        """-i: commands and testpmd's words for them, line by line; nonsense is told"""
        g = Gateway([service()])
        g.process = p = subprocess.Popen([*g.command, "-i"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            end = time.time() + 20
            while not g.listens():
                assert time.time() < end and p.poll() is None
                time.sleep(0.05)
            p.stdin.write("show port stats all\nshow service all\nworker list\nshow me\n")
            p.stdin.flush()
            time.sleep(1)
            p.terminate()
            said = p.communicate(timeout=20)[0]
        finally:
            g.__exit__()
        for word in ('"rx_missed"', '"taking_new_flows"', '"busy_turns"', 'no command "show me"'):
            assert word in said, (word, said)

    @case(quick=True)
    def packets_are_explained():
        """packet explain, drop explain: a frame's bytes to its server, or to its drop and what to do; every drop that occurs has a remedy"""
        from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether
        far = {"name": "far", "address": "10.0.0.99"}
        services = [service(access=[{"prefix": "203.0.113.0/24", "action": "deny"}]),
                    service(name="empty", ports=[81], servers=[server("x", 40, state="down")]),
                    service(name="unreached", ports=[82], servers=[far]), service(name="tunnel", ports=[83], forward="ipip")]

        def frames(mac):
            link = Ether(dst=mac, src="02:00:00:00:00:01")

            def tcp(dport=80, flags="S", src="198.51.100.7", dst="192.0.2.10", **ip):
                return bytes(link / IP(src=src, dst=dst, **ip) / TCP(sport=7, dport=dport, flags=flags))
            good = tcp()
            return {
                None: good, "frame_short": good[:20], "not_ip": bytes(link)[:12] + b"\x88\xcc" + bytes(40),
                "ip_header": good[:14] + b"\x41" + good[15:], "ip_checksum": good[:24] + b"\0\0" + good[26:],
                "bad_source": tcp(src="127.0.0.1"), "ip_length": bytes(link / IP(src="198.51.100.7", dst="192.0.2.10", len=900) / TCP()),
                "l4_header": bytes(link / IP(src="198.51.100.7", dst="192.0.2.10", len=30) / TCP())[:44],
                "not_ours": b"\x02" * 6 + good[6:], "no_service": tcp(dport=9), "access_denied": tcp(src="203.0.113.9"),
                "no_server": tcp(dport=81), "no_neighbour": tcp(dport=82), "tcp_stray": tcp(flags=""),
                "ttl_expired": tcp(ttl=1), "too_big": bytes(link / IP(src="198.51.100.7", dst="192.0.2.10") / TCP(sport=7, dport=83, flags="A") / (b"x" * 1455)),
                "icmp": bytes(link / IP(src="198.51.100.7", dst="192.0.2.10") / ICMP(type=5) / IP(src="192.0.2.10", dst="1.2.3.4") / UDP()),
            }

        def judge(g):
            mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
            for drop, frame in frames(mac).items():
                said = g.ask("packet explain", frame.hex(), "front")["result"]
                assert said.get("drop") == drop and said["why"], (drop, said)
                assert (drop is None) == ("server" in said and "remedy" not in said) or drop in ("no_neighbour", "too_big", "ttl_expired"), said
                assert drop is None or len(said["remedy"]) > 9, said
            arp = bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:00:01") / ARP(psrc="198.51.100.1", pdst="198.51.100.2"))
            ping = bytes(Ether(dst=mac, src="02:00:00:00:00:01") / IP(src="198.51.100.7", dst="192.0.2.10") / ICMP())
            for ours in (arp, ping):
                assert "drop" not in g.ask("packet explain", ours.hex())["result"]
            for bad in ("", "0", "zz", "00" * 1601, "12 34"):
                assert "a frame is wanted" in g.ask("packet explain", bad)["error"], bad
            assert "no port" in g.ask("packet explain", "00", "side")["error"]
            assert g.ask("drop explain", "too_big")["result"]["remedy"].count("mtu") == 2
            assert "no reason" in g.ask("drop explain", "nonsense")["error"]
            assert all(len(d["remedy"]) > 9 for d in g.ask("drop list")["result"])
        _, _, report = run([syn(1, dport=9)], services, before_end=judge)
        assert report["drops"]["no_service"] == 1, report

    @case(quick=True)
    def one_view():
        """tidegatectl top --once: services, servers and workers without a terminal, as text and as JSON"""
        with Gateway([service()]) as g:
            def ask(*arguments):
                return subprocess.run([TIDEGATECTL, "--socket", g.socket, *arguments], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=20)
            said = ask("top", "--once")
            assert said.returncode == 0 and said.stderr == "" and "\033" not in said.stdout, said
            for table in ("services:", "servers:", "workers:"):
                assert f"\n{table}\n" in said.stdout, said.stdout
            view = json.loads(ask("top", "--once", "--json").stdout)
            assert list(view) == ["packets", "services", "servers", "workers"], list(view)
            assert [s["name"] for s in view["servers"]] == ["a", "b", "c"] and len(view["workers"]) == 1, view
            assert [s["name"] for s in view["services"]] == ["web"] and "received" in view["packets"], view
            assert ask("service", "list", "--once").returncode == 2
            assert g.stop() == 0
        said = ask("top", "--once")
        assert said.returncode == 1 and said.stdout == "", said

    @case()
    def captures_packets():
        """capture start: filter, comments with verdicts, bounded files, one at a time, no file written over"""
        with Gateway([service()], front="net_null0,size=64") as g:
            g.document["control"]["captures"] = g.dir
            g.write()
            assert g.ask("config reload")["ok"]
            for arguments, wrong in ((["../x"], "without a slash"), (["x", "tcp port"], "syntax error"),
                                     (["x", "host no.such.example"], 'for "no.such.example"'),
                                     (["x", "tcp prot 80"], 'for "prot"'),
                                     (["x", "", "seconds=0"], "1..86400"), (["x", "", "nothing=1"], "no such option")):
                assert wrong in g.ask("capture start", *arguments)["error"], arguments
            assert g.ask("capture start", "empty", "tcp port 80")["ok"]
            assert "one at a time" in g.ask("capture start", "other")["error"]
            assert g.ask("capture stop")["result"][0]["packets"] == 0
            time.sleep(0.2)
            assert g.ask("capture start", "all", "", "packets=500,seconds=20")["ok"]
            end = time.time() + 10
            while g.ask("capture list")["result"] and time.time() < end:
                time.sleep(0.05)
            assert not g.ask("capture list")["result"]
            read = subprocess.run(["tcpdump", "-nn", "-r", f"{g.dir}/all-0.pcapng"], capture_output=True, text=True)
            assert read.stdout.count("\n") == 500, (read.stdout[-300:], read.stderr)
            raw = open(f"{g.dir}/all-0.pcapng", "rb").read()
            assert raw.count(b"dropped: not_ip") == 500, raw[:300]
            time.sleep(0.1)
            assert "choose another name" in g.ask("capture start", "all")["error"]
            assert g.ask("capture start", "round", "", "megabytes=1,files=2,seconds=30")["ok"]
            end = time.time() + 20
            while not os.path.exists(f"{g.dir}/round-3.pcapng") and time.time() < end:
                time.sleep(0.05)
            assert g.ask("capture stop")["ok"]
            files = [f for f in os.listdir(g.dir) if f.startswith("round-")]
            assert len(files) == 2, files
            assert all(os.path.getsize(f"{g.dir}/{f}") < 1300000 for f in files)
            assert g.stop() == 0
