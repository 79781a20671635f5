"""Tests of test/peers/run.sh that no other suite has: the whole binary on virtual devices."""
import json
import os
import subprocess
import time

from scapy.all import IP, TCP, UDP, Ether, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrHopByHop, Raw, fragment, rdpcap, wrpcap
from cases import Skip, correct, ether, run, send_front, syn
from gateway import TIDEGATECTL, VIP, VIP6, Gateway, service


def endless(packets, services, **more):
    """A gateway whose front port plays the packets over and over."""
    g = Gateway(services, back="net_null1,no-rx=1", **more)
    wrpcap(f"{g.dir}/in.pcap", packets)
    g.command[g.command.index("--vdev=net_null0")] = f"--vdev=net_pcap0,rx_pcap={g.dir}/in.pcap,tx_iface=lo,infinite_rx=1"
    return g


def flows_of(g, service_name="web"):
    return {s["name"]: s["flows"] for v in g.report()["services"] if v["name"] == service_name for s in v["servers"]}


def unknown_port():
    services = [service(ports=[80]), service(name="dns", protocol="udp", ports=[53]),
                service(name="other", address="192.0.2.20", ports=[443])]
    packets = [syn(1, dport=443), syn(2, dport=53), ether() / IP(src="198.51.100.3", dst=VIP) / UDP(sport=3, dport=80) / Raw(b"x"),
               syn(4, dport=0), syn(5, dport=80)]
    _, out, report = run(packets, services)
    assert [p[TCP].sport for p in out] == [10005], [p.summary() for p in out]
    assert report["drops"] == {"no_service": 4}, report["drops"]


def change_under_load():
    with endless([syn(n) for n in range(200)], [service(policy="round-robin")]) as g:
        g.wait_received(5000)
        before = flows_of(g)
        assert sum(before.values()) == 200, before
        whole = json.dumps(g.document)
        for k in range(12):
            g.document = json.loads(whole)
            if k % 2 == 0:
                g.document["services"][0]["servers"].pop()
            g.write()
            assert g.ask("config reload")["ok"]
            assert g.ask("server disable", "web", "b")["ok"]
            time.sleep(0.1)
            assert g.ask("server enable", "web", "b")["ok"]
        now = flows_of(g)
        start = g.report()["packets"]["received"]
        g.wait_received(start + 5000)
        # a took over flows of others, and none of its own was placed again: it never went away
        assert now["a"] >= before["a"], (before, now)
        drops = g.report()["drops"]
        assert set(drops) <= {"tx_full", "no_neighbour", "neighbour_consumed"}, drops
        assert g.stop() == 0, g.output()


def fragments_at_rate():
    packets = []
    for n in range(6000):
        packets += [ether() / f for f in fragment(IP(src=f"198.51.100.{n % 200 + 1}", dst=VIP, id=n) /
                                                  UDP(sport=n + 1, dport=53) / Raw(bytes(64)), fragsize=24)]
        if n % 3 == 0:
            packets.append(ether() / IP(src="203.0.113.1", dst=VIP, id=n, frag=9, proto=17) / Raw(bytes(32)))
    _, out, report = run(packets, [service(protocol="udp", ports=[53])])
    # far more than there are buffers: had each one cost a buffer, the input would have stood still
    assert len(packets) > 15000 and report["packets"]["received"] == len(packets)
    assert report["drops"] == {"fragment": 2000} and len(out) == len(packets) - 2000, report["drops"]


def icmp6_behind_extensions():
    servers = [{"name": n, "address": f"2001:db8:2::{k}", "mac": f"02:00:00:00:06:{k:02x}"} for n, k in (("a", 1), ("b", 2), ("c", 3))]
    flows = [ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=4000 + n, dport=80, flags="S") for n in range(9)]
    errors = []
    for f in flows:
        quoted = bytes(IPv6(src=VIP6, dst=f[IPv6].src, plen=1400, nh=6) / TCP(sport=80, dport=f[TCP].sport))[:48]
        errors.append(ether() / IPv6(src="2001:db8:5::1", dst=VIP6) / IPv6ExtHdrHopByHop() / ICMPv6PacketTooBig(mtu=1300) / Raw(quoted))
    _, out, report = run(flows + errors, [service(address=VIP6, servers=servers, policy="round-robin")])
    assert len(out) == 18 and not report["drops"], report["drops"]
    place = {p[TCP].sport: p.dst for p in out[:9]}
    assert [p.dst for p in out[9:]] == [place[4000 + n] for n in range(9)] and len(set(place.values())) == 3


