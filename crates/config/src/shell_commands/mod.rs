//! The commands that a line of shell could run, for rules that ask or refuse.
//!
//! This is not a shell parser. If in doubt, it treats a command as one that the rule names. It removes quotes and backslashes, and ends
//! a command at every operator, even within quotes. It skips the words in front of a command's name: assignments, redirections and
//! reserved words. After a program that runs other programs (`sudo`, `xargs`, `sh -c`) the rule's words may stand anywhere. A word that
//! only the shell knows (`$x`, `*`) could be any word.
//!
//! The rules are not a security boundary either: a script, an alias or a program of its own can run anything without being named here.

/// Reserved words that a command can follow.
const RESERVED: [&str; 11] = ["!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "coproc"];
/// Programs and builtins that run the command in their arguments.
const RUNNERS: [&str; 71] = [
    ".",
    "ash",
    "at",
    "bash",
    "batch",
    "builtin",
    "busybox",
    "bwrap",
    "caffeinate",
    "choom",
    "chroot",
    "chrt",
    "command",
    "cpulimit",
    "dash",
    "dbus-run-session",
    "doas",
    "entr",
    "env",
    "eval",
    "exec",
    "fakeroot",
    "faketime",
    "find",
    "firejail",
    "fish",
    "flock",
    "gdb",
    "ionice",
    "ksh",
    "ltrace",
    "mksh",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "pwsh",
    "rlwrap",
    "runuser",
    "screen",
    "script",
    "setpriv",
    "setsid",
    "sh",
    "source",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xargs",
    "xvfb-run",
    "zsh",
];

/// True if a rule's words are plain words, without any character that means something to a shell.
#[must_use]
pub fn are_plain_words(words: &str) -> bool {
    !words.contains(['\'', '"', '\\', '$', '`', '<', '>', ';', '&', '|', '(', ')', '{', '}', '*', '?', '[', '\n'])
}

/// True if a part of the line could be a command that begins with these words.
#[must_use]
pub fn could_begin_with(line: &str, words: &str) -> bool {
    let words: Vec<&str> = words.split_whitespace().collect();
    commands(line).iter().any(|command| fits(command, &words, false))
}

/// True if the line, or a part of it, could be exactly this command.
#[must_use]
pub fn could_be(line: &str, whole: &str) -> bool {
    if line.split_whitespace().eq(whole.split_whitespace()) {
        return true;
    }
    let (asked, given) = (commands(whole), commands(line));
    match asked.as_slice() {
        [asked] => {
            let words: Vec<&str> = asked.iter().map(String::as_str).collect();
            given.iter().any(|command| fits(command, &words, true))
        }
        asked => given.windows(asked.len().max(1)).any(|given| given == asked),
    }
}

/// True if a command begins with these words. With `whole`, it must not have any other words.
fn fits(command: &[String], words: &[&str], whole: bool) -> bool {
    let mut rest = command;
    while let Some((first, after)) = rest.split_first() {
        if !RESERVED.contains(&first.as_str()) && !is_assignment(first) {
            break;
        }
        rest = after;
    }
    let begins = |at: &[String]| {
        let mut given = at.iter();
        for (n, word) in words.iter().enumerate() {
            match given.next() {
                Some(other) if is_open(other) => return true,
                Some(other) if other == word || (n == 0 && name(other) == *word) => {}
                _ => return false,
            }
        }
        !whole || given.next().is_none_or(|further| is_open(further))
    };
    if begins(rest) {
        return true;
    }
    let runs_others = rest.first().is_some_and(|first| RUNNERS.contains(&name(first)));
    runs_others
        && (1..rest.len())
            .any(|n| begins(&rest[n..]) || (whole && rest[n..].iter().map(String::as_str).take(words.len()).eq(words.iter().copied())))
}

/// The name of a program without its folder.
fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// True if only the shell knows which words this one becomes.
fn is_open(word: &str) -> bool {
    let is_test = matches!(word, "[" | "[[" | "]" | "]]" | "{" | "}");
    !is_test && word.contains(['$', '*', '?', '[', '~', '{'])
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
}

/// The line with each `$'…'` as plain quotes. Escapes in such a quote could stand for any characters, so a `$` is left before it, as
/// before a variable.
fn without_escapes(line: &str) -> String {
    let mut parts = line.split("$'");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        let quoted = part.split('\'').next().unwrap_or_default();
        line + if quoted.contains('\\') { "$" } else { "" } + part
    })
}

