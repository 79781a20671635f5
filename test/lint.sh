#!/usr/bin/env bash
# Looks at the sources without running them: format, shell scripts, Python, sizes.
# The last line reads: N passed, N failed, N skipped
set -euo pipefail

cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=0
work=$(mktemp -d "${TMPDIR:-/tmp}/tidegate-lint.XXXXXX")
trap 'rm -rf "$work"' EXIT
declare -A pids=()

# Tracked files and new ones that are not ignored.
files() {
	git ls-files -co --exclude-standard -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

# begin FUNCTION…: runs them all beside each other; check waits for one.
begin() {
	local what
	for what in "$@"; do
		($what >"$work/$what" 2>&1 || { [ -s "$work/$what" ] || echo "$what failed" >"$work/$what"; }) &
		pids[$what]=$!
	done
}

# check NAME TOOL FUNCTION: passes when the function, begun before, prints nothing.
check() {
	if ! command -v "$2" >/dev/null; then
		skipped=$((skipped + 1))
		echo "SKIPPED $1: $2 is missing; run as root: drivers-conf/install-deps.sh test"
		return
	fi
	wait "${pids[$3]}"
	if [ ! -s "$work/$3" ]; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		head -n 100 "$work/$3" | sed 's/^/     /'
	fi
}

format() {
	local said
	said=$(files '*.c' '*.h' | xargs -r clang-format --dry-run 2>&1 |
		sed -n 's/^\([^:]*\):[0-9]*:.*code should be clang-formatted.*/\1/p' | sort | uniq -c)
	[ -z "$said" ] || printf '%s\n' "$said" "(places, file) mend with: ninja -C build clang-format"
}

shell_scripts() {
	{ files '*.sh' .ci/run && files | xargs -r grep -lE '^#!.*(bash|/sh)$'; } | sort -u |
		xargs -r -n 6 -P "$(nproc)" shellcheck --severity=warning --external-sources --source-path=SCRIPTDIR
}

executable_scripts() {
	files | xargs -r env LC_ALL=C awk 'FNR == 1 { if (/^#!/) print FILENAME; nextfile }' |
		while read -r file; do
			[ -x "$file" ] || echo "$file has a #! line and is not executable"
		done
}

python_scripts() {
	files '*.py' | xargs -r /usr/bin/python3 -c '
import ast, sys
for name in sys.argv[1:]:
    try:
        ast.parse(open(name, encoding="utf-8").read(), name)
    except SyntaxError as error:
        print(error)'
}

# A file is one idea: 800 lines for code, 250 for a header with its documentation.
sizes() {
	files '*.c' '*.h' | xargs -r wc -l | awk '$2 != "total" {
		limit = $2 ~ /\.h$/ ? 250 : 800
		if ($1 > limit) print $2 ": " $1 " lines, more than " limit ": split it along a seam"
	}'
}

# Every C file and header says its licence in the first line.
licences() {
	files '*.c' '*.h' | xargs -r awk 'FNR == 1 {
		if (!/SPDX-License-Identifier: /) print FILENAME ": its first line lacks SPDX-License-Identifier"
		nextfile
	}'
}

# What a packet waits for must not allocate, print, or call the kernel.
packet_path() {
	local calls='\b(printf|fprintf|puts|syslog|malloc|calloc|realloc|usleep|nanosleep|clock_gettime|gettimeofday|rte_log|RTE_LOG)\('
	files app/tidegate/pipeline.c app/tidegate/worker.c app/tidegate/port/rx.c app/tidegate/port/tx.c \
		'lib/parse/*.c' 'lib/encap/*.c' 'lib/gate/*.c' | xargs -r grep -HnE "$calls" || true
}

# Every public header says who may read and write what at the same time.
thread_safety() {
	files 'lib/*/tg_*.h' | xargs -r grep -Li 'thread-safety' | sed 's/$/: says nothing of thread-safety/'
}

api_pages() {
	mkdir -p build && doxygen doc/Doxyfile 2>&1
}

# Links between our own pages lead somewhere.
links() {
	files '*.md' | while read -r page; do
		{ grep -oE '\]\([^)#]+' "$page" || true; } | cut -c3- | while read -r target; do
			[[ $target == http*:* ]] || [ -e "$(dirname "$page")/$target" ] ||
				echo "$page: $target is not there"
		done
	done
}

begin api_pages format shell_scripts executable_scripts python_scripts sizes licences packet_path thread_safety links
check "C is formatted as .clang-format says" clang-format format
check "shell scripts pass shellcheck" shellcheck shell_scripts
check "scripts are executable" git executable_scripts
check "Python is well-formed" /usr/bin/python3 python_scripts
check "no file is over its budget of lines" git sizes
check "every source names its licence" git licences
check "the packet path makes no slow call" git packet_path
check "every public header speaks of thread-safety" git thread_safety
check "the API pages come without a warning" doxygen api_pages
check "links in the pages lead somewhere" git links
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
