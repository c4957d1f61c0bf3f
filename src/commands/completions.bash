_askbox_from_mailbox() {
    local word at behind offered
    case ${1##*/} in
        ask-post) _ask__post "$@" ;; ask-answer) _ask__answer "$@" ;; checkpoint) _checkpoint "$@" ;;
        relaunch) _relaunch "$@" ;; askbox) _askbox "$@" ;;
    esac
    # Behind the id of a question, a command's name would be an answer.
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in --mailbox|--by) ((at++)) ;; -*) ;; *) behind=1 ;; esac
    done
    if [[ ${1##*/} == ask-answer && -n $behind ]]; then
        offered=("${COMPREPLY[@]}") COMPREPLY=()
        for word in "${offered[@]}"; do
            case $word in COMMANDS) ;; *) COMPREPLY+=("$word") ;; esac
        done
    fi
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("$(printf '%q' "$word")")
    done < <(askbox complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _askbox_from_mailbox -o bashdefault -o default ask-post ask-answer checkpoint relaunch askbox
