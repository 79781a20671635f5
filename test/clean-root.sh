# A clean Debian 12 with nothing but git, in a folder; sourced by scripts that are root.
# shellcheck shell=bash
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/bookworm-git.tar.gz
release=bookworm

die() {
	echo "$(basename "$0" .sh): $*" >&2
	exit 1
}

# The first mirror of this host that has the release.
clean_root_mirror() {
	# shellcheck disable=SC2016 # apt fills it in
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $release" |
		awk 'NR == 1'
}

# Copies this host's way to its mirrors: sources of the release, keys, proxies, name resolution.
clean_root_apt() {
	local file
	rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
		if [ -f "$file" ] && grep -q "^[^#]*$release" "$file"; then
			cp "$file" "$1$file"
		fi
	done
	for file in /usr/share/keyrings /etc/apt/keyrings /etc/apt/trusted.gpg.d /etc/apt/auth.conf.d; do
		[ ! -d "$file" ] || { mkdir -p "$1$file" && cp -r "$file/." "$1$file/"; }
	done
	apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|ForceIPv)' \
		>"$1/etc/apt/apt.conf.d/90host" || true
	cp --remove-destination /etc/resolv.conf /etc/hosts "$1/etc/"
}

# A bare system with git, from the cache if it is younger than a month.
clean_root_make() {
	if [ -n "$(find "$cache" -mtime -30 2>/dev/null)" ]; then
		tar -C "$1" -xzf "$cache"
		clean_root_apt "$1"
		return
	fi
	local from
	from=$(clean_root_mirror)
	[ -n "$from" ] || die "apt knows no source of Debian $release; check /etc/apt, run apt-get update"
	debootstrap --variant=minbase "$release" "$1" "$from" >"$1.log" 2>&1 ||
		{ tail -n 20 "$1.log" >&2; die "debootstrap failed (above)"; }
	rm -f "$1.log"
	clean_root_apt "$1"
	chroot "$1" sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		--no-install-recommends install git' >/dev/null 2>&1 ||
		die "git could not be installed in the clean root; check this host's /etc/apt"
	# Images come without lists of packages.
	rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/archives/*.deb
	mkdir -p "${cache%/*}"
	tar -C "$1" -czf "$cache.new" . && mv "$cache.new" "$cache"
}

# Namespaces have ended by then; were anything still mounted, it would be kept, not deleted.
clean_root_end() {
	if grep -q " $root/" /proc/mounts; then
		echo "$(basename "$0" .sh): something is still mounted under $root: unmount it and delete the folder" >&2
	else
		rm -rf --one-file-system "$root"
	fi
}

# Sets root: a folder with a clean system, which goes when the script ends.
clean_root_begin() {
	root=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-root.XXXXXX")
	trap clean_root_end EXIT
	trap 'exit 130' INT TERM HUP
	clean_root_make "$root"
	chmod 755 "$root"
}
