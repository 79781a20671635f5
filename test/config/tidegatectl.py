#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tidegatectl against a socket that answers as told: what is sent, what is printed, exit status.

usage: tidegatectl.py TIDEGATECTL API.C MAN-PAGE COMPLETION

Its commands are also compared with the gateway's own table (API.C), the man page and the completion.
"""
import json
import os
import pathlib
import pty
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

OK = {"version": 1, "ok": True}
TABLE = [{"name": "a", "state": "up", "weight": 1, "latency_p50_ns": 1234567, "known": True},
         {"name": "longer", "state": "drain", "weight": 65535, "latency_p50_ns": 999,
          "known": False, "extra": None}]
REPORT = {"version": 1, "clock": "tsc", "packets": {"received": 10, "forwarded": 9},
          "services": [{"name": "web", "ports": [80, 443], "servers": [
              {"name": "a", "flows": 3, "estimator": {"gap": 0, "ack": 7},
               "latency_ns": {"mean": 5250000, "p50": 5100000}}]}],
          "gate": {"checked": 9, "max_sojourn_ns": 12345}}

TABLE_TEXT = """\
name    state  weight  latency_p50  known  extra
a       up          1      1.23 ms  yes    -
longer  drain   65535       999 ns  no     -
"""
REPORT_TEXT = """\
version            1
clock              tsc
packets.received   10
packets.forwarded  9
gate.checked       9
gate.max_sojourn   12.3 us

services:
name  ports
web   80,443

services web, servers:
name  flows  estimator.gap  estimator.ack  latency.mean  latency.p50
a         3              0              7       5.25 ms      5.10 ms
"""


class Daemon(threading.Thread):
    """Takes one connection after the other and answers with what `reply` is."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.reply, self.requests = b"", []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(8)

    def run(self):
        while True:
            connection = self.listener.accept()[0]
            with connection:
                line = connection.makefile("rb").readline()
                self.requests.append(json.loads(line))
                if self.reply is None:
                    time.sleep(0.6)
                else:
                    try:
                        connection.sendall(self.reply)
                    except OSError:
                        pass


class Test:
    def __init__(self, program, folder):
        self.program, self.passed, self.failed, self.skipped = program, 0, 0, 0
        self.path = str(pathlib.Path(folder) / "c.sock")
        self.daemon = Daemon(self.path)
        self.daemon.start()

    def judge(self, good, what, *details):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print("FAILED:", what, *details, sep="\n    ")

    def ctl(self, *args, path=None, **how):
        return subprocess.run([self.program, "--socket", path or self.path, *args], timeout=20,
                              capture_output=True, text=True, **how)

    def answers(self, result, *args):
        self.daemon.reply = json.dumps({**OK, "result": result}).encode() + b"\n"
        return self.ctl(*args)

    def prints(self, result, wanted, *args):
        done = self.answers(result, *args)
        self.judge(done.returncode == 0 and done.stdout == wanted and not done.stderr,
                   f"{args}: status {done.returncode}", done.stdout, done.stderr)

    def fails(self, reply, words, *args, status=1, path=None):
        self.daemon.reply = reply
        done = self.ctl(*args, path=path)
        self.judge(done.returncode == status and words in done.stderr and not done.stdout,
                   f"{args}: status {done.returncode}, no {words!r} in", done.stderr, done.stdout)

    def sent(self, command, *arguments):
        last = self.daemon.requests[-1]
        wanted = {"version": 1, "command": command, "arguments": list(arguments)}
        self.judge(last == wanted, "request", last)


def test_output(t):
    t.prints(TABLE, TABLE_TEXT, "server", "list", "web")
    t.sent("server list", "web")
    t.prints(REPORT, REPORT_TEXT, "stats", "show")
    t.prints(REPORT, json.dumps(REPORT, separators=(",", ":")) + "\n", "stats", "show", "--json")
    t.prints([], "none\n", "drop", "list")
    t.prints("done", "done\n", "config", "reload")
    t.prints([], "[]\n", "--json", "drop", "list")
    t.prints({"why": "a\x1b[31m\nb"}, "why  a [31m b\n", "flow", "explain", "tcp,1.2.3.4,5,6.7.8.9,80")
    t.sent("flow explain", "tcp,1.2.3.4,5,6.7.8.9,80")
    t.prints({"a\x1b\x9bb": "c\x9b2Jd\x7f\xe9"}, "a   b  c  2Jd \xe9\n", "flow", "explain", "tcp,1.2.3.4,5,6.7.8.9,80")
    t.answers({}, "server", "drain", "web", "a")
    t.sent("server drain", "web", "a")
    many = [{"i": i, "text": "x" * 100} for i in range(20000)]
    done = t.answers(many, "worker", "list", "--json")
    t.judge(done.returncode == 0 and json.loads(done.stdout) == many, "an answer of 2 MB")


def test_failures(t):
    t.fails(b'{"version":1,"ok":false,"error":"one\\ntwo"}\n', "one\ntwo\n", "config", "reload")
    t.fails(b'{"version":1,"ok":false,"error":"no \\u001b[2J\\u009bservice"}\n', "no  [2J  service\n", "config", "reload")
    t.fails(b'{"version":2,"ok":true,"result":1}\n', "of the running release", "port", "list")
    t.fails(b"hello\n", "of the running release", "port", "list")
    t.fails(b'{"version":1}\n', "the command failed", "port", "list")
    t.fails(b'{"version":1,', "without a whole answer", "port", "list")
    t.fails(b"", "without a whole answer", "port", "list")
    t.fails(None, "no answer within 0.2 s", "port", "list", "--timeout", "0.2")
    t.fails(b"", "there is no socket /nowhere/c.sock; is tidegate running, and with another control.socket?", "port", "list", path="/nowhere/c.sock")
    t.fails(b"", "at most 107 bytes", "port", "list", path="/" + "a" * 200)
    stale = t.path + ".stale"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.bind(stale)
    t.fails(b"", "nobody listens at", "port", "list", path=stale)
    os.chmod(t.path, 0)
    as_nobody = {"user": 65534} if os.geteuid() == 0 else {}
    try:
        done = t.ctl("port", "list", **as_nobody)
        t.judge(done.returncode == 1 and f"no permission to use {t.path}" in done.stderr,
                "no permission", done.stderr)
    except PermissionError:
        t.skipped += 1
        print("SKIPPED: no permission (this folder is closed to others)")
    os.chmod(t.path, 0o600)


