"""Runs the gateway offline on every capture of $TIDEGATE_CAPTURES and checks what a right gateway does with it.

index.tsv there says what each file holds and what is right; truth.tsv has true latencies, which are printed beside
ours and not judged. Nothing of that folder is part of the project: without it this suite says SKIPPED.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TIDEGATE_BUILD", "build")
TIDEGATE = os.environ.get("TIDEGATE", f"{BUILD}/app/tidegate/tidegate")
FOLDER = os.environ.get("TIDEGATE_CAPTURES", "")


def read_tsv(name):
    with open(os.path.join(FOLDER, name)) as f:
        rows = [line for line in f if not line.startswith("#")]
    return list(csv.DictReader(rows, delimiter="\t"))


def report_of(path, *more):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        r = subprocess.run([TIDEGATE, "--capture", path, "--report", out.name, *more], capture_output=True, text=True,
                           timeout=60)
        assert r.returncode == 0, f"exit code {r.returncode}: {r.stderr}"
        return json.load(open(out.name))


class Seen:
    """One report, in the words the checks use."""

    def __init__(self, r):
        self.r = r
        self.drops = r["drops"]
        self.services = {s["name"]: s for s in r["services"]}
        self.flows = [dict(f, service=s["name"], protocol=s["protocol"]) for s in r["services"] for f in s.get("flows", [])]
        self.received = r["packets"]["received"]
        self.forwarded = r["packets"]["forwarded"]

    def placed(self, protocol=None):
        """Distinct flows: one that was idle for longer than its time is placed again and still one."""
        return len({(f["service"], f["client"], f["client_port"]) for f in self.flows
                    if protocol in (None, f["protocol"])})

    def of(self, port):
        """The flow of this client port with the most exchanges."""
        found = [f for f in self.flows if f["client_port"] == port]
        assert found, f"no flow from port {port}"
        return max(found, key=lambda f: f["exchanges"])


def common(s, row):
    """What holds for every file."""
    assert s.received == int(row["packets"]), f"{s.received} packets read, {row['packets']} are in the file"
    assert s.received == s.forwarded + sum(s.drops.values()), "a packet is neither forwarded nor dropped by name"
    assert s.r["clock"] == "capture" and s.r["version"] == 1
    one_server = {}
    for f in s.flows:  # affinity
        one_server.setdefault((f["service"], f["client"], f["client_port"]), set()).add(f["server"])
    assert all(len(v) == 1 for v in one_server.values()), "a flow was given two servers"


def tcp(n, exchanges=None, port=None):
    """n TCP flows; the one from this client port (or the busiest) has that many exchanges, give or take 2 %."""
    def check(s, row):
        assert s.placed("tcp") == n, f"{s.placed('tcp')} TCP flows, {n} expected"
        if exchanges is not None:
            f = s.of(port) if port else max(s.flows, key=lambda x: x["exchanges"])
            got = f["exchanges"] + f["setup_exchanges"] + f["unsure_exchanges"]
            assert abs(got - exchanges) <= max(1, 0.02 * exchanges), f"{got} exchanges, {exchanges} expected"
    return check


def without_entry(n):
    """Packets forwarded by consistent hash: flows do not account for them."""
    def check(s, row):
        packets = sum(v["packets"] for x in s.r["services"] for v in x["servers"])
        assert packets == s.forwarded and s.r["flow_table"]["stateless"] == n, s.r["flow_table"]
    return check


def udp(n):
    def check(s, row):
        assert s.placed("udp") == n, f"{s.placed('udp')} UDP flows, {n} expected"
    return check


def dropped(**want):
    def check(s, row):
        got = {k: s.drops.get(k, 0) for k in want}
        assert got == want, f"drops {got}, expected {want}"
    return check


def nothing_forwarded(s, row):
    assert s.forwarded == 0, f"{s.forwarded} forwarded"


def portless(s, row):
    """A protocol without ports is balanced by addresses; no port is read from its bytes."""
    mine = [f for f in s.flows if f["protocol"] not in ("tcp", "udp")]
    assert mine and all(f["client_port"] == 0 for f in mine), s.flows
    assert s.placed("tcp") + s.placed("udp") == 0


def apart(low, high):
    """Two estimates stay apart (ms)."""
    def check(s, row):
        means = sorted(f["latency_ns"]["mean"] / 1e6 for f in s.flows if f["exchanges"] >= 100)
        assert len(means) == 2 and low[0] <= means[0] <= low[1] and high[0] <= means[1] <= high[1], means
    return check


def gateway_view(s, row):
    """One direction only: everything in the file is the client's."""
    assert s.drops.get("not_ours", 0) == 0 and s.forwarded == s.received, s.drops


def p50_between(low_ms, high_ms):
    def check(s, row):
        f = max(s.flows, key=lambda x: x["exchanges"])
        assert low_ms <= f["latency_ns"]["p50"] / 1e6 <= high_ms, f["latency_ns"]
    return check


def server_between(low_ms, high_ms):
    """Not rounded to 0."""
    def check(s, row):
        f = max(s.flows, key=lambda x: x["exchanges"])
        assert low_ms <= f["server_ns"]["mean"] / 1e6 <= high_ms, f["server_ns"]
    return check


