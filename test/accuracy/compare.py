"""What each estimator says of real captures, beside the truth: one line a connection, as a table for doc/pirate.md.

usage: TIDEGATE_CAPTURES=FOLDER [TIDEGATE=path/to/tidegate] /usr/bin/python3 test/accuracy/compare.py

The folder holds captures and truth.tsv (latency of each connection from both directions, in ms). Each capture is run
offline once with the estimator the headers allow (`auto`) and once, under a configuration made here, by `gap` alone.
Figures are the mean and the median of L and their error; setup exchanges (TLS handshakes) are not in ours.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

TIDEGATE = os.environ.get("TIDEGATE", os.environ.get("TIDEGATE_BUILD", "build") + "/app/tidegate/tidegate")
FOLDER = os.environ.get("TIDEGATE_CAPTURES", "")


def read_truth():
    with open(os.path.join(FOLDER, "truth.tsv")) as f:
        return list(csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t"))


def address_and_port(text):
    address, port = text.rsplit(":", 1)
    return address, int(port)


def gap_configuration(rows):
    """A service for every server the truth names, measured by gaps."""
    services = []
    for i, server in enumerate(sorted({(row["file"][:2], row["server"]) for row in rows})):
        address, port = address_and_port(server[1])
        services.append({"name": f"s{i}", "address": address, "protocol": "udp" if server[0] == "b-" else "tcp",
                         "ports": [port], "estimator": "gap", "servers": [{"name": "a", "address": address}]})
    return {"version": 1, "services": services}


def flows_of(path, *more):
    """By client address and port, the flow with the most exchanges."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([TIDEGATE, "--capture", path, "--report", out.name, *more], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = json.load(open(out.name))
    best = {}
    for flow in (f for s in report["services"] for f in s.get("flows", [])):
        key = (flow["client"], flow["client_port"])
        if key not in best or flow["exchanges"] > best[key]["exchanges"]:
            best[key] = flow
    return best


def figure(value, truth):
    error = (value / truth - 1) * 100
    return f"{value:.3g} ({error:+.0f} %)"


def cells(flow, row):
    """exchanges, mean (error), median (error)."""
    if flow is None or not flow["latency_ns"]["mean"]:
        return ["0", "–", "–"]
    latency = flow["latency_ns"]
    return [str(flow["exchanges"]), figure(latency["mean"] / 1e6, float(row["truth_mean"])),
            figure(latency["p50"] / 1e6, float(row["truth_med"]))]


def main():
    if not os.path.exists(os.path.join(FOLDER, "truth.tsv")):
        print("SKIPPED accuracy: TIDEGATE_CAPTURES names no folder with truth.tsv")
        return 0
    rows = read_truth()
    print("| capture, client port | n | mean, ms | median, ms | `auto` n | mean | median | `gap` n | mean | median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in dict.fromkeys(row["file"] for row in rows):
        mine = [row for row in rows if row["file"] == name]
        path = os.path.join(FOLDER, name)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            json.dump(gap_configuration(mine), config)
            config.flush()
            auto, gap = flows_of(path), flows_of(path, "--config", config.name)
        for row in mine:
            client = address_and_port(row["client"])
            flow = auto.get(client)
            if flow is not None and flow["estimator"]["ack"] + flow["estimator"]["echo"] == 0:
                flow = None  # a flow without clear headers: auto took gap
            print("| " + " | ".join([f"{name}, {client[1]}", row["exch"], row["truth_mean"], row["truth_med"],
                                     *cells(flow, row), *cells(gap.get(client), row)]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