def test_usage(t):
    t.fails(b"", "usage: tidegatectl", status=2)
    t.fails(b"", "usage: tidegatectl server drain SERVICE SERVER", "server", "drain", "web", status=2)
    t.fails(b"", "there is: service list", "service", "lst", status=2)
    t.fails(b"", "there is no command", "serve", "list", status=2)
    t.fails(b"", "must be seconds", "--timeout", "0", "port", "list", status=2)
    t.fails(b"", "--help", "--what", "port", "list", status=2)
    t.fails(b"", "top needs a terminal", "top")
    for option in ("-h", "help", "--version"):
        done = t.ctl(option)
        t.judge(done.returncode == 0 and "tidegatectl" in done.stdout, option)


def commands_of_gateway(path):
    table = pathlib.Path(path).read_text(encoding="utf-8").split("static const struct command commands[] = {")[1].split("\n};")[0]
    return {name: (arguments, int(least), int(most))
            for name, arguments, least, most in re.findall(r'\{"([^"]+)", "([^"]*)",\s*(\d), (\d),', table)}


def commands_of_man_page(path):
    section = pathlib.Path(path).read_text(encoding="utf-8").split(".Sh COMMANDS")[1].split(".Sh EXIT STATUS")[0]
    items = [re.split(r" (?:Ar|Op|Fl|Ns)\b", part)[0].strip() for line in re.findall(r"^\.It Cm (.*)$", section, re.M)
             for part in line.split(" , ")]
    return set(item for item in items if item not in ("", "Ns"))


def completed(completion, folder, *words):
    """What <Tab> offers behind the words."""
    line = ["tidegatectl", *words, ""]
    script = f'. "{completion}"; COMP_WORDS=({" ".join(json.dumps(w) for w in line)}); COMP_CWORD={len(line) - 1}; _tidegatectl; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    return set(done.stdout.split())


def test_commands(t, api, man, completion):
    """One set of commands: what the gateway knows, and what client, help, completion and man page say."""
    wanted = commands_of_gateway(api)
    t.judge(len(wanted) > 25 and "forwarding stop" in wanted, "the gateway's table was not read", wanted)
    text = t.ctl("help").stdout
    said = {}
    for name, arguments in re.findall(r"^  ([a-z]+(?: [a-z]+)?)((?: \[?[A-Z][A-Z,]*[^ ]*)*) ", text.split("options:")[0], re.M):
        said[name] = arguments.strip()
    own = {"top"}  # the client's, made of others
    t.judge(set(said) == set(wanted) | own, "help", set(said) ^ (set(wanted) | own))
    for name, (arguments, least, most) in wanted.items():
        if name == "help":
            continue
        t.judge(said.get(name) == arguments, f"help: arguments of {name}", said.get(name), arguments)
        for n in sorted({max(least - 1, 0), least, most, most + 1}):
            t.daemon.reply = json.dumps({**OK, "result": []}).encode() + b"\n"
            done = t.ctl(*name.split(), *["x"] * n)
            t.judge((done.returncode == 0) == (least <= n <= most), f"{name} with {n} arguments", done.returncode, done.stderr)
    described = commands_of_man_page(man)
    t.judge(described == set(said), "man page", described ^ set(said))
    folder = str(pathlib.Path(t.program).parent)
    t.judge(completed(completion, folder) == {name.split()[0] for name in said}, "completion", completed(completion, folder))
    for noun in sorted({name.split()[0] for name in said if " " in name}):
        verbs = {name.split()[1] for name in said if name.split()[0] == noun}
        t.judge(completed(completion, folder, noun) == verbs, f"completion of {noun}", completed(completion, folder, noun), verbs)


def test_top(t):
    """On a terminal of its own: two pictures, then q."""
    t.daemon.reply = json.dumps({**OK, "result": REPORT}).encode() + b"\n"
    master, slave = pty.openpty()
    top = subprocess.Popen([t.program, "--socket", t.path, "top"], stdin=slave, stdout=slave)
    os.close(slave)
    shown, until = b"", time.monotonic() + 10
    while shown.count(b"\x1b[H") < 2 and time.monotonic() < until:
        shown += os.read(master, 65536)
    os.write(master, b"q")
    t.judge(top.wait(timeout=10) == 0 and b"latency.mean" in shown, "top")
    while b"packets_a_second" not in shown:
        try:
            shown += os.read(master, 65536)
        except OSError:
            break
    t.judge(re.search(rb"packets_a_second\.received +0\r", shown), "top: rates", shown[-600:])
    os.close(master)


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: tidegatectl.py TIDEGATECTL API.C MAN-PAGE COMPLETION")
    with tempfile.TemporaryDirectory(prefix="tidegatectl-") as folder:
        os.chmod(folder, 0o755)
        t = Test(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        test_output(t)
        test_failures(t)
        test_usage(t)
        test_commands(t, *sys.argv[2:])
        test_top(t)
    print(f"{t.passed} passed, {t.failed} failed, {t.skipped} skipped")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
