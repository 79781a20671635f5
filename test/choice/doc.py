#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of a run into the pages, between <!-- begin NAME --> and <!-- end NAME -->, and their pictures beside them.

  doc.py [--sim RUN.json] [--tiers TIERS.json] [--live FOLDER]

RUN.json and TIERS.json come from run.py --json and tiers.py --json, FOLDER from live.sh --out; test/bar/choice.sh --out leaves all.
"""
import argparse
import json
import os
import re
import statistics
import sys

import live as lived
from run import TOP, half_width, mean, ratio
from tiers import picture as tiers_picture

sys.path.insert(0, os.path.join(TOP, "test"))

from pages import put  # noqa: E402

CHOICE, TIERS = os.path.join(TOP, "doc/choice.md"), os.path.join(TOP, "doc/tiers.md")


def against(done):
    faults = list(dict.fromkeys(name.split(" ")[0] for name in done if re.fullmatch(r"\S+ 0\.[3579]", name)))
    out = ["| fault of one server | ρ = .3 | .5 | .7 | .9 |", "| --- | --- | --- | --- | --- |"]
    for fault in faults:
        cells = []
        for rho in ("0.3", "0.5", "0.7", "0.9"):
            f = done.get(f"{fault} {rho}")
            if not f or "maglev" not in f:
                cells.append("–")
                continue
            to = [ratio(f[a], f[b], key) for a, b, key in (("latency", "maglev", "p99_ms"), ("oracle", "maglev", "p99_ms"),
                                                           ("latency", "maglev", "p50_ms"), ("latency", "oracle", "p50_ms"))]
            cells.append("**{:.2f}** ({:.2f}); {:.2f}, {:.2f}".format(*to))
        out.append(f"| {fault} | " + " | ".join(cells) + " |")
    return out


def policies(done, wanted):
    out = ["| scenario | policy | mean ms | p50 | p95 | p99 | p99 / Maglev's | failed | share of the last server |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, by_policy in done.items():
        if name.startswith("error") or not wanted(name, by_policy):
            continue
        for policy, f in by_policy.items():
            over = f"{ratio(f, by_policy['maglev'], 'p99_ms'):.2f}" if "maglev" in by_policy else "–"
            out.append(f"| {name} | `{policy}` | {mean(f['mean_ms']):.1f} | {mean(f['p50_ms']):.1f} | {mean(f['p95_ms']):.1f} | "
                       f"{mean(f['p99_ms']):.1f} ± {half_width(f['p99_ms']):.1f} | {over} | {100 * mean(f['failed']):.2f} % | {100 * f['share'][-1]:.1f} % |")
    return out


def errors(done):
    named = ["model", "queue", "hybrid-seed", "completion", "latency"]
    out = ["| workers c, ρ | " + " | ".join(named) + " |", "| --- |" + " --- |" * len(named)]
    for name, f in done.items():
        if name.startswith("error"):
            out.append(f"| {name[6:]} | " + " | ".join(
                f"{100 * mean(f[p]['mape']):.1f} ± {100 * half_width(f[p]['mape']):.1f} %" if p in f and "mape" in f[p] else "–" for p in named) + " |")
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
    out = ["| fault | policy | requests | lost | mean ms | p50 | p95 | p99 | p95 / Maglev's | share of the ailing server | shift, s | return, s |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for fault, by_policy in lived.read(folder).items():
        base = by_policy["maglev"][1]["p95_ms"] if "maglev" in by_policy else None
        for policy, (_, f) in by_policy.items():
            over = f"{f['p95_ms'] / base:.2f}" if base else "–"
            out.append(f"| {fault} | {lived.LABEL.get(policy, f'`{policy}`')} | {f['requests']} | {f['lost']} | {f['mean_ms']:.1f} | {f['p50_ms']:.1f} | "
                       f"{f['p95_ms']:.1f} | {f['p99_ms']:.1f} | {over} | {100 * f['share']:.1f} % | {lived.seconds(f['shift_s'])} | {lived.seconds(f['return_s'])} |")
    return out


LOADS = ("0.3", "0.5", "0.7", "0.9")


def picture(done, path):
    """p99 by fault and load."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "font.size": 8})
    from matplotlib import pyplot
    faults = list(dict.fromkeys(name.split(" ")[0] for name in done if re.fullmatch(r"\S+ 0\.[3579]", name)))
    figure, rows = pyplot.subplots(2, -(-len(faults) // 2), figsize=(11, 5), sharex=True, squeeze=False)
    for axes, fault in zip(rows.flat, faults):
        for policy, look in (("maglev", "-"), ("latency", "-"), ("oracle", ":")):
            at = [(float(r), done[f"{fault} {r}"][policy]["p99_ms"]) for r in LOADS if policy in done.get(f"{fault} {r}", {})]
            axes.errorbar([r for r, _ in at], [mean(v) for _, v in at], yerr=[half_width(v) for _, v in at], marker=".", capsize=2,
                          label=policy, linestyle=look, linewidth=2 if policy == "latency" else 1)
        axes.set(yscale="log", title=fault, xlabel="load ρ", ylim=(18, 2500))
        axes.grid(True, which="both", alpha=.3)
    for row in rows:
        row[0].set_ylabel("p99, ms")
    rows[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sim")
    p.add_argument("--tiers")
    p.add_argument("--live")
    o = p.parse_args()
    if o.sim:
        with open(o.sim, encoding="utf-8") as f:
            done = json.load(f)
        many = {name for name, f in done.items() if len(f) > 3}
        plain = re.compile(r"\S+ 0\.[3579]")
        put(CHOICE, "against", against(done))
        put(CHOICE, "policies", policies(done, lambda name, f: name in many and plain.fullmatch(name)))
        put(CHOICE, "workloads", policies(done, lambda name, f: not plain.fullmatch(name)))
        put(CHOICE, "errors", errors(done))
        picture(done, os.path.join(TOP, "doc/choice-load.svg"))
    if o.tiers:
        with open(o.tiers, encoding="utf-8") as f:
            done = json.load(f)
        put(TIERS, "tiers", tiers(done))
        tiers_picture(done, os.path.join(TOP, "doc/tiers.svg"))
    if o.live:
        put(CHOICE, "live", live(o.live))
        lived.picture(lived.read(o.live), os.path.join(TOP, "doc/choice-live.svg"))


if __name__ == "__main__":
    main()
