#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the simulator to be trusted? Cases of the whole program; run.sh runs them.

usage: check.py [CASE...]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import closed_forms
from simulator import HERE, SIM, TOP, WIDER, command, finish, scenario, start

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


class Skip(Exception):
    pass


def scenarios():
    """Those of the tests, and the examples."""
    for folder in (os.path.join(HERE, "scenarios"), os.path.join(TOP, "examples/sim")):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                yield os.path.join(folder, name)


def check(path, *options, **settings):
    """What --check says: exit code, stdout, stderr."""
    done = subprocess.run(command(path, "--check", *options, **settings), capture_output=True, text=True, timeout=30,
                          check=False)
    return done.returncode, done.stdout, done.stderr


@case
def known_queues():
    """waits and percentiles of M/M/c, M/D/1, M/G/1, M/G/c; Little's law; conservation"""
    figures = closed_forms.run(scale=0.6)  # test/bar/sim.sh looks closer
    bad = [f"{f['case']}: expected {f['expected']}, got {f['got']} (allowed {100 * f['allowed']:.2f} %)"
           for f in figures if not f["good"]]
    for f in figures:
        if f["case"] in [q.name for q in closed_forms.QUEUES]:
            print(f"  {f['case']:30} {f['expected']:9.5f} {f['got']:9.5f} {100 * f['error']:+6.2f} % of +-"
                  f"{100 * f['allowed']:.2f} %")
    assert not bad, "\n".join(bad)


# a datagram of 1250 bytes with all that is between frames takes 1 ms of 10 Mbit/s
LINE = {"clients[0].bytes": 1184, "gateways[0].tx_rate_mbps": 10, "servers[0].service_us": 1, "servers[0].workers": 64}


@case
def line_rate():
    """a transmit ring that drains at line rate is M/D/1"""
    mean = {}
    for rate in (5, 700):
        r = json.loads(finish(start(scenario("queue"), "--quiet", settings={**LINE, "clients[0].rate": rate}))[0])
        mean[rate] = r["clients"][0]["latency_ns"]["mean"]
    got, want = (mean[700]["mean"] - mean[5]["mean"]) / 1e6, 0.7 / (2 * 0.3)
    half = WIDER[10] * mean[700]["half_width"] / 1e6
    assert mean[5]["mean"] > 1e6 and abs(got - want) < half, f"wait of {got} ms, expected {want} +- {half}"


@case
def predictive_gate():
    """on a line near saturation the plain gate lets packets be late on the wire, the predictive one none"""
    late, sent = {}, {}
    for known in (False, True):
        settings = {**LINE, "clients[0].rate": 950, "clients[0].timeout_s": 1, "gateways[0].rate_known": known,
                    "config.services[0].sojourn_max_us": 4000, "config.services[0].gate": "drop"}
        g = json.loads(finish(start(scenario("queue"), "--quiet", settings=settings))[0])["gateways"][0]
        late[known], sent[known] = g["wire"]["late"]["mean"], g["packets"]["forwarded"]["mean"]
    assert late[False] > 0.1 * sent[False] and late[True] == 0 and sent[True] > 0.5 * sent[False], (late, sent)


@case
def a_wait_for_tokens_is_not_the_servers():
    """requests that wait for tokens seven times as long as the servers take: the wait is in L and not in S"""
    r = json.loads(finish(start(scenario("admission"), "--quiet"))[0])
    for truth, seen in zip(r["servers"], r["gateways"][0]["services"][0]["servers"]):
        for ours, theirs in (("latency_ns", "latency_ns"), ("server_ns", "server_ns")):
            got, want = seen[ours]["mean"]["mean"], truth["services"][0][theirs]["mean"]["mean"]
            print(f"  server {seen['name']}, {ours}: {got / 1e6:.2f} ms, in truth {want / 1e6:.2f}")
            assert abs(got / want - 1) < 0.03, (seen["name"], ours, got, want)
        assert seen["latency_ns"]["mean"]["mean"] > 7 * seen["server_ns"]["mean"]["mean"], "nothing waits"