/// The words of each simple command in the line, without quotes and redirections.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut line = without_escapes(&line.replace("\\\n", "")).replace("$\"", "");
    line.retain(|c| !matches!(c, '\'' | '"' | '\\'));
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_target) = (String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_command = matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '`');
        let redirects = matches!(c, '<' | '>');
        if !ends_command && !redirects && !c.is_whitespace() {
            word.push(c);
            continue;
        }
        // The number of a redirection, as in `2>`, is not a word.
        let is_number = redirects && word.chars().all(|c| c.is_ascii_digit());
        if !word.is_empty() && !is_number && !std::mem::take(&mut is_target) {
            commands.last_mut().into_iter().for_each(|command: &mut Vec<String>| command.push(word.clone()));
        }
        word.clear();
        let mut operator = 1;
        if redirects {
            while chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')).is_some() {
                operator += 1;
            }
            is_target = true;
        }
        // A here-string passed to a shell contains commands, and so does a brace group.
        let begins_command = operator > 2 || commands.last().is_some_and(|command| command.last().is_some_and(|word| word == "{"));
        if ends_command || begins_command {
            is_target = false;
            commands.push(Vec::new());
        }
    }
    if !word.is_empty() && !is_target {
        commands.last_mut().into_iter().for_each(|command| command.push(word.clone()));
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_whole_words_at_the_beginning_of_a_command() {
        for line in ["git push", "git  push\t-f origin", "/usr/bin/git push"] {
            assert!(could_begin_with(line, "git push"), "{line}");
        }
        for line in ["git pushall", "git pull", "git", "echo git push", "push git", "git stash push", "make git-push", "x=git make push"] {
            assert!(!could_begin_with(line, "git push"), "{line}");
        }
    }

    #[test]
    fn a_command_is_found_wherever_a_shell_could_run_it() {
        let lines = [
            "cd x && git push",
            "true;git push",
            "a | git push",
            "a |& git push",
            "sleep 1 & git push",
            "x\ngit push",
            "echo $(git push)",
            "echo \"$(git push)\"",
            "echo `git push`",
            "cat <(git push)",
            "(git push)",
            "{ git push; }",
            "A=1 B='2' git push",
            "A+=1 git push",
            "if git push; then :; fi",
            "while true; do git push; done",
            "! git push",
            "time git push",
            "f() { git push; }",
            "case x in x) git push;; esac",
            ">out git push",
            "2>&1 git push",
            "git 2>/dev/null push",
            "git push>log",
            "git>log push",
            "'git' \"push\"",
            "g\\it pu''sh",
            "git \\\n push",
            "$'git' push",
            "sudo -u ann git push",
            "env A=1 git push",
            "timeout 5 git push",
            "find . -exec git push {} +",
            "xargs -n1 git push < list",
            "sh -c 'git push'",
            "eval git push",
            "cat <<X | sh\ngit push\nX",
            "$GIT push",
            "git $verb",
            "{git,push}",
            "g?t push",
            "$(which git) push",
            "function f { git push; }; f",
            "coproc X { git push; }",
            "time -p git push",
            "$'\\x67it' push",
            "g$'\\151't push",
            "bash<<<'git push'",
        ];
        for line in lines {
            assert!(could_begin_with(line, "git push"), "{line}");
            assert!(
                could_be(line, "git push") || line.contains("find") || line.contains("xargs") || line.contains("-f"),
                "exactly: {line}"
            );
        }
    }

    #[test]
    fn ordinary_commands_are_no_others() {
        for line in
            ["cargo test -q", "echo $HOME", "x=$(date) make", "ls *.rs | wc -l", "cat a > b", "grep 'git.push' notes", "[ -e x ] && ls"]
        {
            assert!(!could_begin_with(line, "git push") && !could_be(line, "git push"), "{line}");
        }
    }

    #[test]
    fn an_exact_command_of_several_parts_is_found_as_it_is() {
        assert!(could_be("a && b", "a && b") && could_be("a  &&  b", "a && b") && could_be("x; a && b", "a && b"));
        assert!(!could_be("a && c", "a && b") && !could_be("make deploy now", "make deploy"));
    }
}
