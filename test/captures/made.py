"""Captures made here, through the gateway offline: which server a flow went to, what is said of broken files, exit codes."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TIDEGATE_BUILD", "build")
TIDEGATE = os.environ.get("TIDEGATE", f"{BUILD}/app/tidegate/tidegate")
SYN, ACK, PSH = 2, 16, 8
CONFIG = {
    "version": 1,
    "ports": [{"name": "a", "port": "0", "role": "both", "addresses": ["10.0.0.2/24", "fd00::2/64"]}],
    "services": [{"name": "web", "address": "192.0.2.10", "protocol": "tcp", "ports": [80], "forward": "ipip",
                  "policy": "maglev", "servers": [
                      {"name": "v4", "address": "10.0.0.11"}, {"name": "v6", "address": "fd00::12"},
                      {"name": "mac", "address": "10.0.0.13", "mac": "02:00:00:00:00:13"},
                      {"name": "other", "address": "10.0.0.14"}]}],
}


def ether(payload, kind=0x0800, dst=b"\2\0\0\0\0\x99"):
    return dst + b"\2\0\0\0\0\1" + struct.pack("!H", kind) + payload


def ip4(src, dst, protocol, payload):
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, socket.inet_aton(src),
                       socket.inet_aton(dst)) + payload


def ip6(src, dst, protocol, payload):
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + socket.inet_pton(
        socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst) + payload


def connection(wrap, port, latency_us, exchanges=20, start_us=1_000_000):
    """(time, frame) of a client's packets only: handshake, then one request after the other, each answer acknowledged."""
    t, seq, ack = start_us, 1, 1
    out = []

    def send(flags, size=0):
        tcp = struct.pack("!HHIIBBHHH", port, 80, seq, ack if flags & ACK else 0, 0x50, flags, 1000, 0, 0)
        out.append((t, wrap(ip4("198.51.100.7", "192.0.2.10", 6, tcp + bytes(size)))))

    send(SYN)
    t, seq = t + 200, seq + 1
    send(ACK)
    for _ in range(exchanges):
        t += 1000
        send(ACK | PSH, 50)
        t, seq, ack = t + latency_us, seq + 50, ack + 100
        send(ACK)
    return out


def pcap(packets, link=1):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for t, frame in packets:
        out += struct.pack("<IIII", t // 10**6, t % 10**6, len(frame), len(frame)) + frame
    return out


def run(folder, data, *more, config=None, report="r.json"):
    """Exit code, text, complaints, report (None if there is none)."""
    path, report = os.path.join(folder, "f.pcap"), os.path.join(folder, report)
    args = [TIDEGATE, "--capture", path, "--report", report, *more]
    if data is not None:
        with open(path, "wb") as f:
            f.write(data)
    if config:
        with open(os.path.join(folder, "c.json"), "w") as f:
            json.dump(config, f)
        args += ["--config", f.name]
    if os.path.exists(report):
        os.unlink(report)
    r = subprocess.run(args, capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout, r.stderr, json.load(open(report)) if os.path.exists(report) else None


def server_is_what_the_capture_shows(folder):
    frames = (connection(lambda p: ether(ip4("10.0.0.2", "10.0.0.11", 4, p)), 1001, 2000) +
              connection(lambda p: ether(ip6("fd00::2", "fd00::12", 4, p), 0x86DD), 1002, 4000) +
              connection(lambda p: ether(p, dst=b"\2\0\0\0\0\x13"), 1003, 6000) + connection(ether, 1004, 8000))
    code, _, _, r = run(folder, pcap(sorted(frames)), config=CONFIG)
    assert code == 0 and r["packets"] == {"received": 168, "forwarded": 168, "dropped": 0, "replied": 0, "made": 0, "taken_in": 0, "to_kernel": 0}, r["packets"]
    flows = {f["client_port"]: f for f in r["services"][0]["flows"]}
    assert [flows[1001 + i]["server"] for i in range(3)] == ["v4", "v6", "mac"], flows
    assert [flows[1001 + i]["would_pick"] for i in range(4)] == [False, False, False, True], flows
    for i, ms in enumerate((2, 4, 6, 8)):
        got = flows[1001 + i]["latency_ns"]["mean"] / 1e6
        assert flows[1001 + i]["exchanges"] == 20 and abs(got / ms - 1) < 0.01, (got, ms)
        assert abs(flows[1001 + i]["server_ns"]["mean"] / 1e6 - (ms - 0.2)) < 0.01 * ms, flows[1001 + i]


def services_are_found(folder):
    answer = ether(ip4("192.0.2.10", "198.51.100.7", 6, struct.pack("!HHIIBBHHH", 80, 1004, 1, 2, 0x50, SYN | ACK, 9, 0, 0)))
    code, text, errors, r = run(folder, pcap(connection(ether, 1004, 8000) + [(10**9, answer)]))
    assert code == 0 and not errors and "tcp 192.0.2.10:80" in text, (code, text, errors)
    assert r["services"][0]["found_by"] == "syn" and r["drops"] == {"not_ours": 1}, r
    assert r["services"][0]["flows"][0]["would_pick"] is False


def cut_file_is_read_up_to_the_fault(folder):
    whole = pcap(connection(ether, 1004, 8000))
    code, text, errors, r = run(folder, whole[:-10])
    assert code == 0 and r["packets"]["received"] == 41, (code, r)
    assert "record 42 at byte" in errors and "is cut: 44 of 54 bytes are there" in errors, errors
    assert r["capture"]["warnings"] and "record 42" in r["capture"]["warnings"][0]
    code, text, errors, r = run(folder, whole[:30])
    assert code == 1 and r is None and not text and "is cut: 6 of 16 header bytes" in errors, (code, errors)


def time_that_goes_back(folder):
    """A recording behind another one from years before: both are measured."""
    frames = connection(ether, 1004, 8000, start_us=4 * 10**15) + connection(ether, 1005, 2000)
    code, _, errors, r = run(folder, pcap(frames))
    flows = {f["client_port"]: f["latency_ns"]["mean"] for f in r["services"][0]["flows"]}
    assert code == 0 and "goes back by more than a second 1 times" in errors, errors
    assert abs(flows[1004] / 8e6 - 1) < 0.01 and abs(flows[1005] / 2e6 - 1) < 0.01, flows


def nothing_to_read(folder):
    for data, words in ((b"", "is empty"), (pcap([]), "no frame in it"), (b"\x1f\x8b\x08" + bytes(99), "gunzip"),
                        (b"<html></html>", "begins with the bytes 3c 68 74 6d"),
                        (pcap([(1, bytes(60))], 105), "IEEE802_11")):
        code, text, errors, r = run(folder, data)
        assert code == 1 and words in errors and not text and r is None, (code, errors)
    os.unlink(os.path.join(folder, "f.pcap"))
    code, _, errors, _ = run(folder, None)
    assert code == 1 and "does not exist" in errors, errors


def report_that_cannot_be_written(folder):
    data = pcap(connection(ether, 1004, 8000))
    code, text, errors, _ = run(folder, data, report="none/r.json")
    assert code == 1 and text and "cannot be written: No such file" in errors, (code, errors)


def main():
    failed = 0
    tests = (server_is_what_the_capture_shows, services_are_found, cut_file_is_read_up_to_the_fault, time_that_goes_back,
             nothing_to_read, report_that_cannot_be_written)
    for test in tests:
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(folder)
        except Exception as e:  # a report without what a check reads is a failure too
            failed += 1
            print(f"FAIL {test.__name__}: {e!r}")
        else:
            print(f"PASS {test.__name__}")
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
