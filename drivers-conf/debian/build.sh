#!/usr/bin/env bash
# Builds the Debian package from the files as they are now.
#
#   drivers-conf/debian/build.sh [--from BUILD] [FOLDER]
#     FOLDER         where the .deb goes; default build-deb
#     --from BUILD   take the programs of this build folder as they are, instead of compiling them for the
#                    package: without the distribution's hardening flags, to try packaging only
#
# Needs the packages of `drivers-conf/install-deps.sh build package`. The last line names the package.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 0
	;;
esac
export TIDEGATE_BUILD=
if [ "${1:-}" = --from ]; then
	TIDEGATE_BUILD=$(cd "$2" && pwd)
	[ -x "$TIDEGATE_BUILD/app/tidegate/tidegate" ] || {
		echo "build.sh: $2 has no built tidegate: ninja -C $2" >&2
		exit 1
	}
	shift 2
fi
out=${1:-$top/build-deb}
"$top/drivers-conf/install-deps.sh" build package
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The project's own files: from git where there is one, else all but build folders.
files() {
	if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$top" ls-files -z -co --exclude-standard
	else
		(cd "$top" && find . -path './build*' -prune -o -type f -print0)
	fi
}

mkdir "$work/tidegate"
files | while IFS= read -r -d '' file; do
	[ ! -f "$top/$file" ] || printf '%s\0' "$file"
done | tar -C "$top" --null -T - -c | tar -C "$work/tidegate" -x
# debhelper wants its files at the top
cp -r "$work/tidegate/drivers-conf/debian" "$work/tidegate/debian"
cp "$work/tidegate/debian/tidegatectl.bash" "$work/tidegate/debian/tidegatectl"
if ! (cd "$work/tidegate" && DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" \
	dpkg-buildpackage --build=binary --no-sign) >"$out/build.log" 2>&1; then
	tail -n 30 "$out/build.log" >&2
	echo "build.sh: the package does not build; the log: $out/build.log" >&2
	exit 1
fi
rm -f "$out"/tidegate_*.deb
cp "$work"/tidegate_*.deb "$out/"
ls "$out"/tidegate_*.deb
