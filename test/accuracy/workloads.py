"""What clients, paths and servers the estimators are tried on: one scenario of the simulator a workload.

Each estimator gets a service of its own with two servers of its own, so that one run holds them all side by side, and
the same clients as the others. A window is one server in one replication.
"""
import itertools

EXPONENTIAL = {"kind": "exponential"}
TCP = {"auto": {}, "ack": {"estimator": "ack"}, "gap": {"estimator": "gap"},
       "mode-sum": {"estimator": "gap", "gap_rule": "mode-sum"}}
UDP = {k: TCP[k] for k in ("gap", "mode-sum")}  # auto is gap where no header can be read
CLIENTS = 50
SERVICE_MS = (5, 8)  # means of the two servers, exponential
WEATHER = {"loss": 0.01, "reorder": 0.25}
NARROW = 0.1  # coefficient of variation of a server whose answers always take about as long


def exponential(mean):
    return {**EXPONENTIAL, "mean": mean}


def path(rtt_ms, **weather):
    """To the gateway and back to the client: half the trip each way, a tenth of it as jitter, and as much as that a
    packet that overtakes is early. 0 ms is 0.1 ms each way."""
    way = max(rtt_ms * 500, 100)
    link = {"delay_us": way * 0.9, "jitter_us": exponential(way * 0.1), **weather}
    if weather:
        link["reorder_us"] = way * 0.1
    return {"to_gateway": link, "from_server": link}


def ticks(us):
    stack = {"timestamps": False} if us is None else {"tick_us": us}
    return {"tcp": stack, "server_tcp": stack}


class Workload:
    """What one scenario is made of; `exchanges` a server and replication, about."""

    def __init__(self, name, group, *, exchanges=1250, cycle_ms=7.0, service_ms=SERVICE_MS, workers=64, clients=CLIENTS,
                 estimators=None, udp=False, load=None, warmup=1.0, tags=(), per_visit=1, narrow=False,
                 no_server_truth=False, uncounted=False):
        self.name, self.group, self.tags = name, group, tags
        self.narrow, self.no_server_truth = narrow, no_server_truth
        self.uncounted = uncounted  # headers do not tell how many requests there are
        self.estimators = estimators or (UDP if udp else TCP)
        self.protocol, self.workers, self.service_ms, self.warmup = "udp" if udp else "tcp", workers, service_ms, warmup
        if load is None:
            self.group = {"clients": clients, **group}
            rate = clients * per_visit / cycle_ms * 1e3  # of both servers
        else:
            rate = load * workers * sum(1e3 / s for s in service_ms)
            self.group = {"arrivals": "poisson", "rate": round(rate), "connections": 200, **group}
        self.duration = max(0.3, 2 * exchanges / rate)

    def service_us(self, mean_ms):
        if self.narrow:
            return {"kind": "normal", "mean": mean_ms * 1000, "sd": mean_ms * 1000 * NARROW}
        return exponential(mean_ms * 1000)

    def scenario(self, replications):
        services, servers, groups = [], [], []
        for i, (estimator, settings) in enumerate(self.estimators.items()):
            mine = []
            for k, mean in enumerate(self.service_ms):
                address = f"10.0.{i}.{11 + k}"
                mine.append({"name": f"{estimator}-{k}", "address": address})
                servers.append({"address": address, "workers": self.workers, "service_us": self.service_us(mean)})
            services.append({"name": estimator, "address": f"192.0.2.{10 + i}", "protocol": self.protocol,
                             "ports": [80], "policy": "round-robin", "servers": mine, **settings})
            groups.append({"name": estimator, "service": estimator, **self.group})
        return {"version": 1, "seed": 11, "replications": replications, "warmup_s": self.warmup,
                "duration_s": round(self.duration, 3), "gateways": [{"rx_ring": 1024, "tx_ring": 1024}],
                "config": {"flow_table": {"slots_per_worker": 65536, "closed_s": 1}, "services": services},
                "servers": servers, "clients": groups}


