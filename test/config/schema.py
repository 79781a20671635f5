#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The checker in C and the published JSON Schema must judge every file alike.

usage: schema.py CHECK-CONFIG

A file that uses every key is changed in one place at a time: wrong type, out of range, unknown or
missing key, bad choice, bad text. Where the checker refuses, it must name the place. Rules that a
schema cannot express are listed in ONLY_IN_C; each must be seen to work. Defaults and the tables
of doc/configuration.md are compared too.
"""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIPPED: the Python module jsonschema is missing (apt-get install python3-jsonschema)")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(77)

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "lib/config/tidegate.schema.json").read_text())
DOC = TOP / "doc/configuration.md"

# Every key of the schema at least once (checked).
BASE = {
    "version": 1,
    "flow_table": {"slots_per_worker": 4096, "tcp_idle_s": 100, "udp_idle_s": 20, "closed_s": 2,
                   "snapshot": "/tmp/flows", "snapshot_s": 3},
    "workers": {"background_us": 20, "background_share_percent": 30, "late_ms": 500, "idle": "pause",
                "idle_sleep_max_us": 100},
    "control": {"socket": "/tmp/t.sock", "mode": "0600", "group": "adm", "captures": "/tmp"},
    "metrics": {"port": 9419, "socket": "/tmp/m.sock", "servers_max": 100},
    "ports": [
        {"name": "arm", "port": "net_tap0", "role": "both",
         "addresses": ["10.0.0.2/24", "2001:db8::2/64"], "gateways": ["10.0.0.1", "2001:db8::1"],
         "vlan": 7, "mtu": 9000, "rx_descriptors": 512, "tx_descriptors": 512, "rx_queues": 2,
         "rate_mbps": 10000, "kernel": "net_tap1"},
    ],
    "tiers": [{"name": "far", "delay_us": 3000}],
    "services": [
        {"name": "web", "address": "192.0.2.10", "protocol": "tcp", "ports": [80, 443],
         "forward": "l2", "policy": "maglev", "estimator": "ack", "gap_rule": "top-mode",
         "sojourn_max_us": 2000, "gate": "drop", "gate_margin_us": 30, "gate_early": True,
         "admission_wait_max_us": 5,
         "admission": {"pool": "shared", "budget_per_s": 5000, "cost": "exchange", "interval_us": 20000,
                       "auxiliary_percent": 30, "variant": "work-conserving",
                       "segments": {"by": "match", "ipv4_prefix": 16, "ipv6_prefix": 56, "slots": 128, "hi_per_s": 500,
                                    "lo_per_s": 100, "max_per_s": 900, "calm_intervals": 5},
                       "match": [{"prefix": "198.51.100.0/24", "segment": "batch", "value": "best-effort"}]},
         "decrement_ttl": False, "answer_ping": False, "mss_clamp": True, "announce": True,
         "limits": {"new_per_s": 1000, "new_drop_per_s": 2000, "packets_per_s": 50000, "packets_drop_per_s": 90000},
         "access": [{"prefix": "203.0.113.0/24", "action": "deny"}, {"prefix": "2001:db8:bad::/48", "action": "allow"}],
         "bid": {"window_us": 200, "syn_rate": 500, "auctions": 64, "missed": 2, "probe_s": 5},
         "health": {"type": "http", "interval_ms": 2000, "timeout_ms": 300, "rise": 3, "fall": 4, "port": 8080,
                    "path": "/alive", "passive": False, "initial": "down"},
         "servers": [
             {"name": "a", "address": "10.0.0.11", "mac": "02:00:00:00:00:0a", "weight": 2,
              "workers": 8, "service_time_us": 500, "tier": "far", "delay_us": 300,
              "alpha": 2.5, "state": "drain", "hop_offset": 2},
             {"name": "b", "address": "2001:db8::12"},
         ]},
        {"name": "dns", "address": "2001:db8:1::53", "protocol": "udp", "ports": "any",
         "health": {"type": "udp", "port": 53, "payload": "00ff", "expect": True},
         "servers": [{"name": "a", "address": "10.0.0.11"}]},
        {"name": "rest", "address": "192.0.2.10", "protocol": "any",
         "servers": [{"name": "a", "address": "10.0.0.11"}]},
    ],
}

ANY_TYPE = [None, True, 7, -1, 1.5, 1e300, "x", "", [], {}, [[]], [None], ["x"], {"x": 1}]
NAMES = ["!", "~", "a" * 63, "a" * 64, "a b", "a,b", "a\tb", "é", "\x7f", "a\x00", "a\"b", "\\"]
ADDRESSES = ["10.0.0.12", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1 ", "10.0.0.1/24",
             "2001:db8::99", "2001:DB8:0:0:0:0:0:99", "::ffff:10.0.0.98", "2001:db8::12345", "2001",
             "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", "fe80::1%eth0", "localhost"]
PREFIXES = ["10.9.0.2/31", "10.9.0.2/32", "10.9.0.2/33", "10.9.0.2/", "10.9.0.2", "/24",
            "10.9.0.2/024", "10.9.0.2/+4", "10.9.0.2/ 24", "10.9.0/24", "256.0.0.1/8", "01.0.0.1/8",
            "2001:db8::9/128", "2001:db8::9/129", "2001:db8::9", "2001:db8::9/-1",
            "2001:db8:9::9/0"]
MACS = ["02:00:00:00:00:0A", "02:00:00:00:00", "02:00:00:00:00:00:00", "02-00-00-00-00-0a",
        "2:0:0:0:0:a", "01:00:5e:00:00:01", "00:00:00:00:00:00", "02:00:00:00:00:0g",
        "02::00:00:00:000", "0x:00:00:00:00:01"]
TEXTS = {
    "socket": ["/a", "/", "a/b", "/" + "a" * 106, "/" + "a" * 107, "/a\nb", "/a b", "/a\x7f"],
    "mode": ["777", "0777", "1777", "077", "77", "8", "0o660", "u=rw", "00660", "0668", " 660"],
    "path": ["/", "/a b", "a", "/" + "a" * 126, "/" + "a" * 127, "/%7e?x=1"],
    "payload": ["00", "0", "0x", "aF" * 64, "aF" * 65, "gg"],
    "mac": MACS, "addresses": PREFIXES, "gateways": ADDRESSES, "address": ADDRESSES,
}
# What the configuration format reserves, in this version or not.
CHOICES = ["l2", "ipip", "gre", "gue", "maglev", "rendezvous", "round-robin", "weighted-round-robin",
           "least-connections", "jsq", "two-choices", "random", "model", "queue", "hybrid-seed",
           "completion", "latency", "bid", "auto", "gap", "ack", "echo", "off", "mode-sum",
           "envelope", "top-mode", "exchange", "connection", "packet", "byte", "strict", "work-conserving", "prefix",
           "service", "match", "platinum", "gold", "silver", "bronze", "best-effort", "drop", "shadow", "poll", "pause", "sleep", "client", "server", "both", "up", "drain", "down", "tcp",
           "udp", "any", "icmp", "TCP", "L2", "Latency", "up "]
NUMBERS = [0, 1, 2, 2.0, 2.5, 2.0000001, 999.5, 1000, 1000.5, 1e18, 9007199254740993]


def places(value, path=()):
    """Every path in a document, containers too."""
    yield path
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, path + (key,))


def get(doc, path):
    for key in path:
        doc = doc[key]
    return doc


def put(path, value):
    if not path:
        return value
    doc = copy.deepcopy(BASE)
    get(doc, path[:-1])[path[-1]] = value
    return doc


def without(path):
    doc = copy.deepcopy(BASE)
    del get(doc, path[:-1])[path[-1]]
    return doc


def text(path):
    out = ""
    for key in path:
        out += f"[{key}]" if isinstance(key, int) else ("." if out else "") + key
    return out


def resolve(node):
    """A schema's own keywords and those of its reference."""
    while "$ref" in node:
        node = {**SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]],
                **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def schema_at(path):
    node = SCHEMA
    for key in path:
        node = resolve(node)
        if isinstance(key, int):
            alternatives = [node] + node.get("anyOf", [])
            node = next(a["items"] for a in alternatives if "items" in a)
        else:
            node = node["properties"][key]
    return resolve(node)


