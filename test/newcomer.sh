#!/usr/bin/env bash
# What a newcomer sees: the README's two commands in a clean Debian 12 with nothing but git in it.
#
#   test/newcomer.sh [--worktree] [--quick]
#     --worktree   try the files as they are now, not the last commit
#     --quick      test/run.sh --quick instead of the whole
#
# Needs root, debootstrap and a Debian mirror (this host's apt settings are used). Takes 10–20
# minutes and 4 GB under $TMPDIR; the bare system is kept in ~/.cache/tidegate for a month.
# Not part of test/run.sh. Everything runs in mount and process namespaces of its own, which end
# with it, so that nothing stays mounted.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)

usage() {
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
}

# shellcheck source=test/clean-root.sh
. "$top/test/clean-root.sh"

copy_project() {
	if [ "$worktree" = no ]; then
		git clone --quiet --no-hardlinks "$top" "$1"
		return
	fi
	mkdir -p "$1"
	git -C "$top" ls-files -co --exclude-standard | while read -r file; do
		[ ! -f "$top/$file" ] || echo "$file"
	done | tar -C "$top" -c -T - | tar -C "$1" -x
	git -C "$1" init --quiet
}

# step TITLE EXPECTED COMMAND…: runs it in the clean root, prints its output and its time.
step() {
	local title=$1 expected=$2 start=$SECONDS code=0
	shift 2
	printf '\n=== %s\n' "$title"
	chroot "$root" env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		bash -c "cd /home/tidegate && $*" </dev/null || code=$?
	echo "=== exit code $code, $((SECONDS - start)) s"
	if [ "$code" = "$expected" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "=== expected exit code $expected"
	fi
}

# Runs as process 1 of the namespaces: mounts, then the newcomer's commands.
inside() {
	passed=0 failed=0
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	step "quickstart without root, nothing installed" 1 \
		"setpriv --reuid=65534 --regid=65534 --clear-groups ./examples/quickstart/run.sh"
	step "quickstart" 0 ./examples/quickstart/run.sh
	step "quickstart again" 0 ./examples/quickstart/run.sh
	step "tests" 0 ./test/run.sh ${quick:+--quick}
	printf '\n%s passed, %s failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}

quick='' worktree=no root=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=yes ;;
	--worktree) worktree=yes ;;
	--inside)
		root=$2
		shift
		;;
	-h | --help) usage && exit 0 ;;
	*)
		usage >&2
		exit 2
		;;
	esac
	shift
done
if [ -n "$root" ]; then
	inside
	exit
fi

[ "$(id -u)" = 0 ] || die "needs root, to make a clean system in a folder; run as root: $0"
"$top/drivers-conf/install-deps.sh" dev
clean_root_begin
copy_project "$root/home/tidegate"
unshare --mount --pid --fork --kill-child -- "$0" --inside "$root" ${quick:+--quick}
