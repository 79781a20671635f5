"""Cases of the whole binary on virtual devices. test/vdev/run.sh runs them."""
import logging
import os
import signal
import subprocess
import sys
import time
import traceback

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scapy.all import (ARP, ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPOption,  # noqa: E402
                       IPv6, Raw, fragment, rdpcap, wrpcap)
from gateway import CLIENT_MAC, PCAP_MAC, TIDEGATE, TIDEGATECTL, VIP, VIP6, Gateway, server, service, two_ports  # noqa: E402

CASES, QUICK = {}, []


def case(quick=False, root=False):
    def register(f):
        CASES[f.__name__] = f
        f.root = root
        if quick:
            QUICK.append(f.__name__)
        return f
    return register


class Skip(Exception):
    pass


def ether(**more):
    return Ether(dst=PCAP_MAC, src=CLIENT_MAC, **more)


def syn(n, dport=80, dst=VIP, **ip):
    return ether() / IP(src=f"198.51.100.{10 + n % 200}", dst=dst, **ip) / TCP(sport=10000 + n, dport=dport, flags="S")


def run(packets, services, ports=None, **more):
    """Feeds packets to the front port; what left by front and back, and the report."""
    g = Gateway(services, ports=ports, **more)
    source = f"{g.dir}/in.pcap"
    wrpcap(source, packets)
    front = f"net_pcap0,rx_pcap={source},tx_pcap={g.front}"
    back = f"net_pcap1,rx_iface=lo,tx_pcap={g.back}"
    at = g.command.index("--vdev=net_null0")
    g.command[at:at + 2] = [f"--vdev={front}", f"--vdev={back}"]
    with g:
        g.wait_received(len(packets))
        time.sleep(0.1)
        report = g.report()
        code = g.stop()
        assert code == 0, f"exit code {code}: {g.output()}"
        return rdpcap(g.front), rdpcap(g.back), report


def correct(p):
    """Do all checksums and lengths of a frame stand?"""
    again = p.__class__(bytes(p))
    for layer in (IP, TCP, UDP, ICMP):
        while again.haslayer(layer) and again[layer].chksum is not None:
            if layer is UDP and again[layer].chksum == 0:
                break
            del again[layer].chksum
            break
    return bytes(again.__class__(bytes(again))) == bytes(p)


@case(quick=True)
def l2_direct_server_return():
    """Destination MAC rewritten, VIP untouched, TTL less one, checksum right, one server a flow"""
    packets = [syn(n, ttl=64) for n in range(300)] * 2
    _, out, report = run(packets, [service()])
    assert len(out) == 600, len(out)
    chosen = {}
    for p in out:
        assert p[IP].dst == VIP and p[IP].ttl == 63 and correct(p), p.summary()
        assert p.dst in {f"02:00:00:00:00:{m:02x}" for m in (11, 12, 13)}, p.dst
        chosen.setdefault(p[TCP].sport, set()).add(p.dst)
    assert all(len(s) == 1 for s in chosen.values()), "a flow moved"
    assert len({next(iter(s)) for s in chosen.values()}) == 3, "a server got nothing"
    assert report["packets"] == {"received": 600, "forwarded": 600, "dropped": 0, "replied": 0}, report["packets"]


@case(quick=True)
def ipip_all_families():
    """IPv4 and IPv6 inside IPv4 and IPv6: lengths, protocol, checksums; padding is cut off"""
    v6 = [{"name": f"s{n}", "address": f"2001:db8:2::{n}", "mac": "02:00:00:00:00:66"} for n in (11, 12)]
    services = [service(forward="ipip"),
                service(name="web6", address=VIP6, forward="ipip", servers=v6),
                service(name="four-in-six", ports=[81], forward="ipip", servers=v6),
                service(name="six-in-four", address=VIP6, ports=[81], forward="ipip")]
    packets = [syn(1), syn(2, dport=81),
               ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=5, dport=80, flags="S"),
               ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=5, dport=81, flags="S"),
               syn(3) / Raw(b"x" * 700)]
    _, out, _ = run([Ether(bytes(p).ljust(60, b"\0")) for p in packets], services)
    assert len(out) == 5, len(out)
    kinds = sorted((p.type, p.payload.proto if IP in p and p.type == 0x800 else p.payload.nh) for p in out)
    assert kinds == [(0x800, 4), (0x800, 4), (0x800, 41), (0x86dd, 4), (0x86dd, 41)], kinds
    for p in out:
        assert correct(p), p.summary()
        inner = p.payload.payload
        length = len(bytes(inner)) + (20 if p.type == 0x800 else 40)
        assert len(bytes(p)) == 14 + length, "padding travelled along"
        assert (p.payload.len if p.type == 0x800 else p.payload.plen + 40) == length
        assert (inner.ttl if isinstance(inner, IP) else inner.hlim) == 63


