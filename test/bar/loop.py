#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges what test/loop/loop.c measured: its JSON line on standard input. Exit 0 when the bars hold."""
import json
import sys

BAR, STRETCH, OLDEST_MS = 0.22, 0.5, 10


def main():
    r = json.loads(sys.stdin.readlines()[-1])
    p, oldest = r["p999_us"], r["oldest_task_ms"]
    lower = 1 - p["scheduler"] / p["run_to_completion"]
    held = {"bar": lower >= BAR, "stretch": lower >= STRETCH, "oldest": oldest <= OLDEST_MS}
    said = {k: "holds" if v else "FAILS" for k, v in held.items()}
    print(f"{r['flows']} flows, {r['kpps']:.0f} kpps; a step of ageing takes {r['step_ns'] / 1e3:.1f} us")
    print(f"p99.9 at low load: {p['scheduler']:.2f} us; rounds to completion {p['run_to_completion']:.2f} us")
    print(f"lower by {lower:.0%}: bar {BAR:.0%} {said['bar']}, stretch {STRETCH:.0%} {said['stretch']}")
    print(f"full load, {r['full_load_mpps']:.1f} Mpps: no task was later than {oldest:.2f} ms: "
          f"bar {OLDEST_MS} ms {said['oldest']}")
    print(json.dumps(r))
    return 0 if held["bar"] and held["oldest"] else 1


if __name__ == "__main__":
    sys.exit(main())
