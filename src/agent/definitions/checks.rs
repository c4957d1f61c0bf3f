//! One file: what it says, and what is wrong with it.

use std::path::Path;

use crate::agent::definitions::frontmatter::{self, Split};
use crate::agent::definitions::yaml::{Entry, Kind};
use crate::agent::definitions::{Agent, Finding, LONG_DESCRIPTION, Level, Scope, tools};
use crate::text;

/// The longest name, in UTF-16 units.
const MAX_NAME: usize = 256;
const COLORS: [&str; 8] = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];
const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];
/// The keys that claude knows.
const KEYS: [&str; 24] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "color",
    "effort",
    "mcpServers",
    "hooks",
    "maxTurns",
    "autoCompactWindow",
    "skills",
    "initialPrompt",
    "memory",
    "background",
    "omitClaudeMd",
    "isolation",
    "observer",
    "observerMessage",
    "observeSubagents",
    "observeToolResults",
    "metadata",
    "version",
];
const BEGIN: &str = "begin the file with a line `---`, then `name:` and `description:`, then `---`, then the prompt";

/// The checks of one file.
pub struct Checks<'a> {
    file: &'a Path,
    name: Option<String>,
    /// What they found.
    pub findings: Vec<Finding>,
}

impl<'a> Checks<'a> {
    /// Nothing found yet.
    pub fn new(file: &'a Path) -> Self {
        Self { file, name: None, findings: Vec::new() }
    }

    fn error(&mut self, line: usize, problem: impl Into<String>, fix: impl Into<String>) {
        self.find(Level::Error, line, problem.into(), fix.into());
    }

    fn warn(&mut self, line: usize, problem: impl Into<String>, fix: impl Into<String>) {
        self.find(Level::Warning, line, problem.into(), fix.into());
    }

    fn find(&mut self, level: Level, line: usize, problem: String, fix: String) {
        self.findings.push(Finding { level, file: self.file.into(), line, problem, fix, name: self.name.clone() });
    }

