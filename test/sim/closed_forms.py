"""Queues whose waits are known, through the whole path: client, gateway, server, client."""
import json
import math

from simulator import WIDER, bounded_pareto, finish, scenario, sojourn_mm1, start, wait_mg1, wait_mmc

MEAN_US = 100.0
WIDEST = 0.24  # an interval wider than that proves nothing
EXPONENTIAL = {"kind": "exponential", "mean": MEAN_US}
BOUNDED = bounded_pareto(2.5, 30, 3000)


def pareto(alpha):
    return {"kind": "pareto", "mean": MEAN_US, "alpha": alpha}


class Queue:
    """One queue: c workers at load rho; how much work of the simulator it is worth, in requests a replication."""

    def __init__(self, name, c, rho, service, mean_us, expected, requests, published=None):
        self.name, self.c, self.rho, self.service, self.mean_us = name, c, rho, service, mean_us
        self.expected = expected  # mean wait in mean service times
        self.requests = requests
        self.published = published  # a simulated value, with so many digits: allowed off by that

    def start(self, scale, seed):
        rate = self.c * self.rho / self.mean_us * 1e6
        settings = {"servers[0].workers": self.c, "servers[0].service_us": self.service, "clients[0].rate": rate,
                    "seed": seed, "warmup_s": 0.1 * self.requests / rate, "duration_s": self.requests * scale / rate}
        return start(scenario("queue"), "--quiet", settings=settings)


QUEUES = [
    Queue("M/M/1 rho .9", 1, .9, EXPONENTIAL, MEAN_US, wait_mmc(1, .9), 80000),
    Queue("M/M/2 rho .8", 2, .8, EXPONENTIAL, MEAN_US, wait_mmc(2, .8), 30000),
    Queue("M/M/4 rho .9", 4, .9, EXPONENTIAL, MEAN_US, wait_mmc(4, .9), 60000),
    Queue("M/M/8 rho .95", 8, .95, EXPONENTIAL, MEAN_US, wait_mmc(8, .95), 100000),
    Queue("M/M/16 rho .5", 16, .5, EXPONENTIAL, MEAN_US, wait_mmc(16, .5), 120000),
    Queue("M/D/1 rho .9", 1, .9, MEAN_US, MEAN_US, wait_mg1(.9, 0), 40000),
    Queue("M/G/1 bounded Pareto rho .7", 1, .7, {"kind": "bounded-pareto", "alpha": 2.5, "low": 30, "high": 3000},
          BOUNDED[0], wait_mg1(.7, BOUNDED[1]), 30000),
    Queue("M/G/1 uniform rho .8", 1, .8, {"kind": "uniform", "low": 0, "high": 2 * MEAN_US}, MEAN_US,
          wait_mg1(.8, 1 / 3), 20000),
    Queue("M/G/4 Pareto 2.5 rho .5", 4, .5, pareto(2.5), MEAN_US, .0630, 40000, published=.03),
    Queue("M/G/4 Pareto 2.5 rho .9", 4, .9, pareto(2.5), MEAN_US, 1.660, 60000, published=.03),
    Queue("M/G/8 Pareto 3 rho .9", 8, .9, pareto(3), MEAN_US, .573, 60000, published=.03),
]


def compare(case, expected, number, n, scale, published=None):
    got = number["mean"] / scale
    off = number["half_width"] / scale * WIDER[n] + (published or 0) * expected
    return {"case": case, "expected": round(expected, 6), "got": round(got, 6), "error": round(got / expected - 1, 5),
            "allowed": round(off / expected, 5), "good": abs(got - expected) <= off <= WIDEST * expected}


def judge(queue, text):
    """Every figure of a queue's run that has a closed form; and Little's law and conservation."""
    r = json.loads(text)
    n, server, unit = r["replications"], r["servers"][0], queue.mean_us * 1e3
    figures = [compare(queue.name, queue.expected, server["wait_mean_ns"], n, unit, queue.published),
               compare(queue.name + " utilisation", queue.rho, server["utilisation"], n, 1)]
    if queue.name == "M/M/1 rho .9":
        truth = server["services"][0]["server_ns"]
        figures += [compare(f"M/M/1 rho .9 sojourn {k}", sojourn_mm1(.9, p), truth[k], n, unit)
                    for k, p in (("p50", .5), ("p95", .95), ("p99", .99))]
    little = server["little"]["ratio"]["mean"]
    figures.append({"case": queue.name + " Little's law", "expected": 1, "got": round(little, 6),
                    "error": round(little - 1, 6), "allowed": .01, "good": math.isclose(little, 1, abs_tol=.01)})
    balanced = all(r["conservation"][k]["balanced"] for k in ("packets", "requests"))
    lost = r["clients"][0]["failed"]["mean"] + r["gateways"][0]["packets"]["dropped"]["mean"]
    figures.append({"case": queue.name + " conservation", "expected": 0, "got": lost, "error": lost, "allowed": 0,
                    "good": balanced and lost == 0})
    return figures


def run(scale=1.0, seed=1, parallel=2):
    """All figures, in order; two runs at a time. A seed each: errors of one draw are not seen twice."""
    waiting, going, figures = list(enumerate(QUEUES)), [], []
    try:
        while waiting or going:
            while waiting and len(going) < parallel:
                i, queue = waiting.pop(0)
                going.append((queue, queue.start(scale, seed + i)))
            queue, started = going.pop(0)
            figures += judge(queue, finish(started)[0])
    finally:
        for _, (process, _) in going:
            process.kill()
            process.wait()
    return figures
