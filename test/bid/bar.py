#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the bar of bidding: FOLDER has sim.json (bid-model compare) and live.json; prints a table and one JSON line."""
import json
import os
import sys

FIGURES = (("general", "active_sessions", 2), ("general", "turnaround_ratio", 3), ("heavy", "wait_ms", 1.2))
RIVALS = ("least-connections", "dwrr")


def main(folder):
    with open(f"{folder}/sim.json") as f:
        sim = json.load(f)
    with open(f"{folder}/live.json") as f:
        live = json.loads(f.read() or "null")
    good = True
    print(f"{'policy':18}" + "".join(f"{name:>28}" for _, name, _ in FIGURES))
    for policy in sim["general"]:
        row = [sim[model][policy] for model, _, _ in FIGURES]
        print(f"{policy:18}" + "".join(f"{r[k]:>18.2f} ±{r[k + '_ci']:>8.2f}" for r, (_, k, _) in zip(row, FIGURES)))
    for model, k, bar in FIGURES:
        bid = sim[model]["bid"]
        for rival in RIVALS:
            other = sim[model][rival]
            factor = other[k] / bid[k]
            apart = other[k] - other[k + "_ci"] > bid[k] + bid[k + "_ci"]
            good &= factor >= bar and apart
            print(f"{k}: {factor:.2f} times less than with {rival} (bar {bar}), intervals "
                  f"{'disjoint' if apart else 'overlap'}")
    good &= live is not None and live["lost"] == 0 and live["half_open"] == 0 and live["connections"] >= 2000
    good &= not os.path.exists(f"{folder}/live-failed") and not os.path.exists(f"{folder}/dearer")
    print(json.dumps({"live": live, "sim": {p: {k: sim[m][p][k] for m, k, _ in FIGURES} for p in sim["general"]}}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
