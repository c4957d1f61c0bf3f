//! The commands that a rule which *allows* surely names. Its neighbours read a line for rules that ask or refuse: there a doubt counts.

use serde_json::{Map, Value};

/// The tool that runs shell commands.
const BASH: &str = "Bash";

/// True if a rule that allows names this call beyond doubt: `Tool` names all calls of the tool, `Bash(WORDS:*)` and `Bash(COMMAND)` name
/// commands. No other rule allows anything.
pub fn allows(rule: &str, tool: &str, input: &Map<String, Value>) -> bool {
    let Some((of, rest)) = rule.split_once('(') else { return rule == tool };
    let (Some(words), Some(command)) = (rest.strip_suffix(')'), input.get("command").and_then(Value::as_str)) else { return false };
    of == BASH && tool == BASH && !words.is_empty() && is_named_by(command, &[words])
}

/// True if each command in the line surely is one that some of the words name. A line with any character whose meaning only a shell knows is
/// refused: substitutions, redirections, groups, variables.
pub fn is_named_by(line: &str, words: &[&str]) -> bool {
    let Some(commands) = plain_commands(line) else { return false };
    let fits = |command: &String, words: &str| match words.strip_suffix(":*") {
        Some(prefix) => command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
        None => command == words,
    };
    !commands.is_empty() && commands.iter().all(|command| words.iter().any(|words| fits(command, words)))
}

/// The commands of a line, cut at `;`, `|`, `||`, `&&` and line ends outside of quotes. `None` if a part is not plain.
fn plain_commands(line: &str) -> Option<Vec<String>> {
    let mut commands = vec![String::new()];
    let (mut quote, mut chars) = (None, line.chars().peekable());
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '\\') | (None, '$' | '`' | '\\' | '<' | '>' | '(' | ')' | '{' | '}' | '#') => return None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '&') if chars.next_if_eq(&'&').is_none() => return None,
            (None, '&' | ';' | '|' | '\n') => {
                commands.push(String::new());
                continue;
            }
            _ => {}
        }
        commands.last_mut()?.push(c);
    }
    let commands = commands.iter().map(|command| command.trim_matches([' ', '\t']).to_owned()).filter(|command| !command.is_empty());
    quote.is_none().then(|| commands.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_allows_only_calls_that_it_surely_names() {
        let bash = |rule: &str, command: &str| allows(rule, "Bash", &Map::from_iter([("command".to_owned(), Value::from(command))]));
        for command in ["ask-post 'Merge?' -w w", "checkpoint save w; ask-post x"] {
            assert!(bash("Bash(ask-post:*)", command) || command.contains("checkpoint"), "{command}");
        }
        for command in [
            "ask-post x; rm -rf /",
            "ask-post $(rm x)",
            "ask-post x > /etc/passwd",
            "ask-posts",
            "rm x # ask-post",
            "\u{a0}ask-post x",
            "ask-post\u{a0}x",
        ] {
            assert!(!bash("Bash(ask-post:*)", command), "{command}");
        }
        assert!(bash("Bash", "rm x") && !bash("Read", "x") && !bash("Bash(", "x") && !bash("Bash()", ""));
        assert!(!allows("Bash(ls:*)", "Bash", &Map::new()), "its command cannot be read");
        assert!(!allows("Read(x)", "Read", &Map::new()) && allows("Read", "Read", &Map::new()));
    }
}
