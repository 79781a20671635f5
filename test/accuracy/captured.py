"""Real captures, of which the gateway sees the packets from client to server, beside the truth of both directions."""
import json
import os
import tempfile

import compare
import prior

MEDIAN_ONLY = ("b-wireguard.pcap", "b-doq_adguard.pcapng")  # the mean is one pause of the server, or has no other truth


def rows():
    """Of the truth; none without captures."""
    present = compare.FOLDER and os.path.exists(os.path.join(compare.FOLDER, "truth.tsv"))
    return compare.read_truth() if present else []


def configuration(mine, rule):
    config = compare.gap_configuration(mine)
    for service in config["services"]:
        service["gap_rule"] = rule
    return config


def by_gateway(path, mine):
    """Flows by client: with the estimator the headers allow, and with headers ignored by both gap rules."""
    out = {"auto": compare.flows_of(path)}
    for name, rule in (("gap", "envelope"), ("mode-sum", "mode-sum")):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            json.dump(configuration(mine, rule), config)
            config.flush()
            out[name] = compare.flows_of(path, "--config", config.name)
    return out


def case(row, estimator, statistic, said, n):
    """Figures in ms; one connection is one window."""
    truth = float(row["truth_mean" if statistic == "mean" else "truth_med"])
    error = said / truth - 1 if said else None
    known = error is not None
    return {"workload": f"capture {row['file']}, {row['client'].rsplit(':', 1)[1]}", "quantity": "L", "estimator": estimator,
            "error_of_mean": error, "error_ms": abs(said - truth) if known else None, "statistic": statistic,
            "median_relative_error": abs(error) if known else None, "within_5": float(known and abs(error) <= 0.05),
            "within_15": float(known and abs(error) <= 0.15), "n": n, "true_n": int(row["exch"]), "windows": 1,
            "known": float(known), "errors": [error] if known else [], "pairs": [(truth * 1e6, said * 1e6)] if known else []}


def cases():
    truth = rows()
    for name in dict.fromkeys(row["file"] for row in truth):
        mine = [row for row in truth if row["file"] == name]
        path, udp = os.path.join(compare.FOLDER, name), name.startswith("b-")
        statistic = "median" if name in MEDIAN_ONLY else "mean"
        gateway = by_gateway(path, mine)
        for row in mine:
            client, server = compare.address_and_port(row["client"]), compare.address_and_port(row["server"])
            for estimator, flows in gateway.items():
                flow = flows.get(client)
                n = flow["exchanges"] if flow else 0
                said = flow["latency_ns"]["mean" if statistic == "mean" else "p50"] if n else None
                yield case(row, estimator, statistic, said / 1e6 if said else None, n if said else 0)
            mean = float(row["truth_mean" if statistic == "mean" else "truth_med"])
            for method, said in prior.methods(path, client, server, udp, mean).items():
                yield case(row, method, statistic, said, 1 if said else 0)