def bounds(node):
    for part in [node] + node.get("anyOf", []):
        if part.get("type") == "integer" and "minimum" in part:
            return part["minimum"], part["maximum"]
    return None


def list_lengths(path, node):
    """The list with one entry too few and one too many, and as long as may be."""
    for part in [node] + node.get("anyOf", []):
        if part.get("type") != "array":
            continue
        limit = part["maxItems"]
        if part["items"].get("type") == "integer":
            many = list(range(1, limit + 2))
        elif path[-1] == "addresses":
            many = [f"10.{i}.0.2/24" for i in range(limit + 1)]
        elif path[-1] == "gateways":
            many = [f"10.0.0.{i + 100}" for i in range(limit + 1)]
        elif path[-1] == "tiers":
            many = [{"name": f"t{i}", "delay_us": i} for i in range(limit)] + get(BASE, path)
        else:
            continue
        yield many
        yield many[:limit]
        yield many[:part.get("minItems", 0)]
        yield many[:1] * 2


def changes():
    """(what was done, document, path that must be named when it is refused)"""
    for path in places(BASE):
        node, name, here = schema_at(path), text(path) or "the file", get(BASE, path)
        values = list(ANY_TYPE)
        if path and isinstance(path[-1], str):
            yield f"without {name}", without(path), path
        if bounds(node):
            low, high = bounds(node)
            values += [low - 1, low, float(low), low + 0.5, high, high + 1, str(low), 2 ** 70]
        if isinstance(here, str):
            kind = path[-1] if isinstance(path[-1], str) else path[-2]
            values += NAMES + CHOICES + TEXTS.get(kind, [])
        if path and path[-1] == "alpha":
            values += NUMBERS
        values += list_lengths(path, node) if path else []
        for value in values:
            yield f"{name} = {json.dumps(value)[:60]}", put(path, value), path
        if isinstance(here, dict):
            for key in ("x", "Name", "name ", "é", "", "a.b[0]"):
                yield f"{name} with key {key!r}", put(path + (key,), 1), path


