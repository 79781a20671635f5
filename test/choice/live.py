#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the clients of live.sh saw: the table, the picture, the bounds, and one JSON object as the last line."""
import argparse
import glob
import json
import os
import sys

POLICIES = ["maglev", "least-connections", "latency", "latency-told"]
LABEL = {"latency-told": "latency, told the truth"}
AILING = "d"
WINDOW_S = .5
# Of four alike servers one has a quarter of the new connections, one that is left a twentieth. Windows of two seconds have some
# 80 of them: by chance alone either is on the wrong side of an eighth once in two hundred.
NEW_S, SHIFTED = 2, .125
# what the gateway sends for itself, or answers: not a request's
NOT_LOST = ("not_ours", "other_protocol", "multicast", "neighbour_consumed")
# the prediction's error, of a server that nothing ails
ERROR = .15
# p95 over Maglev's: what is asked for, and what two short runs can be held to
BARS = {"slow": .63, "periodic": .85, "throttled": .63}


def rank(values, q):
    """Nearest rank of sorted values."""
    return values[min(len(values) - 1, max(0, -(-len(values) * q // 100) - 1))] if values else float("nan")


class Run:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            about = json.load(f)
        self.fault, self.policy = about["fault"], about["policy"]
        self.began = [t / 1e9 for t in about["began_ns"]]
        self.ended = [t / 1e9 for t in about["ended_ns"]]
        self.drops = {k: v for k, v in about["report"]["drops"].items() if v and k not in NOT_LOST}
        with open(path[:-5] + ".log", encoding="utf-8") as f:
            lines = [line.split() for line in f]
        self.requests = sorted((int(t) / 1e9, int(ns) / 1e6, who) for t, ns, who, _ in lines)
        self.opened = sorted((int(t) / 1e9, 0, who) for t, _, who, nth in lines if nth == "1")
        self.lost = about["visitors"]["lost"]
        self.load = {command[-1]: reply for command, reply in about["load"].items()}

    def ill(self, t):
        return any(a <= t < b for a, b in zip(self.began, self.ended))

    def counted(self):
        """While the fault is there; of a periodic one, from its first coming to its last going."""
        return [r for r in self.requests if self.began[0] <= r[0] < self.ended[-1]]

    def figures(self):
        ms = sorted(r[1] for r in self.counted())
        shift = self.first(self.began[0], self.ended[0], lambda s: s < SHIFTED)
        back = self.first(self.ended[-1], self.requests[-1][0], lambda s: s >= SHIFTED)
        return {"mean_ms": sum(ms) / len(ms), "p50_ms": rank(ms, 50), "p95_ms": rank(ms, 95), "p99_ms": rank(ms, 99),
                "requests": len(self.requests), "lost": self.lost, "share": self.share(self.counted()),
                "shift_s": shift, "return_s": None if shift is None else back,
                "error": {s: f["prediction_error_milli"] / 1000 for s, f in self.load.items() if f["prediction_windows"]}}

    def share(self, requests):
        return sum(r[2] == AILING for r in requests) / max(1, len(requests))

    def first(self, start, end, right):
        """Seconds from start to the beginning of the first two seconds in which the ailing server's share of the new
        connections is right; None: not before end."""
        at = start
        while at + NEW_S <= end + 1e-6:
            window = [r for r in self.opened if at <= r[0] < at + NEW_S]
            if window and right(self.share(window)):
                return at - start
            at += .1
        return None

    def series(self):
        """Windows: time from the fault's begin, share of each server, p95."""
        start, end = self.requests[0][0], self.requests[-1][0]
        out, at = [], start
        while at + WINDOW_S <= end:
            window = [r for r in self.requests if at <= r[0] < at + WINDOW_S]
            if window:
                out.append((at + WINDOW_S / 2 - self.began[0],
                            {s: sum(r[2] == s for r in window) / len(window) for s in "abcd"},
                            rank(sorted(r[1] for r in window), 95)))
            at += WINDOW_S
        return out


def read(folder):
    """{fault: {policy: (run, figures)}} of what live-case.sh left."""
    runs = {}
    for fault in BARS:
        for policy in POLICIES:
            for path in glob.glob(os.path.join(folder, f"{fault}-{policy}.json")):
                run = Run(path)
                runs.setdefault(fault, {})[policy] = (run, run.figures())
    return runs


def seconds(x):
    return "-" if x is None else f"{x:.1f}"


def errors(f):
    """Of the prediction, over windows of 200 exchanges, as telemetry tells it of each server."""
    return ", ".join(f"{100 * f['error'][s]:.0f}" if s in f["error"] else "-" for s in "abcd") + " %"


def table(runs):
    print(f"{'fault':10} {'policy':18} {'requests':>8} {'lost':>5} {'mean':>7} {'p50':>7} {'p95':>7} {'p99':>7} {'p95/maglev':>10} "
          f"{'share':>6} {'shift s':>7} {'return s':>8}  error by server")
    for fault, by_policy in runs.items():
        for policy, (_, f) in by_policy.items():
            base = by_policy.get("maglev")
            over = f"{f['p95_ms'] / base[1]['p95_ms']:10.2f}" if base else " " * 10
            print(f"{fault:10} {policy:18} {f['requests']:8} {f['lost']:5} {f['mean_ms']:7.1f} {f['p50_ms']:7.1f} {f['p95_ms']:7.1f} "
                  f"{f['p99_ms']:7.1f} {over} {100 * f['share']:5.1f}% {seconds(f['shift_s']):>7} {seconds(f['return_s']):>8}  {errors(f)}")


def picture(runs, path):
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tidegate", "font.size": 8})
    from matplotlib import pyplot
    figure, rows = pyplot.subplots(2 * len(runs), len(POLICIES), figsize=(13, 4.2 * len(runs)), sharex="row", squeeze=False)
    for i, (fault, by_policy) in enumerate(runs.items()):
        for j, policy in enumerate(POLICIES):
            share, tail = rows[2 * i][j], rows[2 * i + 1][j]
            if policy not in by_policy:
                continue
            run = by_policy[policy][0]
            series = run.series()
            t = [w[0] for w in series]
            share.stackplot(t, [[100 * w[1][s] for w in series] for s in "dabc"], labels=list("dabc"),
                            colors=["#c0392b", "#9bb7d4", "#b8cce0", "#d5e1ed"])
            tail.plot(t, [w[2] for w in series], color="black", linewidth=1)
            for axes in (share, tail):
                for a, b in zip(run.began, run.ended):
                    axes.axvspan(a - run.began[0], b - run.began[0], color="#c0392b", alpha=.08, linewidth=0)
                axes.set_xlim(t[0], t[-1])
            share.set(ylim=(0, 100), title=f"{fault}: {LABEL.get(policy, policy)}", ylabel="share of requests, %" if j == 0 else None)
            tail.set(yscale="log", ylim=(5, 3000), xlabel="s from the fault's beginning", ylabel="p95, ms" if j == 0 else None)
            tail.grid(True, alpha=.3)
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="upper center", title="share of server (d ails)", ncols=4)
    figure.tight_layout(rect=(0, 0, 1, .96))
    figure.savefig(path, metadata={"Date": None})


def bounds(runs, short):
    said = []

    def bound(what, value, most):
        said.append(value <= most)
        print(f"{'holds' if said[-1] else 'MISSED'}: {what}: {value:.3f}, at most {most}")

    for fault, by_policy in runs.items():
        for policy, (run, f) in by_policy.items():
            bound(f"live {fault}, {policy}: requests lost", f["lost"], 0)
            bound(f"live {fault}, {policy}: packets dropped by the gateway", sum(run.drops.values()), 0)
            worst = max(f["error"].get(s) or float("inf") for s in "abc")
            bound(f"live {fault}, {policy}: the prediction's error, by telemetry, of the worst server that nothing ails", worst, .5 if short else ERROR)
        if "maglev" in by_policy and "latency" in by_policy:
            bound(f"live {fault}: p95 over Maglev's", by_policy["latency"][1]["p95_ms"] / by_policy["maglev"][1]["p95_ms"], BARS[fault])
            shift = by_policy["latency"][1]["shift_s"]
            bound(f"live {fault}: seconds to shift", 99 if shift is None else shift, 4 if short else 3)
    return said


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--folder", required=True, help="of live-case.sh's logs")
    p.add_argument("--svg", help="the picture")
    p.add_argument("--failed", type=int, default=0)
    p.add_argument("--skipped", type=int, default=0)
    p.add_argument("--short", action="store_true")
    o = p.parse_args()
    runs = read(o.folder)
    table(runs)
    if o.svg:
        picture(runs, o.svg)
    said = bounds(runs, o.short)
    failed = len(said) - sum(said) + o.failed
    print(f"{sum(said)} passed, {failed} failed, {o.skipped} skipped")
    print(json.dumps({"live": {fault: {policy: {k: round(v, 3) if isinstance(v, float) else v for k, v in f.items()}
                                       for policy, (_, f) in by_policy.items()} for fault, by_policy in runs.items()}}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
