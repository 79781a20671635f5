"""Forwarding stopped and started, commands from a file, the prompt on a terminal. cases.py registers these."""
import os
import pty
import select
import subprocess
import termios
import time

from scapy.all import ARP, Ether, wrpcap
from gateway import CLIENT_MAC, Gateway, service


def commands(g, text):
    path = f"{g.dir}/commands"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def endless(packets, *ours):
    """A gateway whose front port plays the packets over and over."""
    g = Gateway([service()], back="net_null1,no-rx=1", ours=ours)
    wrpcap(f"{g.dir}/in.pcap", packets)
    g.command[g.command.index("--vdev=net_null0")] = f"--vdev=net_pcap0,rx_pcap={g.dir}/in.pcap,tx_pcap={g.front},infinite_rx=1"
    return g


class Terminal:
    """Whoever types at -i."""

    def __init__(self, g):
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.said = ""
        self.process = g.process = subprocess.Popen([*g.command, "-i"], stdin=theirs, stdout=theirs, stderr=theirs)
        self.theirs = theirs

    def until(self, word, seconds=20):
        end = time.time() + seconds
        while word not in self.said:
            assert time.time() < end, (word, self.said[-800:])
            if select.select([self.ours], [], [], 0.1)[0]:
                self.said += os.read(self.ours, 65536).decode(errors="replace")
        self.said = self.said.split(word, 1)[1]

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


def register(case, syn):
    @case(quick=True)
    def forwarding_stops_and_starts():
        """start and stop: counted to the packet, ARP answered all the while, over a reload; from a file at the start"""
        arp = Ether(dst="ff:ff:ff:ff:ff:ff", src=CLIENT_MAC) / ARP(op=1, hwsrc=CLIENT_MAC, psrc="198.51.100.1", pdst="198.51.100.2")
        g = endless([arp, *(syn(n) for n in range(50))])
        g.command += ["--cmdline-file", commands(g, "# nothing goes out before it is told to\n\n  stop\nservice list\n")]

        def packets():
            return g.report()["packets"]
        with g:
            g.wait_received(2000)
            report = g.report()
            p = report["packets"]
            first = p["forwarded"]  # the worker runs when the file is read
            assert first < 1000 and p["replied"] > 0 and report["drops"]["stopped"] > 0, report
            assert g.ask("config show")["result"]["forwarding"] is False
            g.write()
            assert g.ask("config reload")["ok"] and g.ask("config show")["result"]["forwarding"] is False
            assert packets()["forwarded"] == first
            assert g.ask("forwarding start")["result"]["forwarding"] is True
            dropped = g.ask("forwarding start")["result"]["dropped_stopped"]  # a second one changes nothing
            end = time.time() + 10
            while packets()["forwarded"] < first + 2000 and time.time() < end:
                time.sleep(0.02)
            assert packets()["forwarded"] >= first + 2000 and g.report()["drops"]["stopped"] == dropped, (dropped, g.report())
            stopped = g.ask("forwarding stop")["result"]
            before = packets()["received"]
            end = time.time() + 10
            while packets()["received"] < before + 2000 and time.time() < end:
                time.sleep(0.02)
            p = packets()
            assert stopped["forwarding"] is False and p["forwarded"] == stopped["forwarded"], (stopped, p)
            assert p["received"] >= before + 2000 and p["replied"] > 1, p
            assert g.ask("flow explain", "tcp,198.51.100.10,10000,192.0.2.10,80")["result"]["drop"] == "stopped"
            assert g.stop() == 0, g.output()
            assert '"taking_new_flows"' in g.output(), g.output()

    @case(quick=True)
    def what_waits_for_tokens_is_stopped_too():
        """stop, and access denied by a reload: what waits for tokens meets them when it goes on"""
        v = service(admission={"budget_per_s": 100, "cost": "packet"}, admission_wait_max_us=1000000)
        g = endless([syn(n) for n in range(50)])
        g.document["services"] = [v]
        g.write()

        def stands(drop):
            time.sleep(0.05)
            before = g.report()
            time.sleep(0.8)  # 80 tokens' worth
            after = g.report()
            assert after["packets"]["forwarded"] == before["packets"]["forwarded"], (drop, before, after)
            assert after["drops"][drop] > 0, after

        with g:
            g.wait_received(2000)
            stopped = g.ask("forwarding stop")["result"]
            stands("stopped")
            assert g.report()["packets"]["forwarded"] == stopped["forwarded"]
            assert g.ask("forwarding start")["ok"]
            time.sleep(0.5)
            assert g.report()["packets"]["forwarded"] > stopped["forwarded"], g.report()
            v["access"] = [{"prefix": "198.51.100.0/24", "action": "deny"}]
            g.write()
            assert g.ask("config reload")["ok"]
            stands("access_denied")
            assert g.stop() == 0, g.output()

    @case(quick=True)
    def commands_of_a_bad_file():
        """--cmdline-file: a line that is refused, or a file that is not there, is named, and the start with it"""
        g = Gateway([service()])
        try:
            path = commands(g, 'service list\nserver drain "web" nobody\nstop\n')
            for arguments, wrong in (((path,), f'{path}:2: service "web" has no server "nobody"'),
                                     (("/nonexistent/x",), "/nonexistent/x: No such file"),
                                     ((path, "--cmdline-file", path), "given twice")):
                said = subprocess.run([*g.command, "--cmdline-file", *arguments], capture_output=True, text=True, timeout=30)
                assert said.returncode == 1 and wrong in said.stderr, (arguments, said.returncode, said.stderr[-300:])
                assert '"forwarding"' not in said.stdout
        finally:
            g.__exit__()

    @case()
    def prompt_on_a_terminal():
        """-i: completion and history on a terminal, which is as before when the input or the gateway ends"""
        for end_by in ("quit\r", "\x04"):
            g = Gateway([service()])
            t = Terminal(g)
            try:
                t.until("tidegate> ")
                t.type("servi\tl\t\r")
                t.until('"taking_new_flows"')
                t.until("tidegate> ")
                t.type("\x1b[A\r")  # the line before, again
                t.until('"taking_new_flows"')
                t.type("show port stats all\r")
                t.until('"rx_missed"')
                t.type("capture start ../x \"host 1.2.3.4 and tcp\" seconds=3\r")  # three words, not six
                t.until("slash")
                t.type("stop\r")
                t.until('"forwarding": false')
                t.type("show me\r")
                t.until("Bad arguments")
                t.until("tidegate> ")
                t.type(end_by)
                if end_by == "\x04":
                    end = time.time() + 5
                    while termios.tcgetattr(t.theirs) != t.before:
                        assert time.time() < end, "the terminal stays raw"
                        time.sleep(0.05)
                    assert g.ask("service list")["ok"] and g.stop() == 0
                else:
                    assert t.process.wait(20) == 0
                assert termios.tcgetattr(t.theirs) == t.before
            finally:
                t.close()
                g.__exit__()
