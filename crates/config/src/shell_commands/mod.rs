//! The commands that a line of shell could run, for rules that ask or refuse.
//!
//! This is not a shell parser. If in doubt, it treats a command as one that the rule names. It reads each line twice. The loose reading
//! removes quotes and backslashes, and ends a command at every operator, even within quotes. The other reading follows the quotes, so it
//! knows which program is given a text. Both skip the words in front of a command's name: assignments, redirections and reserved words.
//! A word that only the shell knows (`$x`, `*`, `` `x` ``) could be any word.
//!
//! Every program may run what its arguments say, except those that are known to be harmless. So the rule's words may stand anywhere in
//! the arguments of another program: as words, or within a text of any language. The value of an option or a variable may be a command
//! whatever the program is, so a value is read as a line of its own. One word alone (`rm`) is an ordinary argument of many programs. It
//! counts where a command can begin, and anywhere behind a program that is known to run its arguments (`sudo`, `xargs`).
//!
//! A shell that reads its commands from a pipe could run anything. Code of another language may come through a pipe or a file, too.
//!
//! | file | idea |
//! |---|---|
//! | `words` | the words of a line |
//! | `programs` | programs, by what they do with their arguments and their input |
//! | [`surely`] | the commands that an allowing rule surely names |
//!
//! `tests/spellings` and `tests/options` hold lines that real shells ran, and whether they ran the command.
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
    Rule { words: words::split(words).collect(), is_whole: false, depth: DEPTH }.names(line)
}

/// True if the line, or a part of it, could be exactly this command.
pub fn could_be(line: &str, whole: &str) -> bool {
    if words::split(line).eq(words::split(whole)) {
        return true;
    }
    let (asked, given) = (words::commands(whole), words::commands(line));
    match asked.as_slice() {
        [asked] => Rule { words: asked.iter().map(String::as_str).collect(), is_whole: true, depth: DEPTH }.names(line),
        asked => given.windows(asked.len().max(1)).any(|given| given == asked),
    }
}

/// How deep texts within one another are read as lines.
const DEPTH: usize = 4;

/// The words of a rule for one command. With `is_whole`, the command must not have any other words.
struct Rule<'a> {
    words: Vec<&'a str>,
    is_whole: bool,
    /// How many levels of texts within the line are read as lines. Below `DEPTH`, a word that only the shell knows is not the rule's
    /// program, because most values are such words.
    depth: usize,
}

