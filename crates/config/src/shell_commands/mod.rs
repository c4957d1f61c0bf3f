//! The commands that a line of shell could run, for rules that ask or refuse.
//!
//! This is not a shell parser. If in doubt, it treats a command as one that the rule names. It removes quotes and backslashes, and ends
//! a command at every operator, even within quotes. It skips the words in front of a command's name: assignments, redirections and
//! reserved words. After a program that runs other programs (`sudo`, `xargs`, `sh -c`) the rule's words may stand anywhere. A word that
//! only the shell knows (`$x`, `*`, `` `x` ``) could be any word.
//!
//! A shell that reads its commands from a pipe could run anything. So could a program that this file does not know, if the rule's words are
//! among its arguments, and code of another language that holds these words.
//!
//! | file | idea |
//! |---|---|
//! | `words` | the words of a line |
//! | `programs` | programs, by what they do with their arguments and their input |
//! | `tests/spellings` | lines that real shells run, and whether they ran the command |
//!
//! The rules are not a security boundary either: a script, an alias or a program of its own can run anything without being named here.

mod programs;
pub mod surely;
mod words;

use programs::name;

/// True if a rule's words are plain words, without any character that means something to a shell.
pub fn are_plain_words(words: &str) -> bool {
    !words.contains(['\'', '"', '\\', '$', '`', '<', '>', ';', '&', '|', '(', ')', '{', '}', '*', '?', '[', '\n'])
}

/// True if a part of the line could be a command that begins with these words.
pub fn could_begin_with(line: &str, words: &str) -> bool {
    let rule = Rule { words: words.split_whitespace().collect(), is_whole: false };
    let commands = words::commands(line);
    commands.iter().any(|command| rule.fits(command)) || rule.may_run_unseen(line, &commands)
}

/// True if the line, or a part of it, could be exactly this command.
pub fn could_be(line: &str, whole: &str) -> bool {
    if line.split_whitespace().eq(whole.split_whitespace()) {
        return true;
    }
    let (asked, given) = (words::commands(whole), words::commands(line));
    match asked.as_slice() {
        [asked] => {
            let rule = Rule { words: asked.iter().map(String::as_str).collect(), is_whole: true };
            given.iter().any(|command| rule.fits(command)) || rule.may_run_unseen(line, &given)
        }
        asked => given.windows(asked.len().max(1)).any(|given| given == asked),
    }
}

/// The words of a rule for one command. With `is_whole`, the command must not have any other words.
struct Rule<'a> {
    words: Vec<&'a str>,
    is_whole: bool,
}