def with_services(*services):
    return {**BASE, "services": list(services)}


WEB = BASE["services"][0]
ARM = BASE["ports"][0]
SERVER = {"name": "a", "address": "10.0.0.11"}


def web(**keys):
    return with_services({**WEB, **keys})


def arm(**keys):
    return {**BASE, "ports": [{**ARM, **keys}]}


def front(**keys):
    other = {"name": "front", "port": "net_tap1", "role": "client"}
    return {**BASE, "ports": [ARM, {**other, **keys}]}


# What a schema cannot express: the sentence, and documents that must bring it about.
ONLY_IN_C = [
    (r'services\[1\]\.name: "web" is the name of services\[0\] already',
     with_services(WEB, {**WEB, "address": "192.0.2.11"})),
    (r"services\[1\]: tcp,192\.0\.2\.10,443 is the destination of services\[0\]",
     with_services(WEB, {**WEB, "name": "w", "ports": [8080, 443]})),
    (r"services\[1\]: udp,2001:db8::5 is the destination of services\[0\]",
     with_services({**WEB, "protocol": "udp", "ports": "any", "address": "2001:db8::5"},
                   {**WEB, "name": "w", "protocol": "udp", "ports": "any",
                    "address": "2001:DB8:0::5"})),
    (r"services\[1\]: any,192\.0\.2\.10 is the destination of services\[0\]",
     with_services(BASE["services"][2], {**BASE["services"][2], "name": "again"})),
    (r'servers\[1\]: name "a" is servers\[0\]\'s already',
     web(servers=[SERVER, {**SERVER, "address": "10.0.0.12"}])),
    (r"servers\[1\]: address [0-9a-f.:]+ is servers\[0\]'s already",
     web(servers=[SERVER, {**SERVER, "name": "b"}])),
    (r"servers\[0\]\.tier: \"\S+\" is none of the names in `tiers`",
     web(servers=[{**SERVER, "tier": "near"}])),
    (r'tiers\[1\]\.name: "\w+" is the name of an earlier tier already',
     {**BASE, "tiers": BASE["tiers"] * 2}),
    (r"admission\.segments\.lo_per_s: \d+ must be below hi_per_s, which is \d+",
     web(admission={"segments": {"hi_per_s": 10, "lo_per_s": 10}})),
    (r"admission\.segments\.lo_per_s: needs hi_per_s", web(admission={"segments": {"lo_per_s": 10}})),
    (r"admission\.segments\.hi_per_s: \d+ is above the budget of all segments together, which is \d+",
     web(admission={"budget_per_s": 1000, "segments": {"hi_per_s": 1001}})),
    (r"admission\.cost: .* needs an estimator that sees exchanges",
     web(admission={"cost": "exchange"}, estimator="off")),
    (r"admission\.budget_per_s: must be given for cost \"byte\"", web(admission={"cost": "byte"})),
    (r"services\[\]\.admission: makes 65 pools of tokens, at most 64",
     with_services(*({**WEB, "name": f"w{i}", "address": f"192.0.2.{i + 1}", "admission": {}} for i in range(65)))),
    (r"admission: must be the same as services\[0\]\.admission: they share pool",
     with_services({**WEB, "admission": {"pool": "x"}},
                   {**WEB, "name": "w", "address": "192.0.2.11", "admission": {"pool": "x", "interval_us": 5000}})),
    (r"gate_margin_us: \d+ must be below sojourn_max_us, which is \d+",
     web(sojourn_max_us=20, gate_margin_us=20)),
    (r'ports\[1\]: name "arm" is ports\[0\]\'s already', front(name="arm")),
    (r'ports\[1\]: port "net_tap0" is ports\[0\]\'s already', front(port="net_tap0")),
    (r'ports\[\d\]: addresses\[\d+\]: \S+ is an address of port "arm" already',
     front(addresses=["10.0.0.2/16"])),
    (r"gateways\[\d+\]: \S+ is inside none of the port's networks", arm(gateways=["10.0.1.1"])),
    (r"gateways\[0\]: 10\.0\.0\.2 is the gateway's own address", arm(gateways=["10.0.0.2"])),
    (r"gateways\[1\]: \S+ is given twice", arm(gateways=["2001:db8::1", "2001:DB8::1"])),
    (r'ports: none has role "client" or "both"', arm(role="server")),
    (r'ports: none has role "server" or "both"', arm(role="client")),
    (r"address 192\.0\.2\.10 is the service's own: its packets would come back to it",
     web(servers=[{**SERVER, "address": "192.0.2.10"}])),
    (r"address 10\.0\.0\.2 is the gateway's own: its packets would come back to it",
     web(servers=[{**SERVER, "address": "10.0.0.2"}])),
    (r"addresses\[\d+\]: \S+ is the network's own or its broadcast address",
     arm(addresses=["10.0.0.0/24"], gateways=[])),
    (r"(address|\[\d+\]): \S+ is unspecified, loopback, multicast or reserved", web(address="224.0.0.1")),
    (r"(address|\[\d+\]): \S+ is an IPv4 address as IPv6 writes it: write ", web(address="::ffff:192.0.2.10")),
    (r"address: \S+ is a link-local address", web(address="fe80::1")),
    (r"servers\[\d+\]: address \S+ is the own or the broadcast address of a network of port \"arm\"",
     web(servers=[{**SERVER, "address": "10.0.0.255"}])),
    (r"gateways\[\d+\]: \S+ is a network's own or its broadcast address", arm(gateways=["10.0.0.0"])),
    (r"access\[\d+\]: (denies|allows) the network that access\[\d+\] (allows|denies): leave one of them out",
     web(access=[{"prefix": "203.0.113.0/24", "action": "deny"}, {"prefix": "203.0.113.9/24", "action": "allow"}])),
    (r'addresses\[\d+\]: "[^"]*" is no address with prefix length',
     arm(addresses=["2001:db8::1::1/64"])),
    (r'policy: "bid" is for protocol "tcp" only', with_services({**BASE["services"][1], "policy": "bid"})),
    (r'policy: "bid" asks 64 servers at most, there are 65',
     web(policy="bid", servers=[{"name": f"{i}", "address": f"10.0.1.{i + 1}"} for i in range(65)])),
    (r"servers\[1\]\.mac: 02:00:00:00:00:0a is servers\[0\]'s already: with policy",
     web(policy="bid", servers=[{**SERVER, "mac": "02:00:00:00:00:0a"},
                                {"name": "b", "address": "10.0.0.12", "mac": "02:00:00:00:00:0A"}])),
    (r"bid\.window_us: 1980 must be below sojourn_max_us less gate_margin_us, which is 1980",
     web(policy="bid", bid={"window_us": 1980}, sojourn_max_us=2000, gate_margin_us=20)),
    (r"servers\[0\]: address 10\.9\.9\.9 is behind a router: with policy \"bid\"",
     web(policy="bid", forward="ipip", servers=[{"name": "a", "address": "10.9.9.9"}])),
    (r"health\.path: is read by checks of type \"http\" only", web(health={"type": "tcp", "path": "/x"})),
    (r"health\.payload: is read by checks of type \"udp\" only", web(health={"type": "http", "payload": "00"})),
    (r"health\.expect: is read by checks of type \"udp\" only", web(health={"type": "tcp", "expect": False})),
    (r"health: timeout_ms, \d+, must not be above interval_ms, which is \d+",
     web(health={"type": "tcp", "interval_ms": 100, "timeout_ms": 101})),
    (r"health: port is missing", with_services({**BASE["services"][1], "health": {"type": "udp"}})),
    (r'socket: \S+ must be an absolute path', {**BASE, "control": {"socket": "/" + "é" * 60}}),
    (r"is one server too many: 8192 in all services together", with_services(*(
        {"name": f"s{i}", "address": f"192.0.2.{i + 1}", "protocol": "any",
         "servers": [{"name": f"{j}", "address": f"10.{j // 250}.{j % 250}.9"}
                     for j in range(2731)]} for i in range(3)))),
]