def padded_ack():
    ack = bytes(ether() / IP(src="198.51.100.7", dst=VIP) / TCP(sport=7, dport=80, flags="A", seq=1, ack=1))
    assert len(ack) == 54
    _, out, report = run([syn(0), *[Ether(ack + bytes(6))] * 4], [service(forward="ipip", estimator="ack")])
    assert [len(bytes(p)) for p in out[1:]] == [74] * 4 and all(correct(p) for p in out), [len(bytes(p)) for p in out]
    assert sum(s["exchanges"] for s in report["services"][0]["servers"]) == 0


def udp_flood():
    services = [service(protocol="udp", ports=[53], policy="round-robin")]
    held = [ether() / IP(src="198.51.100.7", dst=VIP) / UDP(sport=n, dport=53) / Raw(b"held") for n in range(1, 101)]
    flood = [ether() / IP(src=f"203.{n >> 16}.{n >> 8 & 255}.{n & 255}", dst=VIP) / UDP(sport=5, dport=53) for n in range(1, 8001)]
    seen = {}

    def look(g):
        seen.update(g.telemetry("/tidegate/flows")["/tidegate/flows"])
    _, out, report = run(held + flood + flood[-1000:] + held, services, slots=1024, before_end=look)
    # without an entry the hash decides, and again the same
    assert [p.dst for p in out[7100:8100]] == [p.dst for p in out[8100:9100]]
    place = {p[UDP].sport: p.dst for p in out[:100]}
    assert [p.dst for p in out[-100:]] == [place[n] for n in range(1, 101)] and len(set(place.values())) == 3
    assert len(out) == 9200 and seen["used"] <= seen["slots"] == 1024 and seen["full"] > 0, seen
    assert seen["stateless_packets"] > 5000, seen


def two_captures():
    g = endless([syn(1)], [service()])
    g.document["control"]["captures"] = g.dir
    g.write()
    with g:
        g.wait_received(100)
        first = g.ask("capture start", "one")
        assert first["ok"], first
        second = g.ask("capture start", "two")
        assert not second["ok"] and "one" in second["error"] and g.listens(), second
        g.wait_received(g.report()["packets"]["received"] + 100)
        assert g.stop() == 0


def no_huge_pages():
    g = Gateway([service()], huge=("-m", "4000000"))
    try:
        said = subprocess.run(g.command, capture_output=True, text=True, timeout=60)
        assert said.returncode == 1 and "huge pages" in said.stderr, (said.returncode, said.stderr[-400:])
    finally:
        g.__exit__()