impl Rule<'_> {
    /// True if a part of the line could be the rule's command.
    fn names(&self, line: &str) -> bool {
        let quoted = words::quoted(line);
        let commands = [words::commands(line), quoted.clone()].concat();
        commands.iter().any(|command| self.fits(command))
            || self.may_run_unseen(line, &commands, &quoted)
            || quoted.iter().any(|command| self.stands_within(command))
    }

    /// True if a command begins with these words.
    fn fits(&self, command: &[String]) -> bool {
        let rest = without_prefix(command);
        if self.begins(rest, false) {
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
        let begin = if name(first) == "find" { rest.iter().position(|word| is_action(word)).unwrap_or(0) } else { 0 };
        let appends = programs::appends_words(first);
        let rest = &if appends { with_placeholders(rest) } else { rest.to_vec() };
        // `xargs env` runs whatever comes in.
        let runs_anything = || appends && rest.last().is_some_and(|last| rest.len() > 1 && programs::runs_arguments(last));
        // The program's own further words may follow: `su -c reboot ann`.
        let rule = Rule { words: self.words.clone(), is_whole: false, ..*self };
        runs_anything() || (begin + 1..rest.len()).any(|n| rule.begins(&rest[n..], appends))
    }

    /// True if these words begin with the rule's. Options may stand between a program and its subcommand. If `appends`, further words may
    /// follow that nobody sees here.
    fn begins(&self, at: &[String], appends: bool) -> bool {
        let mut given = at.iter().peekable();
        for (n, word) in self.words.iter().enumerate() {
            loop {
                match given.next() {
                    // `xargs` and `find` put one word in its place. No shell does.
                    Some(other) if other.contains("{}") && (n > 0 || self.words.len() > 1) => break,
                    Some(other) if other.contains("{}") => return false,
                    Some(other) if is_open(other) && (n > 0 || self.depth == DEPTH || holds_word(other, word)) => return true,
                    Some(other) if other == word || (n == 0 && is_program(other, word)) => break,
                    Some(option) if n > 0 && !self.is_whole && option.starts_with(['-', '+']) => {
                        // The next word is the option's value, or the rule's word.
                        let takes_value = programs::WITH_VALUE.contains(&option.as_str());
                        let is_value = |next: &&String| **next != *word && !next.starts_with('-') && (takes_value || !is_open(next));
                        let _ = given.next_if(is_value);
                    }
                    Some(_) => return false,
                    None => return appends && n > 0 && !at[0].contains("{}"),
                }
            }
        }
        !self.is_whole || given.next().is_none_or(|further| is_open(further))
    }

    /// True if the line may run the rule's command from a text that is not an argument of the program that runs it. Such a text comes
    /// through a pipe or a file, or is given another name.
    fn may_run_unseen(&self, line: &str, commands: &[Vec<String>], quoted: &[Vec<String>]) -> bool {
        if words::has_pipe(line) && commands.iter().any(|command| runs_its_input(command)) {
            return true;
        }
        let own = self.words.first().copied().unwrap_or_default();
        let at_begin =
            |is: fn(&str) -> bool| commands.iter().flat_map(|command| programs_of(command)).any(|word| name(word) != own && is(word));
        let is_shell = |word: &String| name(word) != own && (matches!(name(word), "eval" | "xargs") || programs::reads_commands(word));
        let may_run = quoted.iter().filter(|command| !programs::is_harmless(without_prefix(command))).flatten();
        let has_shell = || may_run.clone().flat_map(|word| words::commands(word)).flatten().any(|word| is_shell(&word));
        // One word alone, such as `rm`, means many things in other languages.
        let is_code = || self.words.len() > 1 && at_begin(programs::interprets);
        if self.is_mentioned(line) && (has_shell() || is_code()) {
            return true;
        }
        // The program gets another name.
        let is_argument = || commands.iter().any(|command| command.iter().skip(1).any(|word| name(word) == own));
        (at_begin(programs::renames) && words::tokens(line).iter().flatten().any(|token| token == own))
            || (at_begin(programs::copies) && is_argument())
    }

    /// True if the rule's words stand in a text that the command's program, or a program behind it, may run: in an argument, in the value
    /// of an option or in the value of a variable.
    fn stands_within(&self, command: &[String]) -> bool {
        let rest = without_prefix(command);
        let own = self.words.first().copied().unwrap_or_default();
        let (prefix, is_harmless) = (command.len() - rest.len(), programs::is_harmless(rest));
        let is_ours = rest.first().is_some_and(|program| name(program) == own);
        // `--color=rm` is a value of `ls`, and not a command.
        let counts = |n: usize, value: &str| words::are_several(value) || !is_harmless || (n < prefix && !rest.is_empty());
        let is_alias = |word: &str, value: &str| is_ours && word.contains("alias.") && self.is_alias(value);
        let in_value = |n: usize, word: &str| {
            values(word, own, self.depth.saturating_sub(1))
                .any(|value| is_alias(word, value) || (counts(n, value) && self.runs_text(value)))
        };
        if command.iter().enumerate().any(|(n, word)| in_value(n, word)) {
            return true;
        }
        // One word alone, such as `rm`, is an ordinary argument of many programs.
        let is_argument = |n: usize| self.words.len() > 1 && (self.is_mentioned(&rest[n]) || self.inner().begins(&rest[n..], false));
        let is_text = |n: usize| words::are_several(&rest[n]) && self.runs_text(&rest[n]);
        !is_harmless && (1..rest.len()).any(|n| is_argument(n) || is_text(n))
    }

    /// True if the rule's program, with an alias of this meaning and further words, could run the rule's command.
    fn is_alias(&self, meaning: &str) -> bool {
        let own = self.words.first().copied();
        let words = words::split(meaning.trim_matches(['!', '"', '\'']));
        let words: Vec<String> = own.into_iter().chain(words).map(str::to_owned).collect();
        words.len() > 1 && (self.begins(&words, true) || self.begins(&words[1..], true))
    }

    /// The rule for a text within the line.
    fn inner(&self) -> Self {
        Self { words: self.words.clone(), is_whole: self.is_whole, depth: self.depth.saturating_sub(1) }
    }

    /// True if the rule names a part of a text that a program may read as a line. Editors run the rest of a text behind `!`.
    fn runs_text(&self, text: &str) -> bool {
        self.depth > 0 && text.split('!').any(|text| self.inner().names(text.trim_start_matches([':', '|', '-', '@', '+', '\'', '"'])))
    }

    /// True if the rule's words stand anywhere in a text of any language.
    fn is_mentioned(&self, text: &str) -> bool {
        let own = self.words.iter().enumerate().map(|(n, word)| if n == 0 { name(word) } else { word }).collect::<Vec<_>>().join(" ");
        let [own, _] = words::tokens(&own);
        if own.is_empty() {
            return false;
        }
        let rule = Rule { words: own.iter().map(String::as_str).collect(), is_whole: false, ..*self };
        words::tokens(text).iter().any(|tokens| (0..tokens.len()).any(|n| rule.begins(&tokens[n..], false)))
    }
}