@case()
def vlan_tags():
    """Tags stay as they came; a port's own tag replaces them"""
    tagged = [ether() / Dot1Q(vlan=7, prio=3) / syn(n)[IP] for n in range(4)]
    _, out, _ = run(tagged, [service()])
    assert all(p[Dot1Q].vlan == 7 and p[Dot1Q].prio == 3 and correct(p) for p in out) and len(out) == 4
    ports = two_ports()
    ports[1]["vlan"] = 30
    _, out, _ = run(tagged + [syn(9)], [service()], ports=ports)
    assert all(p[Dot1Q].vlan == 30 and p[Dot1Q].type == 0x800 and correct(p) for p in out) and len(out) == 5


@case()
def udp_and_any_protocol():
    """UDP keeps checksum 0; ESP and GRE go to an `any` service by addresses; small payloads intact"""
    services = [service(name="dns", protocol="udp", ports=[53]), service(name="rest", address="192.0.2.20",
                                                                          protocol="any", ports="any")]
    del services[1]["ports"]
    packets = [ether() / IP(src="198.51.100.9", dst=VIP) / UDP(sport=n, dport=53, chksum=0) / Raw(b"abc")
               for n in range(1, 9)]
    packets += [ether() / IP(src="198.51.100.9", dst="192.0.2.20", proto=p) / Raw(bytes(32)) for p in (50, 47, 50)]
    _, out, report = run(packets, services)
    assert len(out) == 11, report
    assert all(bytes(p[UDP].payload)[:3] == b"abc" and p[UDP].chksum == 0 for p in out if UDP in p and p[IP].proto == 17)
    assert len({p.dst for p in out if p[IP].proto == 50}) == 1


@case(quick=True)
def bad_packets_are_named():
    """Each malformed or foreign packet is dropped under its own name; none crashes"""
    good = bytes(syn(1))
    cut = good[:30]
    badihl = bytearray(good); badihl[14] = 0x44
    long = bytearray(good); long[16:18] = b"\xff\xff"
    mpls = bytes(Ether(dst=PCAP_MAC, src=CLIENT_MAC, type=0x8847)) + b"\0\0\x01\x40" + good[14:]
    vlan3 = ether() / Dot1Q(vlan=1) / Dot1Q(vlan=2) / Dot1Q(vlan=3) / syn(1)[IP]
    xmas = ether() / IP(src="198.51.100.7", dst=VIP) / TCP(sport=1, dport=80, flags="FPU")
    null = ether() / IP(src="198.51.100.7", dst=VIP) / TCP(sport=1, dport=80, flags=0)
    foreign = Ether(dst="02:11:11:11:11:11", src=CLIENT_MAC) / syn(1)[IP]
    report_of_groups = Ether(dst="33:33:00:00:00:16", src=CLIENT_MAC) / IPv6(src="fe80::1", dst="ff02::16", nh=58) / Raw(bytes(8))
    packets = [Ether(cut), Ether(bytes(badihl)), Ether(bytes(long)), Ether(mpls), vlan3, xmas, null, foreign, report_of_groups,
               syn(1, dport=81), syn(2, dst="192.0.2.99"), syn(3, ttl=1),
               ether(type=0x88cc) / Raw(bytes(46)), syn(4)]
    _, out, report = run(packets, [service()])
    want = {"frame_short": 1, "ip_header": 1, "ip_length": 1, "mpls_unsupported": 1, "vlan_depth": 1, "tcp_stray": 2,
            "not_ours": 2, "no_service": 1, "ttl_expired": 1, "not_ip": 1, "multicast": 1}
    assert report["drops"] == want, report["drops"]
    assert len(out) == 1 and out[0][TCP].sport == 10004


@case()
def impossible_senders_and_broken_headers():
    """What a router refuses: sources no host has, a wrong IPv4 checksum; a right one of the same kind goes on"""
    def from_(src, **l2):
        return ether(**l2) / IP(src=src, dst=VIP) / TCP(sport=7, dport=80, flags="S")
    def from6(src):
        return ether() / IPv6(src=src, dst=VIP6) / TCP(sport=7, dport=80, flags="S")
    group = Ether(dst=PCAP_MAC, src="01:00:5e:00:00:01") / syn(1)[IP]
    bad = [from_(a) for a in ("127.0.0.1", "0.0.0.0", "224.0.0.5", "255.255.255.255", VIP)]
    bad += [from6(a) for a in ("::", "::1", "ff02::1", VIP6)] + [group]
    broken = bytearray(bytes(syn(2))); broken[24] ^= 0x10
    swapped = bytearray(bytes(syn(3))); swapped[14 + 8] ^= 1  # the TTL, without its checksum
    services = [service(), service(name="web6", address=VIP6, servers=[
        {"name": "s", "address": "2001:db8:2::1", "mac": "02:00:00:00:00:66"}])]
    _, out, report = run(bad + [Ether(bytes(broken)), Ether(bytes(swapped)), syn(4), from6("2001:db8:1::9")], services)
    assert report["drops"] == {"bad_source": len(bad), "ip_checksum": 2}, report["drops"]
    assert len(out) == 2 and all(correct(p) for p in out)


