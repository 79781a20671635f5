#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How low p99 can get where one of run.py's four servers answers 20 ms late, if every client stays where it is.

  split.py [--delay-ms N] [--seconds N] [--seed N]

A connection, not a request, is placed. So this puts a constant number of the clients at the late server, the others on the
three alike ones as evenly as can be, and simulates each server by itself: a queue before four workers, closed-loop clients
(think 100 ms exponential, 3 ms of network, service uniform in 5 to 20 ms; connection set-up left out). A row a load: the split
with the lowest p99. It knows the best number and loses nothing to chance: a yardstick for what no placement of connections
by load can be expected to beat by much.
"""
import argparse
import heapq
import random

import numpy

from run import THINK_MS, TRIP_MS, clients

WORKERS, LOW_MS, HIGH_MS, WARMUP_MS = 4, 5, 20, 5000


def server(n, late_ms, seconds, seed):
    """Latencies at one server that n clients have for ever, ms."""
    r = random.Random(f"{seed} {n} {late_ms}")
    free = [0] * WORKERS
    asks = [r.expovariate(1 / THINK_MS) for _ in range(n)]
    heapq.heapify(asks)
    out = []
    while asks and asks[0] < 1000 * seconds:
        at = asks[0]
        done = max(at, free[0]) + r.uniform(LOW_MS, HIGH_MS)
        heapq.heapreplace(free, done)
        took = done - at + TRIP_MS + late_ms
        if at > WARMUP_MS:
            out.append(took)
        heapq.heapreplace(asks, at + took + r.expovariate(1 / THINK_MS))
    return numpy.array(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--delay-ms", type=float, default=20)
    p.add_argument("--seconds", type=float, default=400)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    at = {}

    def took(n, late_ms):
        if (n, late_ms) not in at:
            at[n, late_ms] = server(n, late_ms, o.seconds, o.seed)
        return at[n, late_ms]

    print(f"{'load':>4} {'clients':>7} {'late':>5} {'share':>6} {'p50':>6} {'p99':>6}")
    for rho in (.3, .5, .7, .9):
        n, rows = clients(rho, WORKERS), []
        for far in range(n // 4 + 2):
            there = took(far, o.delay_ms)
            each = numpy.concatenate([took((n - far) // 3 + (i < (n - far) % 3), 0) for i in range(3)] + [there])
            rows.append((numpy.percentile(each, 99), numpy.percentile(each, 50), far, len(there) / len(each)))
        p99, p50, far, share = min(rows)
        print(f"{rho:4} {n:7} {far:5} {100 * share:5.1f}% {p50:6.2f} {p99:6.2f}")


if __name__ == "__main__":
    main()
