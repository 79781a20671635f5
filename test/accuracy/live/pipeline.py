#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks a memcached for several keys at once and again when all of them are answered, on several connections.

pipeline.py ADDRESS PORT CONNECTIONS DEPTH SECONDS FILE: the file has a line an answer: connection, when it was asked and
when it was complete (ns, CLOCK_MONOTONIC).
"""
import selectors
import socket
import sys
import time

END = b"END\r\n"


class Connection:
    """One connection and its batch."""

    def __init__(self, number, address, depth):
        self.number, self.request, self.depth = number, b"get key\r\n" * depth, depth
        self.asked, self.answered, self.rest = 0, 0, b""
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self):
        self.asked, self.answered, self.rest = time.monotonic_ns(), 0, b""
        self.socket.sendall(self.request)

    def receive(self, log):
        """Ends a batch: True."""
        data = self.socket.recv(65536)
        now = time.monotonic_ns()
        if not data:
            sys.exit("memcached closed a connection")
        answers = (self.rest + data).split(END)
        self.rest = answers.pop()
        log.extend([(self.number, self.asked, now)] * len(answers))
        self.answered += len(answers)
        return self.answered == self.depth


def main():
    address, (connections, depth, seconds) = (sys.argv[1], int(sys.argv[2])), map(int, sys.argv[3:6])
    ready, log = selectors.DefaultSelector(), []
    for number in range(connections):
        one = Connection(number, address, depth)
        ready.register(one.socket, selectors.EVENT_READ, one)
        one.ask()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in ready.select(0.1):
            if key.data.receive(log):
                key.data.ask()
    with open(sys.argv[6], "w", encoding="utf-8") as f:
        f.writelines(f"{number} {asked} {ended}\n" for number, asked, ended in log)


if __name__ == "__main__":
    main()