def no_latency(port):
    """What its packets leave to chance, or to pauses, is no figure (doc/pirate.md says why)."""
    def check(s, row):
        assert s.of(port)["latency_ns"] == {"mean": None, "p50": None}, s.of(port)["latency_ns"]
    return check


def fragments(s, row):
    """All 495 fragments of the 82 datagrams: to one server by addresses, or counted."""
    assert s.forwarded + s.drops.get("fragment", 0) + s.drops.get("not_ours", 0) + s.drops.get("no_service", 0) == 495, s.drops


def scan(s, row):
    assert s.drops.get("tcp_stray", 0) >= 2, s.drops  # NULL and XMAS make no state
    assert s.r["flow_table"]["inserted"] <= 12, s.r["flow_table"]


CHECKS = {
    "a-dnso1tcp.pcap": [tcp(1, 41)],
    "a-bug-8629-async-oneside.pcap": [tcp(1), gateway_view],
    # 32 requests; of three the next one acknowledges the answer after seconds of rest: not published
    "a-dns_over_https_POST.pcap": [tcp(1, 33), no_latency(52694)],
    "a-modbus.pcap": [tcp(8, 255, 51411), apart((13, 17), (480, 760))],
    # of two of the seven connections the file has one RST from the client: forwarded, no entry
    # 53 requests; where the server's timestamps show two in flight together they are one batch
    "a-googledns_android10.pcap": [tcp(5, 51, 48210), dropped(icmp=2), without_entry(2)],
    "a-opc-ua.pcap": [tcp(1, 93), p50_between(0.03, 0.2)],
    "a-1000-requests-one-dropped-response.pcap": [tcp(1, 1000), p50_between(0.02, 0.2)],
    "a-redis-50-pings.pcap": [tcp(1, 53), no_latency(59954), server_between(0.001, 0.1)],
    "a-greenhouse-app.pcap": [tcp(2, 66, 59060), no_latency(59060)],
    "b-bug-5437-02.pcap": [portless],
    "b-vxlan.pcap": [udp(13)],
    "b-ipv6-in-ipv4.pcap": [portless],
    "b-wireshark-esp.pcap": [portless],
    "b-wireguard.pcap": [udp(1), dropped(neighbour_consumed=8)],
    "b-doq_adguard.pcapng": [udp(1)],
    "b-curl-8.1.2-dev-http3-www-google-de.pcap": [udp(1)],
    "b-zerortt.pcap": [udp(2)],
    "c-frags.pcap": [fragments],
    "c-detect-ipopts.pcap": [tcp(1), dropped(ip_source_route=2)],
    "c-eve-flow-vlan-02.pcap": [dropped(vlan_depth=1)],
    "c-udp-hdr-keyword.pcap": [nothing_forwarded],
    "c-tcp_scan.pcapng": [scan],
    "c-many_interfaces-1.pcapng": [],
    "c-nanosecs_big_endian.pcap": [tcp(1)],
    "c-ipv6_ext_headers.pcap": [dropped(ip6_headers=1), nothing_forwarded],
    "c-ipv4_invalid_hdr_length.pcap": [dropped(ip_header=1), nothing_forwarded],
    "c-mpls-in-vlan.pcap": [dropped(mpls_unsupported=2)],
    "c-retransmit-fast009.pcap": [tcp(1)],
    "a-umas.pcap": [tcp(1, 90)],
    "a-20-fids.pcap": [tcp(1, 187)],
    "a-docker-http-upgrade.pcap": [tcp(3, 42)],
    "a-nfs_write.pcap": [tcp(4, 44)],
}


def print_truth(reports):
    """Latency beside truth, ms; not judged here."""
    print(f"\n{'file':44} {'client':>22} {'exchanges':>13} {'true mean':>10} {'true p50':>10} {'mean':>10} {'p50':>10}  by")
    for row in read_tsv("truth.tsv"):
        client, port = row["client"].rsplit(":", 1)
        for f in reports[row["file"]].flows:
            if (f["client"], f["client_port"]) != (client, int(port)):
                continue
            mean, p50 = ((f["latency_ns"][k] or 0) / 1e6 for k in ("mean", "p50"))
            by = "+".join(k for k, n in f["estimator"].items() if n)
            print(f"{row['file']:44} {row['client']:>22} {f['exchanges']:>6}/{row['exch']:>6} {row['truth_mean']:>10} "
                  f"{row['truth_med']:>10} {mean:>10.3f} {p50:>10.3f}  {by}")
    print()


def main():
    if not os.path.isfile(os.path.join(FOLDER, "index.tsv")):
        print("SKIPPED captures: $TIDEGATE_CAPTURES names no folder with an index.tsv")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    reports = {}
    for row in read_tsv("index.tsv"):
        name = row["file"]
        try:
            assert name in CHECKS, "a new file: write its checks"
            seen = reports[name] = Seen(report_of(os.path.join(FOLDER, name)))
            for check in [common, *CHECKS[name]]:
                check(seen, row)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"FAIL {name}: {e}\n     right: {row['right_gateway']}")
        else:
            passed += 1
            print(f"PASS {name}: {seen.received} packets, {seen.placed()} flows, {seen.forwarded} forwarded, drops {seen.drops}")
    print_truth(reports)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
