#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the gateway's report from its control socket ten times a second until it is ended or the gateway is gone.

poll.py SOCKET: prints a line a report, [CLOCK_MONOTONIC in ns, CLOCK_REALTIME less that, {service: [exchanges, sum of L in
ns, sum of S in ns]}], cumulative.
"""
import json
import socket
import sys
import time

PERIOD_S = 0.1


def sums(report):
    out = {}
    for service in report["services"]:
        total = [0, 0, 0]
        for server in service["servers"]:
            n = server["exchanges"]
            for i, x in enumerate((1, (server["latency_ns"] or {}).get("mean"), (server["server_ns"] or {}).get("mean"))):
                total[i] += n * (x or 0)
        out[service["name"]] = total
    return out


def main():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        with s.makefile("rw", encoding="utf-8") as lines:
            while True:
                lines.write('{"version": 1, "command": "stats show"}\n')
                lines.flush()
                answer = lines.readline()
                if not answer:
                    return
                now = time.monotonic_ns()
                answer = json.loads(answer)
                print(json.dumps([now, time.time_ns() - now, sums(answer.get("result", answer))]), flush=True)
                time.sleep(PERIOD_S)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, ConnectionError):
        pass