@case()
def fragments():
    """All fragments of a datagram go to one server; TCP fragments are counted"""
    whole = IP(src="198.51.100.77", dst=VIP, id=7) / UDP(sport=9, dport=53) / Raw(bytes(3000))
    packets = [ether() / f for f in fragment(whole, fragsize=600)]
    tcp = [ether() / f for f in fragment(IP(src="198.51.100.78", dst="192.0.2.20") / TCP(dport=80, flags="A") / Raw(bytes(900)),
                                         fragsize=400)]
    _, out, report = run(packets + tcp, [service(protocol="udp", ports=[53]),
                                         service(name="t", address="192.0.2.20", servers=[server("a", 21)])])
    assert len(out) == len(packets) and len({p.dst for p in out}) == 1, report
    assert report["drops"] == {"fragment": len(tcp)}, report["drops"]


@case(quick=True)
def neighbours_and_ping():
    """ARP, ND and echo for VIP and own addresses answered, others not; checksums right"""
    arp = [Ether(dst="ff:ff:ff:ff:ff:ff", src=CLIENT_MAC) / ARP(psrc="198.51.100.1", hwsrc=CLIENT_MAC, pdst=a)
           for a in (VIP, "198.51.100.2", "198.51.100.99", "10.0.0.2")]
    ns = [Ether(dst="33:33:ff:00:00:10", src=CLIENT_MAC) /
          IPv6(src="2001:db8:1::1", dst="ff02::1:ff00:10", hlim=255) /
          ICMPv6ND_NS(tgt=t) / ICMPv6NDOptSrcLLAddr(lladdr=CLIENT_MAC) for t in (VIP6, "2001:db8:1::77")]
    ping = [ether() / IP(src="198.51.100.1", dst=VIP) / ICMP(id=1, seq=5) / Raw(b"hello"),
            ether() / IP(src="198.51.100.1", dst=VIP) / ICMP(id=0, seq=0) / Raw(bytes(8))]  # its answer is all zeros
    front, out, report = run(arp + ns + ping, [service(), service(name="web6", address=VIP6, servers=[
        {"name": "s", "address": "2001:db8:2::1", "mac": "02:00:00:00:00:66"}])])
    answers = [p for p in front if ARP in p and p[ARP].op == 2]
    assert sorted(p[ARP].psrc for p in answers) == sorted([VIP, "198.51.100.2"]), [p.summary() for p in front]
    assert all(p.dst == CLIENT_MAC and p.src == PCAP_MAC and p[ARP].hwsrc == PCAP_MAC for p in answers)
    adverts = [p for p in front if IPv6 in p and p[IPv6].nh == 58 and bytes(p[IPv6].payload)[0] == 136]
    assert len(adverts) == 1 and adverts[0].tgt == VIP6 and adverts[0][IPv6].hlim == 255, [p.summary() for p in front]
    assert correct_icmp6(adverts[0])
    echo = [p for p in front if ICMP in p]
    assert len(echo) == 2 and all(e[ICMP].type == 0 and e[IP].src == VIP for e in echo) and correct(echo[0])
    assert echo[1][ICMP].chksum == 0xffff, "an Internet checksum of zeros is 0xffff"
    assert bytes(echo[0][Raw].load)[:5] == b"hello" and len(out) == 0
    p = report["packets"]
    assert p["replied"] == 5 and p["received"] == p["forwarded"] + p["dropped"] + p["replied"], p


def correct_icmp6(p):
    again = Ether(bytes(p))
    layer = again[IPv6].payload
    was = layer.cksum
    del layer.cksum
    return Ether(bytes(again))[IPv6].payload.cksum == was


@case()
def too_big_is_counted():
    """What does not fit the MTU after encapsulation is dropped and named"""
    big = syn(1) / Raw(bytes(1460))
    _, out, report = run([big, syn(2)], [service(forward="ipip")])
    assert report["drops"] == {"too_big": 1} and len(out) == 1, report["drops"]


