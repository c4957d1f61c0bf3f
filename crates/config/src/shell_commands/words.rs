//! The words of a line of shell: read loosely, so that no command is overlooked, and read with its quotes.

/// How deep command substitutions within one another are followed.
const DEPTH: usize = 8;

/// The words of each simple command in the line, without quotes and redirections. Where two readings are possible, both are returned.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = read(line, HereString::Commands);
    if line.contains("<<<") {
        all.extend(read(line, HereString::Text));
    }
    if line.contains('`') {
        all.extend(read(&without_backquotes(line, DEPTH), HereString::Text));
    }
    all
}

/// The meaning of the word behind `<<<`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HereString {
    /// A shell reads it as commands.
    Commands,
    /// It is one word, and the command goes on behind it.
    Text,
}

fn read(line: &str, here_string: HereString) -> Vec<Vec<String>> {
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
        // A pattern such as `@(sh|x)` is a word that only the shell knows.
        if c == '(' && word.ends_with(['?', '*', '+', '@', '!']) && word.len() > 1 {
            word.push('*');
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
        let is_here_string = operator > 2 && here_string == HereString::Commands;
        let begins_command = is_here_string || commands.last().is_some_and(|command| command.last().is_some_and(|word| word == "{"));
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

/// The line with each `` `…` `` as a `*`, because only the shell knows which words it becomes. The commands within it follow as lines of
/// their own.
fn without_backquotes(line: &str, depth: usize) -> String {
    let (mut outer, mut within) = (String::new(), String::new());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => outer.extend([Some(c), chars.next()].into_iter().flatten()),
            '`' => {
                let mut inner = String::new();
                while let Some(c) = chars.next().filter(|c| *c != '`') {
                    inner.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
                outer.push('*');
                within.push('\n');
                within += &if depth > 0 { without_backquotes(&inner, depth - 1) } else { inner };
            }
            c => outer.push(c),
        }
    }
    outer + &within
}

/// The words of each simple command with their quotes read as a shell reads them: a quoted text is one word. Substitutions are not opened.
pub(super) fn quoted(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_word) = (String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                is_word = true;
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                is_word = true;
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
            }
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(c) => {
                    is_word = true;
                    word.push(c);
                }
            },
            c if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '`' | '<' | '>') => {
                if std::mem::take(&mut is_word) {
                    commands.last_mut().into_iter().for_each(|command: &mut Vec<String>| command.push(std::mem::take(&mut word)));
                }
                if !matches!(c, ' ' | '\t' | '<' | '>') {
                    commands.push(Vec::new());
                }
            }
            c => {
                is_word = true;
                word.push(c);
            }
        }
    }
    if is_word {
        commands.last_mut().into_iter().for_each(|command| command.push(word.clone()));
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// True if one program's output becomes another one's input, or the file that the other one reads.
pub(super) fn has_pipe(line: &str) -> bool {
    line.replace("||", "").contains('|') || line.contains("<(") || line.contains(">(")
}

/// The words of the line in the sense of a text: letters, digits, `_` and `-`. Quotes are removed first. A backslash before `n`, `r` or `t`
/// is read in both ways, as a quote and as white space.
pub(super) fn tokens(line: &str) -> [Vec<String>; 2] {
    let line = line.replace("\\\n", "");
    let spaced = ["\\n", "\\r", "\\t"].iter().fold(line.clone(), |line, escape| line.replace(escape, " "));
    [line, spaced].map(|mut line| {
        line.retain(|c| !matches!(c, '\'' | '"' | '\\'));
        let is_separator = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'));
        line.split(is_separator).filter(|token| !token.is_empty()).map(str::to_owned).collect()
    })
}
