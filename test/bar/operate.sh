#!/usr/bin/env bash
# What an operator needs before he puts it in front of traffic.
#
# The last line is {"peer_bugs":{"passed","of"},"live":{EVENT:{"requests","failed"}},"package"}: the faults of test/peers;
# requests that failed while wrk or tg-client ran, by event (two gateways with one routing table: one told to end, one
# killed; reload and drain; a server killed); the package, by drivers-conf/debian/test-package.sh. Needs root.
# Exit code: 0 when all passed, no request failed where the design promises it, and the package is ok.
set -u
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

test/peers/run.sh | tee "$work/peers"
LIVE_JSON=$work/live test/live/run.sh bgp | tee "$work/bgp"
LIVE_JSON=$work/live test/live/run.sh reload drain health-http | tee "$work/cases"
package=missing
if [ -x drivers-conf/debian/test-package.sh ]; then
	drivers-conf/debian/test-package.sh | tee "$work/package"
	package=$(tail -n 1 "$work/package" | sed -n 's/^package: //p')
fi
/usr/bin/python3 - "$work" "${package:-failed}" <<'END'
import json
import os
import re
import sys

work, package = sys.argv[1:]
peers = open(f"{work}/peers", encoding="utf-8").read()
passed = len(re.findall(r"^PASS ", peers, re.M))
of = len(re.findall(r"^(?:PASS|FAIL|SKIPPED) ", peers, re.M))
live = {}
if os.path.exists(f"{work}/live"):
    for line in open(f"{work}/live", encoding="utf-8"):
        row = json.loads(line)
        live[row.pop("event")] = row
# the other cases judge their own clients: a request that failed outside what is allowed fails the case
for case, text in re.findall(r"^(?:PASS|FAIL) ([\w-]+): (.*)$", open(f"{work}/cases", encoding="utf-8").read(), re.M):
    asked = sum(int(n) for n in re.findall(r"(\d+) requests", text))
    live[case] = {"requests": asked, "failed": sum(int(n) for n in re.findall(r"(\d+) failed", text))}
sound = not re.search(r"^FAIL", open(f"{work}/bgp", encoding="utf-8").read() + open(f"{work}/cases", encoding="utf-8").read(), re.M)
promised = [e for e in live if not e.startswith("health")]
good = (passed == of == 23 and package == "ok" and sound and len(promised) >= 4 and
        all(live[e]["requests"] > 0 and live[e]["failed"] == 0 for e in promised))
print(json.dumps({"peer_bugs": {"passed": passed, "of": of}, "live": live, "package": package}))
sys.exit(0 if good else 1)
END
