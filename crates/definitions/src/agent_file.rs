//! One agent file: YAML front matter between two lines `---`, and the agent's prompt below it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::front_matter::{self, FrontMatter, Problem, Required};

/// The largest agent file, in bytes. Claude skips larger ones as well.
pub const MAX_FILE: u64 = 1 << 20;
/// The longest name, in UTF-16 code units.
const MAX_NAME: usize = 256;
/// Colons of several forms. A colon stands between the name of a plugin and the name of its agent.
const COLONS: [char; 5] = [':', '\u{ff1a}', '\u{fe13}', '\u{fe55}', '\u{2a74}'];

const FORM: &str =
    "an agent needs `name:` and `description:`; put a value in double quotes, or write `key: |` and the indented text below it";
/// The model that means: the caller's.
const INHERIT: &str = "inherit";
const HEAD: &str = "begin the file with a line `---`, then `name:` and `description:`, then a line `---`, then the prompt";

/// The owner of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// The project's: `.claude/agents`.
    Project,
    /// The user's: `$CLAUDE_CONFIG_DIR/agents`, else `~/.claude/agents`.
    User,
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Level {
    /// The file should define an agent, and does not.
    Error,
    /// Worth a look, but not an error.
    Warning,
}

/// A problem with a file: the place, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How serious it is.
    pub level: Level,
    /// The file or folder.
    pub file: PathBuf,
    /// The line, from 1; 0 if the finding is about the whole file.
    pub line: usize,
    /// The problem.
    pub problem: String,
    /// How to mend it.
    pub fix: String,
}

/// An agent that claude can run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agent {
    /// The name, for `--agent` and for the Task tool.
    pub name: String,
    /// When to use the agent.
    pub description: String,
    /// The model. `None`: the caller's model.
    pub model: Option<String>,
    /// The tools that the agent has. `None`: all tools.
    pub tools: Option<Vec<String>>,
    /// The tools that the agent does not have.
    pub disallowed_tools: Vec<String>,
    /// The permission mode, as written.
    pub permission_mode: Option<String>,
    /// The colour, as written.
    pub color: Option<String>,
    /// The owner of the agent.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// Files that define an agent of the same name and do not count.
    pub shadows: Vec<PathBuf>,
    /// The whole front matter, unknown keys included.
    pub fields: Map<String, Value>,
    /// The system prompt.
    pub prompt: String,
}

/// Reads one file.
///
/// # Errors
/// The problem with the file, and its line.
pub fn read(file: &Path, scope: Scope) -> Result<Agent, Finding> {
    let bytes = bytes(file).map_err(|why| unreadable(file, 0, &why, "make it a readable file, or remove it"))?;
    parse(&bytes, file, scope)
}

fn finding(file: &Path, level: Level, line: usize, problem: String, fix: &str) -> Finding {
    Finding { level, file: file.into(), line, problem, fix: fix.into() }
}

fn unreadable(file: &Path, line: usize, why: &str, fix: &str) -> Finding {
    finding(file, Level::Error, line, format!("cannot be read: {why}"), fix)
}

/// Reads the content of `file`.
///
/// # Errors
/// The problem with the content, and its line.
pub fn parse(bytes: &[u8], file: &Path, scope: Scope) -> Result<Agent, Finding> {
    let unreadable = |line, why: &str, fix| unreadable(file, line, why, fix);
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(
            0,
            &format!("larger than {MAX_FILE} bytes; claude skips it too"),
            "move text into a file that the prompt names",
        ));
    }
    let text = readable(bytes);
    let FrontMatter { required: Required { name, description }, fields, below } = match front_matter::read(&text) {
        Ok(front_matter) => front_matter,
        // There may be other Markdown files beside the agents.
        Err(Problem::None) => return Err(finding(file, Level::Warning, 1, "no front matter: the file defines no agent".into(), HEAD)),
        Err(Problem::Unclosed) => return Err(unreadable(1, "the front matter has no closing line `---`", HEAD)),
        Err(Problem::Wrong { line, why }) => return Err(unreadable(line, &format!("{why}; claude does not read it either"), FORM)),
    };
    if let Some(why) = refused(&name, &description) {
        return Err(unreadable(0, why, FORM));
    }
    let word = |key| fields.get(key).and_then(Value::as_str).map(|word| word.trim().to_owned()).filter(|word| !word.is_empty());
    Ok(Agent {
        name,
        // claude does the same, even in text without quotes.
        description: description.replace("\\n", "\n"),
        model: word("model").map(|model| if model.eq_ignore_ascii_case(INHERIT) { INHERIT.to_owned() } else { model }),
        tools: fields.get("tools").and_then(tools),
        disallowed_tools: fields.get("disallowedTools").and_then(tools).unwrap_or_default(),
        permission_mode: word("permissionMode"),
        color: word("color"),
        scope,
        file: file.into(),
        shadows: Vec::new(),
        prompt: below.trim().to_owned(),
        fields,
    })
}