@case(quick=True)
def too_big_is_answered():
    """Who may not be fragmented is told what fits: MTU less the outer header, IPv4 and IPv6, VLAN tags kept"""
    v6 = [{"name": "s", "address": "2001:db8:2::1", "mac": "02:00:00:00:00:66"}]
    services = [service(forward="ipip"), service(name="gue", ports=[81], forward="gue"),
                service(name="web6", address=VIP6, forward="ipip", servers=v6)]
    long6 = ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=9, dport=80, flags="S") / Raw(bytes(1440))
    packets = [syn(1, flags="DF") / Raw(bytes(1441)), syn(2, dport=81, flags="DF") / Raw(bytes(1460)), long6,
               Ether(dst=PCAP_MAC, src=CLIENT_MAC) / Dot1Q(vlan=7) / syn(3, flags="DF")[IP] / Raw(bytes(1460)),
               syn(4, flags="DF") / Raw(bytes(1440)), syn(5) / Raw(bytes(1460))]
    front, out, report = run(packets, services)
    assert len(out) == 1 and report["drops"] == {"too_big": 1}, (len(out), report["drops"])
    told = [p for p in front if p.src == PCAP_MAC and (ICMP in p or (IPv6 in p and p[IPv6].nh == 58))]
    assert len(told) == 4 and all(p.dst == CLIENT_MAC for p in told), [p.summary() for p in front]
    for p, mtu, asked in zip(told, (1480, 1456, 1460, 1480), (0, 1, 2, 3)):
        if IPv6 in p:
            assert correct_icmp6(p) and (p[IPv6].src, p[IPv6].dst) == (VIP6, "2001:db8:1::9")
            assert (p[IPv6].payload.type, p[IPv6].payload.mtu, p[IPv6].plen) == (2, mtu, 1240), p.summary()
            assert bytes(p)[14 + 48:] == bytes(packets[asked])[14:14 + 1232]
            continue
        link = 18 if Dot1Q in p else 14
        assert correct(p) and (p[IP].src, p[IP].dst) == (VIP, packets[asked][IP].src), p.summary()
        assert (p[ICMP].type, p[ICMP].code, p[ICMP].nexthopmtu, p[IP].len) == (3, 4, mtu, 576), p.summary()
        assert bytes(p)[link + 28:] == bytes(packets[asked])[link:link + 548], "the quote"
    assert told[3][Dot1Q].vlan == 7
    p = report["packets"]
    assert p["replied"] == 4 and p["received"] == p["forwarded"] + p["dropped"] + p["replied"], p


@case(quick=True)
def errors_follow_their_flow():
    """ICMP errors, quoting no more than 8 bytes, go to the server of the flow they are about; cut ones are counted"""
    def error(n, quoted, src="203.0.113.254"):
        return ether() / IP(src=src, dst=VIP) / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(quoted)

    def answer(n, **ip):  # of the server, as a router on the way to the client saw it
        p = syn(n)
        return bytes(IP(src=VIP, dst=p[IP].src, flags="DF", len=1500, **ip) / TCP(sport=80, dport=p[TCP].sport, seq=n))

    flows = range(40)
    packets = [syn(n) for n in flows] + [error(n, answer(n)[:28]) for n in flows]
    optioned = IP(src=VIP, dst=syn(1)[IP].src, len=1500, proto=6, options=[IPOption(b"\x07\x07\x04\0\0\0\0\0")])
    packets += [error(1, bytes(optioned / TCP(sport=80, dport=syn(1)[TCP].sport))[:36])]
    refused = [error(0, answer(0)[:n]) for n in (0, 19, 20, 23)]
    refused += [error(0, bytes(IP(src="192.0.2.99", dst=syn(0)[IP].src) / TCP(sport=80, dport=1))[:28])]
    _, out, report = run(packets + refused, [service(policy="round-robin")])
    place = {(p[IP].src, p[TCP].sport): p.dst for p in out if TCP in p and ICMP not in p}
    errors = [p for p in out if ICMP in p]
    assert len(place) == len(flows) and len(set(place.values())) > 1, "several servers"
    assert len(errors) == len(flows) + 1, (len(errors), report["drops"])
    for p in errors:
        inner = IP(bytes(p[ICMP].payload))
        sport = int.from_bytes(bytes(p[ICMP].payload)[inner.ihl * 4 + 2:inner.ihl * 4 + 4], "big")
        assert p.dst == place[(inner.dst, sport)], "the server of another flow"
        assert correct(p) and p[IP].src == "203.0.113.254" and p[ICMP].nexthopmtu == 1400
    assert report["drops"] == {"icmp": len(refused)}, report["drops"]


@case()
def jumbo_frames():
    """A port of MTU 9000 takes a frame as long in one piece, and no longer one"""
    ports = two_ports()
    for p in ports:
        p["mtu"] = 9000
    big = syn(1) / Raw(bytes(9000 - 40))
    _, out, report = run([big, syn(2) / Raw(bytes(9000 - 39))], [service()], ports=ports, huge=("--no-huge", "-m", "320"))
    assert [len(p) for p in out] == [9014] and correct(out[0]), [len(p) for p in out]
    assert report["drops"] == {"too_big": 1}, report["drops"]


@case()
def several_workers():
    """Two workers: flows cross to their owner by ring, keep one server, none is lost"""
    packets = [syn(n) for n in range(400)] * 3
    g = Gateway([service(policy="least-connections")], lcores="0@0,1@0,2@1")
    source = f"{g.dir}/in.pcap"
    wrpcap(source, packets)
    vdev = [f"--vdev=net_pcap0,rx_pcap={source},tx_pcap={g.dir}/f0,tx_pcap={g.dir}/f1",
            f"--vdev=net_pcap1,rx_iface=lo,tx_pcap={g.dir}/b0,tx_pcap={g.dir}/b1"]
    at = g.command.index("--vdev=net_null0")
    g.command[at:at + 2] = vdev
    with g:
        g.wait_received(len(packets))
        time.sleep(0.3)
        report, workers = g.report(), g.ask("worker list")["result"]
        g.stop()
        out = rdpcap(f"{g.dir}/b0") + rdpcap(f"{g.dir}/b1")
    assert report["packets"]["forwarded"] == len(packets) == len(out), report["packets"]
    assert len(workers) == 2 and workers[0]["handed_over"] > 300 and all(w["flows"] > 100 for w in workers), workers
    chosen = {}
    for p in out:
        chosen.setdefault(p[TCP].sport, set()).add(p.dst)
    assert len(chosen) == 400 and all(len(s) == 1 for s in chosen.values())
    flows = [s["flows"] for s in report["services"][0]["servers"]]
    assert sum(flows) == 400 and max(flows) - min(flows) <= 40, flows