# Text that never becomes a document: what must be said.
BROKEN = [
    ("", r"is empty"),
    (" \n\t ", r"is empty"),
    (json.dumps(BASE)[:700], r"line 1, column \d+: .*half written"),
    ("{", r"line 1, column 1: .*half written"),
    ('// a\n{"version": 1}', r"line 1, column \d+: .*JSON has no comments"),
    ('{"version": 1, # a\n}', r"line 1, column \d+: .*JSON has no comments"),
    (json.dumps(BASE) + "}", r"line 1, column \d+: end of file expected"),
    ('{"version": 1,}', r"line 1, column \d+: "),
    ('{"version": 01}', r"line 1, column \d+: "),
    ('{"version": NaN}', r"line 1, column \d+: "),
    ("\ufeff{}", r"version: is missing"),  # a byte order mark is passed over
    ('{"version": 1,\n "version": 1}', r"version: is given twice \(again on line 2\)"),
    (json.dumps(BASE).replace('"weight": 2', '"weight": 2, "\\u0077eight": 3'),
     r"services\[0\]\.servers\[0\]\.weight: is given twice"),
    (json.dumps(BASE).replace('"closed_s": 2', '"closed_s": {"a": [{"b": 1, "b": 2}]}'),
     r"flow_table\.closed_s\.a\[0\]\.b: is given twice"),
    ("[" * 5000, r"line 1, column \d+: "),
]


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def judge(self, good, what, *details):
        self.passed += bool(good)
        if good:
            return
        self.failed += 1
        print("FAILED:", what)
        for line in details:
            print("   ", line)