    /// The agent, if claude would have it.
    pub fn agent(&mut self, bytes: &[u8], scope: Scope) -> Option<Agent> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        if let Err(e) = std::str::from_utf8(bytes) {
            let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            self.warn(line, "is no UTF-8; what is not is shown as `\u{fffd}`", "save it as UTF-8");
        }
        let (head, line, body) = match frontmatter::split(&text) {
            Split::Parts { head, line, body, odd_end } => {
                if let Some(line) = odd_end {
                    self.warn(
                        line,
                        "the frontmatter ends at the `---` in this line",
                        "write `---` on a line of its own only, and nowhere else in the frontmatter",
                    );
                }
                (head, line, body)
            }
            Split::Unclosed => {
                self.error(1, "the frontmatter has no closing `---`", "write a line `---` between the frontmatter and the prompt");
                return None;
            }
            Split::NoHead => {
                // Other Markdown may lie beside agents: it is none of them.
                match text.trim_start().starts_with("---") {
                    true => self.error(1, "the frontmatter does not begin with `---` on the first line", BEGIN),
                    false => self.warn(1, "has no frontmatter and is no agent", BEGIN),
                }
                return None;
            }
        };
        let at = |own: usize| line + own - 1;
        // YAML forbids them, claude takes all but NUL. Nobody wants to see them.
        let odd = |c: char| c.is_control() && !"\t\n\r\u{85}\0".contains(c);
        let clean = head.replace(odd, "\u{fffd}");
        if let Some(first) = head.find(odd) {
            let line = at(1 + head[..first].matches('\n').count());
            self.warn(line, "holds control characters, shown as `\u{fffd}`", "remove them: they can drive a terminal");
        }
        let read = match frontmatter::read(&clean) {
            Ok(read) => read,
            Err(problem) => {
                let mut fix = "put the value in double quotes, or write `key: |` and the text below it, indented".to_owned();
                if head.contains('\r') {
                    fix.push_str("; with CRLF at the ends of lines claude does not make up for it");
                }
                self.error(at(problem.line), format!("is no YAML: {}", problem.why), fix);
                return None;
            }
        };
        let entries = match &read.node.kind {
            Kind::Map(entries) => entries.as_slice(),
            Kind::Null => &[],
            other => {
                self.error(at(read.node.line), format!("the frontmatter is {}, not keys with values", other.word()), BEGIN);
                return None;
            }
        };
        // The last of a key counts.
        let get = |key: &str| entries.iter().rev().find(|e| e.key == key);
        self.name = get("name").and_then(text_of).map(str::to_owned);
        if let Some(problem) = read.lenient {
            let why = format!("is no YAML by the letter ({}); read as claude does, as text up to the end of the line", problem.why);
            self.warn(at(problem.line), why, "put the value in double quotes");
        }
        self.keys(entries, &at);
        let name = self.required("name", get("name"), &at, line - 1);
        let description = self.required("description", get("description"), &at, line - 1);
        let (name, description) = (name?, description?);
        let name_line = get("name").map_or(line, |e| at(e.value.line));
        self.name_is_good(name, name_line)?;
        let description = description.replace("\\n", "\n");
        if description.len() > LONG_DESCRIPTION {
            let why = format!("description: is {} bytes long, and goes into every request of every main agent", description.len());
            self.warn(
                get("description").map_or(line, |e| at(e.value.line)),
                why,
                "say in a few sentences when to use it; the rest belongs into the prompt below",
            );
        }
        Some(Agent {
            name: name.to_owned(),
            description,
            model: self
                .word("model", get("model"), &at, None)
                .map(|m| if m.eq_ignore_ascii_case("inherit") { "inherit".into() } else { m }),
            tools: get("tools").and_then(|e| self.tools(e, &at)),
            disallowed_tools: get("disallowedTools").and_then(|e| self.tools(e, &at)).unwrap_or_default(),
            permission_mode: self.word("permissionMode", get("permissionMode"), &at, Some(&MODES)),
            color: self.word("color", get("color"), &at, Some(&COLORS)),
            scope,
            file: self.file.into(),
            shadows: Vec::new(),
            fields: match read.node.to_json() {
                serde_json::Value::Object(fields) => fields,
                _ => serde_json::Map::new(),
            },
            prompt: body.to_owned(),
        })
    }

    /// Keys that are there twice, or that were probably meant to be another.
    fn keys(&mut self, entries: &[Entry], at: &impl Fn(usize) -> usize) {
        for (n, entry) in entries.iter().enumerate() {
            let shown = text::excerpt(&entry.key, 40);
            if entries[..n].iter().any(|e| e.key == entry.key) {
                self.warn(at(entry.line), format!("{shown}: is there twice; the last one counts"), "remove one");
            } else if !KEYS.contains(&entry.key.as_str())
                && let Some(meant) = tools::nearest(&entry.key, &KEYS)
                && !entries.iter().any(|e| e.key == meant)
            {
                self.warn(at(entry.line), format!("{shown}: is not known to claude"), format!("did you mean `{meant}`?"));
            }
        }
    }

    /// A text that must be there.
    fn required<'e>(&mut self, key: &str, entry: Option<&'e Entry>, at: &impl Fn(usize) -> usize, begin: usize) -> Option<&'e str> {
        let example = match key {
            "name" => "name: my-agent",
            _ => "description: \"Use this agent when …\"",
        };
        let Some(entry) = entry else {
            self.error(begin, format!("{key}: is missing"), format!("add a line such as `{example}`"));
            return None;
        };
        match &entry.value.kind {
            Kind::Text { text, cut } if !text.is_empty() => {
                if *cut {
                    self.warn(
                        at(entry.value.line),
                        format!("{key}: ends at ` #`, which begins a comment"),
                        "put the value in double quotes",
                    );
                }
                Some(text)
            }
            Kind::Text { .. } | Kind::Null => {
                self.error(at(entry.line), format!("{key}: is empty"), format!("write such as `{example}`"));
                None
            }
            other => {
                self.error(at(entry.line), format!("{key}: is {}, not a text", other.word()), "put the value in double quotes");
                None
            }
        }
    }

    fn name_is_good(&mut self, name: &str, line: usize) -> Option<()> {
        let fix = "use lower-case letters, digits and hyphens, such as `my-agent`";
        let bad = if name.starts_with('-') {
            "name: begins with `-`".to_owned()
        } else if name.encode_utf16().count() > MAX_NAME {
            format!("name: is longer than {MAX_NAME} characters")
        // And what Unicode takes for one.
        } else if name.contains([':', '\u{ff1a}', '\u{fe13}', '\u{fe55}']) {
            "name: holds `:`, which is for the agents of plugins".to_owned()
        } else {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if !name.chars().all(plain) {
                self.warn(line, format!("name: `{}` is hard to type, although claude takes it", text::excerpt(name, 40)), fix);
            }
            return Some(());
        };
        self.error(line, bad, fix);
        None
    }

    /// A word that may be missing; where only some are known, any other counts as missing.
    fn word(&mut self, key: &str, entry: Option<&Entry>, at: &impl Fn(usize) -> usize, known: Option<&[&'static str]>) -> Option<String> {
        let entry = entry?;
        let line = at(entry.value.line);
        let Kind::Text { text, .. } = &entry.value.kind else {
            self.warn(
                line,
                format!("{key}: is {}, and ignored", entry.value.kind.word()),
                format!("write a word behind `{key}:`, or remove it"),
            );
            return None;
        };
        let word = text.trim();
        match known {
            Some(known) if !known.contains(&word) => {
                let problem = format!("{key}: claude does not know `{}` and ignores it", text::excerpt(word, 40));
                self.warn(line, problem, format!("one of: {}", known.join(", ")));
                None
            }
            _ => Some(word.to_owned()).filter(|w| !w.is_empty()),
        }
    }

    fn tools(&mut self, entry: &Entry, at: &impl Fn(usize) -> usize) -> Option<Vec<String>> {
        let line = at(entry.value.line);
        let key = &entry.key;
        let tools = tools::list(&entry.value)?;
        if tools.is_empty() && key == "tools" {
            self.warn(line, "tools: is empty, so that it has no tools at all", "remove the line where it is to have all");
        }
        for tool in &tools {
            if let Some(meant) = tools::doubt(tool) {
                let fix = match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        "see the names with: claude -p, event `init`, field `tools`; those of an MCP server are `mcp__SERVER__TOOL`".into()
                    }
                };
                self.warn(line, format!("{key}: there is no tool `{}`", text::excerpt(tool, 60)), fix);
            }
        }
        Some(tools)
    }
}

fn text_of(entry: &Entry) -> Option<&str> {
    if let Kind::Text { text, .. } = &entry.value.kind { Some(text) } else { None }
}
