#!/usr/bin/env bash
# Are servers chosen well? Every policy in the simulator and live, against what is asked of `latency`.
#
#   test/bar/choice.sh [--seed N] [--no-live] [--out FOLDER]     35 minutes on two idle cores; the live part needs root
#
# FOLDER keeps what each part left, for test/choice/doc.py: sim.json, tiers.json, live/, emulated.
# The last line is one JSON object: live, sim, survive; null for a part that could not run here. Exit code 0 only when
# every bar holds and every part ran.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TIDEGATE_BUILD=${TIDEGATE_BUILD:-$PWD/build}
seed=1 live=yes code=0 out=''
while [ $# -gt 0 ]; do
	case $1 in
	--seed)
		[ $# -gt 1 ] || { echo "choice.sh: --seed wants a number" >&2 && exit 2; }
		seed=$2
		shift
		;;
	--no-live) live='' ;;
	--out)
		[ $# -gt 1 ] || { echo "choice.sh: --out wants a folder" >&2 && exit 2; }
		out=$2
		shift
		;;
	*)
		sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
		[ "$1" = --help ] || exit 2
		exit 0
		;;
	esac
	shift
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-bar.XXXXXX")
trap 'rm -rf "$work"' EXIT
out=${out:-$work/kept}
mkdir -p "$out"

# part NAME COMMAND…: its output is shown but for the JSON in its last line, which is kept.
part() {
	local name=$1
	shift
	"$@" >"$work/$name.out" || code=1
	grep -v '^{' "$work/$name.out" || true
	tail -n 1 "$work/$name.out" | grep '^{' >"$work/$name.json" || {
		echo "choice.sh: $name gave no figures" >&2
		code=1
		echo null >"$work/$name.json"
	}
}

part sim /usr/bin/python3 test/choice/run.py --bars --seed "$seed" --json "$out/sim.json"
part tiers /usr/bin/python3 test/choice/tiers.py --bars --seed "$seed" --json "$out/tiers.json"
if [ -n "$live" ]; then
	part live test/choice/live.sh --out "$out/live"
	[ ! -e "$out/live/slow-latency.json" ] || /usr/bin/python3 test/choice/emulate.py --folder "$out/live" --seed "$seed" | tee "$out/emulated" || code=1
else
	echo null >"$work/live.json"
	code=1
fi
if [ -n "$live" ] && [ -x test/live/survive.sh ]; then
	part survive test/live/survive.sh
else
	echo null >"$work/survive.json"
	code=1
fi
/usr/bin/python3 - "$work" <<'END' || code=1
import json, os, sys

def read(name):
    with open(os.path.join(sys.argv[1], name + ".json"), encoding="utf-8") as f:
        return json.load(f)

sim, tiers, live, survive = (read(n) for n in ("sim", "tiers", "live", "survive"))
both = {**(sim or {}).get("sim", {}), **(tiers or {}).get("sim", {})}
by_fault = (live or {}).get("live")
print(json.dumps({"live": by_fault and by_fault.get("slow"), "live_by_fault": by_fault, "sim": both, "survive": survive,
                  "held": sum((x or {}).get("held", 0) for x in (sim, tiers)), "missed": sum((x or {}).get("missed", 0) for x in (sim, tiers))}))
END
exit $code
