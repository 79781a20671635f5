#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same visitors and servers over real HTTP and in the simulator, side by side.

  emulate.py [--folder FOLDER] [--seed N]

FOLDER: what `live.sh --out FOLDER slow` left; without it, that is run first (needs root). In both: four servers of four
workers, service uniform in 10 to 30 ms, the last one five times slower from second 3 to 10; 60 visitors that think 100 ms and
reconnect after 10 requests. What counts are the requests wanted while it is slow. Last line: the table as JSON.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from live import Run
from run import SIM, half_width

HERE = os.path.dirname(os.path.abspath(__file__))
POLICIES = ["maglev", "least-connections", "latency"]
FROM_S, TO_S = 3, 10
KEYS = ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "per_s", "share")


def scenario(seed):
    link = {"delay_us": 20}
    return {
        "version": 1, "seed": seed, "replications": 5, "warmup_s": FROM_S, "duration_s": TO_S - FROM_S,
        "config": {"services": [{"name": "web", "address": "192.0.2.10", "protocol": "tcp", "ports": [80], "policy": "latency", "servers": [
            {"name": name, "address": f"10.0.0.{11 + i}", "workers": 4} for i, name in enumerate("abcd")]}]},
        "servers": [{"address": f"10.0.0.{11 + i}", "workers": 4, "service_us": 20000,
                     "changes": [{"at_s": 0, "slow": 1}, {"at_s": FROM_S, "slow": 5 if i == 3 else 1}]} for i in range(4)],
        "clients": [{"name": "visitors", "service": "web", "clients": 60, "requests": 10, "timeout_s": 3,
                     "think_us": {"kind": "exponential", "mean": 100000}, "work_us": {"kind": "uniform", "low": 10000, "high": 30000},
                     "to_gateway": link, "from_server": link}]}


def simulated(policy, seed):
    with tempfile.TemporaryDirectory(prefix="tidegate-emulate-") as folder:
        path, out = os.path.join(folder, "scenario.json"), os.path.join(folder, "results.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(scenario(seed), f)
        subprocess.run([SIM, path, "--policy", policy, "--results", out, "--quiet"], check=True, timeout=300, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as f:
            r = json.load(f)
    c = r["clients"][0]
    out = {f"{q}_ms": [v / 1e6 for v in c["latency_ns"][q]["values"]] for q in ("mean", "p50", "p95", "p99")}
    return {**out, "per_s": c["per_second"]["values"], "share": r["servers"][3]["share"]["values"]}


def real(folder, policy):
    run = Run(os.path.join(folder, f"slow-{policy}.json"))
    f = run.figures()
    return {**{k: f[k] for k in KEYS if k in f}, "per_s": len(run.counted()) / (run.ended[-1] - run.began[0])}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--folder")
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegate-emulate-") as own:
        if not o.folder:
            done = subprocess.run([os.path.join(HERE, "live.sh"), "--out", own, "slow"], stdout=subprocess.DEVNULL)
            if done.returncode == 77:
                print("SKIPPED emulate: live.sh cannot run here")
                return 77
        lived = {policy: real(o.folder or own, policy) for policy in POLICIES}
    out = {}
    print(f"{'policy':18} {'figure':8} {'live':>8} {'simulated':>9} {'+-':>6} {'live / simulated':>16}")
    for policy in POLICIES:
        sim = simulated(policy, o.seed)
        for key in KEYS:
            mean = statistics.mean(sim[key])
            print(f"{policy:18} {key:8} {lived[policy][key]:8.2f} {mean:9.2f} {half_width(sim[key]):6.2f} {lived[policy][key] / mean:16.2f}")
            out.setdefault(policy, {})[key] = {"live": round(lived[policy][key], 4), "simulated": round(mean, 4),
                                                "half": round(half_width(sim[key]), 4)}
    print(json.dumps(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
