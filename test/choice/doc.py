#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of a run into the pages, between <!-- begin NAME --> and <!-- end NAME -->, and their pictures beside them.

  doc.py [--sim RUN.json]… [--tiers TIERS.json] [--live FOLDER] [--emulated OUTPUT]

RUN.json and TIERS.json come from run.py --json and tiers.py --json, FOLDER from live.sh --out, OUTPUT is what emulate.py printed;
test/bar/choice.sh --out leaves all.
"""
import argparse
import json
import os
import re
import statistics
import sys

import live as lived
from run import ALL, FAILURES, LEAST, PREDICT, TOP, cases, half_width, mean, ratio
from tiers import picture as tiers_picture

sys.path.insert(0, os.path.join(TOP, "test"))

from pages import put  # noqa: E402

CHOICE, TIERS = os.path.join(TOP, "doc/choice.md"), os.path.join(TOP, "doc/tiers.md")


RHO = r"(0\.[3579])"
FAULTS_AT = re.compile(r"(\S+) " + RHO)
LOADS = ("0.3", "0.5", "0.7", "0.9")


def faults_of(done):
    return list(dict.fromkeys(m[1] for m in map(FAULTS_AT.fullmatch, done) if m))


def told(values, text):
    return text.format(mean(values), half_width(values))


def against(done):
    out = ["| fault of one server | ρ = .3 | .5 | .7 | .9 |", "| --- | --- | --- | --- | --- |"]
    for fault in faults_of(done):
        cells = []
        for rho in LOADS:
            f = done.get(f"{fault} {rho}")
            if not f:
                cells.append("–")
                continue
            to = [ratio(f[a], f[b], key) for a, b, key in (("latency", "maglev", "p99_ms"), ("oracle", "maglev", "p99_ms"),
                                                           ("latency", "maglev", "p50_ms"), ("latency", "oracle", "p50_ms"))]
            cells.append("**{:.2f}** ({:.2f}); {:.2f}, {:.2f}".format(*to))
        out.append(f"| {fault} | " + " | ".join(cells) + " |")
    return out


def by_load(done):
    """Every policy by load, where nothing ails."""
    names = [f"none {rho}" for rho in LOADS]
    out = ["| policy | ρ = .3 | .5 | .7 | .9 |", "| --- | --- | --- | --- | --- |"]
    for policy in ALL:
        cells = []
        for f in (done[name].get(policy) for name in names):
            cells.append("–" if f is None else told(f["mean_ms"], "{:.1f}; ") + told(f["p95_ms"], "{:.1f} ± {:.1f}; ") + told(f["p99_ms"], "{:.1f} ± {:.1f}; ") +
                         f"{100 * mean(f['mape']):.1f} ± {100 * half_width(f['mape']):.1f} %")
        out.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return out


def by_scenario(done):
    """p99 of every policy in every scenario that was run with most and in which something ails or differs."""
    names = [name for name, f in done.items() if len(f) > len(LEAST) and not name.startswith("error") and not re.fullmatch("none " + RHO, name)]
    out = ["| policy | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for policy in ALL:
        out.append(f"| `{policy}` | " + " | ".join(told(done[name][policy]["p99_ms"], "{:.0f} ± {:.0f}") if policy in done[name] else "–" for name in names) + " |")
    return out


def workloads(done):
    """A row a scenario."""
    out = ["| scenario | Maglev's p99, ms | `latency`'s p50 | p95 | p99 | p99 over Maglev's (the oracle's) | failed: Maglev, `latency` | share of the last |",
           "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, by_policy in done.items():
        if name.startswith("error") or FAULTS_AT.fullmatch(name) or "oracle" not in by_policy:
            continue
        maglev, f, oracle = (by_policy[policy] for policy in LEAST)
        out.append(f"| {name} | " + told(maglev["p99_ms"], "{:.1f} ± {:.1f} | ") + f"{mean(f['p50_ms']):.1f} | " + told(f["p95_ms"], "{:.1f} ± {:.1f} | ") +
                   told(f["p99_ms"], "{:.1f} ± {:.1f} | ") + f"**{ratio(f, maglev, 'p99_ms'):.2f}** ({ratio(oracle, maglev, 'p99_ms'):.2f}) | "
                   f"{100 * mean(maglev['failed']):.2f}, {100 * mean(f['failed']):.2f} % | {100 * f['share'][-1]:.1f} % |")
    return out


def errors(done):
    out = ["| workers c, ρ | " + " | ".join(PREDICT) + " |", "| --- |" + " --- |" * len(PREDICT)]
    for c in (1, 4, 16):
        for rho in LOADS:
            f = done.get(f"none {rho}" if c == 4 else f"error c={c} {rho}", {})
            out.append(f"| c={c} {rho} | " + " | ".join(f"{100 * mean(f[p]['mape']):.1f} ± {100 * half_width(f[p]['mape']):.1f} %" if p in f else "–" for p in PREDICT) + " |")
    return out


def tiers(done):
    out = ["| scenario | policy | mean ms | P95 | P95 of the largest | slowdown | failed | error | settles, s | local, edge, cloud |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, by_policy in done.items():
        for policy, f in by_policy.items():
            cells = [f"{mean(f[k]):.1f} ± {half_width(f[k]):.1f}" for k in ("mean_ms", "p95_ms", "p95_large_ms")]
            slow = [mean(f["slowdown_by_tenth"][j]) for j in (0, 4, 9)]
            known = [x for x in f["mape"] if x is not None]
            settles = "–" if "settling_s" not in f else "never" if mean(f["settling_s"]) == float("inf") else f"{mean(f['settling_s']):.1f}"
            out.append(f"| {name} | `{policy}` | " + " | ".join(cells) + " | {:.1f}, {:.1f}, {:.1f} | ".format(*slow) +
                       f"{100 * mean(f['failed']):.1f} % | " + (f"{100 * mean(known):.0f} %" if known else "–") + f" | {settles} | " +
                       ", ".join(f"{100 * statistics.mean(s[i] for s in f['share']):.0f}" for i in range(3)) + " % |")
    return out


def live(folder):
    out = ["| fault | policy | requests | lost | mean ms | p50 | p95 | p99 | p95 / Maglev's | share of the ailing server | shift, s | return, s | error: a, b, c, d |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for fault, by_policy in lived.read(folder).items():
        base = by_policy["maglev"][1]["p95_ms"] if "maglev" in by_policy else None
        for policy, (_, f) in by_policy.items():
            over = f"{f['p95_ms'] / base:.2f}" if base else "–"
            out.append(f"| {fault} | {lived.LABEL.get(policy, f'`{policy}`')} | {f['requests']} | {f['lost']} | {f['mean_ms']:.1f} | {f['p50_ms']:.1f} | "
                       f"{f['p95_ms']:.1f} | {f['p99_ms']:.1f} | {over} | {100 * f['share']:.1f} % | {lived.seconds(f['shift_s'])} | {lived.seconds(f['return_s'])} | {lived.errors(f)} |")
    return out


def joined(paths):
    """One run of several, in the order of run.py's scenarios and policies."""
    runs = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            runs.append(json.load(f))
    done = {}
    for name, (_, _, wanted) in cases().items():
        of = {policy: f for run in runs for policy, f in run.get(name, {}).items()}
        if of:
            done[name] = {policy: of[policy] for policy in wanted if policy in of}
    return done