/// The file's bytes, at most one more than [`MAX_FILE`]. The error says why the file cannot be read.
fn bytes(file: &Path) -> Result<Vec<u8>, String> {
    // Opening a pipe would block.
    if !file.metadata().map_err(|e| e.to_string())?.is_file() {
        return Err("not a regular file".into());
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes)).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// The text of a file as claude reads it. Bytes that are not UTF-8, and control characters, are replaced.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\0');
    text.strip_prefix('\u{feff}').unwrap_or(&text).replace(is_odd, "\u{fffd}")
}

/// The reason why claude takes a file with this name and description for no agent.
fn refused(name: &str, description: &str) -> Option<&'static str> {
    match () {
        () if name.is_empty() => Some("the name is empty"),
        () if name.starts_with('-') => Some("the name begins with `-`"),
        () if name.encode_utf16().count() > MAX_NAME => Some("the name is longer than 256 characters"),
        () if name.contains(COLONS) => Some("the name has a colon, which stands between a plugin and its agent"),
        () if description.is_empty() => Some("the description is empty"),
        () => None,
    }
}

/// A list of tools, or a text that is split at commas and blanks outside of parentheses. `None` for `*`, which stands for all tools.
pub fn tools(value: &Value) -> Option<Vec<String>> {
    let texts: Vec<&str> = match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    let mut tools = Vec::new();
    for text in texts {
        let mut inside = false;
        let names = text.split(|c| {
            inside = (inside || c == '(') && c != ')';
            !inside && (c == ',' || c == ' ')
        });
        tools.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    (!tools.iter().any(|tool| tool == "*")).then_some(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Agent, Finding> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), Scope::User)
    }

    #[test]
    fn an_agent_has_its_front_matter_and_the_text_below_as_prompt() {
        let text = "\u{feff}---  \r\nname: yes\r\ndescription: |\r\n  a: b\r\n  --\r\nmodel: haiku\r\nmine: {n: 1}\r\n---\r\n\r\nYou.\r\n---\r\nMore.\r\n";
        let agent = read_text(text).unwrap();
        assert_eq!((agent.name.as_str(), agent.description.as_str()), ("yes", "a: b\n--\n"));
        assert_eq!((agent.model.as_deref(), agent.prompt.as_str()), (Some("haiku"), "You.\r\n---\r\nMore."));
        assert_eq!(agent.fields["mine"], serde_json::json!({"n": 1}));
    }

    #[test]
    fn tools_come_as_text_or_list_and_a_star_means_all() {
        let listed = |tools: &str| read_text(&format!("---\nname: x\ndescription: d\ntools: {tools}\n---\n")).unwrap().tools;
        let are = |tools: &[&str]| Some(tools.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(listed("Read, Bash(git log:*, x) Edit"), are(&["Read", "Bash(git log:*, x)", "Edit"]));
        assert_eq!(listed("[Read, 'Edit, Write', 3]"), are(&["Read", "Edit", "Write"]));
        assert_eq!(listed("'*'"), None);
        assert_eq!(listed("Read, *"), None);
        assert_eq!(listed(""), are(&[]));
    }

    #[test]
    fn a_file_that_cannot_be_read_names_the_line_and_the_reason() {
        for (text, line, why) in [
            ("---\nname: x\n---\n", 2, "missing field `description`"),
            ("---\nname: 12\ndescription: d\n---\n", 2, "value requires quoting"),
            ("---\nname: x\ndescription: \"When\" this \"x\"\n---\n", 3, "claude does not read it either"),
            ("---\nname: -x\ndescription: d\n---\n", 0, "the name begins with `-`"),
            ("---\nname: \"a:b\"\ndescription: d\n---\n", 0, "the name has a colon"),
            ("---\nname: x\ndescription: \"\"\n---\n", 0, "the description is empty"),
            ("---\nname: x\ndescription: d\n", 1, "no closing line `---`"),
        ] {
            let finding = read_text(text).unwrap_err();
            assert_eq!((finding.level, finding.line), (Level::Error, line), "{finding:?}");
            assert!(finding.problem.starts_with("cannot be read: ") && finding.problem.contains(why), "{finding:?}");
        }
        assert_eq!(read_text("# Readme\n").unwrap_err().level, Level::Warning);
    }

    #[test]
    fn the_size_of_what_is_read_is_bounded() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for n in 1..40 {
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [format!("*a{}", n - 1).as_str(); 10].join(",")));
        }
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), ["*a"; 5000].join(","));
        for hostile in
            [bomb, long, "x: ".to_owned() + &"[".repeat(500_000), "x:\n  ".to_owned() + &"- ".repeat(100_000), "- a\n".repeat(11_000)]
        {
            // Put in quotes, such a value is a text of its own length.
            let read = read_text(&format!("---\nname: x\ndescription: d\n{hostile}\n---\n"));
            assert!(read.is_err() || Value::from(read.unwrap().fields).to_string().len() < 2 * hostile.len() + 100);
        }
    }
}
