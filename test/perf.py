#!/usr/bin/env python3
"""Instructions a packet, stage by stage, under callgrind, against recorded figures.

  test/perf.py            compares; a stage that takes more than 3 % above its figure fails
  test/perf.py --record   writes what it counted to test/perf.tsv instead

Instructions repeat on a busy machine where nanoseconds do not. They hold for one compiler and one set of its
options, which the file names; with another one there is nothing to compare, and the cases are SKIPPED.
The last line reads: N passed, N failed, N skipped
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("TIDEGATE_BUILD", os.path.join(TOP, "build"))
BENCH = os.path.join(BUILD, "app", "tidegate-bench", "tidegate-bench")
RECORDED = os.path.join(TOP, "test", "perf.tsv")
MARGIN, LEAST = 1.03, 0.5  # of the figure; instructions a packet that are no difference
BURST = 32

CASES = ["established", "new", "gue", "udp"]
# Stage: the functions whose instructions, and those of all they call, are its own.
STAGES = {
    "ingress": ["tg_ingress_burst"],  # parse, entrance and service of usual frames in one
    "parse": ["tg_parse_burst"],
    "entrance": ["tg_entrance"],
    "service": ["tg_service_match"],
    "flow": ["tg_flow_lookup"],
    "encap": ["tg_encap_burst"],
    "estimator": ["tg_pirate_arrive", "tg_pirate_depart"],
    "send": ["tg_tx_burst"],  # with the estimator's second half, without the driver's end
    "stages": ["tg_pipeline_run"],  # all of them up to the gate
}


def compiler():
    """What the figures hold for: the compiler that the bench names in itself, and how it was told to go about it."""
    said = subprocess.run(["readelf", "-p", ".comment", BENCH], check=True, capture_output=True,
                          text=True).stdout
    names = sorted(set(re.findall(r"\]\s+(\S.*)", said)))
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
        o = {x["name"]: x["value"] for x in json.load(f)}
    return " ".join([*names, f"-O{o['optimization']}", *["lto"] * o["b_lto"], *o["c_args"]])


class Profile:
    """Costs with everything called, and calls, by function, of one callgrind file."""

    def __init__(self, path):
        self.inclusive, self.calls, self.names = {}, {}, {}
        called, calls = None, 0
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("fn="):
                    self.name(line[3:].rstrip())
                elif line.startswith("cfn="):
                    called = self.name(line[4:].rstrip())
                elif line.startswith("calls="):
                    calls = int(line[6:].split()[0])
                elif calls and line[0] in "+-*0123456789":
                    # the line after calls=: what the callee took, with all that it calls
                    self.add(self.inclusive, called, int(line.split()[1]))
                    self.add(self.calls, called, calls)
                    calls = 0

    def name(self, text):
        """Names are written out once, and by number from then on."""
        number, _, name = text.partition(" ")
        if name:
            self.names[number] = name.split("'")[0]
        return self.names[number]

    @staticmethod
    def add(to, key, n):
        to[key] = to.get(key, 0) + n


def measure(case, folder):
    """Instructions a packet of each stage."""
    out = os.path.join(folder, case)
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=tg_worker_main",
         f"--callgrind-out-file={out}", BENCH, "--steady", "--only", f"pipeline/{case}/1k", "--runs", "1",
         "--seconds", "0.01"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p = Profile(out)
    packets = p.calls["tg_pipeline_run"] * BURST
    return {s: sum(p.inclusive.get(f, 0) for f in functions) / packets
            for s, functions in STAGES.items()}


def read_recorded():
    figures, of = {}, ""
    with open(RECORDED, encoding="utf-8") as f:
        for line in f:
            if line.startswith("# compiler: "):
                of = line.split(": ", 1)[1].strip()
            elif not line.startswith("#"):
                case, stage, n = line.split("\t")
                figures[case, stage] = float(n)
    return figures, of


def record(counted):
    with open(RECORDED, "w", encoding="utf-8") as f:
        f.write("# Instructions a packet under callgrind; written by test/perf.py --record.\n")
        f.write(f"# compiler: {compiler()}\n")
        for (case, stage), n in counted.items():
            if n > 0:  # else it is in line elsewhere
                f.write(f"{case}\t{stage}\t{n:.1f}\n")
    print(f"{len(counted)} figures written to test/perf.tsv")


def compare(counted):
    recorded, _ = read_recorded()
    passed = failed = 0
    for key, n in counted.items():
        was = recorded.get(key, 0.0)
        name = f"{key[0]}/{key[1]}"
        if n == 0 < was:
            failed += 1
            print(f"FAIL {name}: none of its functions was called: renamed or inlined? See STAGES")
            continue
        if n > was * MARGIN + LEAST:
            failed += 1
            print(f"FAIL {name}: {n:.1f} instructions a packet, recorded {was:.1f}")
            continue
        passed += 1
        less = "  (less than recorded: test/perf.py --record)" if n < was / MARGIN - LEAST else ""
        print(f"ok   {name}: {n:.1f}, recorded {was:.1f}{less}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


def skip(why):
    print(f"SKIPPED perf: {why}")
    print(f"0 passed, 0 failed, {len(CASES) * len(STAGES)} skipped")
    return 77


def main():
    if shutil.which("valgrind") is None:
        return skip("valgrind is missing; run as root: drivers-conf/install-deps.sh test")
    recording = "--record" in sys.argv
    if not recording and read_recorded()[1] != compiler():
        return skip(f"figures are of {read_recorded()[1]}, this build is of {compiler()}")
    with tempfile.TemporaryDirectory() as folder:
        counted = {(case, stage): n for case in CASES
                   for stage, n in measure(case, folder).items()}
    if recording:
        record(counted)
        return 0
    return compare(counted)


if __name__ == "__main__":
    sys.exit(main())
