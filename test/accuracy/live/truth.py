"""What each kind of client says of its own exchanges, as a list of (when it was over, exchanges, their mean latency).

Times in ns of CLOCK_MONOTONIC, latencies in ns. Runs, where a client gives one figure for all of a run, are
(begin, end, exchanges, mean) instead: each of them is one window.
"""
import json


def lines(path):
    with open(path, encoding="utf-8") as f:
        yield from (line.split() for line in f if line.strip())


def exchanges(folder, meta):
    """Lines of connection, asked, answered. An exchange is over for the gateway when the connection's next request, or
    the next of its batches, shows it."""
    open_ones, out = {}, []
    for number, asked, ended in (map(int, words) for words in lines(f"{folder}/{meta['name']}.exchanges")):
        batch = open_ones.setdefault(number, [])
        if batch and batch[0][0] != asked:
            out += [(asked, 1, e - a) for a, e in batch]
            batch.clear()
        batch.append((asked, ended))
    out += [(ended, 1, ended - asked) for batch in open_ones.values() for asked, ended in batch]
    return sorted(out)


def runs(folder, meta):
    """Lines of begin, end, exchanges, mean: wrk, redis-benchmark, memcaslap."""
    return [tuple(float(w) for w in words) for words in lines(f"{folder}/{meta['name']}.runs")]


def pages(folder, meta):
    """Chromium: lines as in runs, one a page; three pages are a window."""
    one = runs(folder, meta)
    return [(part[0][0], part[-1][1], sum(n for *_, n, _ in part), sum(n * mean for *_, n, mean in part) / sum(n for *_, n, _ in part))
            for part in (one[i:i + 3] for i in range(0, len(one), 3))]


def h2load(folder, meta):
    """--log-file: start (µs since 1970), status, time to the end of the answer (µs)."""
    offset, out = meta["realtime_offset"], []
    for start, _, took in (map(int, words) for words in lines(f"{folder}/{meta['name']}.h2load")):
        out.append((1000 * (start + took) - offset, 1, 1000 * took))
    return sorted(out)


def one_qlog(path, begin):
    """From a request's STREAM frame sent to the one received that ends its answer, by stream. A tick is 1 ms."""
    asked = {}
    with open(path, encoding="utf-8") as f:
        records = [json.loads(record) for record in f.read().split("\x1e") if record.strip()]
    for event in records[1:]:
        at = begin + event["time"] * 10 ** 6
        for frame in event["data"].get("frames", []):
            if frame["frame_type"] != "stream" or frame["stream_id"] % 4:  # not a request's
                continue
            if event["name"].endswith("packet_sent"):
                asked.setdefault(frame["stream_id"], at)
            elif frame.get("fin") and frame["stream_id"] in asked:
                yield at, 1, at - asked.pop(frame["stream_id"])


def qlog(folder, meta):
    """ngtcp2's clients; NAME.begin has their start, a line each."""
    begins = [int(words[0]) for words in lines(f"{folder}/{meta['name']}.begin")]
    return sorted(e for i, begin in enumerate(begins) for e in one_qlog(f"{folder}/{meta['name']}.{i}.qlog", begin))


def server_log(folder, meta):
    """tg-server: when each answer left, and what it took."""
    return sorted((int(at), 1, int(took)) for at, took in lines(f"{folder}/{meta['name']}.server"))


KINDS = {f.__name__: f for f in (exchanges, runs, pages, h2load, qlog)}
