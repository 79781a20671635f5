#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Local, edge and cloud: the same tasks placed by each policy, in virtual time (doc/tiers.md).

  tiers.py [--short] [--only WORD] [--policies A,B] [--replications N] [--seed N] [--jobs N] [--svg FILE] [--json FILE] [--bars]

The example's scenario (examples/tiers/tiers.json): rising load, the edge's capacity, a burst. Tasks have bounded Pareto sizes
(shape 2.5); a group of clients for each tenth of the sizes, so that figures by size are exact; together they are one Poisson
process. Rows go to stdout; exit code 0 when the bounds hold.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

from run import SIM, TIMEOUT_MS, TOP, half_width, ratio

SCENARIO = os.path.join(TOP, "examples/tiers/tiers.json")
ALPHA, LOW, HIGH, TENTHS = 2.5, 6000, 600000, 10
SHARES = [0] + [i / 100 for i in range(1, 99)] + [.99, .995, .999, .9995, .9999, 1]
WEIGHTS = "config.services[0].servers[{}].weight"
# tasks a second that each can do, in the unit of the smallest
SPEEDS = (1, 4, 20)
# name: (policy, weights of local, edge and cloud, oracle)
POLICIES = {
    "edge-first": ("maglev", (0, 1, 0), False),
    "random": ("random", None, False),
    "round-robin": ("round-robin", None, False),
    "maglev weighted": ("maglev", SPEEDS, False),
    "rendezvous weighted": ("rendezvous", SPEEDS, False),
    "weighted-round-robin": ("weighted-round-robin", SPEEDS, False),
    "least-connections": ("least-connections", None, False),
    "two-choices": ("two-choices", None, False),
    "jsq": ("jsq", None, False),
    "jsq weighted": ("jsq", SPEEDS, False),
    "model": ("model", None, False),
    "queue": ("queue", None, False),
    "hybrid-seed": ("hybrid-seed", None, False),
    "completion": ("completion", None, False),
    "latency": ("latency", None, False),
    "oracle": ("latency", None, True),
}
RATES = (100, 200, 400, 800, 1600)
BURST_SEEN_S = 10  # from its end to the run's
BURST = {"arrivals": "varying", "base": 300, "high": 1800, "from": 8, "to": 10}


def sizes(q):
    """The size that a share q of the tasks does not exceed, us."""
    r = (LOW / HIGH) ** ALPHA
    return LOW * (1 - q * (1 - r)) ** (-1 / ALPHA)


def mean_size(low, high):
    """Of a bounded Pareto."""
    a, r = ALPHA, (low / high) ** ALPHA
    return low ** a / (1 - r) * a / (a - 1) * (low ** (1 - a) - high ** (1 - a))


def groups(arrivals):
    with open(SCENARIO, encoding="utf-8") as f:
        base = json.load(f)["clients"][0]
    out = []
    for i in range(TENTHS):
        low, high = sizes(i / TENTHS), sizes((i + 1) / TENTHS)
        group = {**base, "name": f"size{i}", "clients": 100, "work_us": {"kind": "bounded-pareto", "alpha": ALPHA, "low": low, "high": high}}
        del group["rate"], group["arrivals"]
        out.append({**group, **arrivals})
    return out


def steady(rate):
    return groups({"arrivals": "poisson", "rate": rate / TENTHS})


def burst():
    b = BURST
    points = [[0, b["base"]], [b["from"], b["base"]], [b["from"] + .001, b["high"]], [b["to"], b["high"]], [b["to"] + .001, b["base"]], [20, b["base"]]]
    return groups({"arrivals": "varying", "points": [[t, r / TENTHS] for t, r in points]})


def cases():
    out = {f"load {rate}/s": (steady(rate), {}) for rate in RATES}
    for workers in (1, 2, 8):
        out[f"edge of {workers}"] = (steady(400), {"servers[1].workers": workers, "config.services[0].servers[1].workers": workers})
    out["burst"] = (burst(), {})
    return out


