#!/usr/bin/python3
"""The choice of a server in virtual time: the production gateway against simulated servers, policy by policy.

  run.py [--short | --bars] [--only WORD] [--policies A,B] [--json FILE] [--jobs N] [--seed N]

Every policy meets the same random numbers. The table goes to stdout, one row a scenario and policy. Exit code 0 when all
bounds hold: those of the bars, or of the short run (fewer cases and replications, wider bounds).
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SIM = os.path.join(os.environ.get("TIDEGATE_BUILD", os.path.join(TOP, "build")), "app/tidegate-sim/tidegate-sim")
TIMEOUT_MS = 2000  # as the scenarios have it: what a request that failed counts as
T975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}

ALL = ["maglev", "rendezvous", "random", "round-robin", "weighted-round-robin", "least-connections", "two-choices", "jsq", "model",
       "queue", "hybrid-seed", "completion", "latency", "oracle"]
WEIGHED = ["maglev", "rendezvous", "random", "round-robin", "weighted-round-robin", "least-connections", "jsq", "latency"]
LEAST = ["maglev", "latency", "oracle"]
PREDICT = ["model", "queue", "hybrid-seed", "completion", "latency"]
# what ails the last of four servers
FAULTS = {
    "none": [{"at_s": 0, "slow": 1}],
    "x5": [{"at_s": 0, "slow": 5}],
    "x3": [{"at_s": 0, "slow": 3}],
    "x2": [{"at_s": 0, "slow": 2}],
    "+20ms": [{"at_s": 0, "delay_us": 20000}],
    "+5ms": [{"at_s": 0, "delay_us": 5000}],
    "periodic": [{"at_s": 0, "slow": 1}, {"at_s": 5, "slow": 5}],  # again every 10 s
    "hung": [{"at_s": 0, "slow": 1}, {"at_s": 3, "state": "hung"}],
}
# it fails and recovers within the time that counts
FAILURES = {
    "down for 5 s": [{"at_s": 0, "slow": 1}, {"at_s": 7, "state": "down"}, {"at_s": 12, "state": "up"}],
    "refuses for 5 s": [{"at_s": 0, "slow": 1}, {"at_s": 7, "state": "refuses"}, {"at_s": 12, "state": "up"}],
    "hung for 5 s": [{"at_s": 0, "slow": 1}, {"at_s": 7, "state": "hung"}, {"at_s": 12, "state": "up"}],
}
THINK_MS, TRIP_MS, WORK_MS = 100, 3, 12.5


def clients(rho, workers, servers=4, work_ms=WORK_MS):
    """Clients of a closed loop that load that many alike servers to rho, waiting left out."""
    return round(rho * workers * servers / work_ms * (THINK_MS + work_ms + TRIP_MS))


def four(fault, rho, workers=4, known=None, requests=20, work=None, work_ms=WORK_MS):
    """Settings of four.json. known: `workers` in the gateway's configuration."""
    s = {"clients[0].clients": clients(rho, workers, work_ms=work_ms), "clients[0].requests": requests,
         "servers[*].workers": workers, "config.services[0].servers[*].workers": known or workers,
         "servers[3].changes": FAULTS[fault]}
    if fault == "periodic":
        s["servers[3].repeat_s"] = 10
    s["clients[0].work_us"] = work or {"kind": "uniform", "low": 400 * work_ms, "high": 1600 * work_ms}
    return "four", s


def many(n, rho, slow=0):
    """Settings of hundred.json for another number of servers, of one worker each; so many of them slow."""
    address = [f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(1, n + 1)]
    return "hundred", {
        "clients[0].clients": clients(rho, 1, n),
        "config.services[0].servers": [{"name": f"s{i}", "address": a} for i, a in enumerate(address)],
        "servers": [{"address": a, "service_us": 10000, "changes": FAULTS["x5" if i < slow else "none"]}
                    for i, a in enumerate(address)]}


def gateways(n):
    return {"gateways": [{"workers": 1, "rx_ring": 256, "tx_ring": 256}] * n}


