#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a packet of an established flow costs where servers bid, and where they do not, in instructions of a worker's turn
under callgrind: they repeat on a busy machine where nanoseconds do not. Exit code 0: at most 1 % more; 1: more;
77: valgrind is missing.

usage: instructions.py [BUILD]     BUILD: the build folder (default build)"""
import json
import re
import shutil
import subprocess
import sys
import tempfile

MARGIN = 1.01
POLICIES = ("bid", "two-choices", "round-robin", "least-connections")


def a_packet(build, policy):
    with tempfile.NamedTemporaryFile(prefix="tidegate-callgrind-") as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=count_turn",
                               f"--callgrind-out-file={out.name}", f"{build}/test/bid/bid-cost", "flows", policy],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bid-cost flows {policy} failed: {(done.stderr or done.stdout)[-600:]}")
        counted = re.search(r"Collected : (\d+)", done.stderr)
        packets = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])["packets"]
        return int(counted.group(1)) / packets


def main():
    if shutil.which("valgrind") is None:
        print("SKIPPED valgrind is missing")
        return 77
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    figures = {policy: round(a_packet(build, policy), 1) for policy in POLICIES}
    print(json.dumps({"established_instructions": figures}))
    least = min(v for policy, v in figures.items() if policy != "bid")
    if figures["bid"] > MARGIN * least:
        print(f"FAIL a packet of an established flow takes {figures['bid']} instructions with bids, {least} without")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
