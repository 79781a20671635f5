"""Starts the gateway on virtual devices and talks to it."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from telemetry import ask as ask_telemetry  # noqa: E402

BUILD = os.environ.get("TIDEGATE_BUILD", "build")
TIDEGATE = os.environ.get("TIDEGATE", f"{BUILD}/app/tidegate/tidegate")
TIDEGATECTL = os.environ.get("TIDEGATECTL", f"{BUILD}/app/tidegatectl/tidegatectl")
PCAP_MAC = "02:70:63:61:70:00"  # of the first net_pcap device
CLIENT_MAC = "02:00:00:00:00:01"
VIP, VIP6 = "192.0.2.10", "2001:db8:10::10"


def server(name, n, **more):
    return {"name": name, "address": f"10.0.0.{n}", "mac": f"02:00:00:00:00:{n:02x}", **more}


def service(**more):
    s = {"name": "web", "address": VIP, "protocol": "tcp", "ports": [80], "policy": "maglev",
         "servers": [server("a", 11), server("b", 12), server("c", 13)]}
    s.update(more)
    return s


def two_ports():
    return [{"name": "front", "port": "0", "role": "client", "addresses": ["198.51.100.2/24", "2001:db8:1::2/64"]},
            {"name": "back", "port": "1", "role": "server", "addresses": ["10.0.0.2/24", "2001:db8:2::2/64"]}]


class Gateway:
    """One run in a folder of its own. Use as a context: it is ended whatever happens."""

    def __init__(self, services, front=None, back=None, args=(), ours=(), ports=None, lcores="1",
                 huge=("--no-huge", "-m", "192"), netns=None, slots=16384, flow_table=None):
        self.dir = tempfile.mkdtemp(prefix="tidegate-vdev-")
        self.socket = f"{self.dir}/control.sock"
        self.config = f"{self.dir}/config.json"
        self.prefix = f"tgv{os.getpid()}-{os.path.basename(self.dir)[-6:]}"
        self.front, self.back = f"{self.dir}/front.pcap", f"{self.dir}/back.pcap"
        self.document = {
            "version": 1, "flow_table": {"slots_per_worker": slots, **(flow_table or {})},
            "control": {"socket": self.socket},
            "ports": ports if ports is not None else two_ports(),
            "services": services}
        self.write()
        vdevs = [front or "net_null0", back or "net_null1"]
        lcore = ["--lcores", lcores] if "@" in lcores else ["-l", lcores]
        self.command = ([*(["nsenter", f"--net=/run/netns/{netns}"] if netns else []), TIDEGATE, *lcore, "--no-pci",
                         *huge, f"--file-prefix={self.prefix}", *[f"--vdev={v}" for v in vdevs if v], *args,
                         "--", "--config", self.config, *ours])
        self.process = None
        self.patience = 20

    def write(self):
        with open(self.config, "w") as f:
            json.dump(self.document, f)

    def start(self):
        self.out = open(f"{self.dir}/out", "w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.STDOUT)
        end = time.time() + self.patience
        while time.time() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode}: {self.output()}")
            if self.listens():
                return self
            time.sleep(0.02)
        raise AssertionError(f"no control socket after {self.patience} s: {self.output()}")

    def listens(self):
        """Is the control socket there, and not only its name?"""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.socket) == 0

    def output(self):
        with open(f"{self.dir}/out") as f:
            return f.read()

    def ask(self, command, *arguments):
        """One request on the control socket: the reply's object."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(self.socket)
            s.sendall(json.dumps({"version": 1, "command": command, "arguments": list(arguments)}).encode() + b"\n")
            data = b""
            while not data.endswith(b"\n"):
                more = s.recv(65536)
                if not more:
                    break
                data += more
        return json.loads(data)

    def report(self):
        reply = self.ask("stats show")
        assert reply["ok"], reply
        return reply["result"]

    def wait_received(self, n, timeout=10):
        end = time.time() + timeout
        while time.time() < end:
            if self.report()["packets"]["received"] >= n:
                return self.report()
            time.sleep(0.05)
        raise AssertionError(f"only {self.report()['packets']['received']} of {n} packets received")

    def telemetry(self, command):
        return ask_telemetry(self.prefix, command)

    def stop(self, how=signal.SIGTERM):
        """Ends it and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("did not end within 20 s of the signal") from None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *unused):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if os.environ.get("TIDEGATE_KEEP"):
            print(f"kept: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)