@case
def a_budget_is_derived_only_where_the_model_fits():
    """nine tenths of what the servers can; said to take 0.1 ms where they take 10: none, and a configured one stays, without extra tokens"""
    runs, seen = {}, {}
    for said_us in (0, 100):
        servers = {f"config.services[0].servers[{i}].{k}": v for i in range(2)
                   for k, v in (("workers", 16), ("service_time_us", said_us)) if v}
        for budget in (0, 3000):
            settings = {"config.services[0].admission": {"budget_per_s": budget}, **servers}
            runs[said_us, budget] = start(scenario("admission"), "--quiet", settings=settings)
    for (said_us, budget), run in runs.items():
        pool = json.loads(finish(run)[0])["gateways"][0]["admission"][0]
        seen[said_us, budget] = got = [pool["budget_per_s"]["mean"], pool["headroom_per_s"]["mean"] > 0, pool["fits"]]
        print(f"  said to take {said_us} us, budget {budget}: {got[0]:.0f}, extra tokens {got[1]}, fits {got[2]}")
    assert seen[0, 0][2] and abs(seen[0, 0][0] / (0.9 * 3200) - 1) < 0.1, seen
    assert seen[100, 0] == [0, False, False] and seen[100, 3000] == [3000, False, False], seen


@case
def a_flood_of_networks_leaves_the_calm_alone():
    """a million networks that ask once each, five times the budget: no request of who was there before is lost or late"""
    r = json.loads(finish(start(scenario("flood"), "--quiet"))[0])
    calm, flood = r["clients"]
    p95 = calm["latency_ns"]["p95"]["mean"] / 1e6
    print(f"  calm: {calm['requests']['mean']:.0f} requests, {calm['failed']['mean']:.0f} lost, P95 {p95:.2f} ms; "
          f"flood: {flood['requests']['mean']:.0f}, {flood['failed']['mean']:.0f} lost")
    assert calm["failed"]["mean"] == 0 and p95 < 3, (calm["failed"], p95)
    assert flood["requests"]["mean"] > 1e6 and flood["failed"]["mean"] > 0.7 * flood["requests"]["mean"], flood["failed"]


@case
def same_seed_same_bytes():
    """the same seed gives the same bytes, another one others; everything is accounted for in the worst of weathers"""
    runs = [start(scenario("mixed"), "--quiet") for _ in range(2)]
    first, second = (finish(r)[0] for r in runs)
    assert first == second, "two runs of one seed differ"
    other = finish(start(scenario("mixed"), "--quiet", "--seed", "4"))[0]
    assert first != other, "two seeds give the same"
    for text in (first, other):
        r = json.loads(text)
        for what, c in r["conservation"].items():
            assert c["balanced"], (what, c)
        for g in r["clients"]:
            assert g["answered"]["mean"] > 0, g["name"]
        windows = len(r["series"]["groups"][0]["count"])
        assert windows == 8, windows


@case
def common_random_numbers():
    """another policy meets the same requests: the work asked for is the same to the last bit"""
    work = {"clients[2].timeout_s": 0, "clients[2].work_us": {"kind": "exponential", "mean": 300}}
    texts = [finish(start(scenario("mixed"), "--quiet", "--policy", p, settings=work))[0]
             for p in ("round-robin", "maglev")]
    asked = [json.loads(t)["clients"][2]["whole_run"]["asked"]["values"] for t in texts]
    assert texts[0] != texts[1] and asked[0] == asked[1], asked


def moved(policy, forward, what):
    """200 long connections over two workers, whose gateway goes: (all of its, at the first candidate, named, broken)"""
    settings = {"config.services[0].policy": policy, "config.services[0].forward": forward, "gateways[0].keeps_flows": what == "kept"}
    if what == "rehash":  # the first of two goes for good
        one = {"workers": 2, "rx_ring": 256, "tx_ring": 256}
        settings = {**settings, "gateways": [{**one, "fails_s": 2}, one]}
        del settings["gateways[0].keeps_flows"]
    r = json.loads(finish(start(scenario("moved"), "--quiet", settings=settings))[0])
    for name, c in r["conservation"].items():
        assert c["balanced"], (policy, forward, what, name, c)
    whole = r["clients"][0]["whole_run"]
    row = [whole[k]["mean"] for k in ("moved", "moved_first", "moved_named", "broken")]
    print("  {:12} {:4} {:8} {:4.0f} connections, {:3.0f} at the first candidate, {:3.0f} named, {:3.0f} lost".format(policy, forward, what, *row))
    return row


