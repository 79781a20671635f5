"""What the gateway measured of a live run beside what its clients saw: cases as simulated.py has them.

usage: live.py FOLDER FILE: the folder of run.sh; {"cases": […]} goes to the file, the table is printed. What the file
holds of workloads that did not run now stays: slices add up to a whole.
"""
import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile
from concurrent import futures

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import simulated
import table
import truth

TIDEGATE = os.environ.get("TIDEGATE", os.environ.get("TIDEGATE_BUILD", "build") + "/app/tidegate/tidegate")
WINDOW_NS, WINDOW_EXCHANGES, LONGEST_NS = 10 ** 9, 200, 2 * 10 ** 9
WARM_UP_NS = 10 ** 9  # connections are opened, clocks are learnt
OFFLINE = {"ack": {"estimator": "ack"}, "gap": {"estimator": "gap"}, "mode-sum": {"estimator": "gap", "gap_rule": "mode-sum"}}


def boundaries(exchanges, polls):
    """Times of polls between windows of a second, or two where a second has less than 200 exchanges."""
    if not exchanges:
        return []
    times = [at for at, _, _ in polls if at >= exchanges[0][0] + WARM_UP_NS]
    out, i, seen = [], 0, 0
    for at in times:
        while i < len(exchanges) and exchanges[i][0] < at:
            seen += exchanges[i][1]
            i += 1
        if not out or at - out[-1] >= (WINDOW_NS if seen >= WINDOW_EXCHANGES else LONGEST_NS):
            out.append(at)
            seen = 0
        if i == len(exchanges):
            break
    return out


def between(exchanges, begin, end):
    """Exchanges and their mean."""
    mine = [(n, mean) for at, n, mean in exchanges if begin <= at < end]
    n = sum(n for n, _ in mine)
    return n, sum(n * mean for n, mean in mine) / n if n else None


