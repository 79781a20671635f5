#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages, and a real browser that loads them.

pages.py make FOLDER               writes the models' pages and objects
pages.py load ORIGIN PROFILE FILE  loads each model with headless Chromium and writes a line a model: begin, end (ns,
                                   CLOCK_MONOTONIC), requests, mean latency (ns); prints the protocols that were spoken

The truth is the browser's own: requestStart to responseEnd of the page and of each of its objects.
"""
import json
import os
import random
import subprocess
import sys
import time

MODELS = 24
KINDS = (("css", '<link rel="stylesheet" href="{}">'), ("js", '<script src="{}"></script>'), ("png", '<img src="{}" alt="">'))
QUIET_S = 0.35  # between two models: what the gateway knows of the last one is then in its report
TIMINGS = """JSON.stringify([performance.timeOrigin, performance.getEntriesByType("navigation")
    .concat(performance.getEntriesByType("resource")).map(e => [e.requestStart, e.responseEnd, e.nextHopProtocol])])"""
BROWSER = ("chromium", "--headless", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
           "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-sync",
           "--disable-component-update", "--disable-default-apps", "--metrics-recording-only", "--ignore-certificate-errors",
           "--password-store=basic", "--disable-quic", "--disable-features=OptimizationHints,MediaRouter,Translate")


def model(number):
    """Sizes of the page and of its objects, by kind: from a bare page to forty objects, 200 bytes to 300 KB."""
    dice = random.Random(number)
    objects = [(*dice.choice(KINDS), int(200 * 1500 ** dice.random())) for _ in range(round(40 * (number / (MODELS - 1)) ** 1.5))]
    return int(1000 * 80 ** dice.random()), objects


def make(folder):
    for number in range(MODELS):
        dice, (size, objects) = random.Random(number), model(number)
        os.makedirs(f"{folder}/{number}", exist_ok=True)
        head = ""
        for i, (kind, tag, length) in enumerate(objects):
            head += tag.format(f"{i}.{kind}") + "\n"
            with open(f"{folder}/{number}/{i}.{kind}", "wb") as f:
                f.write(dice.randbytes(length) if kind == "png" else b"/*" + b"x" * max(length - 4, 0) + b"*/")
        with open(f"{folder}/{number}/index.html", "w", encoding="utf-8") as f:
            f.write(f'<!doctype html><html lang="en"><head><title>{number}</title>\n{head}</head><body>{"y" * size}</body></html>\n')


class Browser:
    """Chromium behind its debugging pipe: requests and answers are JSON that ends with a zero byte."""

    def __init__(self, profile):
        self.number, self.rest, self.session = 0, b"", None
        there, mine = os.pipe(), os.pipe()
        # it reads from 3 and writes to 4
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{there[0]} 4>&{mine[1]}', "sh", *BROWSER, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(there[0], mine[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there[0])
        os.close(mine[1])
        self.into, self.out = there[1], mine[0]

    def message(self):
        while b"\0" not in self.rest:
            data = os.read(self.out, 1 << 16)
            if not data:
                sys.exit("chromium ended")
            self.rest += data
        first, self.rest = self.rest.split(b"\0", 1)
        return json.loads(first)

    def ask(self, method, wait_for=None, **parameters):
        """The answer to a call; with wait_for, after that event has come too."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.into, json.dumps(request).encode() + b"\0")
        answer, missing = None, wait_for
        while answer is None or missing:
            said = self.message()
            if said.get("id") == self.number:
                answer = said
                if "error" in said:
                    sys.exit(f"chromium: {method}: {said['error']}")
            if said.get("method") == missing:
                missing = None
        return answer["result"]

    def open(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Network.enable")
        self.ask("Network.setCacheDisabled", cacheDisabled=True)

    def visit(self, url):
        """[request, its answer's end] in ms since 1970, and the protocols."""
        failed = self.ask("Page.navigate", wait_for="Page.loadEventFired", url=url).get("errorText")
        if failed:
            sys.exit(f"chromium: {url}: {failed}")
        time.sleep(0.05)
        origin, entries = json.loads(self.ask("Runtime.evaluate", expression=TIMINGS)["result"]["value"])
        return [(origin + begin, origin + end) for begin, end, _ in entries if begin], {p for _, _, p in entries}


def load(origin, profile, path):
    browser, protocols = Browser(profile), set()
    try:
        browser.open()
        browser.visit(f"{origin}/0/index.html")  # the first one loads half of the browser
        with open(path, "w", encoding="utf-8") as f:
            for number in range(MODELS):
                time.sleep(QUIET_S)
                begin = time.monotonic_ns()
                entries, said = browser.visit(f"{origin}/{number}/index.html")
                took = [end - asked for asked, end in entries]
                protocols |= said
                f.write(f"{begin} {time.monotonic_ns()} {len(took)} {round(1e6 * sum(took) / len(took))}\n")
    finally:
        browser.process.terminate()
        browser.process.wait(10)
    print(" ".join(sorted(protocols)))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        load(*sys.argv[2:5])