@case
def connections_outlive_gateways():
    """a restart and an ECMP rehash cost exactly the connections that are not where the next gateway looks"""
    for what, gateways in (("restart", 1), ("rehash", 2), ("kept", 1)):
        for policy in ("maglev", "latency", "round-robin"):
            for forward in ("l2", "gue"):
                if policy == "maglev" and forward == "gue":
                    continue  # nothing is lost without
                all_of, first, named, lost = moved(policy, forward, what)
                assert all_of == 200 / gateways and first <= named <= all_of, (all_of, first, named)
                assert first < named < all_of or policy != "round-robin", "nothing is tried"
                stays = {"l2": first, "gue": named}[forward] if what != "kept" else all_of
                assert lost == all_of - stays, f"{policy} {forward} {what}: {lost} lost instead of {all_of - stays}"
                assert policy != "maglev" or lost == 0


@case
def tables():
    """the table has every group, server and gateway; --quiet and --results work; the speed is on stderr"""
    _, out, err = finish(start(scenario("mixed"), "--replications", "1", "--duration", "0.5", "--warmup", "0.1"))
    for word in ("loop", "pages", "bursts", "names", "quic", "gateway 0", "gateway 1", "p99.9", "Little's law",
                 "everything is accounted for"):
        assert word in out, (word, out)
    assert "packets/s" in err and "packets/s" not in out
    _, out, err = finish(start(scenario("queue"), "--quiet", "--duration", "0.1", "--replications", "1"))
    assert out == "" and err == "", (out, err)