@case()
def two_queues_of_generated_input():
    """net_null with a queue a worker: both poll, both count"""
    with Gateway([service()], front="net_null0", back="net_null1", lcores="0@0,1@0,2@1") as g:
        time.sleep(1)
        workers = g.ask("worker list")["result"]
        assert len(workers) == 2 and all(w["received"] > 1000 for w in workers), workers
        drops = g.report()["drops"]
        assert set(drops) == {"not_ip"}, drops  # net_null frames are all zero
        stages = {(s["lcore"], s["stage"]): s for s in g.ask("stage list")["result"]}
        assert stages[(1, "parse")]["calls"] > 10 and stages[(1, "parse")]["packets_per_call"] == 32, stages
        assert all(0 < stages[(1, s)]["cycles_per_packet"] < 100000 for s in ("rx", "parse", "flow", "tx")), stages
        assert next(iter(g.telemetry("/tidegate/stages,1").values()))["parse_calls"] > 10
        assert g.stop() == 0


@case()
def net_ring_loop():
    """net_ring: what control asks the neighbours comes back and is consumed"""
    services = [service(servers=[{"name": "a", "address": "10.0.0.11"}])]
    with Gateway(services, front="net_ring0", back="net_ring1") as g:
        time.sleep(1.5)
        r = g.report()
        assert r["drops"].get("neighbour_consumed", 0) >= 1, r
        n = g.ask("neighbour list")["result"]
        assert n[0]["address"] == "10.0.0.11" and not n[0]["valid"], n
        e = g.ask("flow explain", f"tcp,198.51.100.9,4000,{VIP},80")["result"]
        assert e["drop"] == "no_neighbour" and "link address" in e["why"], e
        assert g.stop() == 0


@case()
def shadow_sends_nothing():
    """--shadow decides and counts; nothing leaves"""
    front, out, report = run([syn(n) for n in range(50)], [service()], ours=("--shadow",))
    assert len(front) == 0 and len(out) == 0
    assert report["drops"] == {"shadow": 50} and report["packets"]["forwarded"] == 0, report
    assert sum(s["flows"] for s in report["services"][0]["servers"]) == 50


@case(quick=True)
def control_and_telemetry():
    """tidegatectl, drain, reload of good and bad files, telemetry, modes of both sockets"""
    with Gateway([service()]) as g:
        def ctl(*words, code=0):
            r = subprocess.run([TIDEGATECTL, "--socket", g.socket, *words], capture_output=True, text=True, timeout=10)
            assert r.returncode == code, (words, r)
            return r.stdout + r.stderr
        assert oct(os.stat(g.socket).st_mode & 0o777) == "0o660"
        assert oct(os.stat(f"/var/run/dpdk/{g.prefix}/dpdk_telemetry.v2").st_mode & 0o777) == "0o660"
        assert "web" in ctl("service", "list")
        ctl("server", "drain", "web", "b")
        states = {s["name"]: s["state"] for s in g.ask("server list", "web")["result"]}
        assert states == {"a": "up", "b": "drain", "c": "up"}, states
        ctl("server", "enable", "web", "b")
        assert "no server" in ctl("server", "drain", "web", "nobody", code=1)
        assert "maglev" in g.ask("flow explain", f"tcp,198.51.100.9,4000,{VIP},80")["result"]["why"]
        assert g.ask("flow explain", f"tcp,198.51.100.9,4000,{VIP},81")["result"]["drop"] == "no_service"
        assert not g.ask("flow explain", "nonsense")["ok"]
        g.document["services"][0]["servers"].append(server("d", 14))
        g.write()
        ctl("config", "reload")
        assert len(g.ask("server list", "web")["result"]) == 4
        g.document["services"][0]["servers"][0]["weight"] = 70000
        g.write()
        assert "weight" in ctl("config", "reload", code=1)
        assert len(g.ask("server list", "web")["result"]) == 4
        g.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert "reload failed" in g.output()
        for command in ("/tidegate/services", "/tidegate/servers,web", "/tidegate/latency,web", "/tidegate/latency,web,a",
                        "/tidegate/flows", "/tidegate/drops", "/tidegate/gate", "/tidegate/lcore,1", "/tidegate/config",
                        f"/tidegate/flow,tcp,198.51.100.9,4000,{VIP},80"):
            reply = next(iter(g.telemetry(command).values()))
            assert isinstance(reply, dict) and len(reply) >= 2, (command, reply)
        assert next(iter(g.telemetry("/tidegate/servers,nobody").values())) is None
        assert g.stop() == 0


