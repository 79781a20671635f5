#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges what a live case measured: prints a figure and exits 0, or prints the fault and exits 1."""
import json
import math
import sys
import time

SERVICE_MS, BUSY = 5, 1.3


def fault(text):
    print(text)
    sys.exit(1)


def last_json(path):
    with open(path, encoding="utf-8") as f:
        lines = [line for line in f if line.startswith("{")]
    if not lines:
        fault(f"{path} has no JSON in it")
    return json.loads(lines[-1])


def report(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def chi_square_p(x, freedom):
    """P(X >= x) for a chi-square variable: closed forms for whole degrees of freedom (Abramowitz & Stegun 26.4.4-5)."""
    if freedom % 2:
        tail, term = math.erfc(math.sqrt(x / 2)), math.sqrt(2 * x / math.pi) * math.exp(-x / 2)
        first = 3
    else:
        tail, term = math.exp(-x / 2), x / 2 * math.exp(-x / 2)
        first = 4
    for k in range(first, freedom + 1, 2):
        tail += term
        term *= x / k
    return tail


def client(label, path, least):
    """Every request of tg-client, wrk or memcache.py was answered, each connection by one server."""
    r = last_json(path)
    text = f"{label} {r['requests']} requests"
    if "connections" in r:
        text += f" on {r['connections']} connections"
    bad = [f"{r[k]} {word}" for k, word in (("failures", "failed"), ("moved", "moved to another server")) if r.get(k)]
    if r["requests"] < int(least):
        bad.append(f"at least {least} expected")
    if bad:
        fault(f"{text}: {', '.join(bad)}")
    print(f"{text}, all answered")


def shares(least_p, path, *weights):
    """The numbers of connections fit the weights a=1 b=2 ... by the chi-square test."""
    seen = {name: s["connections"] for name, s in last_json(path)["servers"].items()}
    want = {name: float(w) for name, w in (x.split("=") for x in weights)}
    total, weight = sum(seen.values()), sum(want.values())
    if set(seen) - set(want) or not total:
        fault(f"shares {seen} include servers that are not {sorted(want)}")
    x = sum((seen.get(n, 0) - total * w / weight) ** 2 / (total * w / weight) for n, w in want.items())
    p = chi_square_p(x, len(want) - 1)
    text = "shares " + "/".join(str(seen.get(n, 0)) for n in want) + f" p={p:.2g}"
    if p <= float(least_p):
        fault(f"{text}: they do not fit {' '.join(weights)}")
    print(text)


def servers_of(stats, service):
    found = [s for s in report(stats)["services"] if s["name"] == service]
    if not found:
        fault(f"the gateway reports no service {service}")
    return [s for s in found[0]["servers"] if s["exchanges"]]


def p50(stats, service, truth, percent, unknown="fault"):
    """The gateway's median latency of each server is within some percent of the client's in the same run: of tg-client,
    until its kernel had the answer; when the program came to read it is the processor's affair.

    A gateway that vouches for no figure is at fault, unless it is told that it may ("allowed").

    Where the host was busy with something else it cannot be judged: the servers take SERVICE_MS, and a client that sees
    far more measures its own scheduling. Exit code 77 then: counted as skipped, not as passed."""
    r = last_json(truth)
    worst, figures, slowest = 0, [], 0
    for s in servers_of(stats, service):
        seen = r.get("servers", {}).get(s["name"], r)
        own = seen.get("arrival_ns", seen["latency_ns"])["p50"]
        if not own:
            fault(f"the client has no answer from {s['name']} to compare with")
        got = s["latency_ns"]["p50"]
        if got is None:
            if unknown != "allowed":
                fault(f"the gateway vouches for no median of {s['name']}")
            figures.append(f"{s['name']} unknown")
            continue
        slowest = max(slowest, seen["latency_ns"]["p50"] / 1e6)
        error = 100 * (got / own - 1)
        worst = max(worst, abs(error))
        figures.append(f"{s['name']} {got / 1e6:.3f}/{own / 1e6:.3f} ms ({error:+.1f} %)")
    if not figures and unknown != "allowed":
        fault(f"the gateway measured no exchange of {service}")
    text = f"p50 gateway/client {', '.join(figures) or 'unknown'}"
    if slowest > BUSY * SERVICE_MS:
        print(f"{text}: the host is busy, the client's median is {slowest:.1f} ms at {SERVICE_MS} ms service")
        sys.exit(77)
    if worst > float(percent):
        fault(f"{text}: more than {percent} % apart")
    print(text)


def nginx(connections, *logs):
    """No client port of the keep-alive run is in two servers' logs, and all of them are in one."""
    ports = []
    for path in logs:
        with open(path, encoding="utf-8") as f:
            ports.append({line.split()[1] for line in f if line.strip()})
    both = [p for i, a in enumerate(ports) for b in ports[i + 1:] for p in a & b]
    text = "access logs " + "+".join(str(len(p)) for p in ports) + " connections"
    if both:
        fault(f"{text}: {len(both)} on two servers")
    if sum(map(len, ports)) != int(connections):
        fault(f"{text}: {connections} expected")
    print(text)


def between(log, start_ns, end_ns, server, want):
    """Connections that began between two times went to the server, or never did (want: some, none)."""
    begun = on = 0
    with open(log, encoding="utf-8") as f:
        for line in f:
            began, _, name, _, _ = line.split(maxsplit=4)
            if int(start_ns) < int(began) < int(end_ns):
                begun += 1
                on += name == server
    text = f"of {begun} new connections {on} to {server}"
    if begun < 50 or (on > 0) != (want == "some"):
        fault(f"{text}: {want} expected, of 50 or more")
    print(text)


def totals(stats, least):
    """The gateway's own counters: nothing came from a server, and nothing was dropped that was not ARP and the like."""
    r = report(stats)
    p, drops = r["packets"], {k: v for k, v in r["drops"].items() if v}
    text = f"gateway {p['received']} in, {p['forwarded']} out, drops {json.dumps(drops)}"
    if drops.get("not_ours"):
        fault(f"{text}: packets that were not its own")
    if p["forwarded"] < int(least):
        fault(f"{text}: at least {least} expected")
    print(text)


def truth(*pairs):
    """What the client saw of each server, from SERVICE=FILE of tg-client: the capture's companion."""
    services = {name: last_json(path)["servers"] for name, path in (x.split("=") for x in pairs)}
    print(json.dumps({"source": "client", "services": services}, indent=1, sort_keys=True))


def counts(*paths):
    """Requests of clients, those that failed among them."""
    all_of = [last_json(p) for p in paths]
    failed = sum(r.get("failures", 0) + r.get("moved", 0) for r in all_of)
    print(sum(r["requests"] for r in all_of) + failed, failed)


def now():
    print(time.monotonic_ns())


if __name__ == "__main__":
    {f.__name__: f for f in (client, shares, p50, nginx, between, totals, truth, counts, now)}[sys.argv[1]](*sys.argv[2:])
