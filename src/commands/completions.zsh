_askbox_from_mailbox() {
    local -a found
    local line
    for line in "${(@f)$(askbox complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#found )) && _describe -V 'mailbox' found
    _${service:-${words[1]:t}} "$@"
}
if (( $+functions[compdef] )); then
    compdef _askbox_from_mailbox ask-post ask-answer checkpoint relaunch askbox
fi
