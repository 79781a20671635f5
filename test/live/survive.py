#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which connections lived through an event, and whether they are the ones that can.

survive.py judge EVENT SERVICE all|first|named LOG CANDIDATES   all: every connection must; first, named: exactly those
                                        at their first candidate, or at one of the header's
survive.py table FILE                   what judge wrote, a line each, as a table and as the last line
"""
import json
import sys

NAMED = {"first": 1, "named": 3}


def judge(event, service, rule, log, candidates):
    with open(candidates, encoding="utf-8") as f:
        order = {line.split()[0]: line.split()[1:] for line in f if line.strip()}
    at_first = among = lived = should = 0
    odd = []
    with open(log, encoding="utf-8") as f:
        for line in f:
            _, port, server, requests, end = line.split(maxsplit=4)
            where = order[port].index(server) if server in order[port] else 99
            at_first += where < 1
            among += where < 3
            must = rule == "all" or where < NAMED[rule]
            should += must
            lived += end.strip() == "ok"
            if must != (end.strip() == "ok"):
                odd.append(f"{port} at {server} after {requests} requests: {end.strip()}")
    n = len(order)
    row = {"event": event, "service": service, "connections": n, "first": at_first / n, "named": among / n,
           "share": lived / n, "expected": should / n}
    text = f"{service} {lived} of {n} live on, {should} can"
    print(json.dumps(row), file=sys.stderr)
    if odd:
        print(f"{text}; otherwise: {', '.join(odd[:3])}")
        sys.exit(1)
    print(text)


def table(path):
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    print(f"{'event':<22}{'forward, policy':<20}{'connections':>12}{'first':>8}{'named':>8}{'can':>8}{'live on':>9}")
    for r in rows:
        print(f"{r['event']:<22}{r['service']:<20}{r['connections']:>12}"
              + "".join(f"{100 * r[k]:>{w}.0f}%" for k, w in (("first", 7), ("named", 7), ("expected", 7), ("share", 8))))
    out = {"restart": {}, "rehash": {}}
    for r in rows:
        if r["event"] == "rehash":
            out["rehash"][r["service"]] = round(r["share"], 4)
        else:
            out["restart"].setdefault(r["event"], {})[r["service"]] = round(r["share"], 4)
    print(json.dumps(out))


if __name__ == "__main__":
    {f.__name__: f for f in (judge, table)}[sys.argv[1]](*sys.argv[2:])
