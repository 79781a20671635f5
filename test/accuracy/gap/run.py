"""The gap rules on flows whose headers are hidden, beside the truth: a table a flow and one a rule.

usage: [TIDEGATE_CAPTURES=FOLDER] [GAP_REPLAY=path/to/gap-replay] /usr/bin/python3 test/accuracy/gap/run.py [--json FILE]

Real captures (FOLDER holds them and truth.tsv, latency of each connection from both directions in ms): only client ->
server packets are read, and of those only arrival and size. Then synthetic packets whose latency is known.
A rule's figure for a capture is compared with the mean of the truth, and the median of the envelope rule with its median.
"""
import csv
import json
import os
import random
import statistics
import subprocess
import sys

REPLAY = os.environ.get("GAP_REPLAY", os.environ.get("TIDEGATE_BUILD", "build") + "/test/accuracy/gap/gap-replay")
FOLDER = os.environ.get("TIDEGATE_CAPTURES", "")
RULES = ("mode-sum", "top-mode", "idle-cut", "envelope", "envelope-median", "good-epochs")


def replay(*arguments, text=None):
    done = subprocess.run([REPLAY, *arguments], input=text, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def captures():
    """name, truth (mean, median), what the rules say."""
    if not os.path.exists(os.path.join(FOLDER, "truth.tsv")):
        return
    with open(os.path.join(FOLDER, "truth.tsv")) as f:
        rows = list(csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t"))
    for row in rows:
        ends = row["client"].rsplit(":", 1) + row["server"].rsplit(":", 1)
        yield (f"{row['file']}, {ends[1]}", (float(row["truth_mean"]), float(row["truth_med"])),
               replay("--capture", os.path.join(FOLDER, row["file"]), *ends))


class Client:
    """Packets of one client, latency 2 ms with a coefficient of variation of 0.1 unless told otherwise."""

    def __init__(self, seed=1, handshake=True, pause=0.0, often=0.0):
        self.random = random.Random(seed)
        self.packets, self.truth, self.t = [], [], 1000.0
        self.pause, self.often = pause, often
        if handshake:
            self.put(0, 60)
            self.put(1, 52)
            self.t += 1.05

    def about(self, mean):
        return max(mean * 0.05, self.random.gauss(mean, mean * 0.1))

    def put(self, after, size):
        self.packets.append((self.t + after, size))

    def exchange(self, shape, latency=2.0):
        wait = self.about(latency)
        self.truth.append(wait)
        if shape == "stop and wait":
            self.put(0, 200)
            self.t += wait
        elif shape == "acknowledged":
            self.put(0, 200)
            self.put(wait, 52)
            self.t += wait + 0.05
        elif shape == "6 acknowledgements":
            steps = [self.about(0.077) for _ in range(6)]
            self.put(0, 200)
            for i in range(6):
                self.put(wait - sum(steps[i:]), 52)
            self.t += wait
        else:  # 8 requests: "window": the first answer clocks out the next; "burst": the last one does
            spaced = 0.0
            for _ in range(8):
                self.put(spaced, 200)
                spaced += self.about(0.05)
            self.t += wait + (spaced - 0.05 if shape == "burst of 8" else 0)
        if self.random.random() < self.often:
            self.t += self.random.expovariate(1 / self.pause)


def synthetic():
    shapes = ("stop and wait", "acknowledged", "6 acknowledgements", "window of 8", "burst of 8")
    for handshake in (True, False):
        for often in (0, 0.1, 1):
            for shape in shapes:
                client = Client(handshake=handshake, pause=200, often=often)
                for _ in range(4000):
                    client.exchange(shape)
                text = "".join(f"{int(t * 1e6)} {size} 6\n" for t, size in client.packets)
                name = f"{shape}, {often * 100:.0f} % pauses of 200 ms" + ("" if handshake else ", no handshake")
                truth = statistics.mean(client.truth), statistics.median(client.truth)
                yield name, truth, replay(text=text)


def errors_of(cases, rule):
    """Relative errors; a rule without an answer is infinitely wrong."""
    which = 1 if rule == "envelope-median" else 0
    return [said[rule] / truth[which] - 1 if said[rule] else float("inf") for _, truth, said in cases]


def cell(error):
    return "–" if error == float("inf") else f"{error * 100:+.1f} %" if abs(error) < 1 else f"{error * 100:+.0f} %"


def table(title, cases):
    print(f"\n| {title} | mean, ms | median, ms | " + " | ".join(RULES) + " | kind, class |")
    print("| --- " * (4 + len(RULES)) + "|")
    columns = [errors_of(cases, rule) for rule in RULES]
    for i, (name, truth, said) in enumerate(cases):
        print(f"| {name} | {truth[0]:.3f} | {truth[1]:.3f} | " + " | ".join(cell(c[i]) for c in columns) +
              f" | {said['kind']}, {said['confidence']} |")


def within(value, truth, factor):
    return bool(value) and max(value / truth, truth / value) <= factor


def summary(title, cases):
    """median error, share within 15 %, share within a factor of two, by rule."""
    out = []
    for rule in RULES:
        which = 1 if rule == "envelope-median" else 0
        subsets = [("all", cases)]
        if rule == "good-epochs":
            subsets = [("answered", [c for c in cases if c[2][rule]])]
        elif rule.startswith("envelope"):
            subsets.append(("class 2", [c for c in cases if c[2]["confidence"] == 2]))
        for kind, chosen in subsets:
            if not chosen:
                continue
            errors = [abs(e) for e in errors_of(chosen, rule)]
            out.append({"set": title, "rule": rule, "of": kind, "n": len(chosen),
                        "median_error": statistics.median(errors),
                        "within_15": sum(e <= 0.15 for e in errors) / len(chosen),
                        "within_2x": sum(within(s[rule], t[which], 2) for _, t, s in chosen) / len(chosen)})
    print(f"\n| {title} | of | n | median error | within 15 % | within 2x |\n| --- | --- | --- | --- | --- | --- |")
    for r in out:
        print(f"| {r['rule']} | {r['of']} | {r['n']} | {r['median_error'] * 100:.1f} % | {r['within_15'] * 100:.0f} % | "
              f"{r['within_2x'] * 100:.0f} % |")
    return out


def main():
    results = []
    for title, cases in (("capture, client port", list(captures())), ("synthetic", list(synthetic()))):
        if not cases:
            print("SKIPPED captures: TIDEGATE_CAPTURES names no folder with truth.tsv")
            continue
        table(title, cases)
        results += summary("captures" if title[0] == "c" else title, cases)
    if len(sys.argv) == 3 and sys.argv[1] == "--json":
        with open(sys.argv[2], "w") as f:
            json.dump(results, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
