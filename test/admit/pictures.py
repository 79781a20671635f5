#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of a run into doc/admit.md, between <!-- begin NAME --> and <!-- end NAME -->, and draws doc/admit.svg.

  pictures.py FIGURES.json [--page FILE] [--picture FILE]

FIGURES.json comes from experiment.py --out or test/bar/bursts.sh --out. Parts that it does not have stay as they are.
"""
import argparse
import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "test"))

from pages import put  # noqa: E402

NAMES = {"none": "none", "cap": "an eighth of the budget a tenant at most", "bucket": "one bucket", "two_level": "two-level, strict",
         "work_conserving": "two-level, work-conserving"}
TAIL = ("p50", "p95", "p99", "p99_9", "p99_99", "p99_999")
TAIL_HEAD = "P50 | P95 | P99 | P99.9 | P99.99 | P99.999"


def number(ms):
    return f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def percent(share):
    return "0" if share == 0 else f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.0f} %"


def tail(group, keys=TAIL):
    return " | ".join(number(group[k]) for k in keys)


def held(got):
    most = got.get("held_most")
    return f"{most['calm']:.0f} / {most['burst']:.0f}" if most else "–"


def heads(*words):
    return ["| " + " | ".join(words) + " |", "|" + " --- |" * sum(1 + w.count(" | ") for w in words)]


def by_group(part, what, names=NAMES):
    """A line a run and group of clients; what was done as a whole stands in the first of a run."""
    out = heads(what, "clients", "asked, 1/s", "lost", TAIL_HEAD, "busy", "waiting at the servers", "held at most, calm / burst")
    for name, got in part.items():
        whole = [f"{got['servers']['busy']:.3f}", f"{got['servers']['waiting']:.0f}", held(got)]
        for i, (who, g) in enumerate(got["groups"].items()):
            first = names.get(name, name) if i == 0 else ""
            rate = g["per_s"] / (1 - g["failed_share"]) if g["failed_share"] < 1 else 0
            out.append(f"| {first} | {who} | {rate:.0f} | {percent(g['failed_share'])} | {tail(g)} | " +
                       " | ".join(whole if i == 0 else [""] * 3) + " |")
    return out


def by_tenant(part):
    """Ten tenants: the largest, the second, the third, and the worst of the others."""
    keys = ("p50", "p99", "p99_999")
    out = heads("policy", "served, 1/s", "unserved", *(f"{t}: P50 / P99 / P99.999, lost" for t in ("27 %", "20 %", "16 %", "others")), "busy",
                "waiting at the servers", "servers' loads vary by")
    for name, got in part.items():
        groups = list(got["groups"].values())
        rest = {k: max(g[k] for g in groups[3:]) for k in (*keys, "failed_share")}
        cells = [f"{tail(g, keys).replace(' | ', ' / ')}, {percent(g['failed_share'])}" for g in (*groups[:3], rest)]
        served = sum(g["per_s"] for g in groups)
        asked = sum(g["per_s"] / (1 - g["failed_share"]) for g in groups)
        out.append(f"| {NAMES.get(name, name)} | {served:.0f} | {percent(got.get('unused_share', 1 - served / asked))} | " + " | ".join(cells) +
                   f" | {got['servers']['busy']:.3f} | {got['servers']['waiting']:.0f} | {got['servers']['variation']:.3f} |")
    return out


TABLES = {"bars": lambda p: by_group(p, "policy"), "unused": by_tenant, "saturated": by_tenant, "sustained": lambda p: by_group(p, "policy"),
          "hot": lambda p: by_group(p, "a segment is", {"none": "(no admission)", "network": "a network", "tenant": "the whole tenant"}),
          "auxiliary": lambda p: by_group(p, "share, %"), "thresholds": lambda p: by_group(p, "`hi_per_s`"),
          "values": lambda p: by_group(p, "values", {"alike": "none", "valued": "gold, best-effort"})}


def tails(axes, part, who):
    """How many took longer."""
    for name, got in part.items():
        if who in got["groups"]:
            g = got["groups"][who]
            axes.plot([g[k] for k in TAIL], [0.5, 0.05, 1e-2, 1e-3, 1e-4, 1e-5], marker=".", label=NAMES.get(name, name),
                      linewidth=2 if name == "two_level" else 1)
    axes.set(xscale="log", yscale="log", xlabel="ms", ylabel="share that took longer", title=f"{who} clients' latency")


def swept(axes, part, label):
    at = [float(name) for name in part]
    for who, key, look in (("calm", "p99", "--"), ("calm", "p99_999", "-"), ("burst", "p99", ":")):
        axes.plot(at, [got["groups"][who][key] for got in part.values()], look, marker=".", label=f"{who} {key.upper().replace('_', '.')}")
    axes.set(yscale="log", xlabel=label, ylabel="ms")


def picture(figures, path):
    try:
        import matplotlib
    except ImportError:
        print("SKIPPED the picture: python3-matplotlib is missing")
        return
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7))
    tails(axes[0][0], figures["bars"], "calm")
    tails(axes[0][1], figures["bars"], "burst")
    swept(axes[1][0], figures["auxiliary"], "auxiliary share, %")
    swept(axes[1][1], figures["thresholds"], "hi_per_s (a calm segment asks for 45 a second, the burst for 220000)")
    axes[1][1].set_xscale("log")
    for one in axes.flat:
        one.grid(True, alpha=.3)
    for one in (axes[0][0], *axes[1]):
        one.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, default=TOP / "doc/admit.md")
    parser.add_argument("--picture", type=pathlib.Path, default=TOP / "doc/admit.svg")
    args = parser.parse_args()
    figures = json.loads(args.figures.read_text(encoding="utf-8"))
    for part, table in TABLES.items():
        if part in figures:
            put(args.page, part, table(figures[part]))
    if all(part in figures for part in ("bars", "auxiliary", "thresholds")):
        picture(figures, args.picture)


if __name__ == "__main__":
    main()
