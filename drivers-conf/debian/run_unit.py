#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What systemd would do with tidegate.service, in a root without systemd: run_unit.py ROOT.

Reads the installed unit and its EnvironmentFile, makes the folders it names, runs ExecStartPre and ExecStart
with a socket to notify and a watchdog, and judges what comes of it.
"""
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time

ROOT = sys.argv[1]
WATCHDOG_S = 3


def unit():
    """{key: [values]} of the [Service] section."""
    out, section = {}, ""
    for line in open(f"{ROOT}/lib/systemd/system/tidegate.service"):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            out.setdefault(key, []).append(value)
    return out


def environment(path):
    out = {}
    for line in open(ROOT + path):
        if line.strip() and not line.startswith("#"):
            key, value = line.strip().split("=", 1)
            out[key] = shlex.split(value)[0] if value else ""
    return out


def command(text, env):
    """$NAME alone is split into words, as systemd does."""
    words = []
    for word in text.split():
        words += env.get(word[1:], "").split() if word.startswith("$") else [word]
    return words


def in_root(words, **more):
    def enter():
        os.chroot(ROOT)
        os.chdir("/")
    return subprocess.Popen(words, preexec_fn=enter, stdin=subprocess.DEVNULL, **more)


def message(notify, wanted, seconds=60):
    """Waits for a datagram with this line; the lines on the way."""
    seen, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        notify.settimeout(max(0.01, end - time.monotonic()))
        try:
            seen += notify.recv(4096).decode().splitlines()
        except socket.timeout:
            break
        if wanted in seen:
            return seen
    raise SystemExit(f"no {wanted} within {seconds} s; came: {seen}")


def telemetry(path, command_text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(10)
        s.connect(ROOT + path)
        s.recv(4096)
        s.send(command_text.encode())
        return json.loads(s.recv(65536))


def main():
    service = unit()
    assert service["Type"] == ["notify"], service["Type"]
    env = environment(service["EnvironmentFile"][0])
    for folder in service["RuntimeDirectory"][0].split():
        os.makedirs(f"{ROOT}/run/{folder}", exist_ok=True)
    os.makedirs(f"{ROOT}/var/lib/{service['StateDirectory'][0]}", exist_ok=True)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(f"{ROOT}/run/notify")
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **env}
    check = in_root(command(service["ExecStartPre"][0], env), env=base)
    assert check.wait(60) == 0, "ExecStartPre: the sample configuration is refused"
    p = in_root(command(service["ExecStart"][0], env),
                env={**base, "NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": str(WATCHDOG_S * 1000000)})
    try:
        said = message(notify, "READY=1")
        assert any(line.startswith("STATUS=") for line in said), said
        message(notify, "WATCHDOG=1", WATCHDOG_S)
        begin = time.monotonic()
        message(notify, "WATCHDOG=1", WATCHDOG_S)
        assert time.monotonic() - begin < WATCHDOG_S
        socket_path = "/run/dpdk/tidegate/dpdk_telemetry.v2"
        services = telemetry(socket_path, "/tidegate/services")
        assert "/tidegate/services" in services, services
        for path, mode in (("/run/tidegate/control.sock", 0o660), (socket_path, 0o660), ("/run/dpdk/tidegate", 0o750)):
            st = os.stat(ROOT + path)
            group = [line.split(":")[2] for line in open(f"{ROOT}/etc/group") if line.startswith("tidegate:")]
            assert st.st_mode & 0o777 == mode and str(st.st_gid) == group[0], (path, oct(st.st_mode), st.st_gid, group)
        again = in_root(command(service["ExecReload"][0], env), env=base)
        assert again.wait(20) == 0, "ExecReload failed"
        p.send_signal(signal.SIGHUP)
        said = message(notify, "RELOADING=1", 10) + message(notify, "READY=1", 10)
        assert any(line.startswith("MONOTONIC_USEC=") for line in said), said
        listed = in_root(["/usr/bin/tidegatectl", "--json", "service", "list"], env=base, stdout=subprocess.PIPE)
        assert json.loads(listed.communicate(timeout=20)[0])[0]["name"] == "web"
        p.terminate()
        message(notify, "STOPPING=1", 10)
        assert p.wait(30) == 0, f"ended with {p.returncode}"
        assert not os.path.exists(f"{ROOT}/run/tidegate/control.sock"), "the control socket was left behind"
        assert os.path.exists(f"{ROOT}/var/lib/tidegate/flows"), "no snapshot of flows"
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()


main()