def windows_of(meta, folder, polls):
    """[(begin, end, exchanges, mean)]"""
    found = truth.KINDS[meta["kind"]](folder, meta)
    if meta["kind"] in ("runs", "pages"):  # cut in the quiet between two runs, when the gateway has seen the last exchange
        ends = [(found[i][1] + found[i + 1][0]) // 2 for i in range(len(found) - 1)]
        return [(a, b, n, mean) for a, b, (_, _, n, mean) in
                zip([found[0][0] - 1e8, *ends], [*ends, found[-1][1] + 3e8], found)]
    edges = boundaries(found, polls)
    return [(a, b, *between(found, a, b)) for a, b in zip(edges, edges[1:])]


def at(polls, when, service):
    """Cumulative [exchanges, sum of L, sum of S] at the poll nearest to a time."""
    return min(polls, key=lambda p: abs(p[0] - when))[2].get(service, [0, 0, 0])


def difference(before, after, which):
    n = after[0] - before[0]
    return n, (after[which] - before[which]) / n if n > 0 else None


def cut(path, ends):
    """A pcap, and how many of its bytes come before each of these times (ns since 1970)."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1") else ">"
    at_byte, out, want = 24, [], list(ends)
    while want and at_byte + 16 <= len(data):
        seconds, fraction, kept, _ = struct.unpack_from(order + "IIII", data, at_byte)
        while want and seconds * 10 ** 9 + fraction >= want[0]:
            out.append(at_byte)
            want.pop(0)
        at_byte += 16 + kept
    return data, out + [len(data)] * len(want)


def capture_sums(packets, config):
    """[exchanges, sum of L, sum of S] of a capture's one service."""
    with tempfile.TemporaryDirectory(prefix="tidegate-accuracy-") as mine:
        with open(f"{mine}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        with open(f"{mine}/front.pcap", "wb") as f:
            f.write(packets)
        done = subprocess.run([TIDEGATE, "--capture", f"{mine}/front.pcap", "--config", f"{mine}/config.json",
                               "--report", f"{mine}/report.json"], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:  # nothing of the service in it
            return [0, 0, 0]
        with open(f"{mine}/report.json", encoding="utf-8") as f:
            servers = json.load(f)["services"][0]["servers"]
    return [sum(s["exchanges"] * (s[key]["mean"] or 0 if key else 1) for s in servers)
            for key in (None, "latency_ns", "server_ns")]


def offline(meta, folder, settings, ends, alone=False):
    """[exchanges, sum of L, sum of S], cumulative at each of these times, from the capture of the gateway's front port.

    `alone`: each window's packets by themselves, for a rule whose epoch may be longer than the run: what it says at
    the end of a capture is then all it says, and is no sum that could be differenced."""
    with open(f"{folder}/gateway.json", encoding="utf-8") as f:
        service = next(s for s in json.load(f)["services"] if s["name"] == meta["name"])
    data, lengths = cut(f"{folder}/{meta['name']}.pcap", ends)
    config = {"version": 1, "flow_table": {"slots_per_worker": 4096}, "services": [{**service, **settings}]}
    parts = [data[:24] + data[a:b] for a, b in zip(lengths, lengths[1:])] if alone else [data[:length] for length in lengths]
    with futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda part: capture_sums(part, config), parts))
    return [list(x) for x in zip(*(itertools.accumulate(column, initial=0) for column in zip(*said)))] if alone else said


def found(name, windows, edges):
    """As simulated.case wants it, of cumulative figures at the edges of the windows: (L, S)."""
    return [[[name, mean, *difference(edges[i], edges[i + 1], which)[::-1], int(n)]
             for i, (_, _, n, mean) in enumerate(windows) if n] for which in (1, 2)]


def cases(folder, meta, polls):
    windows = windows_of(meta, folder, polls)
    edges = [windows[0][0], *(end for _, end, _, _ in windows)] if windows else []
    measured = {"auto": [at(polls, t, meta["name"]) for t in edges]}
    for estimator, settings in OFFLINE.items():
        if estimator == "ack" and meta["protocol"] == "udp" or estimator == "gap" and meta["protocol"] == "udp":
            continue  # auto is gap there
        measured[estimator] = offline(meta, folder, settings, [t + meta["realtime_offset"] for t in edges],
                                      estimator == "mode-sum")
    server = truth.server_log(folder, meta) if meta["server_log"] else []
    true_s = [(a, b, *between(server, a, b)) for a, b, _, _ in windows]
    for estimator, cumulative in measured.items():
        of_l = found(meta["name"], windows, cumulative)[0]
        yield simulated.case("live: " + meta["title"], "L", "gap" if meta["protocol"] == "udp" and estimator == "auto" else estimator,
                             of_l)
        if server and estimator in ("auto", "ack"):
            yield simulated.case("live: " + meta["title"], "S", estimator, found(meta["name"], true_s, cumulative)[1])


def earlier(path):
    """Cases of a slice that ran before."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return []
    with open(path, encoding="utf-8") as f:
        return json.load(f)["cases"]


def main():
    folder, out = sys.argv[1], []
    with open(f"{folder}/poll.out", encoding="utf-8") as f:
        polls = [json.loads(line) for line in f if line.endswith("]\n")]
    with open(f"{folder}/workloads", encoding="utf-8") as f:
        metas = [json.loads(line) for line in f]
    for meta in metas:
        meta["realtime_offset"] = polls[0][1]
        try:
            mine = list(cases(folder, meta, polls))
        except (OSError, ValueError, IndexError, KeyError) as fault:  # its client or server failed: the others count
            print(f"{meta['title']}: no case: {type(fault).__name__} {fault}", file=sys.stderr)
            continue
        for c in mine:
            c["tags"] = meta["tags"]
        out += mine
    ran = {c["workload"] for c in out}
    out = [c for c in earlier(sys.argv[2]) if c["workload"] not in ran] + out
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump({"cases": out}, f)
    table.show("Live: real clients and servers", out)


if __name__ == "__main__":
    main()
