"""
Pktgen over memif, into tidegate and out of it: test/pktgen/run.sh calls it; doc/pktgen.md has the figures.

What was sent and what came back is Pktgen's own count, read from its screen; the gateway's report says what it dropped.
"""
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vdev"))
from gateway import VIP, Gateway, service  # noqa: E402

SECONDS = 4
# name; what Pktgen is told; may the gateway's ring be full; the drop that is all there may be besides
CASES = [
    ("one flow, a trickle", ["set 0 rate 0.1"], False, None),
    ("one flow, as fast as it goes", ["set 0 rate 100"], True, None),
    ("4096 flows, as fast as it goes", ["range 0 dst mac {mac} {mac} {mac} 00:00:00:00:00:00",
                                        "range 0 src mac 02:00:00:00:00:01 02:00:00:00:00:01 02:00:00:00:00:01 00:00:00:00:00:00",
                                        "range 0 src ip 198.51.100.9 198.51.100.9 198.51.100.9 0.0.0.0",
                                        "range 0 dst ip {vip} {vip} {vip} 0.0.0.0", "range 0 proto udp",
                                        "range 0 src port 4000 4000 8095 1", "range 0 dst port 5678 5678 5678 0",
                                        "range 0 size 64 64 64 0", "enable 0 range"], True, None),
    ("for no service", ["disable 0 range", "set 0 dport 9", "set 0 rate 0.1"], False, "no_service"),
]


class Pktgen:
    """Pktgen on a terminal of its own, as it wants one, and what it shows there."""

    def __init__(self, command):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
        self.shown = bytearray()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                self.shown += os.read(self.ours, 65536)
            except OSError:
                return

    def text(self, start=0):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", self.shown[start:].decode(errors="replace"))

    def say(self, line):
        if self.process.poll() is not None:
            raise AssertionError(f"Pktgen ended with {self.process.returncode}: {self.text()[-1500:]}")
        os.write(self.ours, line.encode() + b"\r")
        time.sleep(0.2)

    def counts(self):
        """Packets that port 0 sent and port 1 received, when the screen has told twice the same."""
        last = None
        for _ in range(20):
            start = len(self.shown)
            time.sleep(1.3)
            # a port's column ends with the sums: packets received, sent, MBs received/sent
            seen = re.findall(r"([01]):[\w-]{7}\s[^:]*?\s(\d+)\s+(\d+)\s+\d+/\d+\s+(?=[01]:|\d+\s+\d+\s+\d+/\d+|$)", self.text(start))
            now = {port: (int(received), int(sent)) for port, received, sent in seen}
            if last and len(now) == 2 and now == last:
                return now["0"][1], now["1"][0]
            last = now
        raise AssertionError(f"no counts on Pktgen's screen: {self.text()[-3000:]}")

    def end(self):
        if self.process.poll() is None:
            try:
                os.write(self.ours, b"quit\r")
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        if os.environ.get("PKTGEN_SHOW"):
            print(self.text()[-4000:])


def memif(role, n, folder):
    return f"net_memif{n},role={role},id=0,socket={folder}/{n}.sock,socket-abstract=no,rsize=10,bsize=2048"


def ports(g):
    return {p["name"]: p for p in g.ask("port list")["result"]}


def drops(g):
    return dict(g.report()["drops"])


def run(g, pktgen, name, lines, full, dropped):
    """One row; an AssertionError when a packet is unaccounted for."""
    for line in lines:
        pktgen.say(line)
    before, (sent, back) = drops(g), pktgen.counts()
    pktgen.say("start 0")
    time.sleep(2)  # it fills its buffers first
    packets, began = g.report()["packets"]["received"], time.monotonic()
    time.sleep(SECONDS)
    packets, seconds = g.report()["packets"]["received"] - packets, time.monotonic() - began
    pktgen.say("stop 0")
    sent, back = (now - then for now, then in zip(pktgen.counts(), (sent, back)))
    lost = {k: v - before.get(k, 0) for k, v in drops(g).items() if v != before.get(k, 0)}
    row = {"case": name, "mpps": round(packets / seconds / 1e6, 3), "sent": sent, "back": back, "drops": lost}
    print(json.dumps(row), flush=True)
    assert sent > 1000 and sent == back + sum(lost.values()), "packets are unaccounted for"
    assert set(lost) <= ({"tx_full"} if full else {dropped}), "dropped for another reason"
    assert not dropped or back == 0
    return row


def main():
    program, memory = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="tidegate-pktgen-")
    ours, its = ((("--in-memory",),) * 2 if memory == "huge" else (("--no-huge", "-m", "256"), ("--no-huge", "-m", "4096")))
    g = Gateway([service(protocol="udp", ports=[5678], policy="round-robin")], front=memif("server", 0, folder),
                back=memif("server", 1, folder), lcores="0@0,1@0", huge=ours)
    pktgen = None
    try:
        with g:
            try:
                mac = ports(g)["front"]["mac"]
                pktgen = Pktgen([program, "--lcores", "0@1,1@1", *its, "--no-pci", f"--file-prefix={g.prefix}p",
                                 f"--vdev={memif('client', 0, folder)}", f"--vdev={memif('client', 1, folder)}",
                                 "--", "-m", "1.0,1.1"])
                for _ in range(200):
                    if pktgen.process.poll() is not None or all(p["link_up"] for p in ports(g).values()):
                        break
                    time.sleep(0.1)
                time.sleep(1)
                for line in ("set 0 dst mac " + mac, "set 0 src mac 02:00:00:00:00:01", "set 0 type ipv4", "set 0 proto udp",
                             "set 0 src ip 198.51.100.9/24", "set 0 dst ip " + VIP, "set 0 sport 4000", "set 0 dport 5678",
                             "set 0 size 64", "set 0 count 0"):
                    pktgen.say(line)
                rows = [run(g, pktgen, name, [x.format(mac=mac, vip=VIP) for x in lines], full, dropped)
                        for name, lines, full, dropped in CASES]
                servers = [s["flows"] for s in g.report()["services"][0]["servers"]]
                assert sum(servers) == 4096 and max(servers) - min(servers) <= 1, servers
                assert g.stop() == 0  # before its peer: the driver does not bear well that one leaves
            finally:
                if pktgen:
                    pktgen.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({"pktgen": {r["case"]: r["mpps"] for r in rows}, "memory": memory}))


main()
