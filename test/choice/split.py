#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How low p99 can get where one of run.py's four servers answers 20 ms late.

  split.py [--delay-ms N] [--replications N] [--seed N]

A connection, not a request, is placed. Two yardsticks for who places connections, in a queue model without packets (closed-loop
clients, think 100 ms exponential, service uniform in 5 to 20 ms, four workers a server, first come first served, the network's
2 ms and as much again for a connection's first request), a row a load and yardstick; p99 is the mean of replications' as in run.py:

  constant  so many clients are at the late server for ever, the others evenly on the three alike ones: the best number
  knowing   each connection is placed by the true state of the moment: among the three the one with the fewest connections and
            requests; the late one where the wait at that one exceeds a multiple of what the late one takes longer: the best multiple
  by hash   any server, whatever its state
"""
import argparse
import heapq
import random

import numpy

from run import THINK_MS, clients

WORKERS, LOW_MS, HIGH_MS, NETWORK_MS, REQUESTS = 4, 5, 20, 2.04, 20
WARMUP_MS, COUNTED_MS = 5000, 16000
SERVICE_MS = (LOW_MS + HIGH_MS) / 2
MULTIPLES = (.2, .3, .4, .5, .6, .7, .85, 1, 1.2)


class Server:
    def __init__(self, late_ms):
        self.late_ms, self.free, self.done, self.connections = late_ms, [0.0] * WORKERS, [], 0

    def there(self, at):
        """Requests waiting or in service."""
        while self.done and self.done[0] <= at:
            heapq.heappop(self.done)
        return len(self.done)

    def wait_ms(self, at):
        return max(0, self.there(at) - WORKERS + 1) * SERVICE_MS / WORKERS

    def serve(self, at, work_ms):
        done = max(at, self.free[0]) + work_ms
        heapq.heapreplace(self.free, done)
        heapq.heappush(self.done, done)
        return done + self.late_ms


def run(n, late_ms, seed, place):
    """Latencies and the late server's share. place(servers, client, time, random): the index of a connection's server."""
    r = random.Random(f"{seed} {n} {late_ms}")
    servers = [Server(0), Server(0), Server(0), Server(late_ms)]
    of, left, asked = [None] * n, [0] * n, [0.0] * n
    events = [(r.expovariate(1 / THINK_MS), c, True) for c in range(n)]
    heapq.heapify(events)
    took, late = [], 0
    while events[0][0] < WARMUP_MS + COUNTED_MS:
        at, c, wish = events[0]
        if wish:
            asked[c] = at
        if left[c] == 0:
            if of[c] is not None:
                servers[of[c]].connections -= 1
            of[c] = place(servers, c, at, r)
            servers[of[c]].connections += 1
            left[c] = REQUESTS
            heapq.heapreplace(events, (at + NETWORK_MS, c, False))
            continue
        left[c] -= 1
        done = servers[of[c]].serve(at, r.uniform(LOW_MS, HIGH_MS)) + NETWORK_MS
        if at > WARMUP_MS:
            took.append(done - asked[c])
            late += of[c] == 3
        heapq.heapreplace(events, (done + r.expovariate(1 / THINK_MS), c, True))
    return numpy.percentile(took, 99), numpy.percentile(took, 50), late / len(took)


def constant(number):
    return lambda servers, c, at, r: 3 if c < number else c % 3


def knowing(multiple):
    def place(servers, c, at, r):
        best = min(servers[:3], key=lambda s: s.connections + s.there(at))
        late = servers[3]
        return 3 if best.wait_ms(at) > multiple * (late.late_ms + late.wait_ms(at)) else servers.index(best)
    return place


def by_hash(_):
    return lambda servers, c, at, r: r.randrange(4)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--delay-ms", type=float, default=20)
    p.add_argument("--replications", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    print(f"{'load':>4} {'clients':>7} {'yardstick':9} {'number':>6} {'share':>6} {'p50':>6} {'p99':>6}")
    for rho in (.3, .5, .7, .9):
        n = clients(rho, WORKERS)
        for name, rule, numbers in (("constant", constant, range(0, n // 4 + 2, 2)), ("knowing", knowing, MULTIPLES), ("by hash", by_hash, (0,))):
            rows = []
            for number in numbers:
                each = numpy.mean([run(n, o.delay_ms, o.seed + 100 * i, rule(number)) for i in range(o.replications)], axis=0)
                rows.append((*each, number))
            p99, p50, share, number = min(rows)
            print(f"{rho:4} {n:7} {name:9} {number:6} {100 * share:5.1f}% {p50:6.2f} {p99:6.2f}", flush=True)


if __name__ == "__main__":
    main()