@case()
def refused_reload_changes_nothing():
    """A server that no port can reach: refused; MACs, servers and flows of the file in force stay"""
    packets = [syn(n) for n in range(60)]
    g = Gateway([service()])
    wrpcap(f"{g.dir}/in.pcap", packets)
    g.command[g.command.index("--vdev=net_null0")] = f"--vdev=net_pcap0,rx_pcap={g.dir}/in.pcap,infinite_rx=1,tx_pcap={g.front}"
    g.command[g.command.index("--vdev=net_null1")] = "--vdev=net_null1,no-rx=1"
    with g:
        time.sleep(0.3)
        before, state = g.ask("neighbour list")["result"], g.ask("server list")["result"]
        bad = g.document["services"][0]["servers"]
        bad[0]["mac"] = "02:00:00:00:00:99"
        bad[1]["state"] = "down"
        bad[2] = {"name": "c", "address": "10.9.9.9"}
        g.write()
        reply = g.ask("config reload")
        assert not reply["ok"] and "10.9.9.9" in reply["error"], reply
        time.sleep(0.2)
        assert [n["mac"] for n in g.ask("neighbour list")["result"]] == [n["mac"] for n in before]
        # the next change in force finds the flows where they were
        assert g.ask("server drain", "web", "a")["ok"]
        time.sleep(0.3)
        after = g.ask("server list")["result"]
        assert [(s["name"], s["open_flows"]) for s in after] == [(s["name"], s["open_flows"]) for s in state], (state, after)
        assert next(iter(g.telemetry("/tidegate/flows").values()))["repicked"] == 0
        assert g.stop() == 0


@case()
def drain_survives_a_reload():
    """What an operator drained stays drained over a reload, until the file itself says otherwise"""
    with Gateway([service()]) as g:
        def states():
            return [s["state"] for s in g.ask("server list", "web")["result"]]
        def reload():
            g.write()
            reply = g.ask("config reload")
            assert reply["ok"], reply
        servers = g.document["services"][0]["servers"]
        assert g.ask("server drain", "web", "b")["ok"] and g.ask("server disable", "web", "c")["ok"]
        servers[0]["weight"] = 7
        reload()
        assert states() == ["up", "drain", "down"], states()
        servers[1]["state"] = "down"  # the file changes it: the file decides
        reload()
        assert states() == ["up", "down", "down"], states()
        servers[1]["state"] = "up"
        servers.reverse()  # order is no change
        reload()
        assert states() == ["down", "up", "up"], states()
        servers[0]["address"] = "10.0.0.77"  # another server under an old name
        reload()
        assert states() == ["up", "up", "up"], states()
        assert g.stop() == 0


@case()
def large_refused_reload_leaves_room():
    """A reload of thousands of next hops that is refused leaves room for a good one as large"""
    def hops(n, base):
        return [{"name": f"s{i}", "address": f"10.{base + i // 65536}.{i // 256 % 256}.{i % 256}"} for i in range(n)]
    ports = two_ports()
    ports[1]["addresses"] = ["10.0.0.2/8"]
    with Gateway([service(servers=hops(4, 1))], ports=ports) as g:
        for base in (2, 3, 4):
            g.document["services"][0]["servers"] = hops(3000, base) + [{"name": "off", "address": "172.16.9.9"}]
            g.write()
            reply = g.ask("config reload")
            assert not reply["ok"] and "172.16.9.9" in reply["error"], reply
            assert len(g.ask("neighbour list")["result"]) == 4
        g.document["services"][0]["servers"] = hops(3000, 5)
        g.write()
        assert g.ask("config reload")["ok"]
        assert len(g.ask("server list", "web")["result"]) == 3000
        assert g.stop() == 0


@case(quick=True)
def check_finds_what_start_would():
    """--check names what the start would: an unreachable server, no such group, a file in the socket's place"""
    def check(g, *words):
        r = subprocess.run([TIDEGATE, "--no-huge", "-m", "512", "-l", "1", "--", "--config", g.config, "--check"],
                           capture_output=True, text=True, timeout=20)
        assert r.returncode == (1 if words else 0), r
        assert all(w in r.stdout for w in words), r.stdout
    good = Gateway([service()])
    check(good)
    check(Gateway([service(servers=[{"name": "a", "address": "10.9.9.9"}])]), "fault", "10.9.9.9")
    g = Gateway([service()])
    g.document["control"]["group"] = "nobody-has-this"
    g.write()
    check(g, "fault", "control.group", "nobody-has-this")
    g = Gateway([service()])
    g.document["control"]["socket"] = g.config
    g.write()
    check(g, "fault", "control.socket", g.config)
    r = subprocess.run([TIDEGATE, "--config", good.config, "--capture", "/dev/null", "--report", good.config],
                       capture_output=True, text=True, timeout=20)
    assert r.returncode == 1 and "overwritten" in r.stderr and os.path.getsize(good.config) > 100, r


