//! Programs and words of the shell, by what they do with their arguments and their input.

/// Words that a command can follow. The last three belong to zsh.
pub(super) const RESERVED: [&str; 14] =
    ["!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "coproc", "noglob", "nocorrect", "-"];

/// Programs and builtins that run the command in their arguments. So does every shell.
const RUNNERS: &str = "\
    . builtin bwrap caffeinate choom chroot chrt command cpulimit dbus-run-session doas entr env eval exec fakeroot \
    faketime find firejail flock gdb ionice ltrace nice nohup nsenter numactl perf pkexec prlimit proot repeat rlwrap \
    runuser screen script setpriv setsid ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset time timeout tmux \
    toybox trap unbuffer unshare valgrind watch watchexec xargs xvfb-run";

/// Programs that run the lines of their standard input if no argument names a script.
const READ_COMMANDS: [&str; 16] =
    ["ash", "at", "bash", "batch", "busybox", "dash", "fish", "ksh", "mksh", "parallel", "pwsh", "rbash", "sh", "source", "yash", "zsh"];

/// Programs whose arguments hold code in a language of their own, which may run any command, and `chmod`, which makes a file a program.
const INTERPRETERS: &str = "\
    . awk bun chmod deno ed emacs ex expect gawk gdb gmake lua m4 make mawk nawk nvim node osascript perl php psql python \
    ruby sed sqlite tclsh vi view vim julia Rscript";

/// Programs that append words of their standard input to the command in their arguments.
const APPEND_WORDS: [&str; 2] = ["parallel", "xargs"];

/// Programs and builtins that only print, compare or move what their arguments name. All others may run their arguments.
const HARMLESS: &str = "\
    : [ [[ ack ag apropos ask-answer ask-post askbox basename case cat cd checkpoint cmp cp cut date declare diff dirname \
    echo egrep exit export false fgrep file for gh git grep head jq kill ln local ls mkdir mv printf read readonly \
    realpath relaunch return rg rm rmdir select set sleep sort stat tail test touch tr true type typeset uniq wc whereis \
    which";

/// Options of many programs that take the next word as their value.
pub(super) const WITH_VALUE: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// True if the list names this word.
fn lists(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|listed| listed == word)
}

pub(super) fn runs_arguments(word: &str) -> bool {
    lists(RUNNERS, name(word)) || reads_commands(word)
}

pub(super) fn reads_commands(word: &str) -> bool {
    READ_COMMANDS.contains(&name(word))
}

/// True for an interpreter, also with a version behind its name, such as `python3.11`.
pub(super) fn interprets(word: &str) -> bool {
    lists(INTERPRETERS, word) || lists(INTERPRETERS, name(word).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

pub(super) fn appends_words(word: &str) -> bool {
    APPEND_WORDS.contains(&name(word))
}

/// True for a builtin that gives a program another name.
pub(super) fn renames(word: &str) -> bool {
    matches!(word, "alias" | "hash" | "enable")
}

/// True for a program that can put a program under another name.
pub(super) fn copies(word: &str) -> bool {
    matches!(name(word), "cp" | "install" | "ln" | "mv")
}

/// True if the command's program does not run what its arguments say. `git` does so with some of its subcommands.
pub(super) fn is_harmless(command: &[String]) -> bool {
    let is_harmless = command.first().is_none_or(|program| lists(HARMLESS, name(program)));
    is_harmless && !(command.first().is_some_and(|program| name(program) == "git") && command.iter().any(|word| runs_within_git(word)))
}

fn runs_within_git(word: &str) -> bool {
    matches!(word, "archive" | "bisect" | "clone" | "config" | "difftool" | "fetch" | "filter-branch")
        || matches!(word, "ls-remote" | "mergetool" | "pull" | "rebase" | "submodule")
}

/// The name of a program without its folder. zsh finds the program of `=git` as well.
pub(super) fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word).trim_start_matches('=')
}
