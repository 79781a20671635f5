#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the figures of bidding depend on: every sweep of bid-model, a table of factors and two pictures (doc/bid.md).

usage: sweeps.py [--runs N] [--time S] [--picture FOLDER] MODEL RESULTS

RESULTS is a folder with SWEEP.json, lines as bid-model prints them; those that are missing are made by MODEL first.
"""
import argparse
import json
import os
import subprocess
import sys

NAMES = {"staleness": "age of bids, reports and weights, s", "rate": "rate of SYNs, times 80/s (general)",
         "servers": "servers", "load": "load (rho)", "shape": "shape of the jobs' Pareto", "tasks": "tasks in the background",
         "idle": "sessions idle after their job, s", "full": "work that is a bid of full load, s"}
FIGURES = {"general": ("turnaround_ratio", "turnaround / requested"), "heavy": ("wait_ms", "waiting, ms")}
SHOWN = ("round-robin", "least-connections", "dwrr", "two-choices", "jsq", "bid", "delay-coded")


def results(model, folder, runs, seconds):
    out = {}
    for name in NAMES:
        path = f"{folder}/{name}.json"
        if not os.path.exists(path):
            with open(path + ".new", "w") as f:
                subprocess.run([model, "--runs", runs, "--time", seconds, name], stdout=f, check=True)
            os.rename(path + ".new", path)
        with open(path) as f:
            out[name] = [json.loads(line) for line in f]
    return out


def table(sweeps, kind):
    """Factors by which bidding is better than the others; (…): the intervals overlap."""
    key, what = FIGURES[kind]
    rivals = ("least-connections", "dwrr", "jsq")
    print(f"\n| {kind} | | bid: {what} | " + " | ".join(f"{r} / bid" for r in rivals) + " |\n| --- " * 1 + "| --- " * 5 + "|")
    for name, rows in sweeps.items():
        for row in rows:
            if kind not in row:
                continue
            bid = row[kind]["bid"]
            cells = []
            for rival in rivals:
                other = row[kind][rival]
                apart = abs(other[key] - bid[key]) > other[key + "_ci"] + bid[key + "_ci"]
                text = f"{other[key] / bid[key]:.2f}"
                cells.append(text if apart else f"({text})")
            print(f"| {NAMES[name]} | {row['value']:g} | {bid[key]:.3g} ± {bid[key + '_ci']:.2g} | " + " | ".join(cells) + " |")


def picture(path, sweeps, kind):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "font.size": 8, "svg.fonttype": "none"})
    key, what = FIGURES[kind]
    chosen = {n: [r for r in rows if kind in r] for n, rows in sweeps.items()}
    chosen = {n: rows for n, rows in chosen.items() if rows}
    columns = (len(chosen) + 1) // 2
    figure, axes = pyplot.subplots(2, columns, figsize=(3.1 * columns, 5.6), squeeze=False)
    for axis in axes.flat[len(chosen):]:
        axis.axis("off")
    for axis, (name, rows) in zip(axes.flat, chosen.items()):
        for policy in SHOWN:
            axis.errorbar([max(r["value"], 1e-3) for r in rows], [r[kind][policy][key] for r in rows],
                          [r[kind][policy][key + "_ci"] for r in rows], label=policy, capsize=2, linewidth=1,
                          linestyle="-" if policy in ("bid", "delay-coded") else "--")
        axis.set(yscale="log", xlabel=NAMES[name], xscale="linear" if name in ("load", "shape", "tasks") else "log")
    for row in axes:
        row[0].set_ylabel(what)
    axes[0][0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", default="5")
    p.add_argument("--time", default="400")
    p.add_argument("--picture", metavar="FOLDER", help="bid-general.svg and bid-heavy.svg go there")
    p.add_argument("model", metavar="MODEL")
    p.add_argument("results", metavar="RESULTS")
    a = p.parse_args()
    sweeps = results(a.model, a.results, a.runs, a.time)
    for kind in FIGURES:
        table(sweeps, kind)
        if a.picture:
            picture(f"{a.picture}/bid-{kind}.svg", sweeps, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
