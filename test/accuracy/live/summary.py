#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The one figure that a client gives of a whole run: prints begin, end, exchanges and mean latency in ns.

summary.py wrk|redis|memcaslap FILE BEGIN END
"""
import json
import re
import sys


def wrk(text):
    """The last line of test/live/wrk.lua."""
    said = json.loads(text.strip().splitlines()[-1])
    return said["requests"], said["latency_ns"]["mean"]


def redis(text):
    """redis-benchmark --precision 3: requests, and the first number under "latency summary (msec)"."""
    count = int(re.search(r"(\d+) requests completed", text).group(1))
    mean = float(re.search(r"latency summary \(msec\):\s+avg.*\n\s*([\d.]+)", text).group(1))
    return count, mean * 1e6


def memcaslap(text, begin):
    """memcaslap's table, a line a second: operations and their mean in us. It begins with the first."""
    total = text.split("Total Statistics\nType")[1:]
    for i, table in enumerate(total):
        words = re.search(r"Period +(.*)", table).group(1).split()
        yield begin + i * 10 ** 9, begin + (i + 1) * 10 ** 9, int(words[1]), float(words[7]) * 1000


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as f:
        said = f.read()
    if sys.argv[1] == "memcaslap":
        for window in memcaslap(said, int(sys.argv[3])):
            print(*window)
    else:
        requests, latency = {"wrk": wrk, "redis": redis}[sys.argv[1]](said)
        print(sys.argv[3], sys.argv[4], requests, round(latency))
