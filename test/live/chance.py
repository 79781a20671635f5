#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A gateway that has forgotten its flows, for the servers' side of GUE: SYNs reach the server that they once reached,
everything else the servers in the order of a new table, the second and later ones named in the header. What may be
marked for congestion is marked on the way, in the outer header.

chance.py FRONT BACK OWN-ADDRESS HOME=MAC FIRST=MAC [NEXT...]
"""
import ipaddress
import socket
import struct
import sys

TYPES = {4: 0x0800, 6: 0x86dd}


def packed(address):
    return ipaddress.ip_address(address).packed


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff - total


def congestion(ip):
    """3, experienced, if the sender knows ECN at all"""
    tos = ip[1] >> 4 if ip[0] >> 4 == 6 else ip[1]
    return 3 if tos & 3 else 0


def wrapped(source, to, others, inner):
    """inner in GUE, as doc/encap.md draws it"""
    ecn = congestion(inner)
    named = struct.pack("!HBB", 0, 0, len(others)) + b"".join(map(packed, others)) if others else b""
    gue = struct.pack("!BBH", len(named) // 4, {4: 4, 6: 41}[inner[0] >> 4], 0) + named
    body = struct.pack("!HHHH", 0xc001, 6080, 8 + len(gue) + len(inner), 0) + gue + inner
    if len(packed(to)) == 16:
        return struct.pack("!IHBB", 6 << 28 | ecn << 20, len(body), 17, 64) + packed(source) + packed(to) + body
    header = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(body), 0, 0x4000, 64, 17, 0) + packed(source) + packed(to)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + body


def opens_connection(ip):
    at, protocol = (40, ip[6]) if ip[0] >> 4 == 6 else (4 * (ip[0] & 15), ip[9])
    return protocol == 6 and ip[at + 13] & 0x12 == 0x02


def main():
    front, back, own, home, first, *others = sys.argv[1:]
    home, first = home.split("="), first.split("=")
    receive = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    receive.bind((front, 0))
    send = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    send.bind((back, 0))
    print("ready", flush=True)
    while True:
        frame, (_, kind, direction, *_) = receive.recvfrom(2048)
        ip = frame[14:]
        length = (struct.unpack("!H", ip[4:6])[0] + 40 if kind == 0x86dd else struct.unpack("!H", ip[2:4])[0])
        if direction == socket.PACKET_OUTGOING or kind not in TYPES.values() or (kind == 0x86dd and ip[6] == 58):
            continue
        syn = opens_connection(ip)
        to, mac = home if syn else first
        packet = wrapped(own, to, [] if syn else others, ip[:length])
        send.send(bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000002") +
                  struct.pack("!H", TYPES[packet[0] >> 4]) + packet)


if __name__ == "__main__":
    main()