def emulated(path):
    with open(path, encoding="utf-8") as f:
        done = json.loads(f.read().splitlines()[-1])
    out = ["| policy | | live | simulated | live / simulated |", "| --- | --- | --- | --- | --- |"]
    for policy, figures in done.items():
        for key, f in figures.items():
            name = {"mean_ms": "mean, ms", "per_s": "requests a second", "share": "share of the slow server"}.get(key, key[:3])
            out.append(f"| `{policy}` | {name} | {f['live']:.2f} | {f['simulated']:.2f} ± {f['half']:.2f} | {f['live'] / f['simulated']:.2f} |")
    return out


def drawn(path, rows, columns, size, draw):
    """A picture of so many panels."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "font.size": 8})
    from matplotlib import pyplot
    figure, panels = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    draw(panels)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


LOOK = {"maglev": ("-", 1, "tab:blue"), "latency": ("-", 2, "tab:orange"), "oracle": (":", 1, "tab:green")}


def lines(axes, done, at, **more):
    """p99 with its interval by x; at: [(x, scenario)]."""
    for policy, (style, width, color) in LOOK.items():
        of = [(x, done[name][policy]["p99_ms"]) for x, name in at if name in done]
        axes.errorbar([x for x, _ in of], [mean(v) for _, v in of], yerr=[half_width(v) for _, v in of], marker=".", capsize=2,
                      label=policy, linestyle=style, linewidth=width, color=color)
    axes.set(yscale="log", ylabel="p99, ms", **more)
    axes.grid(True, which="both", alpha=.3)


def by_fault_picture(done, path):
    """p99 by fault and load."""
    faults = faults_of(done)

    def draw(panels):
        for axes, fault in zip(panels.flat, faults):
            lines(axes, done, [(float(rho), f"{fault} {rho}") for rho in LOADS], title=fault, xlabel="load ρ", xlim=(.25, .95), ylim=(18, 2500))
        panels[0][0].legend()
    drawn(path, 2, -(-len(faults) // 2), (11, 5), draw)


def more_picture(done, path):
    """p99 by requests a connection, number of servers, number of gateways, and failure."""
    servers = (2, 10, 100, 1000)

    def draw(panels):
        k, few, some, g3, g0, failures = panels.flat
        lines(k, done, [(n, f"x5 0.5 K={n}" if n != 20 else "x5 0.5") for n in (1, 5, 20, 100)], xscale="log", xlabel="requests a connection",
              title="one of four ×5, ρ = .5", xticks=(1, 5, 20, 100), xticklabels=(1, 5, 20, 100))
        for axes, slow, title in ((few, lambda n: 0, "servers of one worker, none slow, ρ = .5"), (some, lambda n: max(1, n // 10), "one (of 2), one in ten ×5, ρ = .5")):
            lines(axes, done, [(n, f"{n} servers of one worker, {slow(n)} x5") for n in servers], xscale="log", xlabel="servers", title=title,
                  xticks=servers, xticklabels=servers)
        for axes, fault in ((g3, "x3"), (g0, "none")):
            lines(axes, done, [(n, f"{fault} 0.7 gateways: {n}" if n != 2 else f"{fault} 0.7") for n in (1, 2, 4, 8)], xlabel="gateways",
                  title={"x3": "one of four ×3, ρ = .7", "none": "no fault, ρ = .7"}[fault], xticks=(1, 2, 4, 8))
        for i, (policy, (_, _, color)) in enumerate(LOOK.items()):
            of = [100 * mean(done[f"{failure}, 0.5"][policy]["failed"]) for failure in FAILURES]
            half = [100 * half_width(done[f"{failure}, 0.5"][policy]["failed"]) for failure in FAILURES]
            failures.bar([j + .27 * (i - 1) for j in range(len(of))], of, .25, yerr=half, capsize=2, label=policy, color=color)
        failures.set(title="one of four fails and recovers, ρ = .5", ylabel="requests that failed, %", xticks=range(len(FAILURES)), xticklabels=FAILURES)
        for axes in panels.flat:
            axes.tick_params(axis="x", which="minor", bottom=False)
            if axes is not failures:
                axes.set(ylim=(20, 2000))
        k.legend()
    drawn(path, 2, 3, (11, 6), draw)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sim", action="append", default=[], help="several: runs of different scenarios or policies of one version")
    p.add_argument("--tiers")
    p.add_argument("--live")
    p.add_argument("--emulated")
    o = p.parse_args()
    if o.sim:
        done = joined(o.sim)
        for name, lines_of in (("against", against), ("by load", by_load), ("by scenario", by_scenario), ("workloads", workloads), ("errors", errors)):
            put(CHOICE, name, lines_of(done))
        by_fault_picture(done, os.path.join(TOP, "doc/choice-load.svg"))
        more_picture(done, os.path.join(TOP, "doc/choice-more.svg"))
    if o.tiers:
        with open(o.tiers, encoding="utf-8") as f:
            done = json.load(f)
        put(TIERS, "tiers", tiers(done))
        tiers_picture(done, os.path.join(TOP, "doc/tiers.svg"))
    if o.live:
        put(CHOICE, "live", live(o.live))
        lived.picture(lived.read(o.live), os.path.join(TOP, "doc/choice-live.svg"))
    if o.emulated:
        put(CHOICE, "emulated", emulated(o.emulated))


if __name__ == "__main__":
    main()