def client_kinds():
    yield Workload("closed loop", {}, exchanges=9600, warmup=2.0, tags=("closed loop",))
    for ms, share in itertools.product((20, 200), (0.1, 1)):
        yield Workload(f"think {ms} ms before {share * 100:.0f} %",
                       {"think_us": exponential(ms * 1000), "think_share": share}, cycle_ms=7 + ms * share,
                       exchanges=3200 if share < 1 else 1600, warmup=2.0)
    for share in (0, 0.1):
        think = {"think_us": exponential(200000), "think_share": share} if share else {}
        said = ", think 200 ms before 10 %" if share else ""
        yield Workload("steady server, closed loop" + said, think, narrow=True, exchanges=9600, warmup=2.0,
                       cycle_ms=7 + 200 * share, tags=("closed loop",) if not share else ())
        yield Workload("QUIC, steady server, closed loop" + said, {"traffic": "quic", **think}, narrow=True, udp=True,
                       exchanges=9600, warmup=2.0, cycle_ms=7 + 200 * share, tags=("closed loop",) if not share else ())
    yield Workload("answers of 100 B", {"answer_bytes": 100})
    yield Workload("answers of 100 KB", {"answer_bytes": 100000}, exchanges=500, no_server_truth=True)
    yield Workload("answers of 10 MB", {"answer_bytes": 10000000, "from_server": {"delay_us": 100, "rate_mbps": 10000}},
                   exchanges=20, clients=8, cycle_ms=250, warmup=0.5, no_server_truth=True)
    yield Workload("pipeline of 8", {"depth": 8}, per_visit=8, clients=16, exchanges=2500, uncounted=True)
    yield Workload("bursts of 8, all waited for", {"burst": 8}, per_visit=8, clients=16, cycle_ms=25, uncounted=True)
    yield Workload("pages of 1 + 8 objects", {"objects": 8, "page_connections": 6, "think_us": exponential(50000)},
                   per_visit=9, cycle_ms=75, clients=24, warmup=2.0)
    yield Workload("a connection a request", {"requests": 1}, warmup=2.5)
    yield Workload("answers in 3 writes, 4 ms apart", {"writes": 3, "write_gap_us": 4000}, cycle_ms=15,
                   no_server_truth=True)
    yield Workload("datagrams", {"traffic": "datagram"}, udp=True, exchanges=3200, uncounted=True)
    yield Workload("QUIC, closed loop", {"traffic": "quic"}, udp=True, exchanges=9600, warmup=2.0, tags=("closed loop",))
    yield Workload("QUIC, think 200 ms before 10 %",
                   {"traffic": "quic", "think_us": exponential(200000), "think_share": 0.1}, udp=True, cycle_ms=27,
                   exchanges=3200, warmup=2.0)
    yield Workload("tunnel of 4 users", {"traffic": "tunnel"}, udp=True, exchanges=3200, uncounted=True)


def paths():
    for rtt in (0, 20, 100):
        for think in (False, True):
            group = {"think_us": exponential(200000), "think_share": 0.1} if think else {}
            name = f"path of {rtt} ms with jitter" + (", think 200 ms before 10 %" if think else "")
            yield Workload(name, {**path(rtt), **group}, cycle_ms=7 + rtt + 20 * think, exchanges=1600, warmup=2.5,
                           tags=("path", "calm", "closed") if rtt == 0 and not think else ("path",))


def loads():
    """Rough weather against calm at the same load, and a closed loop with both."""
    for percent in (10, 50, 95):
        for rough in (False, True):
            weather = path(20, **(WEATHER if rough else {}))
            yield Workload(f"load {percent} %" + (", 1 % loss, 25 % reordered" if rough else ""), weather,
                           load=percent / 100, workers=4, service_ms=(5, 5), exchanges=1600, warmup=4.0,
                           tags=("rough" if rough else "calm", percent))
    yield Workload("closed loop, path of 0 ms, 1 % loss, 25 % reordered", path(0, **WEATHER), exchanges=3200,
                   tags=("rough", "closed"))


def timestamps():
    for us in (1, 1000, 4000, 10000, None):
        for think in (False, True):
            group = {"think_us": exponential(200000), "think_share": 0.1} if think else {}
            name = ("no timestamps" if us is None else f"ticks of {us / 1000:g} ms") + (
                ", think 200 ms before 10 %" if think else "")
            yield Workload(name, {**ticks(us), **group}, cycle_ms=7 + 20 * think, warmup=2.0,
                           estimators={k: TCP[k] for k in ("auto", "ack")})


def everything():
    return [*client_kinds(), *paths(), *loads(), *timestamps()]
