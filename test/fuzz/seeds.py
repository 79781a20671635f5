"""First inputs for the fuzzers, made here: seeds.py FOLDER writes FOLDER/{parse,capture,config,snapshot}/."""
import json
import os
import struct
import sys


def ipv4(protocol, payload, options=b"", flags=0):
    length = 20 + len(options) + len(payload)
    return struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, length, 1, flags, 64, protocol, 0,
                       bytes((198, 51, 100, 7)), bytes((192, 0, 2, 10))) + options + payload


def ipv6(next_header, payload):
    return struct.pack(">IHBB", 6 << 28, len(payload), next_header, 255) + bytes(15) + b"\1" + bytes(15) + b"\2" + payload


TCP = struct.pack(">HHIIBBHHH", 40000, 443, 1, 2, 0x80, 0x18, 1000, 0, 0) + b"\1\1\x08\x0a" + bytes(8) + b"\x16\3\1\0\5hello"
UDP = struct.pack(">HHHH", 40000, 53, 12, 0) + b"abcd"
PACKETS = [(0x800, ipv4(6, TCP)), (0x800, ipv4(17, UDP)), (0x800, ipv4(17, UDP, b"\x83\3\4\1")), (0x800, ipv4(17, UDP, flags=0x2000)),
           (0x800, ipv4(1, b"\x08\0\0\0\0\1\0\1")), (0x86dd, ipv6(6, TCP)), (0x86dd, ipv6(0, b"\x3c\0" + bytes(6) + b"\x11\0" + bytes(6) + UDP)),
           (0x86dd, ipv6(44, b"\x11\0\0\1\0\0\0\1" + UDP)), (0x86dd, ipv6(58, b"\x87\0\0\0\0\0\0\0" + bytes(16) + b"\1\1" + bytes(6))),
           (0x806, b"\0\1\x08\0\6\4\0\1" + bytes(20)), (0x8100, b"\0\7\x08\0" + ipv4(6, TCP)), (0x8847, bytes(4) + ipv4(6, TCP))]
FRAMES = [bytes(12) + struct.pack(">H", t) + p for t, p in PACKETS]


def pcap(order, magic, link, frames):
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    return out + b"".join(struct.pack(order + "IIII", 1, i, len(f), len(f)) + f for i, f in enumerate(frames))


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def pcapng(order):
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + struct.pack(order + "HHBxxx", 9, 1, 9) + bytes(4))
    out += block(order, 1, struct.pack(order + "HHI", 101, 0, 96))
    for i, f in enumerate(FRAMES):
        data = f if i % 2 == 0 else f[14:]
        out += block(order, 6, struct.pack(order + "IIIII", i % 2, 0, i, len(data), len(data)) + data)
    out += block(order, 3, struct.pack(order + "I", len(FRAMES[0])) + FRAMES[0])
    return out + block(order, 5, bytes(12)) + block(order, 0xBAD, b"x")


CONFIG = {
    "version": 1, "flow_table": {"slots_per_worker": 4096, "tcp_idle_s": 300, "udp_idle_s": 30, "closed_s": 5},
    "control": {"socket": "/run/c.sock", "mode": "0660", "group": None}, "tiers": [{"name": "edge", "delay_us": 300}],
    "ports": [{"name": "f", "port": "0", "role": "client", "addresses": ["198.51.100.2/24"], "gateways": ["198.51.100.1"]},
              {"name": "b", "port": "1", "role": "server", "addresses": ["10.0.0.2/24"], "vlan": 7, "mtu": 1600, "rate_mbps": 10}],
    "services": [{"name": "web", "address": "192.0.2.10", "protocol": "tcp", "ports": [80, 443], "forward": "ipip",
                  "policy": "latency", "estimator": "gap", "gap_rule": "top-mode", "sojourn_max_us": 2000, "gate": "drop",
                  "gate_margin_us": 20, "decrement_ttl": False, "answer_ping": False, "mss_clamp": True,
                  "servers": [{"name": "a", "address": "10.0.0.11", "mac": "02:00:00:00:00:01", "weight": 2, "alpha": 2.5,
                               "tier": "edge", "state": "drain"}]}]}


def snapshot(flows):
    """Flows of one service and server in two blocks; checksums are left to the fuzzer (the first byte)"""
    record = bytes(10) + b"\xff\xff" + bytes((198, 51, 100, 7)) + struct.pack("=HHBBHHBBI", 40000, 443, 6, 0, 0, 0, 2, 0, 5)
    blocks = b"".join(struct.pack("=IIQQ", n - 1, 0, 10 ** 18, 0) + record * n for n in flows)
    names = b"web".ljust(64, b"\0") + bytes(10) + b"\xff\xff\xc0\0\2\x0a" + bytes(10) + b"\xff\xff\x0a\0\0\x0b" + bytes(4)
    return b"tg-flows" + struct.pack("=IIQQQIIQQ", 1, 0x01020304, 64 + len(names + blocks), sum(flows), 10 ** 18, 1, 1, 0, 0) + names + blocks


def write(folder, name, inputs):
    os.makedirs(os.path.join(folder, name))
    for i, data in enumerate(inputs):
        with open(os.path.join(folder, name, f"seed{i}"), "wb") as f:
            f.write(data)


def main():
    folder = sys.argv[1]
    write(folder, "parse", [b"\1\0" + f for f in FRAMES] + [b"\0\x40" + f[:60] for f in FRAMES])
    write(folder, "capture", [pcap("<", 0xA1B2C3D4, 1, FRAMES), pcap(">", 0xA1B23C4D, 1, FRAMES),
                              *[pcap("<", 0xA1B2C3D4, link, [bytes(16) + f[14:] for f in FRAMES])
                                for link in (0, 9, 50, 101, 104, 108, 113, 228, 229, 276)], pcapng("<"), pcapng(">")])
    write(folder, "snapshot", [bytes((how,)) + snapshot(flows) for how in (0, 1, 3) for flows in ([], [1], [4, 2])])
    write(folder, "config", [json.dumps(CONFIG).encode(), json.dumps(CONFIG, indent=1).encode(), b"{}", b""])


if __name__ == "__main__":
    main()