def cases():
    """name: (scenario, settings, policies)"""
    out = {}

    def add(name, case, policies):
        out[name] = (*case, policies)

    for fault in FAULTS:
        for rho in (.3, .5, .7, .9) if fault not in ("x2", "hung") else (.7, .9):
            by_all = fault == "none" or (rho == .7 and fault in ("x3", "+20ms", "periodic", "hung"))
            add(f"{fault} {rho}", four(fault, rho), ALL if by_all else LEAST)
    for k in (1, 5, 100):
        add(f"x5 0.5 K={k}", four("x5", .5, requests=k), LEAST)
    add("x5 0.7 c=8", four("x5", .7, workers=8), LEAST)
    add("x5 0.7 workers left at 1", four("x5", .7, known=1), LEAST)
    add("none 0.7 workers left at 1", four("none", .7, known=1), LEAST)
    add("x3 0.7 service 5 ms", four("x3", .7, work_ms=5), LEAST)
    add("x3 0.7 service 20 ms", four("x3", .7, work_ms=20), LEAST)
    tail = {"kind": "bounded-pareto", "alpha": 1.5, "low": 4800, "high": 200000}
    exponential = {"kind": "exponential", "mean": WORK_MS * 1000}
    for fault in ("none", "+20ms"):
        add(f"{fault} 0.7 exponential", four(fault, .7, work=exponential), LEAST)
    add("x3 0.7 two workers each", (*four("x3", .7)[:1], {**four("x3", .7)[1], "gateways[*].workers": 2}), LEAST)
    add("x3 0.7 heavy tail", four("x3", .7, work=tail), ALL)
    add("unlike", ("unlike", {}), ALL)
    speeds = {f"config.services[0].servers[{i}].weight": w for i, w in enumerate((1, 4, 16, 4))}
    add("unlike, weighted by speed", ("unlike", speeds), WEIGHED)
    for rho in (.5, .8):
        add(f"100 servers {rho}", ("hundred", {"clients[0].clients": clients(rho, 4, 100)}), LEAST)
    add("100 servers 0.5, 10 x5", ("hundred", {"clients[0].clients": clients(.5, 4, 100), "servers[0].changes": FAULTS["x5"],
        **{f"servers[{i}].changes": FAULTS["x5"] for i in range(10, 100, 10)}}), LEAST)
    for fault in ("none", "x3"):
        add(f"open {fault}", ("open", {"servers[3].changes": FAULTS[fault]}), ALL)
    for n, slow in ((2, 0), (2, 1), (10, 0), (10, 1), (100, 0), (100, 10), (1000, 0), (1000, 100)):
        add(f"{n} servers of one worker, {slow} x5", (*many(n, .5, slow)[:1], {**many(n, .5, slow)[1], **({"replications": 2} if n > 100 else {})}), LEAST)
    for n in (1, 4, 8):
        add(f"x3 0.7 gateways: {n}", ("four", {**four("x3", .7)[1], **gateways(n)}), LEAST)
        add(f"none 0.7 gateways: {n}", ("four", {**four("none", .7)[1], **gateways(n)}), LEAST)
    for failure, changes in FAILURES.items():
        add(f"{failure}, 0.5", ("four", {**four("none", .5)[1], "servers[3].changes": changes}), LEAST)
    for workers in (1, 16):  # 4: "none" itself
        for rho in (.3, .5, .7, .9):
            add(f"error c={workers} {rho}", four("none", rho, workers=workers), PREDICT)
    return out


SHORT = ["x5 0.5", "none 0.7", "hung 0.7", "open none"]


def command(scenario, settings, policy, seed, replications, results):
    words = [SIM, os.path.join(HERE, "scenarios", scenario + ".json"), "--results", results, "--set", f"seed={seed}"]
    if replications:
        words += ["--set", f"replications={replications}"]
    for path, value in settings.items():
        words += ["--set", f"{path}={json.dumps(value)}"]
    if policy == "oracle":
        return words + ["--policy", "latency", "--set", "gateways[*].oracle=true"]
    return words + ["--policy", policy]


