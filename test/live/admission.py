#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst isolation in a live run: writes the folder's `table`, prints the figures and exits 0, or the fault and exits 1.

Arguments: the case's working folder, the seconds each policy had, the policies (none and two-level among them)."""
import glob
import json
import sys

NAMES = {"bucket": "one bucket", "cap": "a third of capacity at most", "two-level": "two-level, strict",
         "work-conserving": "two-level, work-conserving", "values": "two-level, gold and best-effort"}
ISOLATED = "two-level", "work-conserving", "values"
BETTER = 0.6  # calm P95 with two-level admission is at most this part of that without, in the same run
BURSTS = "first", "second"  # networks
ENOUGH = 500  # calm requests a policy
SETTLED_MS = 1000  # of a round are for connections to be set up
PAUSE_MS = 50  # ends a spike
SPIKE_MS = 100  # .. which is shorter than this
NOT_CHARGED = 1.5  # a server's median time, as the gateway has it, is at most so many times its own
WORTH = 0.8  # the more valuable clients' P50 is at most this part of the others'


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
            "p50": rank(took, 50), "p95": rank(took, 95), "p99": rank(took, 99),
            "spike": rank([w for rows in rounds for w in spike_widths([asked for asked, _ in rows])], 95)}


def servers(work, policy, seconds):
    """How many requests waited for a worker on the average (Little's law), were open at one server at most, and were answered."""
    reports = [last_json(p) for p in glob.glob(f"{work}/server-{policy}-?.out")]
    waits = sum(r["sojourn_ns"]["count"] * (r["sojourn_ns"]["mean"] - r["service_ns"]["mean"]) for r in reports)
    answered = sum(r["sojourn_ns"]["count"] for r in reports)
    return {"waiting": waits / 1e9 / seconds, "per_s": answered / seconds, "most": max(r["open_max"] for r in reports)}


def medians(work, policy, stats):
    """Of each server: the median time from a request to its answer as the gateway has it, and as the server itself has it, ms."""
    service = next(s for s in stats["services"] if s["name"] == policy)
    for server in service["servers"]:
        own = last_json(f"{work}/server-{policy}-{server['name']}.out")["sojourn_ns"]["p50"]
        yield server["name"], (server["server_ns"]["p50"] or 0) / 1e6, own / 1e6


def faults_of_all(policy, f):
    if f["calm"]["n"] < ENOUGH and policy in ("none", *ISOLATED):
        yield f"{f['calm']['n']} calm requests, {policy}: too few to judge"
    if f["calm"]["failed"]:
        yield f"{f['calm']['failed']} calm requests lost, {policy}"
    if any(f[who]["moved"] for who in ("calm", *BURSTS)):
        yield f"connections changed their server, {policy}"
    for who in BURSTS:
        # who waits for longer than from one spike to the next asks late
        if policy == "none" and f[who]["spike"] >= SPIKE_MS:
            yield f"the {who} network's spikes took {f[who]['spike']:.0f} ms"


def faults_of_isolated(policy, f, none):
    if f["pool"]["dropped_calm"]:
        yield f"the gateway dropped {f['pool']['dropped_calm']} packets of the calm class, {policy}"
    if not f["pool"]["wait_burst_p99_ns"]:
        yield f"the gateway held nothing back, {policy}"
    if f["calm"]["p95"] > BETTER * none["calm"]["p95"]:
        yield f"calm P95, {policy}, {f['calm']['p95']:.1f} ms: not below {BETTER} of that without admission"
    if f["servers"]["waiting"] >= none["servers"]["waiting"]:
        yield f"the servers' queue did not shrink, {policy}"
    for name, seen, own in f["medians"]:
        if not own / NOT_CHARGED <= seen <= NOT_CHARGED * own:
            yield f"{name} takes {own:.1f} ms, {policy}, and {seen:.1f} ms by the gateway: its own wait is charged to the server"


def faults_of(figures):
    for policy, f in figures.items():
        yield from faults_of_all(policy, f)
        if policy in ISOLATED:
            yield from faults_of_isolated(policy, f, figures["none"])
    valued = figures.get("values")
    if valued and valued["first"]["p50"] > WORTH * valued["second"]["p50"]:
        yield f"gold clients' P50 {valued['first']['p50']:.0f} ms, best-effort ones' {valued['second']['p50']:.0f} ms: no {WORTH} of it"


def table(figures):
    yield ("| policy | calm: requests | lost | P50 ms | P95 ms | P99 ms | burst: spike ms | requests | lost | P50 ms | P95 ms | P99 ms "
           "| answered, 1/s | at the servers, waiting | open at one at most | waiting in the gateway at most, calm / burst "
           "| dropped calm / burst packets |")
    yield "|" + " --- |" * 17
    for policy, f in figures.items():
        c, (b, d), s, p = f["calm"], (f[who] for who in BURSTS), f["servers"], f["pool"]
        held = f"{p['waiting_calm_most']} / {p['waiting_burst_most']}" if p else ""
        dropped = f"{p['dropped_calm']} / {p['dropped_burst']}" if p else ""
        both = " | ".join(f"{b[k]:.0f}, {d[k]:.0f}" for k in ("p50", "p95", "p99"))
        yield (f"| {NAMES.get(policy, policy)} | {c['n']} | {c['failed']} | {c['p50']:.1f} | {c['p95']:.1f} | {c['p99']:.1f} "
               f"| {max(b['spike'], d['spike']):.0f} | {b['n'] + d['n']} | {b['failed'] + d['failed']} | {both} "
               f"| {s['per_s']:.0f} | {s['waiting']:.1f} | {s['most']} | {held} | {dropped} |")


def main(work, seconds, *policies):
    with open(f"{work}/pools.json", encoding="utf-8") as f:
        pools = {p["pool"]: p for p in json.load(f)}
    with open(f"{work}/stats.json", encoding="utf-8") as f:
        stats = json.load(f)
    figures = {p: {**{who: clients(work, who, p) for who in ("calm", *BURSTS)},
                   "servers": servers(work, p, int(seconds)), "medians": list(medians(work, p, stats)), "pool": pools.get(p)} for p in policies}
    with open(f"{work}/table", "w", encoding="utf-8") as f:
        print("\n".join(table(figures)), file=f)
    none, two = figures["none"], figures["two-level"]
    text = (f"calm P50 {none['calm']['p50']:.1f} and P95 {none['calm']['p95']:.1f} ms, with admission "
            f"{two['calm']['p50']:.1f} and {two['calm']['p95']:.1f} ms, none lost; waiting at the servers "
            f"{none['servers']['waiting']:.1f}, {two['servers']['waiting']:.1f}; a server's median, gateway/own "
            f"{', '.join(f'{n} {seen:.1f}/{own:.1f} ms' for n, seen, own in two['medians'])}, while a burst's requests wait up to "
            f"{two['pool']['wait_burst_p99_ns'] / 1e6:.0f} ms in the gateway")
    faults = list(faults_of(figures))
    print(f"{text.replace(', none lost', '')}: {'; '.join(faults)}" if faults else text)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
