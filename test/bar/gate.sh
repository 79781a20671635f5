#!/usr/bin/env bash
# Does a late packet ever leave? The whole binary over 10^8 packets while it is stopped and its core is taken; the gateway
# with a witness under overload of every kind, waits for tokens and for bids among them; in the simulator three places for a gate
# against each other, closed forms, and the line; the gate's own cost. Needs two cores; about four minutes, longer on a
# busy host. The last line is one JSON object; exit code 0 only when every bar holds.
#
#   test/bar/gate.sh [--packets N] [--seconds S] [--waited KIND]
#
# --waited: nothing but this kind of overload (tokens, bids, bids-stall, ...: test/gate/soak.c), until N packets have left.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
exec /usr/bin/python3 test/gate/bar.py "$@"
