"""What methods published before say of a capture, from its packets.

All but `two-sided` look at what the client sent alone:
  handshake     SYN -> the client's ACK of the SYN-ACK
  threshold     mean of the gaps above a fixed threshold (THRESHOLD_MS)
  oracle        mean of the gaps on one side of the threshold that comes closest to the truth, which nobody knows: what
                one threshold can give at best
  two-sided     tcptrace's: data segment -> the acknowledgement that covers it, both directions, no retransmitted ones
Times in ms; None: the method has no answer.
"""
import statistics

THRESHOLD_MS = 1.0


class Packet:
    __slots__ = ("time", "syn", "ack_flag", "seq", "ack", "payload")


def packets(path, client, server, udp):
    """Of one connection in order: (from the client?, packet)."""
    from scapy.all import IP, TCP, UDP, IPv6, PcapReader  # takes a second: only where captures are
    out = []
    with PcapReader(path) as reader:
        for frame in reader:
            layer = UDP if udp else TCP
            network = frame.getlayer(IP) or frame.getlayer(IPv6)
            if network is None or layer not in frame:
                continue
            segment = frame[layer]
            ends = (network.src, segment.sport), (network.dst, segment.dport)
            if ends not in ((client, server), (server, client)):
                continue
            p = Packet()
            p.time = float(frame.time) * 1e3
            p.syn = not udp and bool(segment.flags & 2)
            p.ack_flag = not udp and bool(segment.flags & 16)
            p.seq, p.ack = (0, 0) if udp else (segment.seq, segment.ack)
            if udp:
                p.payload = segment.len - 8
            else:
                whole = network.len - 4 * network.ihl if IP in frame else network.plen
                p.payload = max(0, whole - 4 * segment.dataofs)
            out.append((ends == (client, server), p))
    return out


def handshake(flow):
    syns = [p for mine, p in flow if mine and p.syn]
    if len(syns) != 1:
        return None
    after = [p for mine, p in flow if mine and not p.syn and p.ack_flag and p.time >= syns[0].time]
    return after[0].time - syns[0].time if after else None


def gaps_of(flow):
    times = [p.time for mine, p in flow if mine]
    return [b - a for a, b in zip(times, times[1:])]


def above(gaps, threshold):
    kept = [g for g in gaps if g > threshold]
    return statistics.mean(kept) if kept else None


def oracle(gaps, truth):
    """The best of all thresholds, of bursts (shorter gaps left out) and of idle time (longer ones left out)."""
    ordered = sorted(gaps)
    total, n, best = sum(ordered), len(ordered), None
    below = 0.0
    for i, gap in enumerate(ordered):
        below += gap
        found = [below / (i + 1)] + ([(total - below) / (n - i - 1)] if i + 1 < n else [])
        best = min(found + ([best] if best else []), key=lambda f: abs(f / truth - 1))
    return best


def before(a, b):
    return a != b and (b - a) % 2 ** 32 < 2 ** 31


def two_sided(flow):
    open_segments, samples, highest = [], [], None
    for mine, p in flow:
        if mine and p.payload > 0:
            end = (p.seq + p.payload) % 2 ** 32
            if highest is None or before(highest, end):
                open_segments.append([end, p.time])
                highest = end
            else:
                open_segments = [s for s in open_segments if before(end, s[0])]  # Karn: sent twice
        elif not mine and p.ack_flag:
            covered = [s for s in open_segments if s[0] == p.ack or before(s[0], p.ack)]
            samples += [p.time - covered[-1][1]] if covered else []
            open_segments = [s for s in open_segments if s not in covered]
    return statistics.mean(samples) if samples else None


def methods(path, client, server, udp, truth):
    flow = packets(path, client, server, udp)
    gaps = gaps_of(flow)
    return {"handshake": None if udp else handshake(flow), "threshold": above(gaps, THRESHOLD_MS),
            "oracle": oracle(gaps, truth), "two-sided": None if udp else two_sided(flow)}
