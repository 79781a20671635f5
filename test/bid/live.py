#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the live test of bidding: what needs a packet socket or arithmetic. Prints a figure and exits 0, or a
fault and exits 1."""
import asyncio
import json
import math
import os
import random
import socket
import struct
import sys
import time

SYN_ACK, SYN, ACK = 0x12, 0x02, 0x10


def fault(text):
    print(text)
    sys.exit(1)


def last_json(path):
    with open(path, encoding="utf-8") as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


def mean_ms(path):
    return last_json(path)["latency_ns"]["mean"] / 1e6


def value(path, key):
    print(last_json(path).get(key, 0))


def figures(*paths):
    out = {}
    for path in paths:
        r = last_json(path)
        out[os.path.basename(path)[:-4].replace("sessions-", "")] = {
            "mean_ms": round(r["latency_ns"]["mean"] / 1e6, 2), "p50_ms": round(r["latency_ns"]["p50"] / 1e6, 2),
            "p95_ms": round(r["latency_ns"]["p95"] / 1e6, 2),
            "connections": {k: s["connections"] for k, s in sorted(r["servers"].items())}}
    print(json.dumps(out))


def better(margin, *paths):
    """Bidding against each of the others, in the same run: the mean answer is shorter by the margin."""
    bid, *others = ((os.path.basename(p)[:-4], mean_ms(p)) for p in paths)
    text = f"mean answer {bid[1]:.1f} ms (" + ", ".join(f"{name} {v:.1f}" for name, v in others) + ")"
    for name, v in others:
        if bid[1] > float(margin) * v:
            fault(f"{text}: bidding should take at most {margin} of {name}")
    print(text)


class Session(asyncio.Protocol):
    """One connection, one request; what it took from the first SYN on."""

    def __init__(self, done):
        self.done, self.data, self.began = done, b"", time.monotonic()

    def connection_made(self, transport):
        transport.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        self.transport = transport

    def data_received(self, data):
        self.data += data
        body = self.data.partition(b"\r\n\r\n")[2]
        if body and not self.done.done():
            self.done.set_result((body.split()[0].decode()[:1], time.monotonic() - self.began))
            self.transport.close()

    def connection_lost(self, exc):
        if not self.done.done():
            self.done.set_exception(ConnectionError(str(exc)))


async def session(address, port, at, results):
    loop = asyncio.get_running_loop()
    await asyncio.sleep(at - loop.time())
    done = loop.create_future()
    began = time.monotonic()
    try:
        await asyncio.wait_for(loop.create_connection(lambda: Session(done), address, port), 10)
        server, _ = await asyncio.wait_for(done, 10)
        results.append((server, time.monotonic() - began))
    except (OSError, asyncio.TimeoutError) as e:
        results.append((None, repr(e)))


async def all_sessions(address, port, rate, n):
    """Poisson arrivals, the same for everyone who asks for as many."""
    rng, at, results, tasks = random.Random(7), asyncio.get_running_loop().time() + 0.2, [], []
    for _ in range(n):
        at += rng.expovariate(rate)
        tasks.append(asyncio.ensure_future(session(address, port, at, results)))
    await asyncio.gather(*tasks)
    return results


def sessions(address, port, rate, n):
    rows = asyncio.run(all_sessions(address, int(port), float(rate), int(n)))
    took = sorted(t for server, t in rows if server)
    if not took:
        fault(f"no connection had an answer: {rows[0][1]}")
    servers = {s: {"connections": sum(s == r[0] for r in rows)} for s in {r[0] for r in rows if r[0]}}
    print(json.dumps({"failures": len(rows) - len(took), "moved": 0, "servers": servers, "latency_ns": {
        "mean": sum(took) / len(took) * 1e9, "p50": took[len(took) // 2] * 1e9, "p95": took[len(took) * 95 // 100] * 1e9}}))


def ask(address, port):
    with socket.create_connection((address, int(port)), timeout=5) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        data = b""
        while b"\r\n\r\n" not in data or not data.split(b"\r\n\r\n", 1)[1]:
            more = s.recv(4096)
            if not more:
                break
            data += more
    return data.split(b"\r\n\r\n", 1)[1].split()[0].decode()[:1]


def write(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def connecting_ms(address, port):
    """How long a connection and its first answer took."""
    began = time.monotonic()
    with socket.create_connection((address, port), timeout=5) as s:
        connected = time.monotonic()
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        s.recv(4096)
        return (connected - began) * 1e3, (time.monotonic() - connected) * 1e3


def waits(path, port, full_ms):
    """SYN-ACKs wait for load * full_ms and up to a step of it, by IPv4 and IPv6; nothing but SYN-ACKs does; a refusal does
    not. The least of five counts as how long it was: the host takes its time besides."""
    worst = 0
    for load in (0, 0.25, 0.5, 1):
        write(path, str(load))
        time.sleep(0.05)
        least = math.floor(load * 126) / 126 * float(full_ms)
        for address in ("127.0.0.1", "::1"):
            took, answered = map(min, zip(*(connecting_ms(address, int(port)) for _ in range(5))))
            if took < least or took > least + float(full_ms) / 126 + 10:
                fault(f"load {load}: the SYN-ACK by {address} took {took:.1f} ms, not {least:.1f} and a little")
            if load == 1 and answered > float(full_ms) / 2:
                fault(f"load 1: an answer by {address} took {answered:.1f} ms: only SYN-ACKs wait")
            worst = max(worst, took - least)
    write(path, "refuse")
    time.sleep(0.05)
    if min(connecting_ms("127.0.0.1", int(port))[0] for _ in range(5)) > float(full_ms) / 2:
        fault("a server that refuses does not say so at once")
    write(path, "0.5")
    print(f"SYN-ACKs wait for what the load says, at most {worst:.1f} ms longer, data and refusals do not")


def follow(work, address, port, rounds):
    """Each connection goes to the server that is least loaded when it is opened."""
    wrong = []
    random.seed(1)
    for i in range(int(rounds)):
        best = random.choice("abc")
        for name in "abc":
            write(f"{work}/load-{name}", "0.1" if name == best else random.choice(["0.5", "0.9", "refuse"]))
        time.sleep(0.02)
        got = ask(address, port)
        if got != best:
            wrong.append(f"{i}: {got} not {best}")
    if len(wrong) > int(rounds) // 50:
        fault(f"{len(wrong)} of {rounds} connections did not follow the load: {wrong[:5]}")
    print(f"{int(rounds) - len(wrong)} of {rounds} single connections went to the server least loaded then")


def packets(sockets, seconds):
    """(time, ttl, flags, payload, source port, destination port) of TCP over IPv4 that the sockets see."""
    import select
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for s in select.select(sockets, [], [], left)[0]:
            frame, _ = s.recvfrom(2048)
            now = time.monotonic()
            if frame[12:14] != b"\x08\x00" or frame[23] != 6:
                continue
            ihl = (frame[14] & 15) * 4
            tcp = 14 + ihl
            total = struct.unpack(">H", frame[16:18])[0]
            sport, dport = struct.unpack(">HH", frame[tcp:tcp + 4])
            payload = total - ihl - (frame[tcp + 12] >> 4) * 4
            yield now, frame[22], frame[tcp + 13], payload, sport, dport


def raw(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((interface, 0))
    return s


def connect_once(address, port):
    """A connection that is reset at once: the kernel answers its SYN in the same call."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.settimeout(1)
    s.connect((address, port))
    s.close()


