"""The live part: runs live/run.sh, which needs root, and says why not where it cannot."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NOWHERE = 77  # its exit code where nothing could run
# What the short run asserts of a window's median error: one that the host stalled does not count. Wide enough for a host that
# is not idle.
SHORT = {
    "live: wrk, closed loop, 5 ms": {("L", "ack"): 0.06, ("L", "auto"): 0.15, ("S", "auto"): 0.15, ("L", "gap"): 0.15},
    "live: think 200 ms before 10 %": {("L", "auto"): 0.15, ("S", "auto"): 0.15},
    "live: HTTP/3 by ngtcp2, one request at a time": {("L", "gap"): 0.4},
}
BUSY = 2  # times the service time (5 ms): a client that sees this measures its own waiting


def cases(short=False):
    """Cases, or None; why not is printed."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        done = subprocess.run([f"{HERE}/live/run.sh", *(["--short"] if short else []), "--json", out.name],
                              stdout=subprocess.PIPE, text=True, timeout=600, check=False)
        said = done.stdout.strip().splitlines()
        if done.returncode == NOWHERE:
            print(said[-1] if said else "SKIPPED live")
            return None
        if done.returncode != 0:
            print("\n".join(said), file=sys.stderr)
            raise RuntimeError("test/accuracy/live/run.sh failed")
        return json.load(out)["cases"]


def asserted(found):
    """Name and whether it holds, or None where the host was too busy to tell or a command is missing."""
    for workload, bounds in SHORT.items():
        mine = {(c["quantity"], c["estimator"]): c for c in found if c["workload"] == workload}
        truths = [truth for c in mine.values() if c["quantity"] == "L" for truth, _ in c["pairs"]]
        untold = not mine or bool(truths) and min(truths) > BUSY * 5e6 * (2 if "HTTP/3" in workload else 1)  # a path of 5 ms there
        for kind, most in bounds.items():
            error = mine[kind]["median_relative_error"] if kind in mine else None
            name = f"{workload}, {kind[0]} by {kind[1]}: {'no figure' if error is None else f'{100 * error:.1f} %'}, " \
                   f"at most {100 * most:g} %"
            yield name, None if untold else error is not None and error <= most
