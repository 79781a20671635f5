"""The verdict of bursts.sh: from the experiment's last line and the bench's."""
import json
import statistics
import sys

LOWER, UNUSED, ADMIT_NS, CALM = 0.597, 0.02, 5.0, 10_000_000


def last_object(path):
    with open(path) as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


def main():
    figures, bench = (last_object(p) for p in sys.argv[1:])
    bars = figures["bars"]
    calm = {name: round(got["calm"]["p99_999"], 3) for name, got in bars.items()}
    unused = {name: round(got["unused_share"], 4) for name, got in figures["unused"].items()}
    admit = next(c for c in bench["cases"] if c["name"].startswith("stage/admit/"))
    ns = round(statistics.median(admit["runs"]), 2)
    faults = []
    if calm["two_level"] > (1 - LOWER) * calm["none"]:
        faults.append(f"calm P99.999 {calm['two_level']} ms against {calm['none']} ms: not {LOWER:.1%} lower")
    if unused["two_level"] > UNUSED:
        faults.append(f"{unused['two_level']:.1%} unused without bursts: above {UNUSED:.0%}")
    if ns > ADMIT_NS:
        faults.append(f"an admitted packet costs {ns} ns: above {ADMIT_NS}")
    fewest = min(got["calm"]["asked"] for got in bars.values())
    if fewest < CALM:
        faults.append(f"only {fewest:.0f} calm requests a policy: the bar is about {CALM}")
    for fault in faults:
        print(f"FAIL {fault}")
    print(json.dumps({"calm_p99999_ms": calm, "unused_share": unused, "admit_ns": ns}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