/// The command without the words in front of its program.
fn without_prefix(command: &[String]) -> &[String] {
    let is_prefix = |word: &String| programs::RESERVED.contains(&word.as_str()) || is_assignment(word);
    let begin = command.iter().position(|word| !is_prefix(word)).unwrap_or(command.len());
    &command[begin..]
}

/// True if the command's program runs its arguments. `find` does so only with some of its options.
fn runs_arguments(command: &[String]) -> bool {
    let Some(first) = command.first().filter(|first| programs::runs_arguments(first)) else { return false };
    name(first) != "find" || command.iter().any(|word| is_action(word))
}

/// True for a word of `find` that a command follows.
fn is_action(word: &str) -> bool {
    word.starts_with("-exec") || word.starts_with("-ok")
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

/// The texts that a word may give to a program as a value: behind `=`, or joined to an option's letters.
fn values<'a>(word: &'a str, own: &str, most: usize) -> impl Iterator<Item = &'a str> {
    let first = word.split(' ').next().unwrap_or_default();
    let behind = first.match_indices('=').take(most).filter_map(|(at, _)| word.get(at + 1..));
    let letters = Some(first).filter(|letters| letters.len() < word.len() && letters.starts_with('-')).unwrap_or_default();
    let joined = [letters.get(..2).map(str::len), letters.strip_suffix(own).map(str::len)];
    behind.chain(joined.into_iter().flatten().filter_map(|at| word.get(at..)))
}

/// The words of a command that `xargs` completes, with `{}` for the text that it replaces.
fn with_placeholders<'a>(command: &'a [String]) -> Vec<String> {
    let placeholder = |(n, option): (usize, &'a String)| {
        let joined = ["--replace=", "-I", "-i"].iter().find_map(|letters| option.strip_prefix(letters));
        let next = command.get(n + 1).filter(|_| matches!(option.as_str(), "-I" | "-J")).map(String::as_str);
        next.or(joined).filter(|text| !text.is_empty()).map(move |text| (n, text))
    };
    let Some((at, text)) = command.iter().enumerate().find_map(placeholder) else { return command.to_vec() };
    command.iter().enumerate().map(|(n, word)| if n > at { word.replace(text, "{}") } else { word.clone() }).collect()
}

/// True if a word is the program that the rule names, or an option with that program as its value (`env -Sgit`). Some filesystems find
/// a program in capitals, too.
fn is_program(given: &str, word: &str) -> bool {
    let is_joined = given.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && !given.starts_with("--");
    let value = given.rsplit_once('=').filter(|_| given.starts_with('-')).map_or(given, |(_, value)| value);
    name(value).eq_ignore_ascii_case(word) || (is_joined && given.ends_with(word))
}

/// True if only the shell knows which words this one becomes.
fn is_open(word: &str) -> bool {
    let is_test = matches!(word, "[" | "[[" | "]" | "]]" | "{" | "}");
    !is_test && (word.contains(['$', '`', '*', '?', '~', '{']) || word.split_once('[').is_some_and(|(_, set)| set.contains(']')))
}

/// True if a word that only the shell knows could become several words and this one, such as `git${IFS}push`.
fn holds_word(open: &str, word: &str) -> bool {
    [format!("{word}${{"), format!("{word}$IFS"), format!("{{{word},")].iter().any(|text| open.contains(text))
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
}

#[cfg(test)]
mod tests {
    mod options;
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
