"""Cases of the whole binary on virtual devices. test/vdev/run.sh runs them."""
import contextlib
import json
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scapy.all import (ARP, GRE, ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPOption,  # noqa: E402
                       IPv6, IPv6ExtHdrFragment, Raw, fragment, fragment6, rdpcap, wrpcap)
import health  # noqa: E402
import operate  # noqa: E402
import prompt  # noqa: E402
import routers  # noqa: E402
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


def run(packets, services, ports=None, before_end=None, workers=1, document=None, **more):
    """Feeds packets to the front port; what left by front and back, and the report. document: what of the gateway's is more."""
    g = Gateway(services, ports=ports, **more)
    if document:
        g.document.update(document(g))
        g.write()
    source = f"{g.dir}/in.pcap"
    wrpcap(source, packets)
    # a transmit queue each
    fronts, backs = [g.front] + [f"{g.front}{n}" for n in range(1, workers)], [g.back] + [f"{g.back}{n}" for n in range(1, workers)]
    front = ",".join(["net_pcap0", f"rx_pcap={source}", *(f"tx_pcap={f}" for f in fronts)])
    back = ",".join(["net_pcap1", "rx_iface=lo", *(f"tx_pcap={b}" for b in backs)])
    at = g.command.index("--vdev=net_null0")
    g.command[at:at + 2] = [f"--vdev={front}", f"--vdev={back}"]
    with g:
        g.wait_received(len(packets))
        time.sleep(0.1)
        report = g.report()
        if before_end:
            before_end(g)
        code = g.stop()
        assert code == 0, f"exit code {code}: {g.output()}"
        return [p for f in fronts for p in rdpcap(f)], [p for b in backs for p in rdpcap(b)], report


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
    assert report["packets"] == {"received": 600, "forwarded": 600, "dropped": 0, "replied": 0, "made": 0,
                                 "taken_in": 0, "to_kernel": 0}, report["packets"]


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


def accounted(report):
    """Nothing is lost in the counting, once nothing waits any more (doc/walk.md)."""
    p = report["packets"]
    assert p["received"] + p["made"] == p["forwarded"] + p["dropped"] + p["replied"] + p["taken_in"] + p["to_kernel"], p


@case(quick=True)
def servers_bid():
    """Policy bid: SYNs to all, the smallest bid's SYN-ACK to the client with its TTL restored, losers reset"""
    g = Gateway([service(policy="bid", bid={"window_us": 100000}, mss_clamp=True)])
    syns, answers = [syn(n) for n in range(4)], []
    for n, p in enumerate(syns):
        p[TCP].seq = 777
        for server_n, ttl in ((11, 140), (12, 130 if n % 2 else 190), (13, 150)):
            answers.append(Ether(dst=PCAP_MAC[:-1] + "1", src=f"02:00:00:00:00:{server_n:02x}") /
                           IP(src=VIP, dst=p[IP].src, ttl=ttl) /
                           TCP(sport=80, dport=p[TCP].sport, flags="SA", seq=server_n, ack=778, options=[("MSS", 8960)]))
    answers.append(Ether(dst=PCAP_MAC[:-1] + "1", src="02:00:00:00:00:0b") / IP(src="10.0.0.11", dst="10.0.0.2") / answers[0][IP])
    names = {"front": syns, "back": answers}
    vdevs = []
    for k, (side, out) in enumerate((("front", g.front), ("back", g.back))):
        wrpcap(f"{g.dir}/{side}-in.pcap", names[side])
        vdevs.append(f"--vdev=net_pcap{k},rx_pcap={g.dir}/{side}-in.pcap,tx_pcap={out}")
    at = g.command.index("--vdev=net_null0")
    g.command[at:at + 2] = vdevs
    with g:
        g.wait_received(17)
        time.sleep(0.3)
        bids, report = g.ask("bid list")["result"][0], g.report()
        telemetry = next(iter(g.telemetry("/tidegate/bid,web").values()))
        assert g.stop() == 0
        back, front = [p for p in rdpcap(g.back) if TCP in p], [p for p in rdpcap(g.front) if TCP in p]
    asked, reset = [p for p in back if p[TCP].flags == "S"], [p for p in back if p[TCP].flags == "R"]
    assert len(asked) == 12 and len(reset) == 8 and all(correct(p) for p in back + front), (len(asked), len(reset))
    assert all(p[TCP].seq == 778 for p in reset)
    assert all(dict(p[TCP].options)["MSS"] == 1460 for p in front), [p[TCP].options for p in front]
    won = {p[TCP].dport: p[TCP].seq for p in front}
    assert won == {10000: 11, 10001: 12, 10002: 11, 10003: 12} and {p[IP].ttl for p in front} == {64}, won
    assert report["drops"] == {"auction": 8, "auction_tunnel": 1}, report["drops"]
    assert report["packets"]["made"] == 8 + 8, report["packets"]  # copies of SYNs, resets
    accounted(report)
    assert bids["auctions"] == 4 == bids["all_in"] == telemetry["auctions"] and bids["open"] == 0, bids
    assert [s["won"] for s in bids["servers"]] == [2, 2, 0], bids