def half_written_file():
    with endless([syn(n) for n in range(50)], [service()]) as g:
        g.wait_received(500)
        before, good = flows_of(g), open(g.config, encoding="utf-8").read()
        for text in (good[:len(good) // 2], "", "{}", good.replace('"servers": [', '"servers": [], "x": [')):
            with open(g.config, "w", encoding="utf-8") as f:
                f.write(text)
            reply = g.ask("config reload")
            assert not reply["ok"] and reply["error"], text[:40]
        start = g.report()["packets"]["received"]
        g.wait_received(start + 500)
        assert flows_of(g) == before, (before, flows_of(g))
        assert g.stop() == 0


def other_gateways_flow():
    begin = [syn(n) for n in range(60)]
    middle = [ether() / IP(src=p[IP].src, dst=VIP) / TCP(sport=p[TCP].sport, dport=80, flags="A", seq=9, ack=9) for p in begin]
    _, one, _ = run(begin, [service()])
    _, two, report = run(middle, [service()])
    assert {p[TCP].sport: p.dst for p in one} == {p[TCP].sport: p.dst for p in two} and len(two) == 60, report["drops"]


def coalesced():
    long = [syn(n) / Raw(bytes(size)) for n, size in enumerate((3000, 9000, 30000, 60000))]
    _, out, report = run(long + [syn(9)], [service()])
    assert len(out) == 1 and sum(report["drops"].values()) == 4, report["drops"]
    assert set(report["drops"]) <= {"too_big", "ip_length", "multi_segment"}, report["drops"]


def reused_tuple():
    from scapy.all import AsyncSniffer
    from cases import taps
    a, b = taps()
    with Gateway([service(policy="round-robin")], front=f"net_tap0,iface={a}", back=f"net_tap1,iface={b}") as g:
        for i in (a, b):
            subprocess.run(["ip", "link", "set", i, "up"], check=True)
        seen = []
        sniffer = AsyncSniffer(iface=b, store=False, lfilter=lambda p: TCP in p and p[IP].dst == VIP, prn=seen.append)
        sniffer.start()
        time.sleep(0.5)
        packets = [syn(n) for n in range(30)]
        send_front(g, packets)
        g.wait_received(30)
        time.sleep(0.5)
        first = {p[TCP].sport: p.dst for p in seen}
        assert g.ask("server disable", "web", "a")["ok"]
        time.sleep(0.3)
        seen.clear()
        send_front(g, packets)
        time.sleep(1)
        sniffer.stop()
        gone = "02:00:00:00:00:0b"
        again = {p[TCP].sport: p.dst for p in seen}
        assert len(first) == len(again) == 30 and gone in first.values() and gone not in again.values(), (first, again)
        assert all(again[k] == v for k, v in first.items() if v != gone), "flows of others moved"
        assert g.stop() == 0


SENDER = """
import socket, sys
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(20):
    u.sendto(b"x" * (n + 1), (sys.argv[1], 53))
t = socket.socket(); t.settimeout(0.3)
try:
    t.connect((sys.argv[1], 80))
except OSError:
    pass
"""


def partial_checksum():
    """From the kernel of a namespace over veth, which leaves checksums to the NIC."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    i, j, ns = f"tgx{os.getpid() % 10000}", f"tgy{os.getpid() % 10000}", f"tgp{os.getpid()}"

    def sh(*words):
        subprocess.run(words, check=True)
    sh("ip", "netns", "add", ns)
    try:
        sh("ip", "link", "add", j, "type", "veth", "peer", "name", i, "netns", ns)
        sh("ip", "link", "set", j, "up")
        inside = ("nsenter", f"--net=/run/netns/{ns}")
        sh(*inside, "ip", "link", "set", i, "up")
        sh(*inside, "ip", "address", "add", "198.51.100.1/24", "dev", i)
        sh(*inside, "ip", "route", "add", VIP, "dev", i)
        services = [service(), service(name="dns", protocol="udp", ports=[53])]
        g = Gateway(services, front=f"net_af_packet0,iface={j}")
        g.command[g.command.index("--vdev=net_null1")] = f"--vdev=net_pcap1,rx_iface=lo,tx_pcap={g.back}"
        with g:
            mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
            sh(*inside, "ip", "neigh", "replace", VIP, "lladdr", mac, "dev", i)
            sh(*inside, "/usr/bin/python3", "-c", SENDER, VIP)
            g.wait_received(21)
            time.sleep(0.3)
            assert g.stop() == 0
            out = [p for p in rdpcap(g.back) if IP in p and p[IP].dst == VIP]
        assert sum(UDP in p for p in out) == 20 and any(TCP in p for p in out), [p.summary() for p in out]
        assert all(correct(p) for p in out), [p.summary() for p in out if not correct(p)]
    finally:
        sh("ip", "netns", "del", ns)


def reading_changes_nothing():
    with Gateway([service()], front="net_null0,no-rx=1", back="net_null1,no-rx=1") as g:
        time.sleep(0.3)

        def everything():
            commands = g.telemetry("/")["/"]
            return {c: g.telemetry(c) for c in commands if c.startswith("/tidegate/") and "," not in c}
        ours = {k: v for k, v in g.report().items() if k in ("services", "drops")}
        first = everything()
        for _ in range(3):
            everything()
            for words in (("service", "list"), ("server", "list", "web"), ("port", "list"), ("stats", "show", "--json")):
                subprocess.run([TIDEGATECTL, "--socket", g.socket, *words], check=True, capture_output=True)
        assert {k: v for k, v in g.report().items() if k in ("services", "drops")} == ours
        assert everything()["/tidegate/servers"] == first["/tidegate/servers"]
        assert g.ask("service list")["ok"] and g.stop() == 0
