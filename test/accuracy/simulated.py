"""Runs a workload in the simulator and sets what the gateway measured beside the truth."""
import json
import os
import statistics
import subprocess
import tempfile

BUILD = os.environ.get("TIDEGATE_BUILD", "build")
SIM = os.path.join(BUILD, "app/tidegate-sim/tidegate-sim")
QUANTITIES = {"L": "latency_ns", "S": "server_ns"}


def run(scenario):
    with tempfile.TemporaryDirectory(prefix="tidegate-accuracy-") as folder:
        path, results = f"{folder}/scenario.json", f"{folder}/results.json"
        with open(path, "w", encoding="utf-8") as f:
            json.dump(scenario, f)
        done = subprocess.run([SIM, path, "--quiet", "--results", results], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=180, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tidegate-sim: exit code {done.returncode}: {done.stderr[-600:]}")
        with open(results, encoding="utf-8") as f:
            return json.load(f)


def values(number):
    """One a replication; None where it had none."""
    return number.get("values", [number["mean"]])


def windows(results, service, quantity):
    """[server, truth in ns, measured in ns or None, exchanges measured, true exchanges] by server and replication."""
    key = QUANTITIES[quantity]
    truths = {s["name"]: next(t for t in s["services"] if t["service"] == service) for s in results["servers"]
              if any(t["service"] == service for t in s["services"])}
    report = next(s for s in results["gateways"][0]["services"] if s["name"] == service)
    out = []
    for server in report["servers"]:
        truth, measured = truths[server["name"]], server.get(key)
        exchanges = values(server["exchanges"])
        said = values(measured["mean"]) if measured and measured["mean"] else [None] * len(exchanges)
        for t, m, n, asked in zip(values(truth[key]["mean"]), said, exchanges, values(truth["answered"])):
            if t:
                out.append([server["name"], t, m if m and n else None, int(n), int(asked)])
    return out


def requests_there(results, service):
    """Of the requests at each server, by replication: as windows() has it, with time means in place of times; and by how
    much means over 100 ms differ, of the mean there (the worse server). None: not published, as where headers do not tell the
    number."""
    answered = {s["name"]: next((t["answered"] for t in s["services"] if t["service"] == service), {"mean": 0})
                for s in results["servers"]}
    report = next(s for s in results["gateways"][0]["services"] if s["name"] == service)
    out, off = [], []
    for server in report["servers"]:
        level, asked = server["requests_there"], values(answered[server["name"]])
        out += [[server["name"], t, q or None, int(n), int(n)]
                for t, q, n in zip(values(level["there"]), values(level["estimated"]), asked) if t and n]
        if level["window_error"] and level["estimated"]["mean"]:
            off.append(level["window_error"]["mean"])
    return out, max(off, default=None)


def case(workload, quantity, estimator, found):
    """The figures of one case. The error of the mean is the worst server's; windows without a figure count as missed."""
    by_server = {}
    for name, truth, said, n, _ in found:
        if said is not None:
            by_server.setdefault(name, []).append((truth * n, said * n, n))
    pooled = []
    for several in by_server.values():
        true, said, n = (sum(column) for column in zip(*several))
        pooled.append((said / true - 1, abs(said - true) / n))
    errors = [abs(said / truth - 1) for _, truth, said, _, _ in found if said is not None]
    worst = max(pooled, key=lambda e: abs(e[0])) if pooled else (None, None)
    known = len(errors) / len(found) if found else 0
    return {"workload": workload, "quantity": quantity, "estimator": estimator, "error_of_mean": worst[0],
            "error_ms": worst[1] / 1e6 if pooled and quantity != "q" else None,
            "median_relative_error": statistics.median(errors) if errors else None,
            "within_5": sum(e <= 0.05 for e in errors) / len(found) if found else 0,
            "within_15": sum(e <= 0.15 for e in errors) / len(found) if found else 0,
            "n": sum(n for _, _, _, n, _ in found), "true_n": sum(n for *_, n in found), "windows": len(found),
            "known": known, "errors": [round(said / truth - 1, 5) for _, truth, said, _, _ in found if said is not None],
            "pairs": [(truth, said) for _, truth, said, _, _ in found if said is not None]}


def cases(workload, replications):
    results = run(workload.scenario(replications))
    for estimator in workload.estimators:
        for quantity in QUANTITIES:
            if quantity == "S" and (workload.protocol == "udp" or workload.no_server_truth or estimator not in ("auto", "ack")):
                continue  # no handshake that tells the path; or the simulator's S ends where the answer begins
            yield case(workload.name, quantity, estimator, windows(results, estimator, quantity))
        found, off = requests_there(results, estimator)
        yield {**case(workload.name, "q", estimator, found), "error_by_100_ms": off}