@case(quick=True)
def segment_sizes():
    """mss_clamp: a SYN's MSS is lowered to what fits behind the outer header, IPv4 and IPv6; others, and odd options, are left alone"""
    v6 = [{"name": "s", "address": "2001:db8:2::11", "mac": "02:00:00:00:00:66"}]
    services = [service(forward="ipip", mss_clamp=True), service(name="kept", ports=[81], forward="ipip"),
                service(name="web6", address=VIP6, forward="ipip", servers=v6, mss_clamp=True),
                service(name="jumbo", ports=[82], mss_clamp=True)]
    usual = [("NOP", None), ("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]

    def packet(n, options, dport=80, flags="S", address=VIP):
        ip = IP(src="198.51.100.9", dst=address) if address == VIP else IPv6(src="2001:db8:1::9", dst=address)
        return ether() / ip / TCP(sport=n, dport=dport, flags=flags, options=options)
    packets = [packet(1, usual), packet(2, usual, 81), packet(3, usual, address=VIP6), packet(4, [("MSS", 8960)], 82),
               packet(5, [("MSS", 1400)]), packet(6, []), packet(7, usual, flags="A")]
    odd = packet(8, [("MSS", 1460)])
    odd[TCP].options = [(2, b"\x05")]  # of three bytes
    packets.append(odd)

    def look(g):
        assert g.telemetry("/tidegate/flows")["/tidegate/flows"]["mss_lowered"] == 3
    _, out, report = run(packets, services, before_end=look)
    assert len(out) == 8, report
    seen = {p[TCP].sport: dict(p[TCP].options).get("MSS") for p in out}
    assert {n: seen[n] for n in range(1, 8)} == {1: 1440, 2: 1460, 3: 1400, 4: 1460, 5: 1400, 6: None, 7: 1460}, seen
    for p in out:
        inner = p[IPv6:2] if p.haslayer(IPv6) and VIP6 in str(p[IPv6].payload.dst if IPv6 in p[IPv6].payload else "") else p[IP].payload \
            if IP in p and p[IP].proto == 4 else p.payload
        again = inner.__class__(bytes(inner))
        del again[TCP].chksum
        assert bytes(inner.__class__(bytes(again))) == bytes(inner), p.summary()
    assert bytes(next(p for p in out if p[TCP].sport == 8)[TCP]) == bytes(odd.__class__(bytes(odd))[TCP])


@case(root=True)
def narrow_ways_are_told():
    """A way to a server that the outer headers make too narrow: the start and --check say so, with the commands that mend it"""
    def said_of(mtu, **more):
        ports = two_ports()
        ports[1]["mtu"] = mtu
        with Gateway([service(**more)], ports=ports, front="net_null0", back="net_tap0,iface=" + taps()[1]) as g:
            check = subprocess.run([TIDEGATE, "--config", g.config, "--check"], capture_output=True, text=True, timeout=20).stdout
            assert g.stop() == 0
            return check, g.output()
    for text in said_of(1500, forward="ipip"):
        assert 'above 1480 bytes do not fit to server "a"' in text and "mtu 1520" in text and "advmss 1440" in text, text
    for wide in (said_of(1520, forward="ipip"), said_of(1500)):
        assert not any("do not fit" in text for text in wide), wide


@case()
def bids_above_the_rate():
    """Policy bid above syn_rate: two choices place a connection, one server is asked, and it is counted"""
    def before(g):
        seen["bids"], seen["report"] = g.ask("bid list")["result"][0], g.report()

    seen = {}
    _, out, _ = run([syn(n) for n in range(300)], [service(policy="bid", bid={"syn_rate": 1})], before_end=before)
    asked = {}
    for p in out:
        if TCP in p and p[TCP].flags == "S":
            asked.setdefault(p[TCP].sport, []).append(p[Ether].dst)
    bids = seen["bids"]
    single = [macs[0] for macs in asked.values() if len(macs) == 1]
    assert len(asked) == 300 and bids["fallback_rate"] == len(single) >= 280, (len(asked), len(single), bids)
    assert bids["auctions"] == 300 - len(single), bids
    # of two, the one with fewer flows
    shares = sorted(single.count(mac) for mac in set(single))
    assert len(shares) == 3 and shares[2] - shares[0] <= 8, shares


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
    bad += [from6(a) for a in ("::", "::1", "ff02::1", "::ffff:198.51.100.7", VIP6)] + [group]
    broken = bytearray(bytes(syn(2))); broken[24] ^= 0x10
    swapped = bytearray(bytes(syn(3))); swapped[14 + 8] ^= 1  # the TTL, without its checksum
    services = [service(), service(name="web6", address=VIP6, servers=[
        {"name": "s", "address": "2001:db8:2::1", "mac": "02:00:00:00:00:66"}])]
    _, out, report = run(bad + [Ether(bytes(broken)), Ether(bytes(swapped)), syn(4), from6("2001:db8:1::9")], services)
    assert report["drops"] == {"bad_source": len(bad), "ip_checksum": 2}, report["drops"]
    assert len(out) == 2 and all(correct(p) for p in out)


def fragments_of(whole, size):
    """Of IPv4 or IPv6, in order, as frames."""
    if IPv6 in whole:
        return fragment6(whole, size + 48)
    return [ether() / f for f in fragment(whole, fragsize=size)]


@case(quick=True)
def fragments():
    """Fragments of both families go where their flow goes, TCP's too; without their first one they are counted"""
    v6 = [{"name": n, "address": f"2001:db8:2::{k}", "mac": f"02:00:00:00:06:{k:02x}"} for n, k in (("a", 1), ("b", 2), ("c", 3))]
    rr = {"protocol": "udp", "policy": "round-robin"}
    services = [service(name="dns", ports=[53], **rr), service(name="ntp", ports=[123], **rr),
                service(name="dns6", address=VIP6, ports=[53], servers=v6, **rr), service(name="web", policy="round-robin")]
    flows = []
    for n in range(12):
        v4 = {"src": f"198.51.100.{20 + n % 3}", "dst": VIP, "id": 100 + n}
        flows += [IP(**v4) / UDP(sport=2000 + n, dport=53 if n % 2 else 123),
                  IP(**v4) / TCP(sport=3000 + n, dport=80, flags="A"),
                  IPv6(src="2001:db8:1::9", dst=VIP6) / IPv6ExtHdrFragment(id=700 + n) / UDP(sport=2000 + n, dport=53)]
    packets, bare = [], lambda f: f.__class__(bytes(f))
    for f in flows:
        small = f.copy()
        if IPv6ExtHdrFragment in small:
            small = IPv6(src=f.src, dst=f.dst) / f[UDP]
        packets.append(ether() / bare(small))
    for f in flows:
        packets += [p if Ether in p else ether() / p for p in fragments_of(f / Raw(bytes(1500)), 600)]
    later = packets[-1]
    foreign = later.copy()
    if IPv6ExtHdrFragment in foreign:
        foreign[IPv6ExtHdrFragment].id = 9999
    early = [ether() / p for p in fragment(IP(src="198.51.100.99", dst=VIP, id=5) / UDP(sport=5, dport=53) / Raw(bytes(1500)), 600)]
    tiny = ether() / IP(src="198.51.100.98", dst=VIP, id=6, flags="MF", proto=6) / Raw(b"\x01\x02\x00\x50\0\0\0\0")
    _, out, report = run(packets + [foreign, early[1], early[0], early[2], tiny], services)
    assert report["drops"] == {"fragment": 2, "l4_header": 1}, report["drops"]
    assert len(out) == len(packets) + 2, (len(out), len(packets))

    def names(p):  # the datagram, and the flow where the packet shows it
        ip = p[IPv6] if IPv6 in p else p[IP]
        frag = p[IPv6ExtHdrFragment].id if IPv6ExtHdrFragment in p else ip.id if IP in p and (p[IP].flags.MF or p[IP].frag) else None
        ports = (p[TCP] if TCP in p else p[UDP]).sport if (TCP in p or UDP in p) else None
        return (ip.src, getattr(ip, "proto", 6), frag), (ip.src, ports)
    server_of, place = {}, {}
    for p in out:
        datagram, flow = names(p)
        if flow[1]:
            assert place.setdefault(flow, p.dst) == p.dst, "a flow changed its server"
        if datagram[2] is not None:
            assert server_of.setdefault(datagram, p.dst) == p.dst, (datagram, p.dst)
    assert len(set(server_of.values())) == 6, server_of


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
    assert p["replied"] == 5, p
    accounted(report)


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
                service(name="gre", ports=[82], forward="gre"),
                service(name="web6", address=VIP6, forward="ipip", servers=v6)]
    long6 = ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=9, dport=80, flags="S") / Raw(bytes(1440))
    packets = [syn(1, flags="DF") / Raw(bytes(1441)), syn(2, dport=81, flags="DF") / Raw(bytes(1460)), long6,
               Ether(dst=PCAP_MAC, src=CLIENT_MAC) / Dot1Q(vlan=7) / syn(3, flags="DF")[IP] / Raw(bytes(1460)),
               syn(4, flags="DF") / Raw(bytes(1440)), syn(5) / Raw(bytes(1460)),
               syn(6, dport=82, flags="DF") / Raw(bytes(1437))]
    front, out, report = run(packets, services)
    assert len(out) == 1 and report["drops"] == {"too_big": 1}, (len(out), report["drops"])
    told = [p for p in front if p.src == PCAP_MAC and (ICMP in p or (IPv6 in p and p[IPv6].nh == 58))]
    assert len(told) == 5 and all(p.dst == CLIENT_MAC for p in told), [p.summary() for p in front]
    for p, mtu, asked in zip(told, (1480, 1456, 1460, 1480, 1476), (0, 1, 2, 3, 6)):
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
    assert p["replied"] == 5, p
    accounted(report)


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
def tasks_alarms_and_sleep():
    """A worker that stands still is an alarm, told once; an idle one sleeps when told to, by a reload"""
    with Gateway([service()], front="net_ring0", back="net_ring1") as g:
        g.document["workers"] = {"idle": "sleep", "late_ms": 300}
        g.write()
        assert g.ask("config reload")["ok"]
        time.sleep(1)
        lcore = next(iter(g.telemetry("/tidegate/lcore,1").values()))
        assert lcore["sleeps"] > 100 and lcore["slept_ns"] > 100_000_000, lcore
        ageing = next(t for t in g.ask("task list")["result"] if t["task"] == "ageing")
        assert ageing["rounds"] > 100 and ageing["late_ns"] < 1e9, ageing
        tasks = next(iter(g.telemetry("/tidegate/tasks,1").values()))
        assert tasks["task_0_name"] == "ageing" and tasks["task_0_rounds"] > 100 and "task_0_backlog" in tasks, tasks
        g.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        g.process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        alarms = {a["alarm"]: a for a in g.ask("alarm list")["result"]}
        assert alarms["control_late"]["count"] >= 1 and alarms["control_late"]["worst_ns"] > 8e8, alarms
        assert not alarms["control_late"]["active"], alarms
        assert g.output().count("control stood still") == 1, g.output()
        counts = next(iter(g.telemetry("/tidegate/alarms").values()))
        assert counts["control_late_count"] >= 1 and counts["control_late_active"] == 0, counts
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
def shadow_says_what_would_change():
    """A mirror behind a balancer shows each flow's server: it is measured there; the policy's picks are counted beside"""
    a, b = server("a", 11), server("b", 12)
    to_a = [Ether(dst=a["mac"], src=CLIENT_MAC) / syn(n)[IP] for n in range(100)]
    tunnelled = [ether() / IP(src="10.0.0.2", dst=b["address"]) / syn(1000 + n)[IP] for n in range(10)]
    tunnelled += [ether() / IP(src="10.0.0.2", dst=b["address"]) / GRE() / syn(1010 + n)[IP] for n in range(10)]
    _, out, report = run(to_a + tunnelled, [service(servers=[a, b], policy="round-robin")], ours=("--shadow",))
    servers = report["services"][0]["servers"]
    assert len(out) == 0 and [s["flows"] for s in servers] == [100, 20], servers
    assert [s["would_flows"] for s in servers] == [60, 60], servers
    assert report["placing"] == {"flows_compared": 120, "flows_elsewhere": 60}, report["placing"]


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
    """--check names what the start would: too little memory for bids, an unreachable server, no such group, a file in the socket's place"""
    def check(g, *words):
        r = subprocess.run([TIDEGATE, "--no-huge", "-m", "512", "-l", "1", "--no-pci", "--vdev=net_null0", "--vdev=net_null1",
                            "--", "--config", g.config, "--check"], capture_output=True, text=True, timeout=20)
        assert r.returncode == (1 if words else 0), r
        assert all(w in r.stdout for w in words), r.stdout
    good = Gateway([service()])
    check(good)
    check(Gateway([service(servers=[{"name": "a", "address": "10.9.9.9"}])]), "fault", "10.9.9.9")
    bids = {"policy": "bid", "bid": {"auctions": 4096}}
    check(Gateway([service(name=f"web{n}", ports=[80 + n], **bids) for n in range(12)]), "fault", "--no-huge with 512 MiB")
    ports = two_ports()
    ports[1]["mtu"] = 1300
    six = {"name": "web6", "address": VIP6, "forward": "gue"}
    check(Gateway([service(**six)], ports=ports), "fault", 'up to 1280 bytes must fit to server "a" (gue), and mtu 1300', "1324")
    six["forward"] = "ipip"
    check(Gateway([service(**six)], ports=ports))
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
def check_knows_what_eal_options_name():
    """--check: cores, PCI devices, capture files and ports that EAL options name and this host has not; and that it looked at none without them"""
    g = Gateway([service()], ports=[dict(two_ports()[0], port="net_pcap0"), two_ports()[1]])
    vdevs = [f"--vdev=net_pcap0,rx_pcap=/dev/null,tx_pcap={g.dir}/out", "--vdev=net_null1"]

    def check(*eal, fault=None, memory=("--no-huge", "-m", "512")):
        r = subprocess.run([TIDEGATE, *memory, *eal, "--", "--config", g.config, "--check"], capture_output=True, text=True, timeout=20)
        faults = [line for line in r.stdout.splitlines() if line.startswith("fault: ")]
        assert r.returncode == (1 if fault else 0) and len(faults) == (1 if fault else 0), r.stdout
        assert not fault or fault in faults[0], r.stdout
        assert fault or r.stdout.endswith("all right\n"), r.stdout
    for cores in (["-l", "1"], ["-l0-1"], ["--lcores", "0@0,1@(0-1),(2,3)@0"], ["--lcores=7@1"]):
        check(*cores, "--no-pci", *vdevs)
    cores = os.cpu_count()
    check("-l", f"0-{cores}", "--no-pci", *vdevs, fault=f"core {cores} is not on this host")
    check("--lcores", "0@0,1@4000", "--no-pci", *vdevs, fault="core 4000 is not on this host")
    for device in ("0000:ff:1f.7", "ff:1f.7,mac=1"):
        check("-l", "1", "-a", device, *vdevs, fault=f"-a {device}: there is no such PCI device")
    check("-l", "1", "--no-pci", vdevs[1], "--vdev", "net_null2", fault='port "net_pcap0"')
    check("-l", "1", "--no-pci", vdevs[0], fault='DPDK\'s port "1"')
    check("-l", "1", "--no-pci", vdevs[1], "--vdev=net_pcap0,rx_pcap=/nodir/x.pcap,tx_pcap=/dev/null", fault="rx_pcap=/nodir/x.pcap")
    check("-l", "1", "--no-pci", vdevs[1], "--vdev=net_pcap0,rx_pcap=/dev/null,tx_pcap=/nodir/x.pcap", fault="tx_pcap=/nodir/x.pcap")
    for captures in ("/etc/passwd", "/nodir/x"):
        g.document["control"]["captures"] = captures
        g.write()
        check("-l", "1", "--no-pci", *vdevs, fault=f"control.captures: {captures}")
    g.document["control"]["captures"] = g.dir
    g.document["ports"][0]["port"] = "0000:ff:1f.7"
    g.write()
    check("-l", "1", *vdevs, fault='DPDK\'s port "0000:ff:1f.7"')
    said = subprocess.run([TIDEGATE, "--config", g.config, "--check"], capture_output=True, text=True, timeout=20).stdout
    assert "note: no EAL options: this host's ports and cores were not looked at" in said and not said.endswith("all right\n"), said
    shutil.rmtree(g.dir)


