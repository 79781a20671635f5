"""The verdict of bursts.sh: from the experiment's figures and the bench's."""
import json
import statistics
import sys

LOWER, UNUSED, ADMIT_NS, CALM = 0.597, 0.02, 5.0, 10_000_000


def admit_ns(paths):
    """Of the run in which others took the core least."""
    cases = []
    for path in paths:
        with open(path) as f:
            cases += json.load(f)["cases"]
    return round(statistics.median(min(cases, key=lambda c: c["wall_over_cpu"])["runs"]), 2)


def main():
    with open(sys.argv[1]) as f:
        figures = json.load(f)
    bars = figures["bars"]
    calm = {name: round(got["groups"]["calm"]["p99_999"], 3) for name, got in bars.items()}
    unused = {name: round(got["unused_share"], 4) for name, got in figures["unused"].items()}
    ns = admit_ns(sys.argv[2:])
    faults = []
    for name in ("two_level", "work_conserving"):
        got = bars[name]
        if calm[name] > (1 - LOWER) * calm["none"]:
            faults.append(f"{name}: calm P99.999 {calm[name]} ms against {calm['none']} ms: not {LOWER:.1%} lower")
        if unused[name] > UNUSED:
            faults.append(f"{name}: {unused[name]:.1%} unused without bursts: above {UNUSED:.0%}")
        if got["servers"]["waiting"] > bars["none"]["servers"]["waiting"]:
            faults.append(f"{name}: {got['servers']['waiting']:.0f} requests wait at the servers, "
                          f"{bars['none']['servers']['waiting']:.0f} without isolation")
        if got["groups"]["calm"]["failed_share"] > 0:
            faults.append(f"{name}: {got['groups']['calm']['failed_share']:.3%} of the calm requests were lost")
        if got["gate_late"] > got["gate_dropped"]:
            faults.append(f"{name}: {got['gate_late'] - got['gate_dropped']:.0f} packets left late")
    if ns > ADMIT_NS:
        faults.append(f"an admitted packet costs {ns} ns: above {ADMIT_NS}")
    fewest = min(got["groups"]["calm"]["asked"] for got in bars.values())
    if fewest < CALM:
        faults.append(f"only {fewest:.0f} calm requests a policy: the bar is about {CALM}")
    for fault in faults:
        print(f"FAIL {fault}")
    print(json.dumps({"calm_p99999_ms": calm, "unused_share": unused, "admit_ns": ns}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