@case(quick=True)
def start_faults_are_sentences():
    """Wrong port, missing file, bad configuration, busy socket: exit 1, the thing named"""
    def fails(g, *words):
        try:
            with g:
                pass
        except AssertionError as e:
            text = str(e)
        else:
            raise AssertionError("started")
        assert text.startswith("ended with 1") and all(w in text for w in words), text
    ports = two_ports()
    fails(Gateway([service()], ports=[dict(ports[0], port="net_nobody0"), ports[1]]), 'port "net_nobody0"', "net_null0")
    fails(Gateway([service(servers=[{"name": "a", "address": "10.9.9.9"}])]), "10.9.9.9", "gateway")
    fails(Gateway([service(policy="fastest")]), "services[0].policy", "maglev")
    fails(Gateway([service()], slots=1 << 22), "flow table", "MiB")
    g = Gateway([service()])
    g.command[g.command.index("--config") + 1] = "/nowhere/config.json"
    fails(g, "/nowhere/config.json")
    with Gateway([service()]) as first:
        second = Gateway([service()])
        second.document["control"]["socket"] = first.socket
        second.socket = "/nonexistent"
        second.write()
        fails(second, first.socket)
        assert first.process.poll() is None


@case()
def killed_and_started_again():
    """kill -9 leaves a socket and a folder behind; the next start clears them away"""
    g = Gateway([service()])
    with g:
        g.process.kill()
        g.process.wait()
        assert os.path.exists(g.socket)
        with open(f"{g.dir}/out", "w"):
            pass
        os.rename(g.socket, g.socket + ".seen")
        os.rename(g.socket + ".seen", g.socket)
        g.process = subprocess.Popen(g.command, stdin=subprocess.DEVNULL, stdout=g.out, stderr=subprocess.STDOUT)
        time.sleep(1.5)
        assert g.process.poll() is None, g.output()
        assert g.ask("config show")["ok"]
        assert g.stop() == 0
        assert not os.path.exists(g.socket) and not os.path.exists(f"/var/run/dpdk/{g.prefix}")


@case()
def gate_drops_what_is_late():
    """A worker stopped for 50 ms: what it held is late; UDP is dropped, TCP shadowed"""
    udp = [ether() / IP(src=f"198.51.100.{n % 200 + 1}", dst=VIP) / UDP(sport=1000 + n, dport=53) for n in range(64)]
    services = [service(name="dns", protocol="udp", ports=[53], sojourn_max_us=1000)]
    g = Gateway(services)
    wrpcap(f"{g.dir}/in.pcap", udp)
    g.command[g.command.index("--vdev=net_null0")] = f"--vdev=net_pcap0,rx_pcap={g.dir}/in.pcap,infinite_rx=1,tx_pcap={g.front}"
    with g:
        time.sleep(0.5)
        r = g.report()["gate"]
        assert r["checked"] > 1000, r
        for _ in range(20):
            g.process.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            g.process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        report = g.report()
        r = report["gate"]
        # generated input is new at each poll: only a burst caught between rx and the gate is late
        assert r["late"] == report["drops"].get("late", 0), (r, report["drops"])
        assert r["max_sojourn_ns"] <= 1000 * 1000, r
        assert g.stop() == 0


@case(root=True)
def net_tap():
    """net_tap: frames of the kernel in, forwarded frames out"""
    from scapy.all import AsyncSniffer, get_if_hwaddr, sendp
    if not os.path.exists("/dev/net/tun"):
        raise Skip("/dev/net/tun is missing")
    a, b = f"tgf{os.getpid() % 10000}", f"tgb{os.getpid() % 10000}"
    with Gateway([service()], front=f"net_tap0,iface={a}", back=f"net_tap1,iface={b}") as g:
        mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
        for i in (a, b):
            subprocess.run(["ip", "link", "set", i, "up"], check=True)
        sniffer = AsyncSniffer(iface=b, store=True, lfilter=lambda p: TCP in p)
        sniffer.start()
        time.sleep(0.5)
        assert get_if_hwaddr(a)
        packets = [Ether(dst=mac, src=CLIENT_MAC) / syn(n)[IP] for n in range(100)]
        sendp(packets, iface=a, verbose=False)
        g.wait_received(100)
        time.sleep(0.5)
        seen = [p for p in sniffer.stop() if p[IP].dst == VIP and p.dst.startswith("02:00:00:00:00:")]
        assert len(seen) == 100, (len(seen), g.report())
        assert g.stop() == 0


