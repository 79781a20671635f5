#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Watches the pools of case/budget.sh while it makes the servers faster and slower: prints the figures and exits 0, or the fault and
exits 1.

Arguments: the case's working folder, the process ids of the servers of `derived`."""
import json
import os
import signal
import socket
import sys
import time

SERVERS, WORKERS, SHARE = 2, 32, 0.9  # what a derived budget is of workers / S
NEAR = 0.25
CONFIGURED = 5000
# Ten windows of 200 exchanges a server; a dip is believed after five seconds. On a slow machine it takes longer.
BEGINS_S, RISES_S, FALLS_S = 30, 20, 25


def pools(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(path)
        s.sendall(json.dumps({"version": 1, "command": "admission list", "arguments": []}).encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            more = s.recv(65536)
            assert more, "the control socket closed"
            data += more
    return {p["pool"]: p for p in json.loads(data)["result"]}


def due(delay_us):
    """Requests a second."""
    return SHARE * SERVERS * WORKERS * 1e6 / delay_us


def judge_misfit(pool):
    assert pool["budget_per_s"] == CONFIGURED, f"the configured budget became {pool['budget_per_s']}"
    assert not pool["fits"], "the model is said to fit servers that take 200 times what is configured"
    assert not pool["headroom_per_s"], f"a model that does not fit gave {pool['headroom_per_s']} extra tokens a second"


def settle(path, delay_us, seconds):
    """Until the derived budget is that of the servers' time, which it must become: how long it took, and the budget."""
    begin = time.monotonic()
    while True:
        seen, passed = pools(path), time.monotonic() - begin
        budget = seen["derived"]["budget_per_s"]
        judge_misfit(seen["misfit"])
        if abs(budget - due(delay_us)) <= NEAR * due(delay_us):
            return passed, budget
        assert passed < seconds, f"servers of {delay_us} us: the derived budget is {budget} after {seconds} s, {due(delay_us):.0f} is due"
        time.sleep(0.1)


def main(work, *processes):
    told = []
    try:
        for delay_us, seconds in ((80000, BEGINS_S), (40000, RISES_S), (160000, FALLS_S)):
            with open(f"{work}/delay-derived", "w", encoding="utf-8") as f:
                print(f"const:{delay_us}", file=f)
            for pid in processes:
                os.kill(int(pid), signal.SIGHUP)
            passed, budget = settle(f"{work}/control.sock", delay_us, seconds)
            told.append(f"{delay_us // 1000} ms {budget} after {passed:.1f} s")
    except AssertionError as fault:
        sys.exit(f"{fault} ({', '.join(told) or 'nothing before'})")
    print(f"derived budgets: {', '.join(told)}; where the model does not fit {CONFIGURED} stayed, without extra tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
