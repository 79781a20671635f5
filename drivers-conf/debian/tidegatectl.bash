# Completion of tidegatectl: commands from its own help, names from the running gateway.
# shellcheck shell=bash

# The names in a list that the gateway answers with; nothing without a gateway.
_tidegatectl_names() {
	timeout 1 tidegatectl "${_tidegatectl_socket[@]}" --json "$@" 2>/dev/null |
		grep -o '"name":"[^"]*"' | cut -d'"' -f4
}

_tidegatectl() {
	local current=${COMP_WORDS[COMP_CWORD]} words=() i candidates=''
	local -a _tidegatectl_socket=()
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--socket)
			_tidegatectl_socket=(--socket "${COMP_WORDS[++i]-}")
			;;
		--timeout) i=$((i + 1)) ;;
		-*) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	--timeout) return ;;
	esac
	if [[ $current == -* ]]; then
		candidates='--socket --json --timeout --help --version'
		[ "${words[*]}" != top ] || candidates='--once --json'
	elif [ ${#words[@]} -eq 0 ]; then
		candidates=$(tidegatectl help 2>/dev/null | awk '/^commands:/ {on = 1; next} /^$/ {on = 0} on {print $1}')
	elif [ ${#words[@]} -eq 1 ]; then
		candidates=$(tidegatectl help 2>/dev/null |
			awk -v noun="${words[0]}" '/^commands:/ {on = 1; next} /^$/ {on = 0} on {split(substr($0, 3, 42), w, " "); if (w[1] == noun && w[2] ~ /^[a-z]/) print w[2]}')
	elif [ ${#words[@]} -eq 2 ] && [[ ${words[0]} == server || "${words[*]}" == 'access list' ]]; then
		candidates=$(_tidegatectl_names service list)
	elif [ "${words[0]}" = server ] && [ ${#words[@]} -eq 3 ] && [ "${words[1]}" != list ]; then
		candidates=$(_tidegatectl_names server list "${words[2]}")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -F _tidegatectl tidegatectl
