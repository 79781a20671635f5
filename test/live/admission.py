#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst isolation in a live run: writes the folder's `table`, prints the figures and exits 0, or the fault and exits 1.

Arguments: the case's working folder, the seconds each policy had, the policies (none and two-level among them)."""
import glob
import json
import sys

NAMES = {"bucket": "one bucket", "cap": "a third of capacity at most", "two-level": "two-level, strict",
         "work-conserving": "two-level, work-conserving"}
BETTER = 0.6  # calm P95 with two-level admission is at most this part of that without, in the same run
ENOUGH = 500  # calm requests a policy
SETTLED_MS = 1000  # of a round are for connections to be set up
PAUSE_MS = 50  # ends a spike


def last_json(path):
    with open(path, encoding="utf-8") as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


def rank(values, percent):
    """Nearest rank."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def exchanges(path):
    """When each was asked and what it took, ms, without a round's first second."""
    with open(path, encoding="utf-8") as f:
        rows = sorted(tuple(int(word) / 1e6 for word in line.split()[1:]) for line in f)
    return [(asked, done - asked) for asked, done in rows if asked >= rows[0][0] + SETTLED_MS]


def spike_widths(asked):
    first = before = asked[0]
    for now in asked[1:]:
        if now - before >= PAUSE_MS:
            yield before - first
            first = now
        before = now
    yield before - first


def clients(work, who, policy):
    reports = [last_json(p) for p in glob.glob(f"{work}/{who}-{policy}-[0-9]*.out")]
    rounds = [exchanges(p) for p in glob.glob(f"{work}/{who}-{policy}-[0-9]*.times")]
    took = [ms for rows in rounds for _, ms in rows]
    return {"n": len(took), "failed": sum(r["failures"] for r in reports), "moved": sum(r["moved"] for r in reports),
            "p50": rank(took, 50), "p95": rank(took, 95),
            "spike": rank([w for rows in rounds for w in spike_widths([asked for asked, _ in rows])], 95)}


def servers(work, policy, seconds):
    """How many requests waited for a worker on the average (Little's law), and were open at one server at most."""
    reports = [last_json(p) for p in glob.glob(f"{work}/server-{policy}-?.out")]
    waits = sum(r["sojourn_ns"]["count"] * (r["sojourn_ns"]["mean"] - r["service_ns"]["mean"]) for r in reports)
    return {"waiting": waits / 1e9 / seconds, "most": max(r["open_max"] for r in reports)}


def faults_of(figures):
    for policy, f in figures.items():
        calm = f["calm"]
        if calm["n"] < ENOUGH:
            yield f"{calm['n']} calm requests, {policy}: too few to judge"
        if calm["failed"]:
            yield f"{calm['failed']} calm requests lost, {policy}"
        if calm["moved"] or f["burst"]["moved"]:
            yield f"connections changed their server, {policy}"
    none, two = figures["none"], figures["two-level"]
    if two["pool"]["dropped_calm"]:
        yield f"the gateway dropped {two['pool']['dropped_calm']} packets of the calm class"
    if not two["pool"]["wait_burst_p99_ns"]:
        yield "the gateway held nothing back"
    if two["calm"]["p95"] > BETTER * none["calm"]["p95"]:
        yield f"calm P95 is not below {BETTER} of that without admission"
    if two["servers"]["waiting"] >= none["servers"]["waiting"]:
        yield "the servers' queue did not shrink"


def table(figures):
    yield ("| policy | calm: requests | lost | P50 ms | P95 ms | burst: spike ms | requests | lost | P50 ms | P95 ms "
           "| at the servers, waiting | open at one at most | dropped calm / burst packets |")
    yield "|" + " --- |" * 13
    for policy, f in figures.items():
        c, b, s, p = f["calm"], f["burst"], f["servers"], f["pool"]
        dropped = f"{p['dropped_calm']} / {p['dropped_burst']}" if p else ""
        yield (f"| {NAMES.get(policy, policy)} | {c['n']} | {c['failed']} | {c['p50']:.1f} | {c['p95']:.1f} "
               f"| {b['spike']:.0f} | {b['n']} | {b['failed']} | {b['p50']:.0f} | {b['p95']:.0f} "
               f"| {s['waiting']:.1f} | {s['most']} | {dropped} |")


def main(work, seconds, *policies):
    with open(f"{work}/pools.json", encoding="utf-8") as f:
        pools = {p["pool"]: p for p in json.load(f)}
    figures = {p: {"calm": clients(work, "calm", p), "burst": clients(work, "burst", p),
                   "servers": servers(work, p, int(seconds)), "pool": pools.get(p)} for p in policies}
    with open(f"{work}/table", "w", encoding="utf-8") as f:
        print("\n".join(table(figures)), file=f)
    none, two = figures["none"], figures["two-level"]
    text = (f"calm P50 {none['calm']['p50']:.1f} and P95 {none['calm']['p95']:.1f} ms, with admission "
            f"{two['calm']['p50']:.1f} and {two['calm']['p95']:.1f} ms, none lost; waiting at the servers "
            f"{none['servers']['waiting']:.1f}, {two['servers']['waiting']:.1f}")
    faults = list(faults_of(figures))
    print(f"{text.replace(', none lost', '')}: {'; '.join(faults)}" if faults else text)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
