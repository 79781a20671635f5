#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client at a steady rate: a connection of one HTTP request every EVERY_MS, whatever became of the ones before.

usage: steady.py ADDRESS PORT EVERY_MS SECONDS TIMEOUT_MS   one line a request: its start (ns, monotonic) and "ok NAME"
                                                            or "failed WHY"
       steady.py wait SOCKET up|down                      until the gateway says so of server a: since when
       steady.py judge LOG DIED DETECTED BACK LIMIT         the figures; times in ns
"""
import asyncio
import json
import socket
import sys
import time


async def one(address, port, timeout):
    start, writer = time.monotonic_ns(), None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await reader.read(-1)
        status, _, body = answer.partition(b"\r\n\r\n")
        good = status.startswith(b"HTTP/1.1 200")
        print(start, "ok " + body.decode().split()[0] if good else "failed status", flush=True)
    except TimeoutError:
        print(start, "failed timeout", flush=True)
    except (OSError, IndexError) as why:
        print(start, "failed", type(why).__name__, flush=True)
    finally:
        if writer:
            writer.transport.abort()


async def steady(address, port, every, seconds, timeout):
    begin, tasks = time.monotonic(), []
    for k in range(int(seconds / every)):
        await asyncio.sleep(max(0, begin + k * every - time.monotonic()))
        tasks.append(asyncio.create_task(one(address, port, timeout)))
    await asyncio.gather(*tasks)


def judge(log, died, detected, back, limit):
    """Failures lie between the death and the detection; a request that began just before may be cut."""
    rows = [line.split() for line in open(log, encoding="utf-8")]
    failed = [int(r[0]) for r in rows if r[1] == "failed"]
    cut = 100_000_000
    outside = [at for at in failed if not died - cut <= at <= detected]
    window = (detected - died) / 1e6
    by_dead = [int(r[0]) for r in rows if r[1:] == ["ok", "a"]]
    text = f"{len(rows)} requests, {len(failed)} failed, within {window:.0f} ms (bound {limit / 1e6:.0f} ms)"
    bad = []
    if outside:
        bad.append(f"{len(outside)} failed outside the window")
    if window > limit / 1e6:
        bad.append("detected too late")
    if not failed:
        bad.append("no request ran into the dead server")
    if any(detected < at < back for at in by_dead):
        bad.append("the dead server answered")
    if not any(at > back for at in by_dead):
        bad.append("the server got nothing when it was back")
    print(f"{text}{': ' + ', '.join(bad) if bad else ''}")
    return 1 if bad else 0


def wait(path, state):
    for _ in range(500):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(path)
            s.sendall(b'{"version": 1, "command": "server list", "arguments": ["web"]}\n')
            reply = s.makefile().readline()
        now = time.monotonic_ns()
        row = next(r for r in json.loads(reply)["result"] if r["name"] == "a")
        if row["health"] == state:
            print(now - (row["health_changed_ago_ms"] or 0) * 1_000_000)
            return 0
        time.sleep(0.02)
    print(f"server a is not {state}: {row}")
    return 1


if sys.argv[1] == "wait":
    sys.exit(wait(*sys.argv[2:4]))
if sys.argv[1] == "judge":
    sys.exit(judge(sys.argv[2], *map(int, sys.argv[3:7])))
asyncio.run(steady(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000, float(sys.argv[4]), float(sys.argv[5]) / 1000))
