"""Arrivals with a latency of 2 ms (coefficient of variation 0.1) for which it is known what gaps must give."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gap"))
import run as gap  # noqa: E402

# What the published rule reads high or low: its sum of modes, and its top mode alone. None: not known.
KNOWN = {"stop and wait": (0.0, 0.0), "window of 8": (0.0, -0.20), "6 acknowledgements": (0.0, -0.20),
         "burst of 8": (0.176, None)}
ROOM = {"mode-sum": 0.01, "top-mode": 0.04}


def cases():
    """With `expected`: what the rule must give."""
    for shape, expected in KNOWN.items():
        client = gap.Client()
        for _ in range(4000):
            client.exchange(shape)
        said = gap.replay(text="".join(f"{int(t * 1e6)} {size} 6\n" for t, size in client.packets))
        truth = statistics.mean(client.truth)
        for rule, must in zip(("mode-sum", "top-mode", "envelope"), (*expected, None)):
            error = said[rule] / truth - 1 if said[rule] else None
            known = error is not None
            yield {"workload": f"known: {shape}", "quantity": "L", "estimator": rule, "error_of_mean": error,
                   "error_ms": abs(said[rule] - truth) if known else None,
                   "median_relative_error": abs(error) if known else None, "within_5": float(known and abs(error) <= 0.05),
                   "within_15": float(known and abs(error) <= 0.15), "n": len(client.packets), "true_n": 4000,
                   "windows": 1, "known": float(known), "errors": [error] if known else [],
                   "pairs": [(truth, said[rule])] if known else [], "expected": must}


def bad(cases):
    """Sentences on those that do not give what they must."""
    for c in cases:
        must = c["expected"]
        if must is not None and (c["error_of_mean"] is None or abs(c["error_of_mean"] - must) > ROOM[c["estimator"]]):
            yield f"{c['workload']}, {c['estimator']}: {c['error_of_mean']} instead of {must} +- {ROOM[c['estimator']]}"