def wire(address, port, path, changes):
    """From a value's writing to the first SYN-ACK of the server that has it. Run on the server: connections of its own,
    one every 0.2 ms, draw the SYN-ACKs, so that what is measured is the bidder and not how often clients come."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    s, took = raw("lo"), []
    s.setblocking(False)
    for i in range(int(changes)):
        load = 0.1 + 0.8 * (i % 2)
        want = 128 + int(126 * load)
        write(path, str(load))
        start, ttl = time.monotonic(), None
        while ttl != want and time.monotonic() - start < 1:
            connect_once(address, int(port))
            for now, seen, flags, _, sport, _ in packets([s], 0.0002):
                if sport == int(port) and flags & SYN_ACK == SYN_ACK:
                    at, ttl = now, seen
        if ttl == want:
            took.append((at - start) * 1e3)
        time.sleep(0.02 * random.random())
    took.sort()
    if len(took) < int(changes) * 0.95:
        fault(f"only {len(took)} of {changes} values were seen on the wire (last TTL {ttl})")
    p50, p95 = took[len(took) // 2], took[int(len(took) * 0.95)]
    text = f"a new value is on the wire after {p50:.1f} ms (p50), {p95:.1f} ms (p95), {took[-1]:.1f} (max)"
    if p95 > 5:
        fault(text + ": more than 5 ms")
    print(text)


def ttls(port, *interfaces):
    """Counts TTLs of what comes from the port, SYN-ACKs and the rest apart, until it is ended."""
    import signal
    seen = {"syn_ack": {}, "rest": {}, "rst": 0}

    def end(*_):
        print(json.dumps(seen))
        sys.stdout.flush()
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
    for _, ttl, flags, _, sport, _ in packets([raw(i) for i in interfaces], 60):
        if sport != int(port):
            continue
        kind = "syn_ack" if flags & SYN_ACK == SYN_ACK else "rest"
        seen[kind][ttl] = seen[kind].get(ttl, 0) + 1
        seen["rst"] += flags >> 2 & 1
    end()


def ttls_judge(path):
    seen = last_json(path)
    if set(seen["syn_ack"]) != {"64"} or not seen["rest"] or min(map(int, seen["rest"])) < 64 or \
            max(map(int, seen["rest"])) > 64:
        fault(f"TTLs at the client: {seen}")
    print(f"at the client {sum(seen['syn_ack'].values())} SYN-ACKs and {sum(seen['rest'].values())} other packets, "
          f"all of TTL 64, {seen['rst']} RSTs")


def log(path):
    with open(path, encoding="utf-8") as f:
        return [line.split() for line in f]


def killed(path, name, parallel):
    """Only connections of the server that was killed are lost, and none hangs."""
    rows = log(path)
    bad = [r for r in rows if r[4] != "ok"]
    # a connection that had no answer yet has no name: it may be that server's
    others = [r for r in bad if r[2] not in (name, "-") or r[4] == "timeout"]
    if others or len(bad) > int(parallel):
        fault(f"server {name} killed: {len(bad)} of {len(rows)} connections lost, of others {others[:3]}")
    print(f"server {name} killed: {len(bad)} open connections lost with it, {len(rows) - len(bad)} others fine")


def served(path, name):
    n = last_json(path)["servers"].get(name, {}).get("connections", 0)
    if n == 0:
        fault(f"server {name} is back and got no connection")
    print(f"server {name} back: {n} connections")


def restarted(path, times, n, away_ns):
    """Gateway restarted in mid-connection: each connection goes on or is reset; none hangs or changes its server. None takes
    longer for it than TCP's next retransmission, twice the time it was away and a first timeout, and its turn."""
    rows = log(path)
    ok = sum(r[4] == "ok" for r in rows)
    hung = [r for r in rows if r[4] == "timeout"]
    away = int(away_ns) / 1e9
    with open(times, encoding="utf-8") as f:
        longest = max((int(done) - int(asked)) / 1e9 for _, asked, done in map(str.split, f))
    text = f"away for {away:.1f} s: {ok} of {n} connections went on, {len(rows) - ok} were reset"
    if len(rows) != int(n) or hung:
        fault(f"restart, {text}, {len(hung)} of {len(rows)} hung")
    if longest > 2 * away + 2:
        fault(f"restart, {text}, an answer took {longest:.1f} s: more than twice that and 2 s")
    print(f"restart in mid-connection, {text}, none hung, the slowest answer took {longest:.1f} s")


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
