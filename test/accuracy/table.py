"""The table, what is worst, and the picture of the cases."""
import math
import statistics

PRIOR = ("mode-sum", "handshake", "threshold", "oracle", "two-sided")


def percent(value, signed=False):
    if value is None:
        return "–"
    digits = 1 if abs(value) < 1 else 0
    return f"{value * 100:{'+' if signed else ''}.{digits}f} %"


def cell(c):
    """Error of the mean, median error of a window, and windows within 5 and 15 % of all."""
    if c is None:
        return ""
    if c["error_of_mean"] is None:
        return "–"
    shares = "/".join(f"{c[k] * 100:.0f}" for k in ("within_5", "within_15"))
    return f"{percent(c['error_of_mean'], True)}, {percent(c['median_relative_error'])}, {shares}"


def show(title, cases):
    """A line a workload and quantity, a column an estimator."""
    estimators = list(dict.fromkeys(c["estimator"] for c in cases))
    print(f"\n### {title}\n\n| workload | | n | {' | '.join(estimators)} |\n|{' --- |' * (3 + len(estimators))}")
    for key in dict.fromkeys((c["workload"], c["quantity"]) for c in cases):
        mine = {c["estimator"]: c for c in cases if (c["workload"], c["quantity"]) == key}
        n = next(iter(mine.values()))["true_n"]
        print(f"| {key[0]} | {key[1]} | {n} | {' | '.join(cell(mine.get(e)) for e in estimators)} |")


def requests(cases):
    """Requests at the servers, truth beside the estimate of those that have one: both are means over time and windows."""
    cases = [c for c in cases if c["quantity"] == "q" and c["pairs"]]
    print("\n### Requests at the servers\n\n| workload | estimator | there | estimated | error, worse server | median window | "
          "by 100 ms |\n| --- | --- | --- | --- | --- | --- | --- |")
    for c in cases:
        there, said = (statistics.fmean(column) for column in zip(*c["pairs"]))
        print(f"| {c['workload']} | {c['estimator']} | {there:.2f} | {said:.2f} | {percent(c['error_of_mean'], True)} | "
              f"{percent(c['median_relative_error'])} | {percent(c['error_by_100_ms'])} |")


def worst(cases):
    """Of each estimator and quantity: how many cases are within 15 %, say nothing, and the worst by name."""
    print("\n### The worst\n\n| estimator | quantity | cases | within 15 % | without a figure | worst | error |"
          "\n| --- | --- | --- | --- | --- | --- | --- |")
    for kind in dict.fromkeys((c["estimator"], c["quantity"]) for c in cases):
        mine = [c for c in cases if (c["estimator"], c["quantity"]) == kind]
        known = [c for c in mine if c["error_of_mean"] is not None]
        if known:
            bad = max(known, key=lambda c: abs(c["error_of_mean"]))
            good = sum(abs(c["error_of_mean"]) <= 0.15 for c in known)
            print(f"| {kind[0]} | {kind[1]} | {len(mine)} | {good} | {len(mine) - len(known)} | {bad['workload']} | "
                  f"{percent(bad['error_of_mean'], True)} |")


def correlation(pairs):
    """Pearson's of the logarithms; None: too few, or all alike."""
    points = [(math.log(a), math.log(b)) for a, b in pairs if a > 0 and b > 0]
    if len(points) < 3 or any(len(set(column)) < 2 for column in zip(*points)):
        return None
    return statistics.correlation(*zip(*points))


def methods(title, cases):
    """One line a method: over connections (captures), or over windows of all workloads it was tried on."""
    print(f"\n### {title}\n\n| method | cases | with a figure | median error | within 15 % | worst | correlation |"
          "\n| --- | --- | --- | --- | --- | --- | --- |")
    for method in dict.fromkeys(c["estimator"] for c in cases):
        mine = [c for c in cases if c["estimator"] == method]
        errors = [abs(c["error_of_mean"]) for c in mine if c["error_of_mean"] is not None]
        if errors:
            r = correlation([pair for c in mine for pair in c["pairs"]])
            print(f"| {method} | {len(mine)} | {len(errors)} | {percent(statistics.median(errors))} | "
                  f"{sum(e <= 0.15 for e in errors)}/{len(mine)} | {percent(max(errors))} | {'–' if r is None else f'{r:.2f}'} |")


def picture(path, cases):
    """CDF of the error of windows by estimator and quantity. False: python3-matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "tidegate"
    parts = {"simulated, a window": [], "live, a window": [], "captures, a connection": []}
    for c in (c for c in cases if not c["workload"].startswith("known: ")):
        kind = c["workload"].split(" ", 1)[0]
        parts[{"live:": "live, a window", "capture": "captures, a connection"}.get(kind, "simulated, a window")].append(c)
    parts = {title: chosen for title, chosen in parts.items() if chosen}
    figure, axes = pyplot.subplots(1, len(parts), figsize=(5.5 * len(parts), 4.2), sharey=True, squeeze=False)
    axes = axes[0]
    for axis, (title, chosen) in zip(axes, parts.items()):
        for kind in dict.fromkeys((c["estimator"], c["quantity"]) for c in chosen):
            mine = [c for c in chosen if (c["estimator"], c["quantity"]) == kind]
            errors = sorted(max(abs(e), 1e-4) for c in mine for e in c["errors"])
            total = sum(c["windows"] for c in mine)  # those without a figure never come in: the curve ends below 1
            axis.step(errors, [(i + 1) / total for i in range(len(errors))], where="post", label=f"{kind[0]}, {kind[1]}",
                      linestyle="--" if kind[0] in PRIOR else "-")
        axis.set(xscale="log", title=title, xlabel="relative error", xlim=(1e-4, 1e3), ylim=(0, 1))
        for bound in (0.05, 0.15):
            axis.axvline(bound, color="0.8", linewidth=0.8)
        axis.legend(fontsize=7, loc="lower right")
    axes[0].set_ylabel("share of all")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    return True