class Checker:
    def __init__(self, program):
        self.program = program

    def run(self, texts):
        """[(accepted, faults, notes, defaults)] of the files with these texts."""
        with tempfile.TemporaryDirectory(prefix="tidegate-config-") as folder:
            names = []
            for i, content in enumerate(texts):
                names.append(f"{i}.json")
                (pathlib.Path(folder) / names[-1]).write_text(content, encoding="utf-8")
            results = []
            for i in range(0, len(names), 500):
                out = subprocess.run([self.program, *names[i:i + 500]], cwd=folder, check=True,
                                     capture_output=True, text=True, timeout=100).stdout
                results += self.parse(out)
        return results

    @staticmethod
    def parse(out):
        results = []
        for line in out.splitlines():
            if not line.startswith("\t"):
                results.append((line.startswith("ok "), [], [], []))
                continue
            kind, sentence = line[1:].split("\t", 1)
            results[-1][["fault", "note", "default"].index(kind) + 1].append(sentence)
        return results


VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def only_in_c(faults):
    return faults and all(any(re.search(rule, f) for rule, _ in ONLY_IN_C) for f in faults)


def names_place(faults, path):
    """One sentence is about the place that was changed, or what is around or below it."""
    # whether there must be ports is the protocol's doing: what is named is the ports
    wanted = text(path[:-1] if path[-1:] == ("protocol",) else path)
    for fault in faults:
        place = re.match(r"\d+\.json: ((?:[\w.$-]|\[[^\]]*\])*): ", fault)
        place = place[1] if place else ""
        if wanted.startswith(place) or place.startswith(wanted):
            return True
    return False


