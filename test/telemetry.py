#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks a running gateway over DPDK's telemetry.

  telemetry.py PREFIX COMMAND…     one JSON object, a reply for each command, of the gateway with that --file-prefix
"""
import json
import socket
import sys


def ask(prefix, command):
    """{command: reply}; the reply is None where the gateway refuses."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(5)
        s.connect(f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2")
        s.recv(4096)
        s.send(command.encode())
        return json.loads(s.recv(65536))


if __name__ == "__main__":
    print(json.dumps({command: next(iter(ask(sys.argv[1], command).values())) for command in sys.argv[2:]}))
