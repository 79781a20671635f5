"""The gate in the simulator: drop rates against closed forms, its three places, and the line."""
import json
import math
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "test/sim"))

from simulator import WIDER, finish, scenario, start  # noqa: E402

MEAN_US = 100
# the gateway is the bottleneck: packets at random, work exponential, servers that nobody waits for
BOTTLENECK = {"gateways[0].ns_per_packet": 0, "gateways[0].ns_per_turn": 0, "gateways[0].rx_ring": 16384,
              "gateways[0].work_us": {"kind": "exponential", "mean": MEAN_US}, "gateways[0].rx_timestamps": True,
              "gateways[0].tick_ms": 50,
              "servers[0].service_us": 1, "servers[0].workers": 64, "clients[0].timeout_s": 0.05,
              "config.services[0].gate": "drop", "config.services[0].gate_margin_us": 0}
POINTS = [(.9, 2, .2188), (1.2, 2, .3118), (2, 5, .5008)]
# a datagram of 1250 bytes with all that is between frames takes 1 ms of 10 Mbit/s
LINE = {"clients[0].bytes": 1184, "clients[0].rate": 950, "clients[0].timeout_s": 1, "gateways[0].tx_rate_mbps": 10,
        "servers[0].service_us": 1, "servers[0].workers": 64, "config.services[0].sojourn_max_us": 4000,
        "config.services[0].gate": "drop"}


def drops(rho, mu_tau):
    """M/M/1 whose customers leave at once when they would wait longer than tau."""
    if rho == 1:
        return 1 / (2 + mu_tau)
    e = math.exp(-(1 - rho) * mu_tau)
    return (1 - rho) * rho * e / (1 - rho * rho * e)


def gateway(settings, **more):
    return json.loads(finish(start(scenario("queue"), "--quiet", settings={**settings, **more}),
                             timeout=170)[0])["gateways"][0]


def rate(g):
    """Share of the packets that were dropped as late, with the half width of its 95 % interval."""
    late, received = g["drops"]["late"], g["packets"]["received"]["mean"]
    return late["mean"] / received, late["half_width"] / received


def closed_forms(replications=10, seconds=20):
    """In front of the bottleneck (dequeue) the gate's drop rate is known."""
    figures = []
    for rho, mu_tau, expected in POINTS:
        assert abs(drops(rho, mu_tau) - expected) < 5e-5
        g = gateway(BOTTLENECK, **{"gateways[0].gate_at": "dequeue", "clients[0].rate": rho * 1e6 / MEAN_US,
                                   "config.services[0].sojourn_max_us": MEAN_US * mu_tau,
                                   "replications": replications, "duration_s": seconds, "warmup_s": 1})
        got, half = rate(g)
        allowed = max(half * WIDER[replications], .002)
        figures.append({"rho": rho, "mu_tau": mu_tau, "expected": expected, "got": round(got, 5),
                        "allowed": round(allowed, 5), "good": abs(got - drops(rho, mu_tau)) <= allowed})
    return figures


def places(replications=5, seconds=3):
    """A line that is asked for 1.2 times what it can do, and what is late dropped in three places, or by the gate that knows
    the line's rate. What leaves too late all the same, and how late."""
    rows = []
    # 154 bytes with all that is between frames: 61.6 us of 20 Mbit/s; 64 of them in the transmit ring are 3.9 ms
    line = {"gateways[0].tx_ring": 64, "gateways[0].tx_rate_mbps": 20, "clients[0].bytes": 64,
            "gateways[0].work_us": {"kind": "exponential", "mean": 10}, "clients[0].rate": 19480}
    for at, known in (("arrival", False), ("dequeue", False), ("transmit", False), ("transmit", True)):
        g = gateway({**BOTTLENECK, **line}, **{
            "gateways[0].gate_at": at, "gateways[0].rate_known": known, "config.services[0].sojourn_max_us": 1000,
            "replications": replications, "duration_s": seconds, "warmup_s": 0.5})
        gate, wire, sent = g["gate"], g["wire"], g["packets"]["forwarded"]["mean"]
        rows.append({"place": "predictive" if known else at, "sent": round(sent),
                     "late_at_driver": round(gate["late"]["mean"] - gate["late_dropped"]["mean"]),
                     "late_on_wire": round(wire["late"]["mean"]),
                     "driver_max_us": round(gate["max_sojourn_ns"]["mean"] / 1e3),
                     "wire_max_us": round(wire["max_ns"]["mean"] / 1e3)})
    return rows


def on_the_wire():
    """A line near saturation: late packets on it, by the plain gate and by the one that knows its rate."""
    late = {}
    for known in (False, True):
        g = gateway(LINE, **{"gateways[0].rate_known": known})
        late[known] = round(g["wire"]["late"]["mean"]), round(g["packets"]["forwarded"]["mean"])
    return {"plain": {"late": late[False][0], "sent": late[False][1]},
            "predictive": {"late": late[True][0], "sent": late[True][1]}}


if __name__ == "__main__":
    for figure in closed_forms(5, 10) + places(5, 5) + [on_the_wire()]:
        print(json.dumps(figure))