def compare_changes(tally, checker):
    cases, seen = [], set()
    for what, doc, path in changes():
        content = json.dumps(doc)
        if content not in seen:
            seen.add(content)
            cases.append((what, doc, path))
    if os.environ.get("TIDEGATE_QUICK"):
        cases = cases[::8]
    results = checker.run(json.dumps(doc) for _, doc, _ in cases)
    agreed, c_only = [0, 0], 0
    for (what, doc, path), (accepted, faults, *_) in zip(cases, results):
        valid = VALIDATOR.is_valid(doc)
        if valid and not accepted and only_in_c(faults):
            c_only += 1  # the place named may be the other one of two that clash
            continue
        tally.judge(valid == accepted, f"{what}: schema says {valid}, checker {accepted}", *faults)
        tally.judge(accepted == (not faults), f"{what}: a refusal needs a sentence", *faults)
        agreed[accepted] += 1
        if not accepted:
            tally.judge(names_place(faults, path), f"{what}: place is not named", *faults)
    print(f"changes: {len(cases)} files, both accept {agreed[1]}, both refuse {agreed[0]}, "
          f"rules beyond the schema refuse {c_only}")


def compare_rules(tally, checker):
    docs = [json.dumps(doc) for _, doc in ONLY_IN_C]
    for (rule, doc), (accepted, faults, *_) in zip(ONLY_IN_C, checker.run(docs)):
        tally.judge(not accepted and any(re.search(rule, f) for f in faults),
                    f"no such fault: {rule}", *faults)
        tally.judge(VALIDATOR.is_valid(doc), f"the schema refuses this as well: {rule}")
    for (content, rule), (accepted, faults, *_) in zip(BROKEN, checker.run(c for c, _ in BROKEN)):
        tally.judge(not accepted and any(re.search(rule, f) for f in faults),
                    f"{content[:60]!r}: no such fault: {rule}", *faults)
    print(f"rules beyond the schema: {len(ONLY_IN_C)}; broken or repeating texts: {len(BROKEN)}")


