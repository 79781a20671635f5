#!/usr/bin/env bash
# From a fresh clone to a first report: installs what is missing (Debian 12, root), builds the
# gateway, and reads a capture of clients that talked to three servers through it.
# A second run takes a few seconds. Without root it works once the packages are there.
set -euo pipefail

cd "$(dirname "$0")/../.."
capture=test/data/quickstart.pcap
config=test/data/quickstart.json
program=build/app/tidegate/tidegate

drivers-conf/install-deps.sh build

# quietly COMMAND…: shows its output only when it fails.
quietly() {
	local said
	said=$("$@" 2>&1) || {
		echo "$said"
		echo "quickstart: '$*' failed (its output is above)" >&2
		exit 1
	}
}

if [ ! -e build/build.ninja ]; then
	echo "quickstart: configuring build/ …"
	quietly meson setup build
fi
echo "quickstart: building $program …"
quietly ninja -C build app/tidegate/tidegate

echo "quickstart: $program --capture $capture --config $config"
echo
"$program" --capture "$capture" --config "$config"
cat <<END

What you see: the response latency of each server, measured from the packets clients sent alone (the
servers' answers never pass the gateway), and what was dropped and why. Point it at a capture of
your own next; it finds services by itself:   $program --capture FILE
or forward real packets between two interfaces:   examples/dsr-nginx/README.md
END
