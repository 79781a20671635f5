#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of results of tidegate-sim, of one run or of several beside each other.

usage: plot.py [--out FILE.svg|FILE.png] [--clients NAME] RESULTS.json[=LABEL] ...

Left above: latency of each group of clients, by the share of requests that wait longer. Right above: the servers'
shares. Where the scenario has series_s, below: latency over time (mean, and p95 dashed) and the shares over time.
"""
import argparse
import json
import os
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    sys.exit("plot.py: matplotlib is missing; run as root: apt-get install python3-matplotlib "
             "(and start this with /usr/bin/python3)")

SHARES = [i / 100 for i in range(1, 99)] + [0.99, 0.995, 0.999, 0.9995, 0.9999]
NS_PER_MS = 1e6


def load(argument):
    """RESULTS.json[=LABEL] -> (label, results)."""
    path, _, label = argument.partition("=")
    try:
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
        if "clients" not in results or "servers" not in results:
            raise ValueError("has no clients and servers: are these results of tidegate-sim?")
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: {path}: {error}")
    return label or os.path.splitext(os.path.basename(path))[0], results


def groups(results, wanted):
    return [g for g in results["clients"] if wanted is None or g["name"] == wanted]


def tails(axes, runs, wanted):
    for label, results in runs:
        for g in groups(results, wanted):
            axes.plot([ns / NS_PER_MS for ns in g["quantiles_ns"]], [1 - p for p in SHARES],
                      label=f"{label}: {g['name']}")
    axes.set(xscale="log", yscale="log", xlabel="latency, ms", ylabel="share of requests that wait longer")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize="small")


def shares(axes, runs):
    names = [s["name"] for s in runs[0][1]["servers"]]
    width = 0.8 / len(runs)
    for i, (label, results) in enumerate(runs):
        of = {s["name"]: s["share"] for s in results["servers"]}
        at = [n + (i - (len(runs) - 1) / 2) * width for n in range(len(names))]
        axes.bar(at, [100 * of.get(n, {"mean": 0})["mean"] for n in names], width, label=label,
                 yerr=[100 * (of.get(n, {}).get("half_width") or 0) for n in names])
    axes.set(xticks=range(len(names)), xticklabels=names, ylabel="share of answers, %")
    axes.legend(fontsize="small")


def over_time(latency, share, runs, wanted):
    for label, results in runs:
        series = results.get("series")
        if series is None:
            continue
        names = {g["name"] for g in groups(results, wanted)}
        for g in (g for g in series["groups"] if g["name"] in names):
            t = [series["start_s"]["mean"] + (i + 0.5) * series["width_s"]["mean"] for i in range(len(g["mean_ns"]))]
            line, = latency.plot(t, [ns / NS_PER_MS for ns in g["mean_ns"]], label=f"{label}: {g['name']}")
            latency.plot(t, [ns / NS_PER_MS for ns in g["p95_ns"]], "--", color=line.get_color(), alpha=0.6)
        total = [sum(n) for n in zip(*(s["answers"] for s in series["servers"]))]
        for s in series["servers"]:
            t = [series["start_s"]["mean"] + (i + 0.5) * series["width_s"]["mean"] for i in range(len(s["answers"]))]
            share.plot(t, [100 * n / all_ if all_ else float("nan") for n, all_ in zip(s["answers"], total)],
                       label=f"{label}: {s['name']}")
    latency.set(xlabel="time, s", ylabel="latency, ms (dashed: p95)", yscale="log")
    share.set(xlabel="time, s", ylabel="share of answers, %")
    for axes in (latency, share):
        axes.grid(True, alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results.svg", help="picture to write: .svg, .png, .pdf")
    parser.add_argument("--clients", help="one group of clients only")
    parser.add_argument("results", nargs="+", metavar="RESULTS.json[=LABEL]")
    options = parser.parse_args()
    runs = [load(a) for a in options.results]
    rows = 2 if any("series" in r for _, r in runs) else 1
    figure, axes = pyplot.subplots(rows, 2, figsize=(12, 4.5 * rows), squeeze=False)
    tails(axes[0][0], runs, options.clients)
    shares(axes[0][1], runs)
    if rows == 2:
        over_time(axes[1][0], axes[1][1], runs, options.clients)
    figure.tight_layout()
    try:
        figure.savefig(options.out, metadata={"Date": None} if options.out.endswith(".svg") else None)
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: {options.out}: {error}")
    print(options.out)


if __name__ == "__main__":
    main()
