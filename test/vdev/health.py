"""Servers behind a tap that answer health checks as they are told to; the probes' bytes against scapy's."""
import socket
import threading
import time

from scapy.all import ICMP, IP, TCP, UDP, Ether, IPv6, Raw

OWN, OWN6 = "10.0.0.2", "2001:db8:2::2"
GET = "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: tidegate-health\r\nConnection: close\r\n\r\n"


def bare(p):
    """Down to the inner IP packet: what the server's stack sees behind its decapsulation."""
    if p.haslayer(UDP) and p[UDP].dport == 6080:
        return IP(bytes(p[UDP].payload)[4:])
    ip = p.payload
    return ip.payload if ip.haslayer(IP) and isinstance(ip.payload, (IP, IPv6)) else ip


class Servers:
    """mode: link address -> answer, posed (the same from another link address), silent, refuse, error (HTTP 500), unreachable. probes: frames by link address."""

    def __init__(self, interface, gateway_mac):
        self.gateway_mac, self.mode, self.probes, self.done = gateway_mac, {}, [], False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((interface, 0))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.done = True
        self.thread.join()
        self.socket.close()

    def run(self):
        while not self.done:
            try:
                data, where = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            frame = Ether(data)
            if where[2] == socket.PACKET_OUTGOING or frame.src != self.gateway_mac or not frame.dst.startswith("02:00"):
                continue
            self.probes.append((time.time(), frame))
            for answer in self.answers(frame, self.mode.get(frame.dst, "answer")):
                src = "02:00:00:00:00:ee" if self.mode.get(frame.dst) == "posed" else frame.dst
                self.socket.send(bytes(Ether(dst=self.gateway_mac, src=src) / answer))

    def answers(self, frame, mode):
        ip = bare(frame)
        back = IP(src=ip.dst, dst=ip.src) if isinstance(ip, IP) else IPv6(src=ip.dst, dst=ip.src)
        if mode == "silent":
            return []
        if UDP in ip:
            if mode in ("answer", "posed"):
                return [back / UDP(sport=ip.dport, dport=ip.sport) / Raw(b"yes")]
            return [back / ICMP(type=3, code=3) / Raw(bytes(ip)[:28])]
        segment = ip[TCP]
        ports = {"sport": segment.dport, "dport": segment.sport}
        if segment.flags == "S":
            if mode == "refuse":
                return [back / TCP(flags="RA", ack=segment.seq + 1, **ports)]
            stray = back / TCP(flags="SA", seq=1, ack=segment.seq + 77, **ports)  # of another connection: means nothing
            return [stray, back / TCP(flags="SA", seq=0xfffffff0, ack=segment.seq + 1, **ports)]
        if segment.flags == "PA":
            status = b"500 No" if mode == "error" else b"204 Fine"
            head = back / TCP(flags="A", seq=0xfffffff1, ack=segment.seq + len(segment.payload), **ports)
            return [head, head.copy() / Raw(b"HTTP/1.1 " + status + b"\r\n\r\n")]
        return []

    def of(self, mac, since=0.0):
        return [f for at, f in list(self.probes) if f.dst == mac and at >= since]


def padded(p):
    return bytes(p).ljust(60, b"\0")


def outer(p, mac, gateway_mac, inner, server, forward):
    """The frame that must carry inner."""
    link = Ether(dst=mac, src=gateway_mac)
    if forward == "l2":
        return link / inner
    if forward == "ipip":
        return link / IP(src=OWN, dst=server, ttl=64, flags="DF", id=0, proto=4) / inner
    shim = bytes([0, 4, 0, 0])
    return link / IP(src=OWN, dst=server, ttl=64, flags="DF", id=0) / UDP(sport=p[UDP].sport, dport=6080, chksum=0) / Raw(
        shim + bytes(inner))


def same(p, want, what):
    assert padded(p) == padded(want), f"{what}:\n{p.show(dump=True)}\nwanted:\n{Ether(padded(want)).show(dump=True)}"


def one_check(frames, first):
    """The frames of the first whole check among those of one server."""
    port = None
    for f in frames:
        ip = bare(f)
        l4 = ip.payload
        if port is None and (UDP in ip or l4.flags == "S"):
            port = l4.sport
        if port is not None and l4.sport == port:
            first.append(f)
    return first


def check_tcp(frames, mac, gateway_mac, vip, server, forward, own):
    """SYN, then RST."""
    syn, reset = one_check(frames, [])[:2]
    at = bare(syn)[TCP]
    assert 61000 <= at.sport <= 61999, at.sport
    def segment(**more):
        ip = IPv6(src=own, dst=vip, hlim=63) if ":" in vip else IP(src=own, dst=vip, ttl=63, flags="DF", id=0)
        return ip / TCP(sport=at.sport, dport=80, window=65535, **more)
    same(syn, outer(syn, mac, gateway_mac, segment(flags="S", seq=at.seq), server, forward), "SYN")
    same(reset, outer(reset, mac, gateway_mac, segment(flags="R", seq=at.seq + 1), server, forward), "RST")


def check_http(frames, mac, gateway_mac, vip, server, forward, path, port):
    """SYN, ACK and GET, RST behind it."""
    syn, request, reset = one_check(frames, [])[:3]
    at = bare(syn)[TCP]
    get = GET.format(path, vip, port)
    def segment(**more):
        return IP(src=OWN, dst=vip, ttl=63, flags="DF", id=0) / TCP(sport=at.sport, dport=port, window=65535, **more)
    same(syn, outer(syn, mac, gateway_mac, segment(flags="S", seq=at.seq), server, forward), "SYN")
    same(request, outer(request, mac, gateway_mac, segment(flags="PA", seq=at.seq + 1, ack=0xfffffff1) / Raw(get), server,
                        forward), "request")
    same(reset, outer(reset, mac, gateway_mac, segment(flags="R", seq=at.seq + 1 + len(get)), server, forward), "RST")


def check_udp(frames, mac, gateway_mac, vip, server, forward, payload):
    datagram = one_check(frames, [])[0]
    at = bare(datagram)[UDP]
    want = IP(src=OWN, dst=vip, ttl=63, flags="DF", id=0) / UDP(sport=at.sport, dport=53) / Raw(payload)
    same(datagram, outer(datagram, mac, gateway_mac, want, server, forward), "datagram")