@case()
def net_memif():
    """net_memif: packets of another process over shared memory"""
    testpmd = next((p for p in ("/usr/bin/dpdk-testpmd", "/usr/local/bin/dpdk-testpmd") if os.path.exists(p)), None)
    if testpmd is None:
        raise Skip("dpdk-testpmd is not installed (package dpdk-dev)")
    services = [service(name="echo", protocol="udp", ports=[9])]
    g = Gateway(services, front="none", back="net_ring1")
    path = f"{g.dir}/memif.sock"
    at = g.command.index("--vdev=none")
    g.command[at] = f"--vdev=net_memif0,role=server,socket={path},socket-abstract=no,mac=02:00:00:00:00:aa"
    with g:
        peer = subprocess.Popen(
            [testpmd, "--lcores", "0@0,1@0", "--no-pci", "--no-huge", "-m", "128", f"--file-prefix={g.prefix}p",
             f"--vdev=net_memif0,role=client,socket={path},socket-abstract=no", "--", "--forward-mode=txonly",
             f"--tx-ip=198.51.100.9,{VIP}", "--tx-udp=9,9", "--eth-peer=0,02:00:00:00:00:aa", "--total-num-mbufs=2048"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            r = g.wait_received(10000, timeout=15)
            assert r["packets"]["forwarded"] > 0 and set(r["drops"]) <= {
                "neighbour_consumed", "tx_full", "not_ours"}, r  # net_ring1 gives back what was sent by it
        finally:
            peer.terminate()
            try:
                peer.wait(10)
            except subprocess.TimeoutExpired:
                peer.kill()
                peer.wait()
        assert g.stop() == 0


@case()
def gue_all_families():
    """GUE, IPv4 and IPv6 in both: every byte between the headers, one source port a flow, the longest packet"""
    v6 = [{"name": f"s{n}", "address": f"2001:db8:2::{n}", "mac": "02:00:00:00:00:66"} for n in (11, 12)]
    services = [service(forward="gue"), service(name="four-in-six", ports=[81], forward="gue", servers=v6),
                service(name="web6", address=VIP6, forward="gue", servers=v6),
                service(name="six-in-four", address=VIP6, ports=[81], forward="gue")]
    def syn6(n, dport):
        return ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=10000 + n, dport=dport, flags="S")
    each = [p for n in range(30) for p in (syn(n), syn(n, dport=81), syn6(n, 80), syn6(n, 81))]
    longest = [syn(500, dport=d) / Raw(bytes(1500 - 40 - h + more)) for d, h in ((80, 32), (81, 52)) for more in (0, 1)]
    _, out, report = run([Ether(bytes(p).ljust(60, b"\0")) for p in each * 2 + longest], services)
    assert report["drops"]["too_big"] == 2 and len(out) == len(each) * 2 + 2, report["drops"]
    ports = {}
    for p in out:
        data, outer = bytes(p)[14:], 20 if p.type == 0x800 else 40
        assert (p[IP].proto if outer == 20 else p[IPv6].nh) == 17 and correct(p.__class__(bytes(p)[:14 + outer])), p.summary()
        source, port, length, checksum = (int.from_bytes(data[outer + i:outer + i + 2], "big") for i in (0, 2, 4, 6))
        inner = IP(data[outer + 12:]) if data[outer + 9] == 4 else IPv6(data[outer + 12:])
        assert 0xc000 <= source and (port, length, checksum) == (6080, len(data) - outer, 0), (source, port, length)
        assert data[outer + 8:outer + 12] == bytes([0, 4 if isinstance(inner, IP) else 41, 0, 0]), data[outer:outer + 12]
        assert (p.payload.len if outer == 20 else p.payload.plen + 40) == len(data) and correct(ether() / inner)
        assert (inner.ttl if isinstance(inner, IP) else inner.hlim) == 63 and inner.payload.sport >= 10000
        assert len(data) - outer - 12 == (inner.len if isinstance(inner, IP) else inner.plen + 40), "padding travelled along"
        ports.setdefault((outer, inner.version, inner.payload.dport, inner.payload.sport), set()).add(source)
    assert {k[:2] for k in ports} == {(20, 4), (20, 6), (40, 4), (40, 6)}
    assert all(len(s) == 1 for s in ports.values()), "a flow has two source ports"
    assert len({next(iter(s)) for s in ports.values()}) > 112, "source ports repeat"


def out_of_time(*unused):
    raise TimeoutError("the case did not end within 90 s")


def main():
    signal.signal(signal.SIGALRM, out_of_time)
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or (QUICK if "--quick" in sys.argv else list(CASES))
    passed = failed = skipped = 0
    if not os.access(TIDEGATE, os.X_OK):
        sys.exit(f"{TIDEGATE} is not built (meson setup build && ninja -C build)")
    for name in names:
        if name not in CASES:
            sys.exit(f"no case {name}; there are: {' '.join(CASES)}")
        start = time.time()
        signal.alarm(90)
        try:
            if CASES[name].root and os.geteuid() != 0:
                raise Skip("needs root")
            CASES[name]()
        except Skip as why:
            skipped += 1
            print(f"SKIPPED {name}: {why}")
        except Exception:  # noqa: BLE001: any fault of a case is its failure
            failed += 1
            print(f"FAIL {name}: {CASES[name].__doc__}\n{traceback.format_exc()}")
        else:
            passed += 1
            print(f"PASS {name} ({time.time() - start:.1f} s): {CASES[name].__doc__}")
        signal.alarm(0)
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