def keys_of(node, prefix=""):
    """(path with [] for every list, schema) of every key below an object's schema."""
    for key, value in resolve(node).get("properties", {}).items():
        value, path = resolve(value), prefix + key
        yield path, value
        for part in [value] + value.get("anyOf", []):
            if part.get("type") == "object":
                yield from keys_of(part, path + ".")
            elif part.get("type") == "array":
                yield from keys_of(part["items"], path + "[].")


def generic(path):
    return re.sub(r"\[\d+\]", "[]", text(path))


def as_told(value):
    return value if isinstance(value, str) else json.dumps(value)


def compare_defaults(tally, checker):
    first = {}
    for path in places(BASE):
        first.setdefault(generic(path), path)
    keys = dict(keys_of(SCHEMA))
    for key in keys:
        tally.judge(key in first, f"{key}: the base document does not use it")
    keys = {k: v for k, v in keys.items() if "default" in v and k in first}
    results = checker.run(json.dumps(without(first[k])) for k in keys)
    for (key, node), (accepted, faults, _, defaults) in zip(keys.items(), results):
        wanted = f"{text(first[key])} = {as_told(node['default'])}"
        tally.judge((accepted or only_in_c(faults))
                    and any(d == wanted or d.startswith(wanted + " ") for d in defaults),
                    f"default: {wanted}", *faults, *defaults)
    print(f"defaults: {len(keys)} compared")


def doc_rows():
    """(key with its path, default, restart, example) of every row in the tables of the guide."""
    prefix = ""
    for line in DOC.read_text().splitlines():
        heading = re.match(r"#+ .*?`([\w\[\].]+)`", line)
        if heading:
            prefix = "" if heading[1] == "top" else heading[1] + "."
        row = re.match(r"\| `(\w+)` \|(.*)\|$", line)
        if row:
            cells = [c.strip() for c in re.split(r"\s\|(?=\s)", row[2])]
            yield prefix + row[1], cells[-3], cells[-2], cells[-1]


def compare_doc(tally, checker):
    keys, rows, cases = dict(keys_of(SCHEMA)), list(doc_rows()), []
    first = {}
    for path in places(BASE):
        first.setdefault(generic(path), path)
    leaves = {k for k, v in keys.items() if v.get("type") != "object"}
    tally.judge({r[0] for r in rows} == leaves, "the guide's keys are not the schema's",
                *sorted({r[0] for r in rows} ^ leaves))
    for key, default, restart, example in rows:
        node = keys.get(key, {})
        if "default" in node:
            tally.judge(as_told(node["default"]) in default.replace("`", ""),
                        f"the guide's default of {key}: {default}")
        tally.judge(("Restart only" in node.get("description", "")) == (restart == "yes")
                    or key.startswith("control."), f"the guide's restart mark of {key}")
        member = json.loads("{" + example.strip("`") + "}")
        tally.judge(list(member) == [key.split(".")[-1]], f"the guide's example of {key}")
        if key in first:
            cases.append((key, put(first[key], *member.values())))
    for block in re.findall(r"```json\n(\{\n.*?)```", DOC.read_text(), re.S):
        cases.append(("a whole example", json.loads(block)))
    for (what, doc), (accepted, faults, *_) in zip(cases, checker.run(
            json.dumps(doc) for _, doc in cases)):
        tally.judge(accepted and VALIDATOR.is_valid(doc), f"the guide's example: {what}", *faults)
    print(f"guide: {len(rows)} keys, {len(cases)} examples")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: schema.py CHECK-CONFIG")
    tally, checker = Tally(), Checker(str(pathlib.Path(sys.argv[1]).resolve()))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    accepted, faults, *_ = checker.run([json.dumps(BASE)])[0]
    tally.judge(accepted and VALIDATOR.is_valid(BASE), "the base document", *faults)
    compare_changes(tally, checker)
    compare_rules(tally, checker)
    compare_defaults(tally, checker)
    if DOC.exists():
        compare_doc(tally, checker)
    print(f"{tally.passed} passed, {tally.failed} failed, 0 skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