impl Rule<'_> {
    /// True if a command begins with these words.
    fn fits(&self, command: &[String]) -> bool {
        let rest = without_prefix(command);
        // `{}` alone is a word to be replaced, and no shell replaces it.
        if rest.first().is_some_and(|first| first != "{}") && self.begins(rest, false) {
            return true;
        }
        let Some(first) = rest.first() else { return false };
        if first == "[[" {
            // zsh: `if [[ … ]] COMMAND`.
            let end = rest.iter().position(|word| word == "]]").unwrap_or(0);
            return end > 0 && self.fits(&rest[end + 1..]);
        }
        if !runs_arguments(rest) {
            return false;
        }
        let appends = programs::appends_words(first);
        // `xargs env` runs whatever comes in.
        let runs_anything = || appends && rest.last().is_some_and(|last| rest.len() > 1 && programs::runs_arguments(last));
        runs_anything()
            || (1..rest.len()).any(|n| {
                let at = &rest[n..];
                self.begins(at, appends)
                    || (self.is_whole && at.iter().map(String::as_str).take(self.words.len()).eq(self.words.iter().copied()))
            })
    }

    /// True if these words begin with the rule's. Options may stand between a program and its subcommand. If `appends`, further words may
    /// follow that nobody sees here.
    fn begins(&self, at: &[String], appends: bool) -> bool {
        let mut given = at.iter().peekable();
        for (n, word) in self.words.iter().enumerate() {
            loop {
                match given.next() {
                    Some(other) if is_open(other) => return true,
                    Some(other) if other == word || (n == 0 && is_program(other, word)) => break,
                    Some(option) if n > 0 && !self.is_whole && option.starts_with(['-', '+']) => {
                        // The next word is the option's value, or the rule's word.
                        let takes_value = programs::takes_value(option);
                        let is_value = |next: &&String| **next != *word && !next.starts_with('-') && (takes_value || !is_open(next));
                        let _ = given.next_if(is_value);
                    }
                    Some(_) => return false,
                    None => return appends && n > 0,
                }
            }
        }
        !self.is_whole || given.next().is_none_or(|further| is_open(further))
    }

    /// True if the line may run the rule's command from a text that is not itself a command of this line. Such a text comes through a
    /// pipe, is code of another language, or is an argument of a program that this file does not know.
    fn may_run_unseen(&self, line: &str, commands: &[Vec<String>]) -> bool {
        if words::has_pipe(line) && commands.iter().any(|command| runs_its_input(command)) {
            return true;
        }
        let own = self.words.first().copied().unwrap_or_default();
        let at_begin =
            |is: fn(&str) -> bool| commands.iter().flat_map(|command| programs_of(command)).any(|word| name(word) != own && is(word));
        let tokens = words::tokens(line);
        let are_ours = |tokens: &[String]| tokens.iter().zip(&self.words).all(|(token, word)| token == word);
        let is_named = || tokens.iter().any(|tokens| tokens.windows(self.words.len().max(1)).any(are_ours));
        let is_shell = |word: &String| name(word) != own && (matches!(name(word), "eval" | "xargs") || programs::reads_commands(word));
        // One word alone, such as `rm`, means many things in other languages.
        let is_code = || self.words.len() > 1 && at_begin(programs::interprets);
        if is_named() && (commands.iter().flatten().any(is_shell) || is_code()) {
            return true;
        }
        // The program gets another name.
        let is_argument = || commands.iter().any(|command| command.iter().skip(1).any(|word| name(word) == own));
        if (at_begin(programs::renames) && tokens.iter().flatten().any(|token| token == own))
            || (at_begin(programs::copies) && is_argument())
        {
            return true;
        }
        words::quoted(line).iter().any(|command| self.fits(command) || self.is_argument_of_any(command))
    }

    /// True if the rule's words stand among the arguments of a program that may run them.
    fn is_argument_of_any(&self, command: &[String]) -> bool {
        let rest = without_prefix(command);
        if rest.first().is_none_or(|first| programs::is_harmless(first)) {
            return false;
        }
        let whole = self.words.join(" ");
        let is_alone = self.words.len() == 1;
        let is_text =
            |word: &String| word.strip_prefix(&whole).is_some_and(|further| (further.is_empty() && !is_alone) || further.starts_with(' '));
        let are_words = |words: &[String]| {
            words.iter().zip(&self.words).enumerate().all(|(n, (given, word))| given == word || (n == 0 && is_program(given, word)))
        };
        if self.is_whole {
            return rest.len() > self.words.len() && !is_alone && are_words(&rest[rest.len() - self.words.len()..]);
        }
        rest[1..].iter().any(is_text) || (!is_alone && rest[1..].windows(self.words.len()).any(are_words))
    }
}

/// The command without the words in front of its program.
fn without_prefix(command: &[String]) -> &[String] {
    let is_prefix = |word: &String| programs::is_reserved(word) || is_assignment(word);
    let begin = command.iter().position(|word| !is_prefix(word)).unwrap_or(command.len());
    &command[begin..]
}

/// True if the command's program runs its arguments. `find` does so only with some of its options.
fn runs_arguments(command: &[String]) -> bool {
    let Some(first) = command.first().filter(|first| programs::runs_arguments(first)) else { return false };
    name(first) != "find" || command.iter().any(|word| word.starts_with("-exec") || word.starts_with("-ok"))
}

/// The command's program, and every word that could be the program that it runs.
fn programs_of(command: &[String]) -> impl Iterator<Item = &str> {
    let rest = without_prefix(command);
    let all = if runs_arguments(rest) { rest.len() } else { 1 };
    rest.iter().take(all).map(String::as_str)
}

/// True if the command is a shell that reads commands from its standard input, or from a file that is one.
fn runs_its_input(command: &[String]) -> bool {
    let rest = without_prefix(command);
    let last = if runs_arguments(rest) { rest.len() } else { rest.len().min(1) };
    (0..last).any(|n| {
        let is_shell = programs::reads_commands(&rest[n]) || rest[n] == ".";
        let given = &rest[n + 1..];
        let script = given.iter().find(|word| !word.starts_with('-'));
        let is_input = |script: &String| script.starts_with("/dev/") || script.starts_with("/proc/") || programs::reads_commands(script);
        let is_told_to = given.iter().any(|word| word == "-s" || word == "-");
        let has_code = given.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
        is_shell && (is_told_to || script.is_none_or(is_input)) && !has_code
    })
}

/// True if a word is the program that the rule names, or an option with that program as its value (`env -Sgit`). Some filesystems find
/// a program in capitals, too.
fn is_program(given: &str, word: &str) -> bool {
    let is_it = |given: &str| name(given).eq_ignore_ascii_case(word);
    let value = given.strip_prefix('-').and_then(|option| match option.split_once('=') {
        Some((_, value)) => Some(value),
        None => option.get(1..),
    });
    is_it(given) || value.is_some_and(is_it)
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

#[cfg(test)]
mod tests {
    mod spellings;

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
