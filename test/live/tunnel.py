#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends UDP datagrams to port 8080 wrapped in IP in IP and waits for each one's echo, which comes back unwrapped.

tunnel.py INTERFACE SERVER-MAC [OUTER-SOURCE OUTER-DESTINATION INNER-SOURCE INNER-DESTINATION]...
"""
import socket
import sys

from scapy.all import IP, UDP, Ether, IPv6, conf, sendp

conf.verb = 0


def header(source, destination):
    return (IPv6 if ":" in source else IP)(src=source, dst=destination)


def try_one(interface, mac, addresses):
    outer, inner = header(*addresses[:2]), header(*addresses[2:])
    kind = f"{inner.version} in {outer.version}"
    text = f"wrapped {kind}"
    with socket.socket(socket.AF_INET6 if inner.version == 6 else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((addresses[2], 0))
        s.settimeout(2)
        sendp(Ether(dst=mac) / outer / inner / UDP(sport=s.getsockname()[1], dport=8080) / text, iface=interface)
        try:
            answer = s.recv(100).decode()
        except TimeoutError:
            sys.exit(f"no answer to {kind}")
    if not answer.endswith(f" {text}"):
        sys.exit(f"{kind}: odd answer {answer!r}")
    return kind


tried = [try_one(*sys.argv[1:3], sys.argv[i:i + 4]) for i in range(3, len(sys.argv), 4)]
print("decapsulated", ", ".join(tried))
