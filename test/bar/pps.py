"""tidegate and testpmd, alternating, on one capture of 1000 established TCP flows. See pps.sh."""
import json
import logging
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../vdev"))

from scapy.all import IP, TCP, Ether, wrpcap  # noqa: E402
from gateway import CLIENT_MAC, PCAP_MAC, VIP, Gateway, service  # noqa: E402

ROUNDS, SECONDS, FLOWS = 3, 3, 1000
HUGE = ("--in-memory",)


def capture(path):
    """One ACK of 64 bytes with timestamps for each flow; mid-flow packets make entries too."""
    wrpcap(path, [Ether(dst=PCAP_MAC, src=CLIENT_MAC) / IP(src=f"198.51.{100 + n // 250}.{1 + n % 250}", dst=VIP) /
                  TCP(sport=1024 + n, dport=80, flags="A", seq=1, ack=1,
                      options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 1))]) for n in range(FLOWS)])


def tidegate(path, forward):
    g = Gateway([service(forward=forward)], front=f"net_pcap0,rx_pcap={path},infinite_rx=1", back="net_null1,no-rx=1",
                huge=HUGE, slots=65536)
    with g:
        time.sleep(0.5)
        first, start = g.report()["packets"], time.monotonic()
        time.sleep(SECONDS)
        last, end = g.report()["packets"], time.monotonic()
        if last["forwarded"] - first["forwarded"] < 0.99 * (last["received"] - first["received"]):
            raise SystemExit(f"packets were dropped: {g.report()['drops']}")
        g.stop()
        return (last["forwarded"] - first["forwarded"]) / (end - start)


def testpmd(path, mode):
    command = ["dpdk-testpmd", "-l", "0,1", "--no-pci", *HUGE, f"--file-prefix=tgpps{os.getpid()}", "--log-level=lib.*:error",
               f"--vdev=net_pcap0,rx_pcap={path},infinite_rx=1", "--vdev=net_null1,no-rx=1", "--",
               f"--forward-mode={mode}", "--no-flush-rx", "--stats-period=1"]
    out = subprocess.run(["timeout", "-s", "INT", str(SECONDS + 3), *command], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, check=False).stdout
    rates = [int(r) for r in re.findall(r"Tx-pps:\s+(\d+)", out) if int(r) > 0]
    if len(rates) < 2:
        raise SystemExit(f"testpmd gave no rates:\n{out[-2000:]}")
    return statistics.median(rates)


def main():
    if shutil.which("dpdk-testpmd") is None:
        sys.exit("dpdk-testpmd is missing: apt-get install dpdk-dev")
    path = f"/tmp/tidegate-pps-{os.getpid()}.pcap"
    capture(path)
    runs = {"testpmd/io": [], "testpmd/macswap": [], "tidegate/l2": [], "tidegate/ipip": []}
    try:
        for _ in range(ROUNDS):
            runs["testpmd/io"].append(testpmd(path, "io"))
            runs["testpmd/macswap"].append(testpmd(path, "macswap"))
            runs["tidegate/l2"].append(tidegate(path, "l2"))
            runs["tidegate/ipip"].append(tidegate(path, "ipip"))
    finally:
        os.unlink(path)
    result = {}
    for name, rates in runs.items():
        pps = statistics.median(rates)
        result[name] = {"mpps": round(pps / 1e6, 2), "ns_per_packet": round(1e9 / pps, 1)}
        print(f"{name:18} {pps / 1e6:7.2f} Mpps {1e9 / pps:7.1f} ns/packet   runs: "
              f"{' '.join(f'{1e9 / r:.1f}' for r in rates)}")
    print(json.dumps({"flows": FLOWS, "rounds": ROUNDS, "cases": result}))


if __name__ == "__main__":
    main()
