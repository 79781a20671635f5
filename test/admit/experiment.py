#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst isolation in the simulator: what calm clients feel under each policy, and what it costs.

usage: experiment.py [--short] [--only NAME…] [--policies NAME…] [--calm N]

bars: one segment bursts, a thousand calm ones do not; every policy, at least 10^7 calm requests each.
Without --short also: no bursts, uneven tenants; sustained bursts; a hot segment inside a calm big tenant;
the auxiliary share; thresholds that are wrong. The last line is JSON: everything that was measured.
"""
import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TIDEGATE_BUILD", HERE.parents[1] / "build"))
SIM = BUILD / "app/tidegate-sim/tidegate-sim"
SCENARIO = json.loads((HERE / "scenarios/bursts.json").read_text())
CAPACITY = 128000  # requests a second: 4 servers, 16 workers, 500 us
BUDGET = CAPACITY * 9 // 10
HI = 20000
NEVER = 4000000000
CALM_REQUESTS = 10_000_000


def admission(**keys):
    segments = {"ipv4_prefix": 28, "hi_per_s": HI, **keys.pop("segments", {})}
    return {"budget_per_s": BUDGET, "cost": "packet", "segments": segments, **keys}


POLICIES = {
    "none": None,
    # a tenant gets its eighth of the budget, whatever is free
    "cap": admission(budget_per_s=NEVER, segments={"max_per_s": BUDGET // 8}),
    # the whole service is one segment, and always of the same class
    "bucket": admission(auxiliary_percent=0, segments={"by": "service", "hi_per_s": 100, "calm_intervals": 10000}),
    "two_level": admission(),
    "work_conserving": admission(variant="work-conserving"),
}


def group(scenario, name):
    return next(g for g in scenario["clients"] if g["name"] == name)


def simulate(scenario):
    with tempfile.TemporaryDirectory(prefix="tidegate-admit-") as folder:
        path, out = pathlib.Path(folder, "scenario.json"), pathlib.Path(folder, "results.json")
        path.write_text(json.dumps(scenario))
        done = subprocess.run([SIM, path, "--quiet", "--results", out], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"{path}: {done.stderr[-800:]}")
        return json.loads(out.read_text())


def figures(results):
    """Milliseconds, shares, requests a second."""
    out = {}
    for g in results["clients"]:
        latency = g["latency_ns"]
        if latency is None:
            continue
        asked, failed = g["requests"]["mean"], g["failed"]["mean"]
        out[g["name"]] = {"asked": asked, "failed_share": failed / max(1, asked), "per_s": g["per_second"]["mean"],
                          **{k: latency[k]["mean"] / 1e6 for k in ("p50", "p95", "p99", "p99_9", "p99_99", "p99_999", "max")}}
    servers, gateway = results["servers"], results["gateways"][0]
    out["servers"] = {"busy": sum(s["utilisation"]["mean"] for s in servers) / len(servers),
                      "wait_ms": sum(s["wait_mean_ns"]["mean"] for s in servers) / len(servers) / 1e6,
                      "waiting": sum(s["number_waiting"]["mean"] for s in servers)}
    out["drops"] = {k: v["mean"] for k, v in gateway["drops"].items() if v["mean"] > 0}
    out["late"] = gateway["gate"]["late"]["mean"]
    return out


def run(what, scenario, policy, seconds):
    scenario = copy.deepcopy(scenario)
    scenario["duration_s"] = seconds
    if policy is not None:
        scenario["config"]["services"][0]["admission"] = policy
    got = figures(simulate(scenario))
    parts = [f"{what:34}"]
    for name, g in got.items():
        if isinstance(g, dict) and "p50" in g:
            parts.append(f"{name}: " + " ".join(f"{g[k]:.2f}" for k in ("p50", "p99", "p99_9", "p99_99", "p99_999")) +
                         f" lost {100 * g['failed_share']:.2f} %")
    parts.append(f"busy {got['servers']['busy']:.3f} waiting there {got['servers']['waiting']:.0f}")
    print(" | ".join(parts), flush=True)
    return got


def bars(seconds):
    return {name: run(f"bursts, {name}", SCENARIO, policy, seconds) for name, policy in POLICIES.items()}


def uneven(offered):
    """No bursts: ten tenants, the top three with 63 % of the traffic, evenly over the servers."""
    s = copy.deepcopy(SCENARIO)
    calm = group(s, "calm")
    shares = [0.27, 0.20, 0.16] + [0.37 / 7] * 7
    s["clients"] = [{**calm, "name": f"tenant{i}", "rate": offered * share, "prefix": f"100.{70 + i}.0.0/24", "clients": 14,
                     "connections": 8000} for i, share in enumerate(shares)]
    return s


def unused(seconds):
    """What of the offered load, a little below the budget, is not served."""
    offered, out = 0.97 * BUDGET, {}
    for name, policy in POLICIES.items():
        got = run(f"no bursts, uneven, {name}", uneven(offered), policy, seconds)
        served = sum(g["per_s"] for k, g in got.items() if k.startswith("tenant"))
        out[name] = {"served_per_s": served, "servers": got["servers"]}
    for name in out:
        out[name]["unused_share"] = max(0.0, 1 - out[name]["served_per_s"] / out["none"]["served_per_s"])
        print(f"    unused, {name}: {100 * out[name]['unused_share']:.2f} %", flush=True)
    return out


def sustained(seconds):
    s = copy.deepcopy(SCENARIO)
    group(s, "burst").update({"on_ms": 2000, "off_ms": 2000, "rate": 120000})
    return {name: run(f"sustained, {name}", s, policy, seconds) for name, policy in POLICIES.items()}


def hot_inside(seconds):
    """A big tenant, 16 networks of which one bursts; the segment is the network, or the whole tenant."""
    s = copy.deepcopy(SCENARIO)
    big = {**group(s, "calm"), "name": "tenant", "prefix": "100.80.0.16/28", "clients": 14, "connections": 4000, "rate": 8000}
    s["clients"].append(big)
    return {"network": run("hot inside a tenant, /28", s, admission(), seconds),
            "tenant": run("hot inside a tenant, /24", s, admission(segments={"ipv4_prefix": 24}), seconds)}


def auxiliary(seconds):
    return {str(p): run(f"auxiliary {p} %", SCENARIO, admission(auxiliary_percent=p), seconds) for p in (0, 10, 20, 30, 50)}


def thresholds(seconds):
    """Calm segments ask for 45 a second on average, the burst for 220000."""
    return {str(hi): run(f"hi_per_s {hi}", SCENARIO, admission(segments={"hi_per_s": hi}), seconds)
            for hi in (100, 1000, 5000, 20000, 100000, BUDGET)}


PARTS = {"unused": unused, "sustained": sustained, "hot": hot_inside, "auxiliary": auxiliary, "thresholds": thresholds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="the bars' scenarios alone")
    parser.add_argument("--only", nargs="+", choices=["bars", *PARTS], default=["bars", *PARTS])
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES), help="these alone")
    parser.add_argument("--calm", type=int, default=CALM_REQUESTS, help="calm requests a policy")
    args = parser.parse_args()
    for name in set(POLICIES) - set(args.policies):
        del POLICIES[name]
    wanted = [p for p in args.only if not args.short or p in ("bars", "unused")]
    if "unused" in wanted and "none" not in POLICIES:
        parser.error("unused is compared with none: name it among --policies")
    seconds = args.calm / group(SCENARIO, "calm")["rate"]
    out = {}
    for part in wanted:
        out[part] = bars(seconds) if part == "bars" else PARTS[part](max(4, seconds / 20))
    print(json.dumps(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
