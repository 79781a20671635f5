#!/usr/bin/python3
"""A large flow table over a restart: large.py [FLOWS (default 10000000)], which needs python3-scapy and 3 GiB of memory.

Makes a snapshot of so many flows, lets a gateway with one worker read it, write it again while the worker is idle and
while it forwards as fast as it can, and write it at its stop. Prints one line of JSON.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scapy.all import IP, TCP, Ether, wrpcap  # noqa: E402
from gateway import BUILD, CLIENT_MAC, PCAP_MAC, VIP, Gateway, server, service  # noqa: E402

MIB = 1 << 20


def answer(g, command):
    return next(iter(g.telemetry(command).values()))


def written(g, seconds=100):
    """Waits for one more whole write; what telemetry says of it"""
    before = answer(g, "/tidegate/flows")["snapshot_writes"]
    end = time.time() + seconds
    while time.time() < end:
        flows = answer(g, "/tidegate/flows")
        if flows["snapshot_writes"] > before:
            return flows
        time.sleep(0.05)
    raise SystemExit(f"no snapshot within {seconds} s: {flows}")


def gateway(flows, path, front, **keys):
    slots = 1 << 10
    while slots * 0.7 < flows:
        slots *= 2
    memory = str(max(slots * 130 // MIB + 300, 256))
    g = Gateway([service(policy="round-robin", servers=[server(f"s{n}", n) for n in range(11, 19)])], front=front,
                back="net_null0", huge=("--no-huge", "-m", memory), slots=slots,
                flow_table={"snapshot": path, "tcp_idle_s": 86400, **keys})
    g.patience = 200
    return g


def packets_a_second(g, seconds=2):
    a = g.report()["packets"]["forwarded"]
    time.sleep(seconds)
    return (g.report()["packets"]["forwarded"] - a) / seconds


def steps_of(g):
    """Mean of the copying steps, if this gateway tells of its tasks"""
    tasks = answer(g, "/tidegate/tasks,1") or {}
    for i in range(16):
        if tasks.get(f"task_{i}_name") == "snapshot":
            return {k: tasks.get(f"task_{i}_{k}") for k in ("steps", "work_ns", "step_max_ns")}
    return {}


def main():
    flows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    out = {"flows": flows}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/flows"
        subprocess.run([f"{BUILD}/test/live/tg-flows", str(flows), path, "web", VIP, "80",
                        *(f"10.0.0.{n}" for n in range(11, 19))], check=True)
        os.chmod(path, 0o600)
        out["file_mib"] = os.path.getsize(path) // MIB
        with gateway(flows, path, "net_ring0", snapshot_s=1) as g:
            first = answer(g, "/tidegate/flows")
            out.update(restored=first["restored"], restore_s=first["restore_ns"] / 1e9)
            out["write_idle_s"] = written(g)["snapshot_write_ns"] / 1e9
            out["steps"] = steps_of(g)
            before = time.time()
            g.stop()
            out["stop_s"] = time.time() - before
        source = f"{folder}/in.pcap"
        wrpcap(source, [Ether(dst=PCAP_MAC, src=CLIENT_MAC) / IP(src="10.0.0.5", dst=VIP) /
                        TCP(sport=1024 + n, dport=80, flags="A") for n in range(256)])
        with gateway(flows, path, f"net_pcap0,rx_pcap={source},infinite_rx=1", snapshot_s=0) as g:
            out["packets_a_second"] = {"alone": round(packets_a_second(g))}
            g.document["flow_table"]["snapshot_s"] = 1
            g.write()
            assert g.ask("config reload")["ok"]
            time.sleep(1.1)
            out["packets_a_second"]["writing"] = round(packets_a_second(g))
            loaded = written(g)
            out["write_loaded_s"] = loaded["snapshot_write_ns"] / 1e9
            assert loaded["snapshot_flows"] == flows == first["restored"], loaded
    print(json.dumps(out))


if __name__ == "__main__":
    main()
