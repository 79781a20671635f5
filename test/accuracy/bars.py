"""The accuracy that is asked of the estimators, held against cases. A case without a figure does not meet a bar."""

GAP_MEDIAN, GAP_WITHIN_15 = 0.0063, 0.90
CAPTURES = 0.15
THINK = 0.10
SERVER, SERVER_MS = 0.05, 0.3
ROUGH_POINTS = 0.02
REQUESTS = 0.10
LIVE = "gap against live clients (wrk, memcached, redis, a browser): simulated ones stand in for them"


def not_measured(cases):
    """What no case of this run tells."""
    live = any(c["workload"].startswith("live: ") for c in cases)
    return [] if live else [LIVE]


def of(cases, workload, quantity, estimator):
    return next((c for c in cases if (c["workload"], c["quantity"], c["estimator"]) == (workload, quantity, estimator)), None)


def bar(name, case, met, said):
    return {"bar": name, "workload": case["workload"], "quantity": case["quantity"], "estimator": case["estimator"],
            "met": bool(met), "measured": said}


def points(value):
    return "no figure" if value is None else f"{value * 100:+.2f} %"


def within(name, case, bound, bound_ms=0.0):
    error = case["error_of_mean"]
    met = error is not None and (abs(error) <= bound or (bound_ms > 0 and case["error_ms"] <= bound_ms))
    return bar(name, case, met, points(error) + (f", {case['error_ms']:.3f} ms" if bound_ms and error is not None else ""))


def gap_in_closed_loops(cases, workloads):
    for w in workloads:
        case = of(cases, w.name, "L", "gap")
        if "closed loop" not in w.tags or case is None:
            continue
        error = case["median_relative_error"]
        yield bar("gap, closed loop: median error of a window at most 0.63 %", case,
                  error is not None and error <= GAP_MEDIAN, points(error))
        yield bar("gap, closed loop: 90 % of windows within 15 %", case, case["within_15"] >= GAP_WITHIN_15,
                  f"{case['within_15'] * 100:.0f} %")


def real_captures(cases):
    mine = [c for c in cases if c["workload"].startswith("capture ") and c["estimator"] == "auto"]
    for case in mine:
        yield within("auto, L of a capture's connection within 15 %", case, CAPTURES)
    if mine:
        errors = sorted(abs(c["error_of_mean"]) if c["error_of_mean"] is not None else float("inf") for c in mine)
        median = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
        yield bar("auto, captures: median error at most 15 %", {**mine[0], "workload": "all captures"}, median <= CAPTURES,
                  points(median))


def thinking_clients(cases, workloads):
    for w in workloads:
        if "think 200 ms before 10 %" in w.name:
            estimator = "auto" if w.protocol == "tcp" else "gap"  # which auto is there
            case = of(cases, w.name, "L", estimator)
            yield within("auto, 200 ms of thought before 10 % of requests: L within 10 %", case, THINK)


def server_time(cases, workloads):
    for w in workloads:
        if "path" in w.tags:
            yield within("S on timestamps, 0/20/100 ms of path with jitter: within 5 % or 0.3 ms", of(cases, w.name, "S", "auto"),
                         SERVER, SERVER_MS)


def rough_weather(cases, workloads):
    """Same load, calm and rough."""
    for calm in (w for w in workloads if "calm" in w.tags):
        rough = next((w for w in workloads if "rough" in w.tags and w.tags[-1] == calm.tags[-1]), None)
        for quantity in ("L", "S") if rough else ():
            before, after = (of(cases, w.name, quantity, "auto") for w in (calm, rough))
            known = before["error_of_mean"] is not None and after["error_of_mean"] is not None
            worse = abs(after["error_of_mean"]) - abs(before["error_of_mean"]) if known else None
            yield bar("1 % loss, 25 % reordered: at most 2 points worse", after, known and worse <= ROUGH_POINTS,
                      f"{points(before['error_of_mean'])} -> {points(after['error_of_mean'])}")


def requests_there(cases, workloads):
    for w in workloads:
        case = of(cases, w.name, "q", "auto" if w.protocol == "tcp" else "gap")
        if w.uncounted:
            yield bar("requests at the server that headers do not tell: no figure", case, case["error_of_mean"] is None,
                      points(case["error_of_mean"]))
        elif not w.no_server_truth:
            yield within("requests at the server within 10 % of the true count", case, REQUESTS)


def live_clients(cases):
    """Closed loops, thought and a far client among real clients; a case's tags say which it is."""
    for case in (c for c in cases if c["workload"].startswith("live: ")):
        kind, tags = (case["quantity"], case["estimator"]), case["tags"]
        if kind == ("L", "gap") and "closed loop" in tags:
            error = case["median_relative_error"]
            yield bar("gap, live closed loop: median error of a window at most 0.63 %", case,
                      error is not None and error <= GAP_MEDIAN, points(error))
            yield bar("gap, live closed loop: 90 % of windows within 15 %", case, case["within_15"] >= GAP_WITHIN_15,
                      f"{case['within_15'] * 100:.0f} %")
        if kind == ("L", "auto") and "think" in tags:
            yield within("auto, live, 200 ms of thought before 10 % of requests: L within 10 %", case, THINK)
        if kind == ("S", "auto") and "far" in tags:
            yield within("S on timestamps, live, 20 ms of path with jitter: within 5 % or 0.3 ms", case, SERVER, SERVER_MS)


def judge(cases, workloads):
    return [*gap_in_closed_loops(cases, workloads), *real_captures(cases), *thinking_clients(cases, workloads),
            *server_time(cases, workloads), *rough_weather(cases, workloads),
            *requests_there(cases, workloads), *live_clients(cases)]


def show(judged, cases):
    print("\n### The bars\n\n| bar | workload | quantity | measured | |\n| --- | --- | --- | --- | --- |")
    for j in judged:
        print(f"| {j['bar']} | {j['workload']} | {j['quantity']} | {j['measured']} | {'met' if j['met'] else '**missed**'} |")
    for name in not_measured(cases):
        print(f"| {name} | | | not measured | – |")
    met = sum(j["met"] for j in judged)
    print(f"\n{met} of {len(judged)} bars are met.")
