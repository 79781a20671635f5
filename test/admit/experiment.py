#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst isolation in the simulator: what calm clients feel under each policy, and what it costs.

usage: experiment.py [--only NAME…] [--policies NAME…] [--calm N] [--jobs N] [--out FILE]

bars: one segment bursts, a thousand calm ones do not; every policy, at least 10^7 calm requests each. The other parts
are a twentieth as long: no bursts, uneven tenants (unused); servers evenly loaded and yet saturated by three tenants
that burst (saturated); sustained bursts; a hot segment inside a calm big tenant; the auxiliary share; thresholds that
are wrong; bursts of different value. --out: everything that was measured, as JSON.
"""
import argparse
import concurrent.futures
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
QUANTILES = ("p50", "p95", "p99", "p99_9", "p99_99", "p99_999")


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
            raise RuntimeError(f"{path}: {done.stderr[-800:]}")
        return json.loads(out.read_text())


def variation(values):
    mean = sum(values) / len(values)
    return (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5 / mean


def figures(results):
    """Milliseconds, shares, requests a second; of groups that had requests."""
    out = {"groups": {}}
    for g in results["clients"]:
        latency = g["latency_ns"]
        if latency is None:
            continue
        asked, failed = g["requests"]["mean"], g["failed"]["mean"]
        out["groups"][g["name"]] = {
            "asked": asked, "failed_share": failed / max(1, asked), "per_s": g["per_second"]["mean"],
            "mean": latency["mean"]["mean"] / 1e6, "curve": [v / 1e6 for v in g["quantiles_ns"]],
            **{k: latency[k]["mean"] / 1e6 for k in (*QUANTILES, "max")}}
    servers, gateway = results["servers"], results["gateways"][0]
    out["servers"] = {"busy": sum(s["utilisation"]["mean"] for s in servers) / len(servers),
                      "variation": variation([s["completions"]["mean"] for s in servers]),
                      "wait_ms": sum(s["wait_mean_ns"]["mean"] for s in servers) / len(servers) / 1e6,
                      "waiting": sum(s["number_waiting"]["mean"] for s in servers)}
    out["drops"] = {k: v["mean"] for k, v in gateway["drops"].items() if v["mean"] > 0}
    out["gate_dropped"] = gateway["gate"]["late_dropped"]["mean"]
    out["gate_late"] = gateway["gate"]["late"]["mean"]
    for pool in gateway.get("admission", []):
        out["held_most"] = {c: pool[f"waiting_{c}_most"]["mean"] for c in ("calm", "burst")}
    return out


def told(what, got):
    parts = [f"{what:34}"]
    for name, g in got["groups"].items():
        parts.append(f"{name}: " + " ".join(f"{g[k]:.2f}" for k in QUANTILES) + f" lost {100 * g['failed_share']:.2f} %")
    parts.append(f"busy {got['servers']['busy']:.3f} waiting there {got['servers']['waiting']:.0f}")
    return " | ".join(parts)


def run(what, scenario, policy, seconds):
    scenario = copy.deepcopy(scenario)
    scenario["duration_s"] = seconds
    if policy is not None:
        scenario["config"]["services"][0]["admission"] = policy
    got = figures(simulate(scenario))
    print(told(what, got), flush=True)
    return got


# Each part: {name: (scenario, policy)}

def under_each_policy(scenario):
    return {name: (scenario, policy) for name, policy in POLICIES.items()}


def bars():
    return under_each_policy(SCENARIO)


SHARES = [0.27, 0.20, 0.16] + [0.37 / 7] * 7  # of ten tenants: the top three have 63 %


def tenants(total):
    calm = group(SCENARIO, "calm")
    return [{**calm, "name": f"tenant{i}", "rate": total * share, "prefix": f"100.{70 + i}.0.0/24", "clients": 14,
             "connections": 8000} for i, share in enumerate(SHARES)]


def unused():
    """No bursts: what of an offered load a little below the budget is not served."""
    s = copy.deepcopy(SCENARIO)
    s["clients"] = tenants(0.97 * BUDGET)
    return under_each_policy(s)


def saturated():
    """Balanced and yet saturated: servers' loads vary by 0.12, and the top three tenants, on half of the time, ask for
    more than there is whenever two of them do."""
    s = copy.deepcopy(SCENARIO)
    s["clients"] = tenants(100000)
    for g in s["clients"][:3]:
        g.update({"arrivals": "on-off", "rate": 2 * g["rate"], "on_ms": 50, "off_ms": {"kind": "exponential", "mean": 50}})
    service = s["config"]["services"][0]
    service["policy"] = "weighted-round-robin"
    for server, weight in zip(service["servers"], (1162, 1050, 950, 838)):
        server["weight"] = weight
    return under_each_policy(s)


def sustained():
    s = copy.deepcopy(SCENARIO)
    group(s, "burst").update({"on_ms": 2000, "off_ms": 2000, "rate": 120000})
    return under_each_policy(s)


def hot_inside():
    """A big tenant, 16 networks of which one bursts; the segment is the network, or the whole tenant."""
    s = copy.deepcopy(SCENARIO)
    big = {**group(s, "calm"), "name": "tenant", "prefix": "100.80.0.16/28", "clients": 14, "connections": 4000, "rate": 8000}
    s["clients"].append(big)
    return {"none": (s, None), "network": (s, admission()), "tenant": (s, admission(segments={"ipv4_prefix": 24}))}


def auxiliary():
    return {str(p): (SCENARIO, admission(auxiliary_percent=p)) for p in (0, 10, 20, 30, 40, 50)}


def thresholds():
    """Calm segments ask for 45 a second on average, the burst for 220000."""
    return {str(hi): (SCENARIO, admission(segments={"hi_per_s": hi})) for hi in (100, 1000, 2500, 5000, 20000, BUDGET)}


def values():
    """Two networks burst at once, half as hard each; one is worth more."""
    s = copy.deepcopy(SCENARIO)
    burst = group(s, "burst")
    s["clients"].remove(burst)
    for name, prefix in (("gold", "100.80.0.0/28"), ("best-effort", "100.81.0.0/28")):
        s["clients"].append({**burst, "name": name, "prefix": prefix, "rate": burst["rate"] // 2})
    match = [{"prefix": g["prefix"], "value": g["name"]} for g in s["clients"][1:]]
    return {"alike": (s, admission()), "valued": (s, admission(match=match))}


PARTS = {"bars": bars, "unused": unused, "saturated": saturated, "sustained": sustained, "hot": hot_inside,
         "auxiliary": auxiliary, "thresholds": thresholds, "values": values}


def add_unused(part):
    served = {name: sum(g["per_s"] for g in got["groups"].values()) for name, got in part.items()}
    for name, got in part.items():
        got["unused_share"] = max(0.0, 1 - served[name] / served["none"])
        print(f"    unused, {name}: {100 * got['unused_share']:.2f} %", flush=True)


def measure(parts, calm, jobs):
    seconds = calm / group(SCENARIO, "calm")["rate"]
    out = {part: {} for part in parts}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run, f"{part}, {name}", scenario, policy, seconds * 1.01 if part == "bars" else max(4, seconds / 20)):
                   (part, name) for part in parts for name, (scenario, policy) in PARTS[part]().items()}
        for done in concurrent.futures.as_completed(waiting):
            part, name = waiting[done]
            out[part][name] = done.result()
    return {part: {name: out[part][name] for name in PARTS[part]()} for part in parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES), help="these alone")
    parser.add_argument("--calm", type=int, default=CALM_REQUESTS, help="calm requests a policy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go")
    args = parser.parse_args()
    for name in set(POLICIES) - set(args.policies):
        del POLICIES[name]
    if "unused" in args.only and "none" not in POLICIES:
        parser.error("unused is compared with none: name it among --policies")
    try:
        out = measure(args.only, args.calm, args.jobs)
    except RuntimeError as e:
        sys.exit(f"experiment.py: {e}")
    if "unused" in out:
        add_unused(out["unused"])
    if args.out:
        args.out.write_text(json.dumps(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