def simulate(scenario, settings, policy, seed, replications):
    handle, path = tempfile.mkstemp(suffix=".json", prefix="tidegate-choice-")
    os.close(handle)
    try:
        done = subprocess.run(["nice", *command(scenario, settings, policy, seed, replications, path)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(done.args)}: exit code {done.returncode}: {done.stderr[-600:]}")
        with open(path) as f:
            return figures(json.load(f))
    finally:
        os.unlink(path)


def quantile(curve, failed, q):
    """Of all requests, those that failed counted as the time-out."""
    q = q / (1 - failed) if failed < 1 else 2
    if q >= 1:
        return TIMEOUT_MS
    for (q0, v0), (q1, v1) in zip(curve, curve[1:]):
        if q <= q1:
            return (v0 + (v1 - v0) * max(0, q - q0) / (q1 - q0)) / 1e6
    return curve[-1][1] / 1e6


CURVE = ((.5, "p50"), (.95, "p95"), (.99, "p99"), (.999, "p99_9"), (1, "max"))


def figures(results):
    """Lists, one value a replication."""
    c = results["clients"][0]
    out = {"mean_ms": [], "p50_ms": [], "p95_ms": [], "p99_ms": [], "failed": []}
    for i in range(len(c["answered"]["values"])):
        failed = c["failed"]["values"][i] / max(1, c["failed"]["values"][i] + c["answered"]["values"][i])
        out["failed"].append(failed)
        out["mean_ms"].append((1 - failed) * c["latency_ns"]["mean"]["values"][i] / 1e6 + failed * TIMEOUT_MS)
        curve = [(q, c["latency_ns"][name]["values"][i]) for q, name in CURVE]
        for q in (50, 95, 99):
            out[f"p{q}_ms"].append(quantile(curve, failed, q / 100))
    # of a server that hardly anybody was sent to there is none, in some replications
    errors = [s["prediction_error"]["values"] for g in results["gateways"] for v in g["services"] for s in v["servers"]
              if s.get("prediction_error")]
    each = [[e[i] for e in errors if e[i] is not None] for i in range(len(out["mean_ms"]))]
    if all(each):
        out["mape"] = [statistics.mean(e) for e in each]
    out["share"] = [s["share"]["mean"] for s in results["servers"]]
    return out


def mean(values):
    return statistics.mean(values) if values else None


def half_width(values):
    n = len(values)
    return T975.get(n, 2.2) * statistics.stdev(values) / n ** .5 if n > 1 else float("nan")


def ratio(a, b, key):
    """Geometric mean of the pairs' ratios."""
    return statistics.geometric_mean(max(x, 1e-9) / max(y, 1e-9) for x, y in zip(a[key], b[key]))


def table(done):
    print(f"{'scenario':28} {'policy':18} {'mean':>8} {'p50':>7} {'p95':>8} {'p99':>8} {'+-':>6} {'/maglev':>8} "
          f"{'failed':>7} {'error':>6}  share of the last server")
    for name, by_policy in done.items():
        base = by_policy.get("maglev")
        for policy, f in by_policy.items():
            r = f"{ratio(f, base, 'p99_ms'):8.2f}" if base else " " * 8
            e = f"{100 * mean(f['mape']):5.1f}%" if "mape" in f else " " * 6
            print(f"{name:28} {policy:18} {mean(f['mean_ms']):8.2f} {mean(f['p50_ms']):7.2f} {mean(f['p95_ms']):8.2f} "
                  f"{mean(f['p99_ms']):8.2f} {half_width(f['p99_ms']):6.2f} {r} {100 * mean(f['failed']):6.2f}% {e} "
                  f"{100 * f['share'][-1]:5.1f}%")


def summary(done):
    keys = ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "mape")
    return {name: {policy: {k: round(mean(f[k]), 4) if f.get(k) else None for k in keys} for policy, f in by_policy.items()}
            for name, by_policy in done.items()}


