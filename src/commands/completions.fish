for program in ask-post ask-answer checkpoint relaunch askbox
    complete -c $program -f -k -a '(askbox complete -- (commandline -opc) (commandline -ct) 2>/dev/null)'
end
