"""A replay of a made capture: what is dropped by T, and that nothing leaves late. usage: replay.py TIDEGATE"""
import json
import os
import random
import subprocess
import sys
import tempfile
import xml.dom.minidom

from struct import pack, unpack

CONFIG = {"version": 1, "flow_table": {"slots_per_worker": 4096}, "ports": [
    {"name": "front", "port": "0", "role": "client", "addresses": ["198.51.100.2/24"]},
    {"name": "back", "port": "1", "role": "server", "addresses": ["10.0.0.2/24"], "rate_mbps": 1000}],
    "services": [{"name": "dns", "address": "192.0.2.10", "protocol": "udp", "ports": [53], "policy": "maglev",
                  "servers": [{"name": "a", "address": "10.0.0.11", "workers": 2, "service_time_us": 60},
                              {"name": "b", "address": "10.0.0.12"}]}]}


def packet(n, size):
    header = pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, 0, 0, 64, 17, 0, bytes([198, 51, 100, 1 + n % 200]),
                  bytes([192, 0, 2, 10]))
    total = sum(unpack("!10H", header))
    total = (total >> 16) + (total & 0xffff)
    header = header[:10] + pack("!H", 0xffff - total) + header[12:]
    return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0" + header + pack("!HHHH", 1024 + n % 500, 53, 8 + size, 0) + bytes(size)


def capture(path, packets):
    """Bursts: most packets 3 us after the one before, some after a pause."""
    chance, now = random.Random(3), 1700000000 * 10**9
    with open(path, "wb") as f:
        f.write(pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for n in range(packets):
            now += int(chance.expovariate(1 / (3e3 if chance.random() < .97 else 1.5e6)))
            data = packet(n, chance.choice((100, 400, 1200)))
            f.write(pack("<IIII", now // 10**9, now % 10**9, len(data), len(data)) + data)


def replay(tidegate, folder, *options, config=None):
    with open(f"{folder}/c.json", "w", encoding="utf-8") as f:
        json.dump(config or CONFIG, f)
    done = subprocess.run([tidegate, "--capture", f"{folder}/c.pcap", "--config", f"{folder}/c.json", "--report",
                           f"{folder}/r.json", *options], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with open(f"{folder}/r.json", encoding="utf-8") as f:
        return json.load(f), done.stdout


def main():
    tidegate = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="tidegate-replay-") as folder:
        capture(f"{folder}/c.pcap", 4000)
        report, text = replay(tidegate, folder, "--replay", "--picture", f"{folder}/p.svg")
        r = report["capture"]["replay"]
        points = r["points"]
        assert r["packets"] == 4000 and r["lost_otherwise"] == 0 and r["rate_mbps"] == 1000, r
        assert sum(0 < p["dropped"] < 1 for p in points) >= 3, points
        for p in points:
            assert p["violations"] == 0 and p["wire_max_ns"] <= p["sojourn_max_us"] * 1000, p
            assert abs(p["sent"] - 4000 * (1 - p["dropped"])) < 1.5, p
            assert p["dropped"] <= p["forecast"] + .002, p
        for a, b in zip(points, points[1:]):
            assert a["sojourn_max_us"] < b["sojourn_max_us"] and a["dropped"] >= b["dropped"], (a, b)
        assert "violations" in text and "replay at speed 1" in text
        assert xml.dom.minidom.parse(f"{folder}/p.svg").getElementsByTagName("polyline").length == 2
        again, _ = replay(tidegate, folder, "--replay")
        assert again["capture"]["replay"] == r, "two replays differ"
        slow, _ = replay(tidegate, folder, "--replay=0.01")
        assert slow["capture"]["replay"]["unlimited_ns"]["p99"] < r["unlimited_ns"]["p99"], "no queue at a hundredth"
        for words in (("--picture", f"{folder}/p.svg"), ("--replay", "--picture", f"{folder}/c.json")):
            done = subprocess.run([tidegate, "--capture", f"{folder}/c.pcap", "--config", f"{folder}/c.json", *words],
                                  capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 1 and "picture" in done.stderr, (words, done.stderr)
    print("1 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    os.environ.pop("TIDEGATE_CAPTURES", None)
    main()