@case(quick=True)
def replay_tells_its_length():
    """--replay says first how long it takes; frames that lie decades apart are refused with the speed that would do"""
    with tempfile.TemporaryDirectory() as folder:
        def replay(seconds, option):
            frames = [syn(1), syn(2)]
            for p, at in zip(frames, (0, seconds)):
                p.time = 1e9 + at
            wrpcap(f"{folder}/a.pcap", frames)
            return subprocess.run([TIDEGATE, "--capture", f"{folder}/a.pcap", option], capture_output=True, text=True, timeout=20)
        r = replay(1, "--replay=10")
        assert r.returncode == 0 and "at speed 10 takes 0.1 s" in r.stderr, r
        r = replay(86400 * 7300, "--replay=1")
        assert r.returncode == 1 and "(7300.0 days)" in r.stderr and "--replay=SPEED of 7300 or more" in r.stderr, r


def rights_of(g):
    """{thread: [its capabilities, as the kernel tells them]} and whether each may gain none."""
    threads = []
    for tid in os.listdir(f"/proc/{g.process.pid}/task"):
        with open(f"/proc/{g.process.pid}/task/{tid}/status") as f:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        threads.append((fields["Name"], [int(fields[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")], fields["NoNewPrivs"]))
    return threads


@case(root=True)
def no_thread_keeps_rights():
    """After the start no thread has a capability, DPDK's and drivers' neither; only the kernel's one keeps CAP_NET_ADMIN"""
    net_admin = 1 << 12
    for lcores, kernel in (("0@0,1@0", False), ("1", False), ("0@0,1@0,2@0", True)):
        ports = two_ports()
        with tempfile.TemporaryDirectory() as folder:
            front = "net_tap0,iface=" + taps()[0]
            if kernel:
                ports[0]["kernel"] = "net_tap7"
            g = Gateway([service()], ports=ports, lcores=lcores, flow_table={"snapshot": f"{folder}/flows"}, front=front,
                        back=f"net_memif0,role=server,id=0,socket={folder}/m.sock,socket-abstract=no",
                        args=("--vdev=net_tap7,iface=tgkr7",) if kernel else ())
            with g:
                end = time.time() + 5
                while [name for name, caps, _ in rights_of(g) if any(caps) and name != "kernel"] and time.time() < end:
                    time.sleep(0.05)
                threads = rights_of(g)
                names = [t[0] for t in threads]
                assert {"eal-intr-thread", "rte_mp_handle", "telemetry-v2", "snapshot"} <= set(names) and len(names) >= 6, names
                for name, (inherit, may, has, ambient), no_new in threads:
                    least = net_admin if name == "kernel" else 0
                    assert (inherit, may, has, ambient) == (0, least, least, 0) and no_new == "1", threads
                assert ("kernel" in names) == kernel and "keeps its capabilities" not in g.output(), g.output()
                # none of the threads that were asked ended by it
                assert g.telemetry("/tidegate/services")["/tidegate/services"] and g.ask("config reload")["ok"]
                assert g.stop() == 0, g.output()


@case()
def explanations_come_true():
    """flow explain of flows that are not there yet names the servers that they then get; packet explain of their frames the same"""
    flows = [syn(n) for n in range(40)]
    with Gateway([service()], front="net_null0,no-rx=1", back="net_null1,no-rx=1") as g:
        told = [g.ask("flow explain", f"tcp,{p[IP].src},{p[TCP].sport},{VIP},80")["result"]["server"] for p in flows]
        mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
        frames = [Ether(dst=mac, src=CLIENT_MAC) / p[IP] for p in flows]
        again = [g.ask("packet explain", bytes(f).hex(), "front")["result"]["server"] for f in frames]
        assert g.stop() == 0
    _, out, _ = run(flows, [service()])
    came = {p[TCP].sport: {server(n, k)["mac"]: n for n, k in (("a", 11), ("b", 12), ("c", 13))}[p.dst] for p in out}
    assert told == again == [came[p[TCP].sport] for p in flows] and len(set(told)) == 3, (told, came)


@case(root=True)
def kernel_addresses_come_back():
    """ports[].addresses are on the kernel's interface, and again some seconds after somebody took one away; of a tagged port they are not"""
    twin = f"tgk{os.getpid() % 10000}"

    def addresses():
        said = subprocess.run(["ip", "-json", "address", "show", "dev", twin], capture_output=True, text=True).stdout
        return {a["local"] for i in json.loads(said or "[]") for a in i["addr_info"] if a["scope"] == "global"}

    def until(wanted, seconds):
        end = time.time() + seconds
        while addresses() != wanted and time.time() < end:
            time.sleep(0.1)
        assert addresses() == wanted, addresses()
    for more, wanted in (({}, {"198.51.100.2", "198.51.100.9"}), ({"vlan": 7}, set())):
        ports = [{"name": "front", "port": "0", "role": "client", "kernel": "net_tap5",
                  "addresses": ["198.51.100.2/24", "198.51.100.9/24"], **more}, two_ports()[1]]
        with Gateway([service()], ports=ports, front="net_tap0,iface=" + taps()[0], args=(f"--vdev=net_tap5,iface={twin}",)) as g:
            if not wanted:
                time.sleep(1)
            until(wanted, 5)
            if wanted:
                # Linux takes the secondary address with the primary one
                subprocess.run(["ip", "address", "del", "198.51.100.2/24", "dev", twin], check=True)
                assert addresses() != wanted
                until(wanted, 9)
            assert g.stop() == 0, g.output()


@case()
def capture_stops_under_load():
    """capture stop answers at once while packets come faster than they can be written; the file is whole and has what it told"""
    g = Gateway([service()], front="net_null0", back="net_null1,no-rx=1", lcores="0@0,1@1")
    g.document["control"]["captures"] = g.dir
    g.write()
    with g:
        for name in ("one", "two"):
            assert g.ask("capture start", name)["ok"]
            time.sleep(1)
            began = time.time()
            told = g.ask("capture stop")["result"][0]
            took = time.time() - began
            assert took < 3 and told["packets"] > 100 and told["lost"] > 0, (took, told)
            end = time.time() + 5
            while g.ask("capture list")["result"] and time.time() < end:
                time.sleep(0.05)
            seen = subprocess.run(["tcpdump", "-nr", told["file"]], capture_output=True, text=True)
            assert seen.returncode == 0 and "truncated" not in seen.stderr, seen.stderr
            files = sorted(f for f in os.listdir(g.dir) if f.startswith(name + "-"))
            if len(files) == 1:
                assert len(seen.stdout.splitlines()) == told["packets"], (len(seen.stdout.splitlines()), told)
        assert g.stop() == 0


@case(root=True)
def every_finding_has_its_command():
    """--check: each of its faults and notes is made to come up, and is followed by a line with the command that mends it"""
    said = []

    def check(*lines, eal=("--no-huge", "-m", "512", "-l", "1"), before=(), options=True, text=None, without=None, **more):
        g = Gateway([service(**more.pop("service", {}))], **more)
        for key, value in lines:
            g.document[key] = {**g.document.get(key, {}), **value} if isinstance(value, dict) else value
        g.document.pop(without, None)
        g.write()
        if text is not None:
            with open(g.config, "w") as f:
                f.write(text)
        words = ["--config", g.config] if options else ["--capture", "/dev/null"]
        out = subprocess.run([*before, TIDEGATE, *eal, "--", *words, "--check"], capture_output=True, text=True, timeout=20).stdout
        shutil.rmtree(g.dir)
        found = [line for line in out.splitlines() if re.match("(fault|note): |       run: ", line)]
        kinds = [line.split(":")[0].strip() for line in found]
        # findings of one kind about the file may share a command: the last of them has it
        assert found and all(b == "run" or a == b for a, b in zip(kinds, [*kinds[1:], "none"]) if a != "run"), out
        said.append(out)
        return out
    with tempfile.TemporaryDirectory() as folder:
        precious = f"{folder}/precious"
        with open(precious, "w") as f:
            f.write("ten years of work")
        assert "run: " + TIDEGATE in check(options=False)
        assert "run: editor " in check(text="{}")
        out = check(eal=("-l", "1", "--no-huge", "--vdev=net_null0", "-m", "64"))
        assert re.search(r"run: \S+tidegate --no-huge -m \d+ -l 1 --vdev=net_null0 -- --config ", out), out
        assert "run: echo " in check(eal=("-l", "0-200"), slots=1 << 22)
        assert "run: ip -brief link" in check(eal=("--no-huge", "-m", "512", "--vdev=net_af_packet0,iface=nobody0"))
        out = check(eal=("--no-huge", "-m", "512", "--vdev=net_af_packet0,iface=lo"), before=("setpriv", "--bounding-set=-net_raw"))
        assert f"run: setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep {os.path.realpath(TIDEGATE)}" in out, out
        assert "run: ethtool -K lo gro off" in out, out
        assert "run: groupadd --system nobody-has-this" in check(("control", {"group": "nobody-has-this"}))
        for somebodys in (precious, "/etc/passwd", "/run/../etc/passwd"):
            out = check(("control", {"socket": somebodys}))
            assert "is no socket" in out and "run: editor" in out and "run: mv" not in out, out
        assert "run: install -d -o 0 /nowhere/deep" in check(("control", {"socket": "/nowhere/deep/control.sock"}))
        assert "run: install -d -o 0 /nowhere" in check(flow_table={"snapshot": "/nowhere/flows"})
        out = check(flow_table={"snapshot": precious})
        assert "run: editor" in out and "run: mv" not in out, out
        odd = f"/run/tgv{os.getpid()} it's $HOME"  # ours to move; the shell must read the very words
        with open(odd, "w") as f:
            f.write("ten years more")
        line = re.search("run: (mv .*)", check(flow_table={"snapshot": odd})).group(1)
        assert shlex.split(line) == ["mv", "-n", odd, odd + ".old"], line
        subprocess.run(["sh", "-c", line], check=True)
        assert os.path.exists(odd + ".old") and not os.path.exists(odd)
        os.unlink(odd + ".old")
        assert "run: editor" in check(service={"servers": [{"name": "a", "address": "10.9.9.9"}]})
        assert "--capture FILE" in check(without="ports")
        assert "run: editor" in check(("control", {"captures": "/etc/passwd"}))
        assert "run: install -d -o 0 /nowhere/captures" in check(("control", {"captures": "/nowhere/captures"}))
        assert "run: lspci -D" in check(eal=("--no-huge", "-m", "512", "-l", "1", "-a", "0000:ff:1f.7"))
        assert "run: ls -l /nowhere" in check(eal=("--no-huge", "-m", "512", "-l", "1", "--vdev=net_pcap0,rx_pcap=/nowhere/x"))
        unmounted = ("unshare", "--mount", "sh", "-c", 'umount --all --types hugetlbfs; exec "$@"', "sh")
        assert "run: mkdir -p /dev/hugepages && mount -t " in check(before=unmounted, eal=("-l", "1"))
        assert "run: grep Cpus" in check(eal=("--no-huge", "-m", "512", "-l", "4000"))
        assert "EAL-OPTIONS -- --config " in check(eal=())
        assert "do not fit" in check(service={"forward": "ipip"})
        assert "stood still" in check(service={"sojourn_max_us": 1, "gate_margin_us": 0})
        assert "takes no new flows" in check(service={"servers": [server("a", 11, weight=0)]})
    with open("app/tidegate/start/preflight.c") as f:
        for sentence in re.findall(r'\bfault\("([^"%\\]{8,})', f.read()):
            assert any(f"fault: {sentence}" in out for out in said), f"not tried: {sentence}"


@case()
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
        g.last = text
    ports = two_ports()
    fails(Gateway([service()], ports=[dict(ports[0], port="net_nobody0"), ports[1]]), 'port "net_nobody0"', "net_null0")
    fails(Gateway([service(servers=[{"name": "a", "address": "10.9.9.9"}])]), "10.9.9.9", "gateway")
    fails(Gateway([service(policy="fastest")]), "services[0].policy", "maglev")
    fails(Gateway([service()], slots=1 << 22), "flow table", "MiB")
    g = Gateway([service()])
    g.command[g.command.index("--config") + 1] = "/nowhere/config.json"
    fails(g, "/nowhere/config.json")
    g = Gateway([service()])
    g.command += ["--config", "/other.json"]
    fails(g, "--config is given twice", "/other.json")
    g = Gateway([service()])
    g.command.insert(1, "--nonsense")
    fails(g, "DPDK does not start", "does not know the option --nonsense")
    assert "Success" not in g.last and g.last.splitlines()[-1].startswith("tidegate: "), g.last
    for lcores, sentence in ((f"0-{os.cpu_count()}", f"core {os.cpu_count()} is not on this host"), ("", "the option -l")):
        g = Gateway([service()], lcores=lcores)
        fails(g, "DPDK does not start", sentence)
        assert g.last.splitlines()[-1].startswith("tidegate: "), g.last
    g = Gateway([service()], huge=())
    g.command = ["unshare", "--mount", "sh", "-c", 'umount --all --types hugetlbfs; exec "$@"', "sh", *g.command]
    if os.geteuid() == 0:
        fails(g, "no hugetlbfs is mounted", "mount -t hugetlbfs")
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


def taps():
    if not os.path.exists("/dev/net/tun"):
        raise Skip("/dev/net/tun is missing")
    return f"tgf{os.getpid() % 10000}", f"tgb{os.getpid() % 10000}"


@contextlib.contextmanager
def between_taps(*services):
    """A gateway, the link addresses of its front and back, and the kernel's ends of both."""
    a, b = taps()
    with Gateway(list(services), front=f"net_tap0,iface={a}", back=f"net_tap1,iface={b}") as g:
        macs = {p["name"]: p["mac"] for p in g.ask("port list")["result"]}
        for i in (a, b):
            subprocess.run(["ip", "link", "set", i, "up"], check=True)
        yield g, macs, a, b


@case(root=True)
def net_tap():
    """net_tap: frames of the kernel in, forwarded frames out"""
    from scapy.all import AsyncSniffer, get_if_hwaddr, sendp
    with between_taps(service()) as (g, macs, a, b):
        mac = macs["front"]
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


class Bonds:
    """A gateway whose two ports are bonds of two taps each: a0, a1 face clients, b0, b1 servers."""

    def __init__(self, mode):
        if not os.path.exists("/dev/net/tun"):
            raise Skip("/dev/net/tun is missing")
        self.taps = {k: f"tg{k}{os.getpid() % 10000}" for k in ("a0", "a1", "b0", "b1")}
        taps = [f"net_tap{n},iface={i}" for n, i in enumerate(self.taps.values())]
        bonds = [f"net_bonding{n},mode={mode},slave=net_tap{2 * n},slave=net_tap{2 * n + 1}" for n in (0, 1)]
        self.g = Gateway([service()], front=taps[0], back=taps[1], args=[f"--vdev={d}" for d in taps[2:] + bonds])
        for port, bond in zip(self.g.document["ports"], ("net_bonding0", "net_bonding1")):
            port["port"] = bond
        self.g.write()

    def __enter__(self):
        self.g.start()
        self.macs = [p["mac"] for p in self.g.ask("port list")["result"]]
        assert len(set(self.macs) - {"00:00:00:00:00:00"}) == 2, self.macs
        return self

    def __exit__(self, *why):
        self.g.__exit__(*why)

    def leaves_by(self, by, numbers):
        """The SYNs of those numbers, let in by that tap: how many left by b0 and by b1."""
        from scapy.all import AsyncSniffer, sendp
        sniffers = [AsyncSniffer(iface=self.taps[k], store=True, lfilter=lambda p: TCP in p) for k in ("b0", "b1")]
        for s in sniffers:
            s.start()
        time.sleep(0.3)
        before = self.g.report()["packets"]["forwarded"]
        sendp([Ether(dst=self.macs[0], src=CLIENT_MAC) / syn(n)[IP] for n in numbers], iface=self.taps[by], verbose=False)
        until(f"forwarded from {by}", lambda: self.g.report()["packets"]["forwarded"] >= before + len(numbers))
        time.sleep(0.3)
        out = [[p for p in s.stop() if p[IP].dst == VIP and p.src == self.macs[1]] for s in sniffers]
        assert all(p.dst.startswith("02:00:00:00:00:") and p[IP].ttl == 63 and correct(p) for o in out for p in o)
        return [len(o) for o in out]


class Partner:
    """The switch's side of LACP (IEEE 802.1AX) on one tap: answers each frame; in_sync false: out of the group."""

    def __init__(self, interface, number, own):
        from scapy.all import AsyncSniffer, conf
        self.number, self.own, self.in_sync, self.state = number, own, True, 0
        self.socket = conf.L2socket(iface=interface)
        self.sniffer = AsyncSniffer(iface=interface, store=False, prn=self.answer, lfilter=lambda p: p.type == 0x8809)
        self.sniffer.start()

    def answer(self, p):
        from scapy.contrib.lacp import LACP, SlowProtocol
        if LACP not in p or p.src == self.own:
            return
        asked = p[LACP]
        self.state = asked.actor_state
        self.socket.send(Ether(src=self.own, dst="01:80:c2:00:00:02") / SlowProtocol() / LACP(
            actor_system=self.own, actor_key=1, actor_port_number=self.number, actor_state=0x3f if self.in_sync else 0x07,
            partner_system=asked.actor_system, partner_key=asked.actor_key, partner_system_priority=asked.actor_system_priority,
            partner_port_number=asked.actor_port_number, partner_port_priority=asked.actor_port_priority,
            partner_state=asked.actor_state))

    def distributes(self):
        return self.state & 0x30 == 0x30


@case(root=True)
def bonded_backup():
    """net_bonding, active and backup: all by the active link, with the bond's MAC; its links are no ports of their own"""
    with Bonds(1) as bonds:
        assert bonds.leaves_by("a0", range(50)) == [50, 0]
        assert all(p["link_up"] for p in bonds.g.ask("port list")["result"])
        assert bonds.g.stop() == 0
    for order in (("net_bonding0", "net_tap0"), ("net_tap0", "net_bonding0")):
        bonds = Bonds(1)
        for row, port in zip(bonds.g.document["ports"], order):
            row["port"] = port
        bonds.g.write()
        said = subprocess.run(bonds.g.command, capture_output=True, text=True, timeout=20)
        assert said.returncode == 1 and "is a link of a bonded device" in said.stderr, said
        shutil.rmtree(bonds.g.dir)


@case(root=True)
def bonded_port_and_kernel():
    """What comes by a link of a bond and is for no service reaches the kernel: frames carry the link's id, not the bond's"""
    from scapy.all import AsyncSniffer, sendp
    bonds = Bonds(1)
    twin = f"tgk{os.getpid() % 10000}"
    bonds.g.document["ports"][0]["kernel"] = "net_tap4"
    bonds.g.command.insert(bonds.g.command.index("--"), f"--vdev=net_tap4,iface={twin}")
    bonds.g.write()
    with bonds:
        sniffer = AsyncSniffer(iface=twin, store=True, lfilter=lambda p: TCP in p and p[TCP].dport == 22)
        sniffer.start()
        time.sleep(0.3)
        own = "198.51.100.2"
        sendp([Ether(dst=bonds.macs[0], src=CLIENT_MAC) / IP(src="198.51.100.7", dst=own) / TCP(sport=5000 + n, dport=22, flags="S")
               for n in range(20)], iface=bonds.taps["a0"], verbose=False)
        until("20 frames are the kernel's", lambda: bonds.g.report()["packets"]["to_kernel"] >= 20)
        time.sleep(0.5)
        assert len([p for p in sniffer.stop() if p[IP].dst == own]) == 20
        assert bonds.g.stop() == 0


@case(root=True)
def ports_used_again():
    """A SYN from the ports of a connection that ended: the same server while it takes connections, another when it drains"""
    from scapy.all import AsyncSniffer, sendp
    with between_taps(service(policy="round-robin")) as (g, macs, a, b):
        mac = macs["front"]
        sniffer = AsyncSniffer(iface=b, store=True, lfilter=lambda p: TCP in p)
        sniffer.start()
        time.sleep(0.5)
        sent = 0

        def send(flags, seq):
            nonlocal sent
            sendp(Ether(dst=mac, src=CLIENT_MAC) / IP(src="198.51.100.7", dst=VIP) / TCP(sport=4000, dport=80, flags=flags, seq=seq, ack=1),
                  iface=a, verbose=False)
            sent += 1
            until(f"{sent} forwarded", lambda: g.report()["packets"]["forwarded"] >= sent)

        send("S", 100)
        send("FA", 101)
        send("S", 900000)  # ends and begins again: where it was
        send("A", 900001)
        name = next(s["name"] for s in g.ask("server list")["result"] if s["flows"] > 0)
        assert g.ask("server drain", "web", name)["ok"]
        send("S", 900000)  # repeated: no new connection
        send("A", 900001)
        send("RA", 900001)
        send("S", 1800000)
        send("A", 1800001)
        time.sleep(0.5)
        to = [p.dst for p in sniffer.stop() if p[IP].dst == VIP and p.dst.startswith("02:00:00:00:00:")]
        assert len(to) == sent and len(set(to[:7])) == 1 and len(set(to[7:])) == 1 and to[0] != to[7], to
        assert g.stop() == 0


@case(root=True)
def udp_flows_are_placed_again():
    """A server that is disabled loses its UDP flows at once, to one that takes them; enabled again it gets none of them back"""
    from scapy.all import AsyncSniffer, sendp
    with between_taps(service(protocol="udp", ports=[53])) as (g, macs, a, b):
        mac = macs["front"]
        flows = range(4000, 4030)
        sent = 0

        def round_of_all():
            nonlocal sent
            sniffer = AsyncSniffer(iface=b, store=True, lfilter=lambda p: UDP in p and p[UDP].dport == 53)
            sniffer.start()
            time.sleep(0.5)
            sendp([Ether(dst=mac, src=CLIENT_MAC) / IP(src="198.51.100.7", dst=VIP) / UDP(sport=n, dport=53) / b"question" for n in flows],
                  iface=a, verbose=False)
            sent += len(flows)
            until(f"{sent} forwarded", lambda: g.report()["packets"]["forwarded"] >= sent)
            time.sleep(0.3)
            return {p[UDP].sport: p.dst for p in sniffer.stop() if p.dst.startswith("02:00:00:00:00:")}

        first = round_of_all()
        assert len(first) == len(flows) and len(set(first.values())) == 3, first
        gone = first[4000]
        name = {f"02:00:00:00:00:{n:02x}": s for n, s in ((11, "a"), (12, "b"), (13, "c"))}[gone]
        assert g.ask("server disable", "web", name)["ok"]
        second = round_of_all()
        assert gone not in second.values() and all(second[n] == first[n] for n in flows if first[n] != gone), (first, second)
        assert g.ask("server enable", "web", name)["ok"]
        assert round_of_all() == second
        assert g.stop() == 0


@case(root=True)
def merged_receives_are_told():
    """A port on an interface whose kernel merges what it receives is warned of at the start, with the command"""
    a, b = f"tgm{os.getpid() % 10000}", f"tgn{os.getpid() % 10000}"
    subprocess.run(["ip", "link", "add", a, "type", "veth", "peer", "name", b], check=True)
    try:
        for i in (a, b):
            subprocess.run(["ip", "link", "set", i, "up"], check=True)
        for state, told in (("on", True), ("off", False)):
            subprocess.run(["ethtool", "-K", a, "gro", state], check=True, capture_output=True)
            with Gateway([service()], front=f"net_af_packet0,iface={a}") as g:
                assert g.stop() == 0
                assert (f"ethtool -K {a} gro off" in g.output()) == told, (state, g.output())
    finally:
        subprocess.run(["ip", "link", "del", a], check=True)


@case(root=True)
def a_port_that_vanishes_is_told():
    """The interface set down, its peer down, the interface removed: link_up, an alarm, a line; over when it is up again"""
    a, b = f"tgv{os.getpid() % 10000}", f"tgw{os.getpid() % 10000}"

    def ip(*words):
        subprocess.run(["ip", "link", *words], check=True)
    ip("add", a, "type", "veth", "peer", "name", b)
    try:
        ip("set", a, "up")
        ip("set", b, "up")
        with Gateway([service()], front=f"net_af_packet0,iface={a}") as g:
            def link():
                return next(p["link_up"] for p in g.ask("port list")["result"] if p["name"] == "front")

            def alarms():
                return [x["count"] for x in g.ask("alarm list")["result"] if x["alarm"] == "port_down" and x["active"] and x["where"] == "port front"]

            until("link up", link)
            for n, i in enumerate((a, b)):
                ip("set", i, "down")
                until("link_up no", lambda: not link())
                until("the alarm", lambda: alarms() == [n + 1])
                ip("set", i, "up")
                until("link_up yes", link)
                until("the alarm is over", lambda: not alarms())
            # the same alarm is told once a minute at most
            assert "was set down" in g.output() and g.output().count("its link is up again") == 2, g.output()
            ip("del", a)
            until("link_up no", lambda: not link())
            until("the alarm", alarms)
            ip("add", a, "type", "veth", "peer", "name", b)
            ip("set", a, "up")
            ip("set", b, "up")
            time.sleep(0.3)
            assert not link() and alarms(), "another interface of that name is another one"
            assert g.stop() == 0
    finally:
        subprocess.run(["ip", "link", "del", a], check=False)


@case(root=True)
def bonded_lacp():
    """net_bonding with LACP: both links carry packets once the switch agrees, one when it takes the other out"""
    with Bonds(4) as bonds:
        partners = {k: Partner(i, n, f"02:00:00:00:5{k[0]}:01") for n, (k, i) in enumerate(bonds.taps.items(), 1)}
        until("LACP agrees", lambda: all(p.distributes() for p in partners.values()))
        by = [bonds.leaves_by("a0", range(50)), bonds.leaves_by("a1", range(50, 100))]
        assert all(sum(n) == 50 and min(n) > 0 for n in by), by
        partners["b0"].in_sync = False
        until("b0 is out", lambda: not partners["b0"].distributes())
        assert bonds.leaves_by("a0", range(100, 150)) == [0, 50]
        partners["b0"].in_sync = True
        until("b0 is back", lambda: partners["b0"].distributes())
        assert min(bonds.leaves_by("a0", range(150, 200))) > 0
        assert bonds.g.stop() == 0


@case(quick=True)
def bond_of_fixed_macs():
    """A bond over devices whose MAC cannot be set does not start, and says why"""
    g = Gateway([service()], front="net_ring0", back="net_ring1",
                args=["--vdev=net_bonding0,mode=1,slave=net_ring0,slave=net_ring1"])
    g.document["ports"] = [{**g.document["ports"][1], "port": "net_bonding0", "role": "both"}]
    g.write()
    said = subprocess.run(g.command, capture_output=True, text=True, timeout=20)
    assert said.returncode == 1 and "each of its links must let its MAC be set" in said.stderr, said
    shutil.rmtree(g.dir)


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


@case(quick=True)
def gre_all_families():
    """GRE, IPv4 and IPv6 in both: every byte in front of the client's packet, the longest one, padding cut off"""
    v6 = [{"name": f"s{n}", "address": f"2001:db8:2::{n}", "mac": "02:00:00:00:00:66"} for n in (11, 12)]
    services = [service(forward="gre"), service(name="four-in-six", ports=[81], forward="gre", servers=v6),
                service(name="web6", address=VIP6, forward="gre", servers=v6),
                service(name="six-in-four", address=VIP6, ports=[81], forward="gre")]
    def syn6(n, dport):
        return ether() / IPv6(src="2001:db8:1::9", dst=VIP6, tc=0xb8) / TCP(sport=10000 + n, dport=dport, flags="S")
    each = [p for n in range(20) for p in (syn(n, tos=0xb8), syn(n, tos=0xb8, dport=81), syn6(n, 80), syn6(n, 81))]
    longest = [syn(500, dport=d, tos=0xb8) / Raw(bytes(1500 - 40 - h + more)) for d, h in ((80, 24), (81, 44)) for more in (0, 1)]
    _, out, report = run([Ether(bytes(p).ljust(60, b"\0")) for p in each + longest], services)
    assert report["drops"]["too_big"] == 2 and len(out) == len(each) + 2, report["drops"]
    for p in out:
        data, outer = bytes(p)[14:], 20 if p.type == 0x800 else 40
        inner = IP(data[outer + 4:]) if data[outer + 2:outer + 4] == b"\x08\0" else IPv6(data[outer + 4:])
        own, there = ("10.0.0.2", r"10.0.0.1[1-3]") if outer == 20 else ("2001:db8:2::2", r"2001:db8:2::1[12]")
        head = p.payload.copy()
        head.remove_payload()
        assert re.fullmatch(there, head.dst) and head.src == own, head.summary()
        df = "DF" if isinstance(inner, IPv6) or inner.flags.DF else 0
        want = (IP(src=own, dst=head.dst, tos=0xb8, ttl=64, proto=47, flags=df, len=len(data), id=0 if df else head.id)
                if outer == 20 else IPv6(src=own, dst=head.dst, tc=0xb8, hlim=64, nh=47, plen=len(data) - 40))
        assert bytes(head) == bytes(want), head.show(dump=True)
        assert data[outer:outer + 2] == b"\0\0" and data[outer + 2:outer + 4] in (b"\x08\0", b"\x86\xdd")
        assert (inner.ttl if isinstance(inner, IP) else inner.hlim) == 63 and correct(ether() / inner)
        assert len(data) - outer - 4 == (inner.len if isinstance(inner, IP) else inner.plen + 40), "padding travelled along"
    assert {(p.type, bytes(p)[(36 if p.type == 0x800 else 56):][:2]) for p in out} == {
        (o, i) for o in (0x800, 0x86dd) for i in (b"\x08\0", b"\x86\xdd")}


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


def round_robins():
    """Services whose servers no hash can guess, and packets that begin and go on with flows of each"""
    six = [{"name": f"s{n}", "address": f"2001:db8:2::{n}", "mac": f"02:00:00:00:01:{n:02x}"} for n in range(11, 16)]
    five = [server(f"r{n}", n) for n in range(21, 26)]
    services = [service(policy="round-robin", servers=five),
                service(name="dns", protocol="udp", ports=[53], policy="round-robin", servers=five),
                service(name="web6", address=VIP6, policy="round-robin", servers=six)]

    def packets(flags):
        for n in range(200):
            yield ether() / IP(src=f"198.51.100.{n + 10}", dst=VIP) / TCP(sport=20000 + n, dport=80, flags=flags, seq=n)
            yield ether() / IP(src=f"198.51.100.{n + 10}", dst=VIP) / UDP(sport=20000 + n, dport=53) / Raw(b"question")
            yield ether() / IPv6(src="2001:db8:1::9", dst=VIP6) / TCP(sport=20000 + n, dport=80, flags=flags, seq=n)
    # with an answer to it: what has only been seen to begin is forgotten after 5 s
    return services, list(packets("S")) + list(packets("A")), list(packets("A"))


def chosen(out):
    return {(p.payload.src, p.payload.payload.__class__, p.payload.payload.sport): p.dst for p in out}


def run_and_say(packets, services, **more):
    """As run(), but what the gateway printed"""
    said = []

    def keep(g):
        end = time.time() + 10
        while g.report()["packets"]["forwarded"] < len(packets) and time.time() < end:
            time.sleep(0.05)  # handed over, and not yet taken
        said.append(g.output())
    _, out, report = run(packets, services, before_end=keep, **more)
    return chosen(out), said[0], report


@case()
def restart_restores_flows():
    """Flows go on at their servers after a restart, on other workers too; without the file they do not"""
    services, first, later = round_robins()
    with tempfile.TemporaryDirectory() as folder:
        keep = {"snapshot": f"{folder}/flows"}
        before, said, _ = run_and_say(first, services, flow_table=keep)
        assert len(before) == 600 and "restored" not in said, said
        assert sorted(os.listdir(folder)) == ["flows", "flows.lock"] and os.stat(f"{folder}/flows").st_mode & 0o777 == 0o600
        # twice: what was restored is saved again
        for more in ({}, {"lcores": "0@0,1@0,2@1", "workers": 2}):
            after, said, report = run_and_say(later, services, flow_table=keep, **more)
            assert "600 of 600 flows restored" in said, said
            assert len(after) == 600, f"{len(after)} of 600 came out: {report['packets']} {report['drops']}"
            assert after == before, f"{sum(before[k] != after[k] for k in before)} of 600 flows moved"
        os.remove(f"{folder}/flows")
        after, _, _ = run_and_say(later, services, flow_table=keep)
        stayed = sum(before[k] == after[k] for k in before if k[1] is TCP)
        assert 40 < stayed < 120, f"{stayed} of 400 at their servers by chance, a fifth expected"


@case()
def snapshot_that_does_not_fit():
    """A snapshot that is damaged, foreign, too old or open to others is ignored with a word; the gateway runs"""
    services, first, _ = round_robins()

    def damage(at, *data):
        def change(path):
            with open(path, "r+b") as f:
                f.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
                f.write(bytes(data))
        return change

    def linked(path):
        os.rename(path, path + "-there")
        os.symlink(path + "-there", path)

    def folder_instead(path):
        os.remove(path)
        os.mkdir(path)
    others = [service(name="other", policy="round-robin")]
    fewer = [dict(services[0], servers=services[0]["servers"][:-1] + [dict(services[0]["servers"][-1], state="down")])]
    tries = [("of version 7", damage(8, 7), services, {}), ("header is wrong", damage(24, 99), services, {}),
             ("names is wrong", damage(70, 99), services, {}), ("block is wrong", damage(-20, 1, 2, 3), services, {}),
             ("is cut or has grown", lambda path: os.truncate(path, os.stat(path).st_size - 40), services, {}),
             ("no snapshot of flows", lambda path: os.truncate(path, 10), services, {}),
             ("no snapshot of flows", damage(0, 0), services, {}), ("byte order", damage(12, 1, 2, 3, 4), services, {}),
             ("may be written by others (mode 0620)", lambda path: os.chmod(path, 0o620), services, {}),
             ("no plain file", folder_instead, services, {}), ("cannot be opened", linked, services, {}),
             ("is too old", lambda path: time.sleep(1.1), services, {"tcp_idle_s": 1, "udp_idle_s": 1}),
             ("other services", lambda path: None, others, {}),
             ("160 of 600 flows restored", lambda path: None, fewer, {}),
             ("400 of 600 flows restored", lambda path: time.sleep(1.1), services, {"udp_idle_s": 1})]
    with tempfile.TemporaryDirectory() as folder:
        good = f"{folder}/good"
        run_and_say(first, services, flow_table={"snapshot": good})
        for i, (word, change, configured, idle) in enumerate(tries):
            path = f"{folder}/{i}"
            shutil.copy(good, path)
            change(path)
            with Gateway(configured, flow_table={"snapshot": path, "snapshot_s": 0, **idle}) as g:
                assert g.ask("service list")["ok"]
                said = g.output()
                assert word in said and ("ignored" in said) != ("restored" in said), f"{word}: {said}"


@case()
def killed_gateway_has_its_last_snapshot():
    """After kill -9 the flows of the file that was written while it ran are there; a torn one beside it is no matter"""
    services, first, later = round_robins()
    with tempfile.TemporaryDirectory() as folder:
        keep = {"snapshot": f"{folder}/flows", "snapshot_s": 1}
        g = Gateway(services, flow_table=keep)
        source = f"{g.dir}/in.pcap"
        wrpcap(source, first)
        at = g.command.index("--vdev=net_null0")
        g.command[at:at + 2] = [f"--vdev=net_pcap0,rx_pcap={source},tx_pcap={g.front}",
                                f"--vdev=net_pcap1,rx_iface=lo,tx_pcap={g.back}"]
        with g:
            g.wait_received(len(first))
            end, seen = time.time() + 20, 0
            while seen < 600 and time.time() < end:
                time.sleep(0.1)
                flows = g.telemetry("/tidegate/flows")["/tidegate/flows"]
                seen = flows["snapshot_flows"]
            assert seen == 600 and flows["snapshot_failures"] == 0 and flows["snapshot_age_ms"] < 5000, flows
            g.process.kill()
            g.process.wait()
        with open(f"{folder}/flows.new", "wb") as f:
            f.write(b"half of it")
        after, said, report = run_and_say(later, services, flow_table=keep)
        assert "600 of 600 flows restored" in said, said
        again, said, _ = run_and_say(later, services, flow_table=keep)
        assert "600 of 600" in said and after == again and report["packets"]["forwarded"] == 600
        assert sorted(os.listdir(folder)) == ["flows", "flows.lock"]


@case()
def auctions_by_reload():
    """Services may begin to take bids, and more of them, as far as the start allocated buffers; beyond: a restart"""
    def reload(g, *services):
        g.document["services"] = list(services)
        g.write()
        return g.ask("config reload")
    with Gateway([service(policy="bid", bid={"auctions": 100})]) as g:
        assert reload(g, service())["ok"]
        assert reload(g, service(policy="bid", bid={"auctions": 50}),
                      service(name="more", ports=[81], policy="bid", bid={"auctions": 50}))["ok"], g.output()
        reply = reload(g, service(policy="bid", bid={"auctions": 101}))
        assert not reply["ok"] and "101 in all" in reply["error"] and "for 100" in reply["error"], reply
        assert len(g.ask("service list")["result"]) == 2
        assert g.stop() == 0, g.output()
    with Gateway([service()]) as g:
        reply = reload(g, service(policy="bid"))
        assert not reply["ok"] and "needs a restart" in reply["error"], reply
        assert g.stop() == 0, g.output()


@case()
def removed_socket_comes_back():
    """The control socket removed under a running gateway, whose capabilities are gone, is there again soon"""
    with Gateway([service()]) as g:
        path = g.document["control"]["socket"]
        os.remove(path)
        end = time.time() + 20
        while not os.path.exists(path) and time.time() < end:
            time.sleep(0.1)
        time.sleep(0.1)
        assert g.ask("config reload")["ok"] and "was removed: it is made again" in g.output(), g.output()
        assert g.stop() == 0 and not os.path.exists(path), g.output()


@case()
def one_snapshot_one_gateway():
    """A second gateway with the same flow_table.snapshot is refused, whatever its socket; after the first's end it may"""
    services, _, _ = round_robins()
    with tempfile.TemporaryDirectory() as folder:
        keep = {"snapshot": f"{folder}/flows"}
        with Gateway(services, flow_table=keep) as first:
            try:
                with Gateway(services, flow_table=keep):
                    pass
            except AssertionError as e:
                assert f"{folder}/flows is another running tidegate's" in str(e) and "restored" not in str(e), e
            else:
                raise AssertionError("two gateways write one file")
            assert first.stop() == 0, first.output()
        with Gateway(services, flow_table=keep) as g:
            assert g.stop() == 0, g.output()


@case()
def nobodys_file_is_written_over():
    """flow_table.snapshot of a path where something else is: said by --check, at the start, and left alone"""
    services, _, _ = round_robins()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/precious"
        with open(path, "w") as f:
            f.write("ten years of work")
        with Gateway(services, flow_table={"snapshot": path, "snapshot_s": 1}) as g:
            time.sleep(1.2)
            assert g.stop() == 0, g.output()
            assert "is no snapshot of flows: it is not written over" in g.output(), g.output()
            said = subprocess.run([TIDEGATE, "--", "--config", g.config, "--check"], capture_output=True, text=True)
            assert said.returncode == 1 and "is there and is no snapshot of flows: move it away" in said.stdout + said.stderr
            if os.geteuid() == 0:
                os.chmod(path, 0)
                said = subprocess.run(["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search",
                                       TIDEGATE, "--", "--config", g.config, "--check"], capture_output=True, text=True)
                assert "precious is there and cannot be read: Permission denied" in said.stdout, said
                os.chmod(path, 0o600)
        with open(path) as f:
            assert f.read() == "ten years of work"


@case()
def snapshot_that_cannot_be_written():
    """A missing folder is told at once and by --check; the gateway runs on. The period reloads, the path does not"""
    with tempfile.TemporaryDirectory() as folder:
        with Gateway([service()], flow_table={"snapshot": f"{folder}/none/flows", "snapshot_s": 1}) as g:
            end = time.time() + 20
            while g.telemetry("/tidegate/flows")["/tidegate/flows"]["snapshot_failures"] == 0 and time.time() < end:
                time.sleep(0.1)
            assert g.output().count("cannot be written: No such file or directory") == 2, g.output()
            check = subprocess.run([*g.command, "--check"], capture_output=True, text=True)
            assert check.returncode == 1 and "flow_table.snapshot" in check.stdout, check.stdout
            g.document["flow_table"]["snapshot_s"] = 0
            g.write()
            assert g.ask("config reload")["ok"]
            g.document["flow_table"]["snapshot"] = f"{folder}/flows"
            g.write()
            reply = g.ask("config reload")
            assert not reply["ok"] and "flow_table.snapshot" in str(reply), reply
            assert g.stop() == 0
            assert os.listdir(folder) == []


def datagrams(net, n, flows, first=0):
    """n of them over so many flows of one network, numbered within each."""
    return [ether() / IP(src=f"{net}.{1 + i % flows}", dst=VIP) / UDP(sport=5000, dport=53) / Raw(b"%06d" % (first + i))
            for i in range(n)]


def admitted(**more):
    return service(protocol="udp", ports=[53], admission_wait_max_us=1000000, admission={
        "budget_per_s": 1000, "cost": "packet", "segments": {"hi_per_s": 500}, **more})


@case()
def bursts_wait_and_the_calm_go_on():
    burst, calm = datagrams("198.51.100", 3000, 20), datagrams("203.0.113", 3, 3)
    seen = {}

    def keep(g):
        end = time.time() + 5
        while sum(g.telemetry("/tidegate/admit,web")["/tidegate/admit"][f"{c}_waiting"] for c in ("calm", "burst")):
            assert time.time() < end, "packets wait for ever"
            time.sleep(0.02)
        seen["admit"] = g.telemetry("/tidegate/admit,web")["/tidegate/admit"]
        seen["pools"] = g.telemetry("/tidegate/admit")["/tidegate/admit"]
        seen["top"] = g.ask("segment top", "web")["result"]
        seen["list"] = g.ask("admission list")["result"]
        seen["none"] = g.ask("segment top", "nothing")
        seen["stages"] = g.telemetry("/tidegate/stages,1")["/tidegate/stages"]
        seen["lcore"] = g.telemetry("/tidegate/lcore,1")["/tidegate/lcore"]
        seen["report"] = g.report()

    _, out, _ = run(burst + calm, [admitted()], before_end=keep)
    drops, admit = seen["report"]["drops"], seen["admit"]
    lost = drops.get("admission_wait", 0) + drops.get("admission_full", 0)
    assert drops.get("admission_wait", 0) > 0 and drops.get("admission_full", 0) > 0, drops
    assert len(out) == 3003 - lost, (len(out), drops)
    assert sum(admit[f"{c}_{k}_packets"] for c in ("calm", "burst") for k in ("expired", "full")) == lost, admit
    assert admit["burst_held_packets"] == admit["burst_released_packets"] + admit["burst_expired_packets"]
    assert admit["burst_released_packets"] > 100, admit
    assert seen["stages"]["admit_waits"] > 0 and seen["stages"]["admit_wait_p50_ns"] > 0, seen["stages"]
    accounted({"packets": {name: seen["lcore"][f"{name}_packets"] for name in seen["report"]["packets"]}})
    assert admit["calm_expired_packets"] == admit["calm_full_packets"] == 0, admit
    by_flow = {}
    for p in out:
        by_flow.setdefault(p[IP].src, []).append(bytes(p[UDP].payload)[:6])
    assert all(numbers == sorted(numbers) for numbers in by_flow.values()), "order within a flow"
    assert sum(len(v) for k, v in by_flow.items() if k.startswith("203.")) == 3, "a calm segment lost packets"
    top = seen["top"][0]
    assert top["segment"] == "198.51.100.0/24" and top["asked"] == 3000 and admit["bursts"] >= 1, (top, admit)
    assert seen["list"][0]["pool"] == "web" and seen["pools"]["pool_0_name"] == "web"
    assert not seen["none"]["ok"] and "no pool" in json.dumps(seen["none"]), seen["none"]


@case()
def fragments_wait_with_their_first():
    """Later fragments of a datagram whose first one waits for its tokens are on its server, by a policy that no hash repeats"""
    packets = []
    for n in range(150):
        whole = IP(src=f"198.51.100.{1 + n % 50}", dst=VIP, id=n) / UDP(sport=5000 + n, dport=53) / Raw(bytes(1400))
        packets += [ether() / f for f in fragment(whole, fragsize=600)]
    seen = {}

    def keep(g):
        end = time.time() + 8
        while sum(g.telemetry("/tidegate/admit,web")["/tidegate/admit"][f"{c}_waiting"] for c in ("calm", "burst")):
            assert time.time() < end, "packets wait for ever"
            time.sleep(0.02)
        seen["admit"] = g.telemetry("/tidegate/admit,web")["/tidegate/admit"]
        seen["report"] = g.report()

    _, out, _ = run(packets, [{**admitted(), "policy": "round-robin"}], before_end=keep)
    admit, report = seen["admit"], seen["report"]
    assert admit["burst_held_packets"] > 100 and admit["burst_released_packets"] > 50, admit
    assert len(out) == len(packets) - sum(report["drops"].values()), (len(out), report["drops"])
    places, firsts = {}, {}
    for p in out:
        places.setdefault(p[IP].id, set()).add(p.dst)
        if p[IP].frag == 0:
            firsts[p[IP].id] = p.dst
    split = {n: m for n, m in places.items() if n in firsts and len(m) != 1}
    assert not split and len(set(firsts.values())) == 3, (len(split), len(places), report["drops"])


@case()
def the_gate_bounds_the_wait_for_tokens():
    """A limit below the longest wait: nothing leaves later, and the wait ends as a drop of its own name."""
    seen = {}

    def keep(g):
        time.sleep(0.4)
        seen["report"] = g.report()

    slow = {**admitted(), "sojourn_max_us": 200000, "gate": "drop"}
    _, out, _ = run(datagrams("198.51.100", 600, 20), [slow], before_end=keep)
    gate, drops = seen["report"]["gate"], seen["report"]["drops"]
    assert gate["max_sojourn_ns"] <= 200000000, gate
    assert drops.get("admission_wait", 0) > 0 and len(out) + sum(drops.values()) == 600, (len(out), drops)


@case()
def admission_and_reloads():
    g = Gateway([service()], front="net_null0", back="net_null1")
    with g:
        g.document["services"] = [service(admission={"budget_per_s": 100})]
        g.write()
        reply = g.ask("config reload")
        assert not reply["ok"] and "needs a restart" in json.dumps(reply), reply
    unknown = {"name": "a", "address": "10.0.0.11"}
    g = Gateway([{**admitted(), "servers": [unknown]}], front="net_null0", back="net_null1")
    with g:
        # refused at its very end, for want of memory: the server's link address is as unknown as before
        before = g.ask("neighbour list")["result"]
        large = {"segments": {"hi_per_s": 500, "slots": 1048576}}
        g.document["services"] = [admitted(**large)] + [{**admitted(**large), "name": f"web{n}", "ports": [54 + n]}
                                                        for n in range(8)]
        g.document["services"][0]["servers"][0]["mac"] = "02:00:00:00:00:99"
        g.write()
        reply = g.ask("config reload")
        assert not reply["ok"] and "not enough memory for admission" in reply["error"], reply
        assert g.ask("neighbour list")["result"] == before, g.ask("neighbour list")
        for change in ({"budget_per_s": 7000}, {"interval_us": 20000}, {"pool": "shared"}):
            g.document["services"] = [admitted(**change)]
            g.write()
            assert g.ask("config reload")["ok"], change
        rows = g.ask("admission list")["result"]
        assert [r["pool"] for r in rows] == ["shared"], rows
        del g.document["services"][0]["admission"]
        g.write()
        assert g.ask("config reload")["ok"]
        assert g.ask("admission list")["result"] == []


HEALTH = {"interval_ms": 400, "timeout_ms": 400, "rise": 2, "fall": 3}


def checked_servers(g, service_name):
    return {r["name"]: r for r in g.ask("server list", service_name)["result"]}


def until(what, condition, seconds=15):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, what
        time.sleep(0.02)


def passed(row):
    """Checked some times, though the first ones may have come before there was anybody to answer; the last one passed."""
    return row["health_checks"] > 3 and row["health"] == "up" and row["health_reason"] == "none"


def with_checked_servers(services, then):
    with between_taps(*services) as (g, macs, _, b):
        mac = macs["back"]
        servers = health.Servers(b, mac)
        try:
            then(g, servers, mac)
        finally:
            servers.close()
        assert g.stop() == 0, g.output()


@case(root=True)
def on_time_at_full_load():
    """A worker that never rests (a port full at each poll): health is checked and the service manager told on time"""
    _, b = taps()
    notify = f"@tidegate-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind("\0" + notify[1:])
        told.settimeout(0.1)
        os.environ.update(NOTIFY_SOCKET=notify, WATCHDOG_USEC="1500000")
        try:
            g = Gateway([service(health={"type": "tcp", "interval_ms": 300, "timeout_ms": 200})],
                        front="net_null0", back=f"net_tap0,iface={b}").start()
        finally:
            os.environ.pop("NOTIFY_SOCKET")
            os.environ.pop("WATCHDOG_USEC")
        try:
            mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "back")
            subprocess.run(["ip", "link", "set", b, "up"], check=True)
            servers = health.Servers(b, mac)
            until("passed", lambda: all(passed(r) for r in checked_servers(g, "web").values()))
            start, received, alive = time.time(), g.report()["packets"]["received"], []
            while time.time() < start + 5:
                try:
                    if b"WATCHDOG=1" in told.recv(4096):
                        alive.append(time.time())
                except TimeoutError:
                    pass
            busy = g.ask("worker list")["result"][0]
            checks = [at for at, f in servers.probes if at >= start and f.dst == "02:00:00:00:00:0b" and f[TCP].flags == "S"]
            servers.close()
            assert g.report()["packets"]["received"] > received + 1000000, "the port was not full"
            # a third of the watchdog's time; before half of it systemd would not mind, after all of it it would kill
            gaps = [y - x for x, y in zip(alive, alive[1:])]
            assert len(alive) >= 7 and max(gaps) < 1.5, (gaps, busy)
            gaps = [y - x for x, y in zip(checks, checks[1:])]
            assert len(checks) >= 11 and max(gaps) < 0.9, (gaps, busy)
            assert all(r["health"] == "up" for r in checked_servers(g, "web").values())
            assert g.stop() == 0
        finally:
            g.__exit__()


@case(root=True)
def health_checks():
    """A server that falls silent is out after `fall` checks and back after `rise`; all failing: none is out"""
    def judge(g, servers, mac):
        def row(name):
            return checked_servers(g, "web")[name]
        until("passed", lambda: all(passed(r) for r in checked_servers(g, "web").values()))
        macs = {n: f"02:00:00:00:00:{m:02x}" for n, m in (("a", 11), ("b", 12), ("c", 13))}
        failures = row("a")["health_failures"]
        servers.mode[macs["a"]] = "silent"
        until("a down", lambda: row("a")["health_left_out"])
        a = row("a")
        assert a["health"] == "down" and a["state"] == "up" and a["health_reason"] == "silent", a
        # told when it fell: not before the third, and nothing came between
        assert a["health_failures"] - failures >= 3 and a["health_changes"] == 1, a
        assert g.ask("service list")["result"][0]["taking_new_flows"] == 2
        for word in ("drain", "enable"):  # an operator's word does not bring it back
            assert g.ask(f"server {word}", "web", "a")["ok"]
        assert row("a")["health_left_out"] and g.ask("service list")["result"][0]["taking_new_flows"] == 2
        servers.mode[macs["a"]] = "answer"
        until("a up", lambda: not row("a")["health_left_out"])
        assert row("a")["health_changes"] == 2 and g.ask("service list")["result"][0]["taking_new_flows"] == 3
        servers.mode.update({m: "refuse" for m in macs.values()})
        until("all down", lambda: all(r["health"] == "down" for r in checked_servers(g, "web").values()))
        until("open", lambda: g.ask("service list")["result"][0]["taking_new_flows"] == 3)
        assert {r["health_reason"] for r in checked_servers(g, "web").values()} == {"refused"}
        told = g.telemetry("/tidegate/services")["/tidegate/services"]
        assert told["service_0_health_open"] == 1 and told["service_0_health_opened"] == 1, told
        servers.mode[macs["b"]] = "answer"
        until("b alone", lambda: g.ask("service list")["result"][0]["taking_new_flows"] == 1)
        told = g.telemetry("/tidegate/servers,web")["/tidegate/servers"]
        up = {told[f"server_{i}_name"]: told[f"server_{i}_health_up"] for i in range(3)}
        assert up == {"a": 0, "b": 1, "c": 0}, told
        g.document["services"][0]["health"]["type"] = "off"  # nobody is left out any more
        g.write()
        assert g.ask("config reload")["ok"]
        until("unchecked", lambda: g.ask("service list")["result"][0]["taking_new_flows"] == 3)
        assert row("a")["health"] == "off"
        report = g.report()
        assert report["packets"]["taken_in"] > 10, report["packets"]
        accounted(report)
        lines = [line for line in g.output().splitlines() if "health:" in line]
        assert len(lines) == 7, lines  # a down, a up, three down, open, b up
    with_checked_servers([service(health={"type": "tcp", **HEALTH})], judge)


@case(root=True)
def health_probe_frames():
    """Probes are byte for byte a client's packets, the way that traffic goes: l2, ipip and gue, tcp, http and udp, IPv6"""
    def one(n, **more):
        return {"servers": [server("s", n)], **more}
    http = {"type": "http", "path": "/alive?x=1", "port": 8080, **HEALTH}
    datagram = {"type": "udp", "payload": "00ff41", "expect": True, **HEALTH}
    v6 = [{"name": "s", "address": "2001:db8:2::14", "mac": "02:00:00:00:00:0e"}]
    services = [service(name="l2", health={"type": "tcp", **HEALTH}, **one(11)),
                service(name="ipip", address="192.0.2.11", forward="ipip", health=http, **one(12)),
                service(name="gue", address="192.0.2.12", protocol="udp", ports=[53], forward="gue", health=datagram, **one(13)),
                service(name="six", address=VIP6, health={"type": "tcp", **HEALTH}, servers=v6)]
    def judge(g, servers, mac):
        names = ("l2", "ipip", "gue", "six")
        def rows():
            return {n: checked_servers(g, n)["s"] for n in names}
        until("passed", lambda: all(passed(r) for r in rows().values()))
        of = {n: f"02:00:00:00:00:{n:02x}" for n in (11, 12, 13, 14)}
        health.check_tcp(servers.of(of[11]), of[11], mac, VIP, "10.0.0.11", "l2", health.OWN)
        health.check_http(servers.of(of[12]), of[12], mac, "192.0.2.11", "10.0.0.12", "ipip", "/alive?x=1", 8080)
        health.check_udp(servers.of(of[13]), of[13], mac, "192.0.2.12", "10.0.0.13", "gue", bytes.fromhex("00ff41"))
        health.check_tcp(servers.of(of[14]), of[14], mac, VIP6, None, "l2", health.OWN6)
        servers.mode.update({of[12]: "error", of[13]: "unreachable"})
        until("down", lambda: rows()["ipip"]["health"] == rows()["gue"]["health"] == "down")
        assert rows()["ipip"]["health_reason"] == "http_status" and rows()["gue"]["health_reason"] == "unreachable", rows()
        assert rows()["l2"]["health"] == rows()["six"]["health"] == "up"
    with_checked_servers(services, judge)


@case(root=True)
def health_answers_of_strangers():
    """Another link address: believed by tcp's numbers, not for udp; what no check asked for is dropped by name"""
    services = [service(name="seq", health={"type": "tcp", **HEALTH}, servers=[server("s", 11)]),
                service(name="plain", address="192.0.2.12", protocol="udp", ports=[53], servers=[server("s", 12)],
                        health={"type": "udp", "payload": "00", "expect": True, **HEALTH})]
    def judge(g, servers, mac):
        def row(name):
            return checked_servers(g, name)["s"]
        until("passed", lambda: passed(row("seq")) and passed(row("plain")))
        servers.mode.update({f"02:00:00:00:00:{n:02x}": "posed" for n in (11, 12)})
        until("plain is down", lambda: row("plain")["health"] == "down")
        assert row("plain")["health_reason"] == "silent", row("plain")
        checks, failures = row("seq")["health_checks"], row("seq")["health_failures"]
        until("seq goes on", lambda: row("seq")["health_checks"] > checks + 2)
        assert row("seq")["health_failures"] == failures and row("seq")["health"] == "up", row("seq")
        taken = g.report()["packets"]["taken_in"]
        flood = [Ether(dst=mac, src="02:00:00:00:00:ee") / IP(src="10.0.0.9", dst=health.OWN) / UDP(sport=53, dport=61000 + n)
                 for n in range(1000)]
        for p in flood:
            servers.socket.send(bytes(p))
        until("dropped", lambda: g.report()["drops"].get("probe_stray", 0) > 900)
        assert g.report()["packets"]["taken_in"] - taken < 100
    with_checked_servers(services, judge)


def send_front(g, packets):
    from scapy.all import sendp
    mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
    sendp([Ether(dst=mac, src=CLIENT_MAC) / p[IP] for p in packets], iface=f"tgf{os.getpid() % 10000}", verbose=False)


def flows_by_server(servers, since):
    """Client port -> link address, of what clients sent."""
    return {f[TCP].sport: f.dst for at, f in list(servers.probes) if at >= since and TCP in f and f[IP].src.startswith("198.")}


@case(root=True)
def health_slow_start():
    """A server that comes back by its checks begins with a small share"""
    def judge(g, servers, mac):
        a = "02:00:00:00:00:0b"
        def row():
            return checked_servers(g, "web")["a"]
        servers.mode[a] = "refuse"
        until("a down", lambda: row()["health_left_out"])
        begin = time.time()
        send_front(g, [syn(n) for n in range(200)])
        until("200 flows", lambda: len(flows_by_server(servers, begin)) == 200)
        assert a not in flows_by_server(servers, begin).values(), "a flow went to a server that is down"
        servers.mode[a] = "answer"
        until("a up", lambda: not row()["health_left_out"])
        begin = time.time()
        send_front(g, [syn(n) for n in range(1000, 1300)])
        until("300 flows", lambda: len(flows_by_server(servers, begin)) == 300)
        # it would have a third of them; the ramp takes 30 s
        share = list(flows_by_server(servers, begin).values()).count(a)
        assert share <= 75, f"{share} of 300 flows at once"
    with_checked_servers([service(policy="two-choices", health={"type": "tcp", **HEALTH})], judge)


@case(root=True)
def health_suspect():
    """SYNs to one server come again: it is suspect, and checked long before its time; the others are not"""
    def judge(g, servers, mac):
        def rows():
            return checked_servers(g, "web")
        until("first checks", lambda: all(r["health_checks"] == 1 for r in rows().values()))
        begin, packets = time.time(), {10000 + n: syn(n) for n in range(150)}
        send_front(g, packets.values())
        until("150 flows", lambda: len(flows_by_server(servers, begin)) == 150)
        again = [packets[port] for port, where in flows_by_server(servers, begin).items() if where == "02:00:00:00:00:0b"]
        assert len(again) > 20, len(again)
        send_front(g, again)
        until("a checked", lambda: rows()["a"]["health_checks"] == 2)
        assert [rows()[n]["health_checks"] for n in "bc"] == [1, 1] and rows()["a"]["health"] == "up", rows()
    with_checked_servers([service(health={"type": "tcp", **HEALTH, "interval_ms": 30000})], judge)


operate.register(case, run, syn, Skip)
prompt.register(case, syn)
routers.register(case, taps)


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
