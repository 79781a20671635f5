"""The list of test/peers/run.sh: 23 inputs, and the test that each one is."""
import os
import re
import signal
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vdev"))
import cases  # noqa: E402
import own  # noqa: E402

BUILD = os.environ.get("TIDEGATE_BUILD", "build")


def unit(program, case=None):
    """One case of a unit program, or all of it."""
    def run():
        env = dict(os.environ, **({"CK_RUN_CASE": case} if case else {}))
        said = subprocess.run([f"{BUILD}/test/unit/unit-{program}"], env=env, capture_output=True, text=True, timeout=240)
        counted = re.search(r"100%: Checks: (\d+), Failures: 0, Errors: 0", said.stdout)
        assert said.returncode == 0 and counted and int(counted[1]) > 0, said.stdout[-800:]
    return run


# name, input -> right behaviour, tests that show it
PEERS = [
    ("error-of-eight-bytes", "ICMP error quoting IP header + 8 bytes -> the flow's server", cases.errors_follow_their_flow),
    ("cut-quote", "ICMP error with a cut quote or quoted options -> no over-read, counted", cases.errors_follow_their_flow,
     unit("parse", "others")),
    ("ip-length", "IP length below its header or above the frame -> dropped, no wrap", unit("parse", "ip4"), unit("parse", "ip6")),
    ("oversize-df", "DF packet that encapsulation makes too long -> too big with what fits, v4 and v6", cases.too_big_is_answered),
    ("unknown-port", "right address, port not configured -> its own drop, no other service", own.unknown_port),
    ("short-udp", "UDP payload under 8 bytes; checksum 0 -> kept, payload whole", cases.udp_and_any_protocol),
    ("change-under-load", "server removed, disabled, reloaded under load -> lives, others' flows untouched", own.change_under_load),
    ("fragments-at-rate", "more fragments than buffers -> one server or counted, no buffer lost", own.fragments_at_rate,
     cases.fragments),
    ("icmp6-behind-extensions", "ICMPv6 error behind extension headers -> read at the right place", own.icmp6_behind_extensions,
     unit("parse", "ip6")),
    ("solicitations", "solicitation for ours -> answered with the link address; for others -> not; refreshed, expired",
     cases.neighbours_and_ping, unit("neigh")),
    ("padded-ack", "54-byte ACK padded to 60 -> no payload, no request, forwarded length right", own.padded_ack),
    ("udp-flood", "spoofed flood fills the table -> lives, old flows keep their servers, seen", own.udp_flood),
    ("open-close", "flows come and go without end (10^7 here) -> the table is back where it was", unit("flow", "length")),
    ("long-timeouts", "idle times above 524 s, clocks that wrap or jump -> on time", unit("flow", "ageing")),
    ("multi-segment", "frames in several buffers -> handled, or dropped by name", cases.jumbo_frames, unit("parse", "burst"),
     unit("encap")),
    ("two-captures", "two capture clients at once -> the second is refused", own.two_captures),
    ("no-huge-pages", "too few huge pages -> a sentence and exit 1", own.no_huge_pages),
    ("half-written-file", "reload of a half written or empty file -> the old one stays, the reload failed", own.half_written_file,
     unit("config", "refused")),
    ("other-gateways-flow", "packet of a flow that another gateway served -> the same server", own.other_gateways_flow),
    ("coalesced", "frames longer than the link allows -> counted, lives", own.coalesced),
    ("reused-tuple", "SYN of an old 5-tuple to a server that is gone -> placed again at once", own.reused_tuple),
    ("partial-checksum", "checksum left to the NIC by the sender's kernel -> whole when it leaves", own.partial_checksum),
    ("reading-changes-nothing", "reading every statistic -> no state changes", own.reading_changes_nothing),
]


def one(tests):
    for test in tests:
        signal.alarm(90)
        try:
            test()
        finally:
            signal.alarm(0)


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    passed = failed = skipped = 0
    signal.signal(signal.SIGALRM, cases.out_of_time)
    for name, what, *tests in PEERS:
        if "--list" in sys.argv:
            print(f"{name}: {what}")
            continue
        if wanted and name not in wanted:
            continue
        try:
            one(tests)
        except cases.Skip as why:
            skipped += 1
            print(f"SKIPPED {name}: {why}", flush=True)
        except Exception:  # noqa: BLE001: any fault of a test is its failure
            failed += 1
            print(f"FAIL {name}: {what}\n{traceback.format_exc()}", flush=True)
        else:
            passed += 1
            print(f"PASS {name}: {what}", flush=True)
    if "--list" not in sys.argv:
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