def simulate(clients, settings, name, seed):
    policy, weights, oracle = POLICIES[name]
    s = {**settings, "clients": clients, "gateways": [{"workers": 1, "rx_ring": 256, "tx_ring": 256, "oracle": oracle}] * 2}
    for i, w in enumerate(weights or ()):
        s[WEIGHTS.format(i)] = w
    handle, path = tempfile.mkstemp(suffix=".json", prefix="tidegate-tiers-")
    os.close(handle)
    try:
        words = [SIM, SCENARIO, "--results", path, "--policy", policy, "--set", f"seed={seed}", "--set", "replications=1"]
        for key, value in s.items():
            words += ["--set", f"{key}={json.dumps(value)}"]
        done = subprocess.run(["nice", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise SystemExit(f"{name}: exit code {done.returncode}: {done.stderr[-600:]}")
        with open(path, encoding="utf-8") as f:
            return figures(json.load(f), clients[0]["arrivals"] == BURST["arrivals"])
    finally:
        os.unlink(path)


def curve_share(curve, ms):
    """The share of a group's answers that came within ms."""
    if ms <= curve[0]:
        return 0 if ms < curve[0] else SHARES[0]
    for i in range(1, len(curve)):
        if ms < curve[i]:
            return SHARES[i - 1] + (SHARES[i] - SHARES[i - 1]) * (ms - curve[i - 1]) / (curve[i] - curve[i - 1])
    return 1


def pooled(of, q):
    """The quantile of all groups together: [(share of answered, curve)], a failed request counts as the time-out."""
    low, high = 0, TIMEOUT_MS
    for _ in range(40):
        middle = (low + high) / 2
        if sum(ok * curve_share(curve, middle) for ok, curve in of) / len(of) < q:
            low = middle
        else:
            high = middle
    return high


def settled(series):
    """Seconds from the burst's end to the second window in a row whose mean is at most a quarter above that before the
    burst; inf: not within the run."""
    width, start = one(series["width_s"]), one(series["start_s"])
    n = len(series["groups"][0]["count"])
    means = []
    for i in range(n):
        count = sum(g["count"][i] or 0 for g in series["groups"])
        total = sum((g["count"][i] or 0) * (g["mean_ns"][i] or 0) for g in series["groups"])
        means.append(total / count / 1e6 if count else TIMEOUT_MS)
    at = [start + i * width for i in range(n)]
    calm = statistics.mean(m for t, m in zip(at, means) if t + width <= BURST["from"])
    good = [m <= 1.25 * calm for m in means]
    for i in range(1, n):
        if at[i - 1] >= BURST["to"] and good[i - 1] and good[i]:
            return at[i - 1] - BURST["to"]
    return float("inf")


def one(x):
    """Of the only replication; null: there is none."""
    x = x["mean"] if isinstance(x, dict) else x
    return 0 if x is None else x


def figures(results, with_burst):
    """Of one replication."""
    of, means, slowdown = [], [], []
    for j, c in enumerate(results["clients"]):
        failed, answered = one(c["failed"]), one(c["answered"])
        ok = answered / max(1, answered + failed)
        mean = ok * one(c["latency_ns"]["mean"]) / 1e6 + (1 - ok) * TIMEOUT_MS
        of.append((ok, [0] + [x / 1e6 for x in c["quantiles_ns"]] + [one(c["latency_ns"]["max"]) / 1e6]))
        means.append(mean)
        slowdown.append(mean / (mean_size(sizes(j / TENTHS), sizes((j + 1) / TENTHS)) / 1e3))
    errors = [one(x["prediction_error"]) for g in results["gateways"] for v in g["services"] for x in v["servers"]
              if x.get("prediction_error") and one(x["prediction_error"]) > 0]
    out = {"mean_ms": statistics.mean(means), "p95_ms": pooled(of, .95), "p95_large_ms": pooled(of[-1:], .95),
           "failed": 1 - statistics.mean(ok for ok, _ in of), "slowdown": slowdown,
           "mape": statistics.mean(errors) if errors else None, "share": [one(x["share"]) for x in results["servers"]]}
    if with_burst:
        out["settling_s"] = settled(results["series"])
    return out


def collect(each):
    """A list a figure, one value a replication."""
    out = {key: [f[key] for f in each] for key in each[0]}
    out["slowdown_by_tenth"] = [list(tenth) for tenth in zip(*out["slowdown"])]
    return out


def plain(values):
    values = [v for v in values if v is not None]
    return statistics.mean(values) if values else None


def percent(x):
    return "     -" if x is None else f"{100 * x:5.1f}%"


def table(done):
    print(f"{'scenario':12} {'policy':20} {'mean':>7} {'+-':>5} {'p95':>7} {'+-':>5} {'p95 large':>9} {'+-':>5} {'smallest':>8} {'middle':>6} "
          f"{'largest':>7} {'failed':>6} {'error':>6} {'settles':>7}  local edge cloud")
    for name, by_policy in done.items():
        for policy, f in by_policy.items():
            slow = [statistics.mean(tenth) for tenth in f["slowdown_by_tenth"]]
            settles = f"{statistics.mean(f['settling_s']):6.1f}s" if "settling_s" in f else "      -"
            share = " ".join(f"{100 * statistics.mean(s[i] for s in f['share']):4.0f}%" for i in range(3))
            print(f"{name:12} {policy:20} " + " ".join(f"{statistics.mean(f[k]):{w}.1f} {half_width(f[k]):5.1f}" for k, w in
                  (("mean_ms", 7), ("p95_ms", 7), ("p95_large_ms", 9))) + f" {slow[0]:8.1f} {slow[4]:6.1f} {slow[9]:7.1f} "
                  f"{percent(statistics.mean(f['failed']))} {percent(plain(f['mape']))} {settles}  {share}")


def bounds(done):
    said = []
    for name, f in done.items():
        if "latency" not in f or "jsq" not in f or not name.startswith("load"):
            continue
        for key, what in (("p95_large_ms", "P95 of the largest tasks"), ("mean_ms", "mean")):
            value = ratio(f["latency"], f["jsq"], key)
            said.append(value <= 1)
            print(f"{'holds' if value <= 1 else 'MISSED'}: tiers {name}: {what} over jsq's: {value:.3f}, at most 1")
    return said


def picture(done, path):
    """By load and by the edge's size: P95 of the largest; by size: slowdown; after a burst: how long until it is over."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "font.size": 8})
    from matplotlib import pyplot
    figure, ((by_load, by_size), (by_edge, after)) = pyplot.subplots(2, 2, figsize=(11, 8))

    look = {policy: {"linewidth": 2.4 if policy == "latency" else 1, "linestyle": ":" if policy == "oracle" else "-", "color": pyplot.get_cmap("tab20")(i % 20)}
            for i, policy in enumerate(POLICIES)}

    def line(axes, policy, scenarios):
        of = [(x, done[name][policy]) for x, name in scenarios if policy in done.get(name, {})]
        if not of:
            return
        axes.errorbar([x for x, _ in of], [statistics.mean(f["p95_large_ms"]) for _, f in of],
                      yerr=[half_width(f["p95_large_ms"]) for _, f in of], marker=".", label=policy, **look[policy])

    for policy in POLICIES:
        line(by_load, policy, [(rate, f"load {rate}/s") for rate in RATES])
        line(by_edge, policy, [(1, "edge of 1"), (2, "edge of 2"), (4, f"load {RATES[2]}/s"), (8, "edge of 8")])
        if policy in done.get(f"load {RATES[3]}/s", {}):
            slow = [statistics.mean(tenth) for tenth in done[f"load {RATES[3]}/s"][policy]["slowdown_by_tenth"]]
            by_size.plot(range(1, TENTHS + 1), slow, marker=".", label=policy, **look[policy])
    settles = {policy: [min(x, BURST_SEEN_S) for x in f["settling_s"]] for policy, f in done.get("burst", {}).items()}
    after.barh(list(settles), [statistics.mean(v) for v in settles.values()], xerr=[half_width(v) for v in settles.values()])
    after.invert_yaxis()
    after.set(xlabel=f"s until it has settled after a burst, {BURST_SEEN_S:g}: not within the run")
    by_load.set(xscale="log", yscale="log", xlabel="tasks a second", ylabel="P95 of the largest tenth, ms")
    by_edge.set(xscale="log", yscale="log", xlabel=f"the edge's workers, {RATES[2]}/s", ylabel="P95 of the largest tenth, ms", xticks=(1, 2, 4, 8),
                xticklabels=("1", "2", "4", "8"))
    by_size.set(yscale="log", xlabel="tenth of the sizes", ylabel=f"mean latency over mean size, {RATES[3]}/s")
    for axes in (by_load, by_size, by_edge, after):
        axes.grid(True, which="both", alpha=.3)
    by_edge.minorticks_off()
    by_load.legend(fontsize=6, ncols=2)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def summary(done):
    return {f"tiers {name}": {policy: {k: round(plain(f[k]), 4) if plain(f[k]) is not None else None
                                       for k in ("mean_ms", "p95_ms", "p95_large_ms", "mape")} for policy, f in by_policy.items()}
            for name, by_policy in done.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="scenarios whose names contain it")
    p.add_argument("--policies", default="", help="these alone, commas between")
    p.add_argument("--replications", type=int, default=3)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--short", action="store_true", help="one load, two policies, two replications: part of the tests")
    p.add_argument("--svg", help="the picture")
    p.add_argument("--json", help="results by scenario and policy, one value a replication")
    p.add_argument("--bars", action="store_true", help="last line: the means as one JSON object")
    o = p.parse_args()
    if o.short:
        o.only, o.policies, o.replications = "load 400", "jsq,latency", 2
    runs, done = {}, {}
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name, (clients, settings) in cases().items():
            for policy in [x for x in o.policies.split(",") if x] or POLICIES:
                if o.only in name:
                    runs[name, policy] = [pool.submit(simulate, clients, settings, policy, o.seed + 100 * i)
                                          for i in range(o.replications)]
        for (name, policy), each in runs.items():
            done.setdefault(name, {})[policy] = collect([x.result() for x in each])
            if o.json:  # as it grows: a run that is cut off is not lost
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump(done, f)
    table(done)
    if o.svg:
        picture(done, o.svg)
    said = bounds(done)
    print(f"{sum(said)} passed, {len(said) - sum(said)} failed, 0 skipped")
    if o.bars:
        print(json.dumps({"sim": summary(done), "held": sum(said), "missed": len(said) - sum(said)}))
    return 0 if all(said) else 1


if __name__ == "__main__":
    sys.exit(main())