def bound(said, what, value, most):
    ok = value <= most
    said.append(ok)
    print(f"{'holds' if ok else 'MISSED'}: {what}: {value:.3f}, at most {most}")


P99 = {"x5": {.3: .63, .5: .63, .7: .63, .9: .63}, "x3": {.3: .63, .5: .63, .7: .63, .9: .63}, "x2": {.7: .63, .9: .63},
       "periodic": {.3: .85, .5: .85, .7: .85, .9: .85}, "+20ms": {.3: .9, .5: .9, .7: .9, .9: .9},
       "+5ms": {.3: 1.03, .5: 1.03, .7: 1.03, .9: 1.03}, "none": {.3: 1.03, .5: 1.03, .7: 1.03, .9: 1.03}}


def error(said, name, f):
    e = {policy: mean(f[policy]["mape"]) for policy in ("latency", "model", "hybrid-seed")}
    bound(said, f"{name}: prediction error", e["latency"], .15)
    bound(said, f"{name}: prediction error over the lower of model's and seed's", e["latency"] / min(e["model"], e["hybrid-seed"]), 1)


def bars(done):
    """Service bars: latency against Maglev, and its median; then the prediction's error."""
    said = []
    for name, f in done.items():
        fault, rho = name.split(" ")[0], name.split(" ")[1] if " " in name else ""
        if "latency" in f and "maglev" in f and name == f"{fault} {rho}" and fault in P99:
            if float(rho) in P99[fault]:
                bound(said, f"{name}: p99 over Maglev's", ratio(f["latency"], f["maglev"], "p99_ms"), P99[fault][float(rho)])
            against = "maglev" if float(rho) <= .5 else "oracle"
            bound(said, f"{name}: p50 over {against}'s", ratio(f["latency"], f[against], "p50_ms"), 1.05)
            if fault == "none":
                error(said, name, f)
        elif name in ("100 servers 0.5", "100 servers 0.8", "open none"):
            bound(said, f"{name}: p99 over Maglev's", ratio(f["latency"], f["maglev"], "p99_ms"), 1.03)
        elif fault == "error":
            error(said, name, f)
    return said


def short(done):
    """Bounds that two short replications can be held to."""
    said = []
    for name, key, most in (("x5 0.5", "p99_ms", .4), ("none 0.7", "p99_ms", 1.1), ("hung 0.7", "p99_ms", .5),
                            ("open none", "p99_ms", 1.1), ("x5 0.5", "p50_ms", 1.1)):
        bound(said, f"{name}: {key[:3]} over Maglev's", ratio(done[name]["latency"], done[name]["maglev"], key), most)
    return said


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--short", action="store_true")
    p.add_argument("--bars", action="store_true", help="last line: the means as one JSON object")
    p.add_argument("--only", default="", help="scenarios whose names contain it")
    p.add_argument("--policies", default="", help="these alone, commas between")
    p.add_argument("--json", help="results by scenario and policy, one value a replication")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    all_cases = {n: c for n, c in cases().items() if (n in SHORT if o.short else o.only in n)}
    runs = {}
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name, (scenario, settings, policies) in all_cases.items():
            wanted = ["maglev", "latency"] if o.short else [x for x in o.policies.split(",") if x] or policies
            for policy in wanted:
                runs[name, policy] = pool.submit(simulate, scenario, settings, policy, o.seed, 2 if o.short else 0)
        done = {}
        for (name, policy), run in runs.items():
            done.setdefault(name, {})[policy] = run.result()
            if o.json:  # as it grows: a run that is cut off is not lost
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump(done, f)
    table(done)
    said = (short if o.short else bars)(done) if not o.policies else []
    print(f"{sum(said)} passed, {len(said) - sum(said)} failed, 0 skipped")
    if o.bars:
        print(json.dumps({"sim": summary(done), "held": sum(said), "missed": len(said) - sum(said)}))
    return 0 if all(said) else 1


if __name__ == "__main__":
    sys.exit(main())
