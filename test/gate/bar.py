"""The figures of test/bar/gate.sh."""
import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import time

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "test/vdev"))
sys.path.insert(0, HERE)

import model  # noqa: E402
from gateway import BUILD, CLIENT_MAC, PCAP_MAC, VIP, Gateway, service  # noqa: E402
from scapy.all import IP, UDP, Ether, wrpcap  # noqa: E402

BAR_PACKETS, BAR_NS = 10**8, 1.5
LIMIT_US, MARGIN_US = 200, 20


def spinner(cpu, seconds):
    """Another process on the worker's core; ends by itself."""
    spin = f"import time\nend = time.time() + {seconds}\nwhile time.time() < end: pass"
    words = ["taskset", "-c", str(cpu), sys.executable, "-c", spin]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop_and_go(process, ms):
    process.send_signal(signal.SIGSTOP)
    time.sleep(ms / 1000)
    process.send_signal(signal.SIGCONT)
    time.sleep(.1)


def whole_binary(packets, seconds=150):
    """tidegate itself from generated packets to a driver that takes everything: stopped, and its core taken in turn."""
    services = [service(name="dns", protocol="udp", ports=[53], sojourn_max_us=LIMIT_US, gate_margin_us=MARGIN_US)]
    g = Gateway(services)
    path = f"{g.dir}/in.pcap"
    wrpcap(path, [Ether(dst=PCAP_MAC, src=CLIENT_MAC) / IP(src=f"198.51.{100 + n // 250}.{1 + n % 250}", dst=VIP) /
                  UDP(sport=1024 + n, dport=53) / bytes(18) for n in range(1000)])
    g.command[g.command.index("--vdev=net_null0")] = f"--vdev=net_pcap0,rx_pcap={path},infinite_rx=1"
    g.command[g.command.index("--vdev=net_null1")] = "--vdev=net_null1,no-rx=1"
    begin, taken = time.monotonic(), None
    with g:
        while time.monotonic() - begin < seconds:
            stop_and_go(g.process, 10)
            if taken is None or taken.poll() is not None:
                taken = spinner(1, 5)
            report = g.report()
            if report["packets"]["forwarded"] >= packets:
                break
        if taken is not None and taken.poll() is None:
            taken.kill()
            taken.wait()
        report = g.report()
        assert g.stop() == 0, g.output()
    gate = report["gate"]
    return {"kind": "whole binary", "what": "net_pcap infinite_rx to net_null, SIGSTOP and a spinner",
            "sent": report["packets"]["forwarded"], "dropped_late": gate["late_dropped"], "late_at": gate["late_at"],
            "late": gate["late"] - gate["late_dropped"], "late_uncertain": gate["late_uncertain"],
            "max_sojourn_us": gate["max_sojourn_ns"] / 1e3, "limit_us": LIMIT_US,
            "good": gate["late"] == gate["late_dropped"] and gate["max_sojourn_ns"] <= (LIMIT_US - MARGIN_US) * 1000 + 1}


def soak(seconds, *kinds):
    done = subprocess.run(["timeout", str(60 + 20 * seconds), f"{BUILD}/test/gate/gate-soak", str(seconds), *kinds],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def until_enough(kind, packets):
    """One kind again and again, until as many packets have left; a process lives for a minute at most."""
    rows = []
    while sum(r["sent"] for r in rows) < packets:
        more, code = soak(60, kind)
        if code != 0 or not more:
            return rows + more, 1
        rows += more
    return rows, 0


def gate_ns():
    done = subprocess.run([f"{BUILD}/app/tidegate-bench/tidegate-bench", "--json", "--only", "stage/gate", "--seconds", "3"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1] if done.stdout.count("\n") < 2 else done.stdout)["cases"][0]["ns_per_packet"]


def say(row):
    print(json.dumps(row), flush=True)
    return row


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--packets", type=float, default=BAR_PACKETS, help="through the whole binary (the bar: 1e8)")
    p.add_argument("--seconds", type=float, default=6, help="of each kind of overload")
    p.add_argument("--waited", metavar="KIND", help="only this kind of overload, until --packets have left")
    p.add_argument("--no-model", action="store_true", help="without the simulator")
    o = p.parse_args()
    if o.waited:
        rows, code = until_enough(o.waited, o.packets)
        for row in rows:
            print(json.dumps(row))
        print(json.dumps({k: sum(r[k] for r in rows) for k in ("sent", "late", "late_uncertain")}))
        return code
    rows = [say(whole_binary(int(o.packets)))]
    kinds, code = soak(o.seconds)
    rows += [say(k) for k in kinds]
    good = code == 0 and len(kinds) == 13 and all(r["good"] for r in rows) and rows[0]["sent"] >= o.packets
    wire = {"plain": {"late": None}, "predictive": {"late": None}}
    if not o.no_model:
        forms = [say(f) for f in model.closed_forms(5, 10)]
        places = {r["place"]: say(r) for r in model.places()}
        wire = say(model.on_the_wire())
        good &= all(f["good"] for f in forms) and wire["plain"]["late"] > 0 and wire["predictive"]["late"] == 0
        good &= places["arrival"]["late_at_driver"] > 0 and places["dequeue"]["late_at_driver"] > 0
        good &= places["transmit"]["late_at_driver"] == 0 and places["predictive"]["late_on_wire"] == 0
    ns = gate_ns()
    print(json.dumps({"sent": sum(r["sent"] for r in rows), "late": sum(r["late"] for r in rows),
                      "late_uncertain": sum(r["late_uncertain"] for r in rows),
                      "wire_late_plain": wire["plain"]["late"], "wire_late_predictive": wire["predictive"]["late"],
                      "gate_ns": round(ns, 2)}))
    return 0 if good and not o.no_model and ns <= BAR_NS else 1


if __name__ == "__main__":
    sys.exit(main())
