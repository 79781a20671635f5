"""How close every estimator comes to the truth: see run.sh."""
import argparse
import json
import os
import sys
import time

import bars
import captured
import clients
import known
import simulated
import table
import workloads

PUBLISHED = ("workload", "quantity", "estimator", "error_of_mean", "median_relative_error", "within_5", "within_15", "n")
# What the short run asserts: figures that hold today with room for another seed. (quantity, estimator): most the error
# of the mean may be. What the bars ask and is missed stands in doc/accuracy.md.
SHORT = {
    "closed loop": {("L", "auto"): 0.01, ("S", "auto"): 0.01, ("q", "auto"): 0.02, ("L", "ack"): 0.002, ("S", "ack"): 0.005},
    "think 200 ms before 10 %": {("L", "auto"): 0.02, ("S", "auto"): 0.02, ("q", "auto"): 0.05},
    "steady server, closed loop": {("L", "auto"): 0.01, ("L", "gap"): 0.01, ("L", "mode-sum"): 0.01},
    "path of 20 ms with jitter": {("L", "auto"): 0.15, ("S", "auto"): 0.08, ("q", "auto"): 0.08, ("L", "ack"): 0.01},
}


def asserted(cases):
    """Name and whether it holds."""
    for workload, bounds in SHORT.items():
        for (quantity, estimator), most in bounds.items():
            c = bars.of(cases, workload, quantity, estimator)
            error = c["error_of_mean"]
            yield (f"{workload}, {quantity} by {estimator}: {bars.points(error)}, at most {100 * most:g} %",
                   error is not None and abs(error) <= most)


def simulate(chosen, replications):
    cases, begin = [], time.monotonic()
    for w in chosen:
        cases += simulated.cases(w, replications)
        print(f"{time.monotonic() - begin:6.1f} s  {w.name}", file=sys.stderr, flush=True)
    return cases


def show(simulations, synthetic, real, live):
    table.show("Simulated", simulations)
    if live:
        table.show("Live: real clients and servers", live)
        table.methods("All estimators on the live workloads, L", [c for c in live if c["quantity"] == "L"])
    table.show("Known arrivals: what gaps must give", synthetic)
    if real:
        table.show("Captures: client → server packets alone", real)
        table.methods("All methods on the captures", real)
    else:
        print("\nSKIPPED captures: TIDEGATE_CAPTURES names no folder with truth.tsv")
    table.methods("All estimators on the simulated workloads, L",
                  [c for c in simulations if c["quantity"] == "L" and not c["workload"].startswith(("ticks", "no time"))])
    table.requests(simulations)
    table.worst(simulations + live + real)


def arguments():
    p = argparse.ArgumentParser(prog="test/accuracy/run.sh", description="How close every estimator comes to the truth.")
    p.add_argument("--short", action="store_true", help="a few workloads with asserted bounds, within 30 s")
    p.add_argument("--live", action="store_true", help="real clients and servers in namespaces too; needs root")
    p.add_argument("--bars", action="store_true", help="the last line is the cases as JSON; exit code 1 where a bar is missed")
    p.add_argument("--json", metavar="FILE", help="cases, bars and what they rest on")
    p.add_argument("--picture", metavar="FILE.svg", help="the CDF of the errors")
    p.add_argument("--replications", type=int, default=0, help="windows of each server (default 6; short 2)")
    p.add_argument("--only", metavar="WORD", help="workloads whose name has it")
    return p.parse_args()


def short(options):
    chosen = [w for w in workloads.everything() if w.name in SHORT]
    cases = simulate(chosen, options.replications or 2)
    table.show("Simulated", cases)
    synthetic = list(known.cases())
    table.show("Known arrivals", synthetic)
    checks = list(asserted(cases))
    wrong = list(known.bad(synthetic))
    live = clients.cases(short=True) if options.live else []
    if live:
        table.show("Live", live)
        checks += clients.asserted(live)
    skipped = sum(good is None for _, good in checks) + (live is None)
    for name, good in checks:
        print({True: "PASS", False: "FAIL", None: "SKIPPED, the host is busy or a command is missing:"}[good], name)
    print("\n".join(f"FAIL {w}" for w in wrong) or "PASS known arrivals")
    failed = sum(good is False for _, good in checks) + bool(wrong)
    return cases + synthetic + (live or []), [], failed, len(checks) + 1 + (live is None), skipped


def full(options):
    chosen = [w for w in workloads.everything() if not options.only or options.only in w.name]
    simulations = simulate(chosen, options.replications or 6)
    synthetic, real = list(known.cases()), [] if options.only else list(captured.cases())
    live = (clients.cases() if options.live else []) or []
    show(simulations, synthetic, real, live)
    cases = simulations + synthetic + live + real
    judged = bars.judge(cases, chosen)
    bars.show(judged, cases)
    wrong = list(known.bad(synthetic))
    print("\n".join(f"FAIL {w}" for w in wrong) or "Known arrivals give what they must.")
    return cases, judged, sum(not j["met"] for j in judged) + len(wrong), len(judged) + 1, 0


def main():
    options = arguments()
    if not os.access(simulated.SIM, os.X_OK):
        sys.exit(f"{simulated.SIM} is not built (meson setup build && ninja -C build), or TIDEGATE_BUILD names another folder")
    cases, judged, failed, total, skipped = (short if options.short else full)(options)
    plain = [{k: c[k] for k in PUBLISHED} for c in cases]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"cases": [{**p, "windows": c["windows"], "known": c["known"], "errors": c["errors"],
                                  **({"error_by_100_ms": c["error_by_100_ms"]} if c["quantity"] == "q" else {})}
                                 for p, c in zip(plain, cases)], "bars": judged, "not_measured": bars.not_measured(cases)}, f, indent=1)
    if options.picture and not table.picture(options.picture, cases):
        print("SKIPPED the picture: python3-matplotlib is missing")
    if options.bars:
        print(json.dumps({"cases": plain}))
        return 1 if failed else 0
    if options.short:
        print(f"{total - failed - skipped} passed, {failed} failed, {skipped} skipped")
        return 1 if failed else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
