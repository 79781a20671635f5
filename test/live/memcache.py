#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small memcached client that asks for the key `name`: memcache.py tcp|udp ADDRESS CONNECTIONS REQUESTS prints the
same JSON as tg-client (latency aside); memcache.py set ADDRESS NAME stores it."""
import json
import socket
import struct
import sys

PORT = 11211


def open_socket(address, kind):
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(2)
    s.connect((address, PORT))
    return s


def ask_tcp(s, _):
    s.sendall(b"get name\r\n")
    answer = b""
    while not answer.endswith(b"END\r\n"):
        piece = s.recv(1000)
        if not piece:
            raise ConnectionError("closed")
        answer += piece
    return answer


def ask_udp(s, number):
    """UDP frames begin with request id, sequence number, total and a reserved word."""
    s.send(struct.pack("!HHHH", number, 0, 1, 0) + b"get name\r\n")
    answer = s.recv(1000)
    if struct.unpack("!H", answer[:2])[0] != number:
        raise ConnectionError("answer to another request")
    return answer[8:]


def run(ask, kind, address, connections, requests):
    r = {"connections": connections, "requests": 0, "failures": 0, "moved": 0, "servers": {}}
    for _ in range(connections):
        names = []
        try:
            with open_socket(address, kind) as s:
                for number in range(requests):
                    names.append(ask(s, number).split(b"\r\n")[1].decode())
        except OSError:
            r["failures"] += 1
        r["requests"] += len(names)
        if names:
            r["moved"] += sum(n != names[0] for n in names)
            r["servers"].setdefault(names[0], {"connections": 0})["connections"] += 1
    print(json.dumps(r))


def store(address, name):
    with open_socket(address, socket.SOCK_STREAM) as s:
        s.sendall(f"set name 0 0 {len(name)}\r\n{name}\r\n".encode())
        return 0 if s.recv(100) == b"STORED\r\n" else 1


if sys.argv[1] == "set":
    sys.exit(store(*sys.argv[2:]))
elif sys.argv[1] == "tcp":
    run(ask_tcp, socket.SOCK_STREAM, sys.argv[2], *map(int, sys.argv[3:]))
else:
    run(ask_udp, socket.SOCK_DGRAM, sys.argv[2], *map(int, sys.argv[3:]))
