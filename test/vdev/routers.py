"""Several gateways in front of the servers: one stops answering, another takes over. cases.py registers these."""
import socket
import subprocess
import threading
import time

from scapy.all import ARP, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IP, TCP, Ether, IPv6, sendp
from gateway import CLIENT_MAC, VIP6, Gateway, service, two_ports


class Routers:
    """Routers behind a tap that answer ARP and neighbour solicitations while they are up; what each was sent."""

    def __init__(self, interface, addresses):
        self.addresses, self.down, self.got, self.done = addresses, set(), [], False  # address -> link address
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((interface, 0))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.done = True
        self.thread.join()
        self.socket.close()

    def answer(self, frame):
        if ARP in frame and frame[ARP].op == 1:
            asked = frame[ARP].pdst
        elif ICMPv6ND_NS in frame:
            asked = frame[ICMPv6ND_NS].tgt
        else:
            return
        mac = self.addresses.get(asked)
        if mac is None or mac in self.down:
            return
        link = Ether(src=mac, dst=frame.src)
        if ARP in frame:
            self.socket.send(bytes(link / ARP(op=2, hwsrc=mac, psrc=asked, hwdst=frame.src, pdst=frame[ARP].psrc)))
        else:
            self.socket.send(bytes(link / IPv6(src=asked, dst=frame[IPv6].src, hlim=255) / ICMPv6ND_NA(tgt=asked, R=1, S=1, O=1) /
                                   ICMPv6NDOptDstLLAddr(lladdr=mac)))

    def run(self):
        while not self.done:
            try:
                data, where = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            except OSError:  # the tap is gone
                return
            if where[2] == socket.PACKET_OUTGOING:
                continue
            frame = Ether(data)
            self.answer(frame)
            if TCP in frame:
                self.got.append(frame)


def register(case, taps):
    @case(root=True)
    def gateways_stand_in():
        """Two gateways, IPv4 and IPv6: the second takes over within seconds when the first stops answering, flows keep their servers, and back"""
        a, b = taps()
        one, two = "02:00:00:00:01:01", "02:00:00:00:01:02"
        ports = two_ports()
        ports[1]["gateways"] = ["10.0.0.1", "10.0.0.3", "2001:db8:2::1", "2001:db8:2::3"]
        far = [{"name": n, "address": f"10.9.0.{k}"} for n, k in (("a", 1), ("b", 2), ("c", 3))]
        far6 = [{"name": n, "address": f"2001:db8:9::{k}"} for n, k in (("a", 1), ("b", 2), ("c", 3))]
        services = [service(forward="ipip", policy="round-robin", servers=far),
                    service(name="web6", address=VIP6, forward="ipip", policy="round-robin", servers=far6)]
        with Gateway(services, front=f"net_tap0,iface={a}", back=f"net_tap1,iface={b}", ports=ports) as g:
            for i in (a, b):
                subprocess.run(["ip", "link", "set", i, "up"], check=True)
            mac = next(p["mac"] for p in g.ask("port list")["result"] if p["name"] == "front")
            routers = Routers(b, {"10.0.0.1": one, "10.0.0.3": two, "2001:db8:2::1": one, "2001:db8:2::3": two})
            flows = [Ether(dst=mac, src=CLIENT_MAC) / ip / TCP(sport=4000 + n, dport=80, flags="S")
                     for n in range(6) for ip in (IP(src="198.51.100.9", dst="192.0.2.10"), IPv6(src="2001:db8:1::9", dst=VIP6))]

            def by_router():
                """The router that all packets of a moment took (None: several), and the server of each flow."""
                routers.got.clear()
                sendp(flows, iface=a, verbose=False)
                end = time.time() + 3
                while len(routers.got) < len(flows) and time.time() < end:
                    time.sleep(0.02)
                got = list(routers.got)
                takers = {f.dst for f in got}
                return takers.pop() if len(takers) == 1 and len(got) == len(flows) else None, {
                    (f.type, f[TCP].sport): f[f.payload.__class__].dst for f in got}

            def until(router, seconds):
                begin = time.time()
                while True:
                    taker, servers = by_router()
                    if taker == router:
                        return time.time() - begin, servers
                    assert time.time() < begin + seconds, (router, taker, g.ask("neighbour list"), g.output())
                    time.sleep(0.1)
            try:
                _, first = until(one, 15)
                assert len(set(first.values())) == 6, first  # three servers a family
                assert until(one, 1)[1] == first
                routers.down.add(one)
                took, again = until(two, 12)
                assert again == first, (first, again)
                assert took > 1.5, took  # not at the first answer that is lost
                assert {n["address"]: n["valid"] for n in g.ask("neighbour list")["result"]} == {
                    "10.0.0.1": False, "10.0.0.3": True, "2001:db8:2::1": False, "2001:db8:2::3": True}
                routers.down.clear()
                assert until(one, 5)[1] == first
                routers.down.update((one, two))
                time.sleep(7)
                assert by_router()[0] is None and g.report()["drops"]["no_neighbour"] > 0
                routers.down.remove(two)  # none was left, the second is back first
                assert until(two, 5)[1] == first
                assert g.stop() == 0 and g.output().count("is the way now") >= 3, g.output()
            finally:
                routers.close()