@case
def bad_scenarios():
    """what is impossible is named with file and JSON path before anything runs, all of it, exit code 1"""
    q = scenario("queue")
    for settings, *says in (
            ({"clients[0].rate": -5}, "$.clients[0].rate: -5 is out of range"),
            ({"clients[0].rate": 10000}, "$.clients[0]: service \"q\" is overloaded without end"),
            ({"servers[0].worker": 2}, "$.servers[0].worker: is no key of this place"),
            ({"servers[0].workers": 1e30}, "$.servers[0].workers: 1e30 is out of range (1..65535)"),
            ({"clients[0].service": "w"}, "$.clients[0].service: \"w\" is no service"),
            ({"servers[0].address": "10.0.0.9"}, "$.servers[0].address: 10.0.0.9 is no server",
             "$.config.services[0].servers[0].address: 10.0.0.11: nobody has it"),
            ({"config.services[0].policy": "guess"}, "$.config.services[0].policy: \"guess\"")):
        for options in ((), ("--check",)):
            done = subprocess.run(command(q, *options, **settings), capture_output=True, text=True, timeout=30,
                                  check=False)
            assert done.returncode == 1 and done.stdout == "", (settings, done)
            for sentence in says:
                assert f"{q}: {sentence}" in done.stderr, (sentence, done.stderr)
    for text in (b"", b"{", b"[" * 100000, b"{\"version\": 1\0}", b"\xff\xfe", b"7", b"{\"version\": 1e999}"):
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            f.write(text)
            f.flush()
            code, out, err = check(f.name)
            assert code == 1 and out == "" and f.name in err, (text[:20], code, err)
    for words in ([], ["a", "b"], ["--seed"], ["--best", "a"], ["--set", "x", "a"]):
        done = subprocess.run([SIM, *words], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2 and done.stderr.startswith("tidegate-sim: "), (words, done)
    for path in ("/nowhere.json", "/", "/dev/zero"):
        code, _, err = check(path)
        assert code == 1 and path in err, err
    with tempfile.TemporaryDirectory() as d:
        pipe = os.path.join(d, "pipe")
        os.mkfifo(pipe)
        code, _, err = check(q, **{"servers[0].service_us": {"kind": "trace", "values": pipe}})
        assert code == 1 and f'"{pipe}" is no regular file' in err, err


@case
def results_have_a_place():
    """results that would overwrite the scenario or cannot be written are refused before the run"""
    with tempfile.TemporaryDirectory() as d:
        mine = shutil.copy(scenario("queue"), d)
        with open(mine, "rb") as f:
            before = f.read()
        os.link(mine, os.path.join(d, "other"))
        for path, sentence in ((mine, "names the scenario"), (os.path.join(d, "other"), "names the scenario"),
                               (d, "cannot be written: Is a directory"),
                               (os.path.join(d, "no", "where"), "cannot be written: No such file")):
            done = subprocess.run([SIM, mine, "--quiet", "--results", path, "--duration", "1000000"],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 1 and sentence in done.stderr, (path, done)
        with open(mine, "rb") as f:
            assert f.read() == before


@case
def predicted_load():
    """--check predicts the load that the servers then have"""
    code, out, _ = check(scenario("queue"), **{"servers[0].workers": 3, "clients[0].rate": 12000})
    assert code == 0 and "predicted load of its servers 0.4000" in out, out


@case
def schema():
    """the published JSON Schema: its keys are the checker's, and every scenario of ours fits it"""
    try:
        import jsonschema
    except ImportError as error:
        raise Skip("python3-jsonschema is missing") from error
    with open(os.path.join(TOP, "app/tidegate-sim/tidegate-sim.schema.json"), encoding="utf-8") as f:
        document = json.load(f)
    validator = jsonschema.Draft202012Validator(document)
    validator.check_schema(document)
    for path in scenarios():
        with open(path, encoding="utf-8") as f:
            validator.validate(json.load(f))
        code, _, err = check(path)
        assert code == 0, err
    places = {"": document, "gateways[0].": document["$defs"]["gateway"], "servers[0].": document["$defs"]["server"],
              "servers[0].in.": document["$defs"]["link"], "clients[0].": document["$defs"]["group"],
              "clients[0].tcp.": document["$defs"]["tcp"]}
    for place, definition in places.items():
        _, _, err = check(scenario("queue"), **{place + "nonsense": 1})
        allowed = next(line for line in err.splitlines() if "nonsense" in line).split("allowed: ")[1].split(", ")
        assert allowed == list(definition["properties"]), (place, allowed, list(definition["properties"]))


@case
def pictures():
    """plot.py draws what two runs gave, as SVG and PNG"""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Skip("python3-matplotlib is missing") from error
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for policy in ("maglev", "latency"):
            text = finish(start(scenario("mixed"), "--quiet", "--replications", "1", "--duration", "1", "--policy",
                                policy))[0]
            paths.append(f"{folder}/{policy}.json")
            with open(paths[-1], "wb") as f:
                f.write(text)
        for end, magic in (("svg", b"<?xml"), ("png", b"\x89PNG")):
            picture = f"{folder}/both.{end}"
            subprocess.run(["/usr/bin/python3", f"{TOP}/app/tidegate-sim/plot.py", "--out", picture, *paths],
                           check=True, capture_output=True, timeout=60)
            with open(picture, "rb") as f:
                assert f.read(5).startswith(magic[:5]), end


def main():
    names = sys.argv[1:] or list(CASES)
    passed = failed = skipped = 0
    if not os.access(SIM, os.X_OK):
        sys.exit(f"{SIM} is not built (meson setup build && ninja -C build)")
    for name in names:
        if name not in CASES:
            sys.exit(f"no case {name}; there are: {' '.join(CASES)}")
        begin = time.monotonic()
        try:
            CASES[name]()
        except Skip as why:
            skipped += 1
            print(f"SKIPPED {name}: {why}")
        except Exception:  # noqa: BLE001: any fault of a case is its failure
            failed += 1
            print(f"FAIL {name}: {CASES[name].__doc__}\n{traceback.format_exc()}")
        else:
            passed += 1
            print(f"PASS {name} ({time.monotonic() - begin:.1f} s): {CASES[name].__doc__}")
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
