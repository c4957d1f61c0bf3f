//! Finds the configuration file and reads its text. Every error names the key, the line and the column.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::sections::runner_keys;
use crate::settings::{self, Config, paths};
use askbox_mailbox::{Error, Result, disk, document, spelling, text};

const FORMS: &str = "`askbox init --print` shows every key with its meaning and default";

/// The most characters of a key that an error shows.
const SHOWN_KEY: usize = 120;
const SHOWN_PROBLEM: usize = 300;

/// A configuration and its source.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The configuration that is in force.
    pub config: Config,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The paths of the keys that the file sets.
    pub set: Vec<String>,
}

/// Reads the text of a configuration file.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Loaded> {
    let (config, set) = read(bytes).map_err(|e| e.in_file(path))?;
    Ok(Loaded { config, file: Some(path.to_path_buf()), set })
}

fn read(bytes: &[u8]) -> Result<(Config, Vec<String>)> {
    let toml = std::str::from_utf8(text::without_bom(bytes)).map_err(|_| Error::invalid("file", "not valid UTF-8", "save it as UTF-8"))?;
    let table = DeTable::parse(toml).map_err(|e| {
        let at = e.span().map_or("file".into(), |span| place(toml, span.start));
        Error::invalid(at, text::excerpt(e.message(), SHOWN_PROBLEM), FORMS)
    })?;
    let table = table.get_ref();
    let mut reader = Reader { toml, set: Vec::new() };
    let sections = table.iter().map(|(name, value)| Ok((name.get_ref().to_string(), reader.read(name.get_ref(), value)?)));
    let tree = sections.collect::<Result<_>>().map(Value::Object)?;
    let config = Config::deserialize(tree).map_err(|e| reader.wrong_value(table, &e))?;
    settings::check_values(&config, &reader.set)?;
    Ok((config, reader.set))
}

/// True if this is the path of a section, such as `limits` or `runner.claude`.
fn is_section(at: &str) -> bool {
    let section = match at.split_once('.') {
        Some(("runner", name)) if !name.contains('.') && !spelling::is_typo(name, "default") => "runner.*",
        Some(("target", name)) if !name.contains('.') => "target.*",
        Some(("peers", name)) if !name.contains('.') => "peers.*",
        _ => at,
    };
    paths().any(|path| path.starts_with(&format!("{section}.")))
}

struct Reader<'a> {
    toml: &'a str,
    /// The keys read so far, by their paths.
    set: Vec<String>,
}

impl Reader<'_> {
    /// Converts a value to JSON. Every key in it must be known.
    fn read(&mut self, at: &str, value: &Spanned<DeValue<'_>>) -> Result<Value> {
        let pattern = match at.split('.').collect::<Vec<_>>().as_slice() {
            [section @ ("runner" | "target" | "peers"), _, rest] => format!("{section}.*.{rest}"),
            _ => at.to_owned(),
        };
        if paths().any(|path| path == pattern) {
            self.set.push(at.to_owned());
            return json(value).map_err(|(value, problem)| self.error(at, value, problem));
        }
        if let (DeValue::Table(inner), true) = (value.get_ref(), at.split('.').count() < 3)
            && (!inner.is_empty() || is_section(at))
        {
            if let Some(("runner", name)) = at.split_once('.')
                && inner.get("kind").is_some_and(|kind| matches!(kind.get_ref(), DeValue::String(kind) if kind == "program"))
                && let Some(key) = runner_keys::MEANT_FOR_AN_AGENT.into_iter().find(|key| inner.get(*key).is_some())
            {
                return Err(runner_keys::not_enforced(name, key));
            }
            let fields = inner.iter().map(|(k, v)| Ok((k.get_ref().to_string(), self.read(&format!("{at}.{}", k.get_ref()), v)?)));
            return fields.collect::<Result<_>>().map(Value::Object);
        }
        if is_section(at) {
            let how = format!("write [{at}] on a line of its own and the keys below it; `askbox init --print` shows all keys");
            return Err(Error::invalid(
                text::excerpt(at, SHOWN_KEY),
                format!("is a section, not a key ({})", place(self.toml, value.span().start)),
                how,
            ));
        }
        let runner = at.split('.').nth(1).unwrap_or("NAME");
        let nearest = paths().max_by(|a, b| {
            let near = |k: &str| strsim::jaro_winkler(k, &pattern);
            near(a).total_cmp(&near(b))
        });
        Err(Error::invalid(
            text::excerpt(at, SHOWN_KEY),
            if matches!(value.get_ref(), DeValue::Table(_)) { "unknown section" } else { "unknown key" },
            format!("did you mean `{}`? `askbox init --print` shows all keys", nearest.unwrap_or_default().replace('*', runner)),
        ))
    }

    /// The error with the place of the wrong value, which is the first value that cannot be read on its own either.
    fn wrong_value(&self, table: &DeTable<'_>, e: &serde_json::Error) -> Error {
        for key in &self.set {
            let mut names = key.split('.');
            let section = names.next().and_then(|name| table.get(name));
            let Some(value) = names.fold(section, |value, name| value?.get_ref().get(name)) else { continue };
            for (part, alone) in parts(value) {
                let alone = key.rsplit('.').fold(alone, |inner, name| Map::from_iter([(name.to_owned(), inner)]).into());
                if let Err(e) = Config::deserialize(alone) {
                    return self.error(key, part, &e.to_string());
                }
            }
        }
        Error::invalid("file", text::excerpt(&e.to_string(), SHOWN_PROBLEM), FORMS)
    }

    fn error(&self, key: &str, value: &Spanned<DeValue<'_>>, problem: &str) -> Error {
        let place = place(self.toml, value.span().start);
        Error::invalid(
            text::excerpt(key, SHOWN_KEY),
            format!("{} ({place})", text::excerpt(&document::in_plain_words(problem), SHOWN_PROBLEM)),
            FORMS,
        )
    }
}

/// A place in the file, such as `line 2, column 11`.
fn place(toml: &str, at: usize) -> String {
    let before = toml.get(..at).unwrap_or(toml);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {}, column {column}", before.matches('\n').count() + 1)
}

/// A value as JSON. JSON has no dates and no infinity: the error is the value that JSON cannot hold, and the reason.
fn json<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Result<Value, (&'a Spanned<DeValue<'i>>, &'static str)> {
    Ok(match value.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(n) => match (i64::from_str_radix(n.as_str(), n.radix()), u64::from_str_radix(n.as_str(), n.radix())) {
            (Ok(n), _) => n.into(),
            (_, Ok(n)) => n.into(),
            _ => return Err((value, "number out of range")),
        },
        DeValue::Float(n) => match n.as_str().parse::<f64>() {
            Ok(n) if n.is_finite() => n.into(),
            _ => return Err((value, "not a finite number")),
        },
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Datetime(_) => return Err((value, "no key takes a date; put a text in quotes")),
        DeValue::Array(items) => items.iter().map(json).collect::<Result<_, _>>().map(Value::Array)?,
        DeValue::Table(fields) => {
            let fields = fields.iter().map(|(k, v)| Ok((k.get_ref().to_string(), json(v)?)));
            fields.collect::<Result<_, _>>().map(Value::Object)?
        }
    })
}

/// The parts of a value that can be wrong. The first is the value without its items or fields. The others are its items or fields, each
/// as JSON.
fn parts<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Vec<(&'a Spanned<DeValue<'i>>, Value)> {
    let json = |value| json(value).unwrap_or_default();
    match value.get_ref() {
        DeValue::Array(items) => {
            let each = items.iter().map(|item| (item, Value::Array(vec![json(item)])));
            [(value, Value::Array(Vec::new()))].into_iter().chain(each).collect()
        }
        DeValue::Table(fields) => {
            let each = fields.iter().map(|(k, v)| (v, Map::from_iter([(k.get_ref().to_string(), json(v))]).into()));
            [(value, Map::new().into())].into_iter().chain(each).collect()
        }
        _ => vec![(value, json(value))],
    }
}

/// The largest configuration file, in bytes.
pub const MAX_CONFIG: u64 = 1 << 20;

/// The path that an environment variable holds, if the variable is not empty.
fn path_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// The path of the configuration file: `$ASKBOX_CONFIG`, else `askbox/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`.
pub fn location() -> Option<PathBuf> {
    path_in("ASKBOX_CONFIG").or_else(|| {
        let base = path_in("XDG_CONFIG_HOME").or_else(|| path_in("HOME").map(|h| h.join(".config")))?;
        Some(base.join("askbox/config.toml"))
    })
}

/// Loads the configuration. A missing file means the defaults, unless `$ASKBOX_CONFIG` names it.
///
/// # Errors
/// [`Error::NotFound`] if `$ASKBOX_CONFIG` names a missing file; [`Error::Invalid`] with file, key and line if a value is wrong or a key is
/// unknown.
pub fn load() -> Result<Loaded> {
    let Some(path) = location() else { return Ok(Loaded::default()) };
    match disk::read(&path, MAX_CONFIG) {
        Err(e) if e.is_missing_file() && path_in("ASKBOX_CONFIG").is_none() => Ok(Loaded::default()),
        Err(e) if e.is_missing_file() => Err(Error::not_found(
            format!("$ASKBOX_CONFIG names {}, which does not exist", path.display()),
            "write that file with: askbox init, or unset ASKBOX_CONFIG",
        )),
        other => parse(&other?, &path),
    }
}

/// Loads the configuration in this file, which must exist.
///
/// # Errors
/// Those of [`load`].
pub fn load_file(path: &Path) -> Result<Loaded> {
    parse(&disk::read(path, MAX_CONFIG)?, path)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sections::runners::Runner;
    use crate::sections::upkeep::Keep;
    use askbox_mailbox::time::Span;

    fn read(text: &str) -> Result<Loaded> {
        parse(text.as_bytes(), Path::new("config.toml"))
    }

    #[test]
    fn a_byte_order_mark_in_front_changes_nothing() {
        assert_eq!(read("\u{feff}[relaunch]\nattempts = 2\n").unwrap().set, ["relaunch.attempts"]);
        let error = read("\u{feff}runner = 3\n").unwrap_err();
        assert!(error.to_string().contains("(line 1, column 10)"), "{error}");
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        let error = read("[relaunch]\nmax_concurent = 2\n").unwrap_err();
        assert_eq!(error.to_string(), "config.toml: relaunch.max_concurent: unknown key");
        assert!(error.hint().contains("`relaunch.max_concurrent`"));
        assert!(read("[runner.claude]\nprogramm = 'x'\n").unwrap_err().hint().contains("`runner.claude.program`"));
        let error = read("runner = 3\n").unwrap_err();
        assert_eq!(error.to_string(), "config.toml: runner: is a section, not a key (line 1, column 10)");
        assert!(error.hint().contains("write [runner] on a line of its own"), "{}", error.hint());
        assert!(read("[runner]\nfake = 3\n").unwrap_err().hint().contains("write [runner.fake] on a line of its own"));
        assert!(read("[runner]\ndefalt = 'x'\n").unwrap_err().hint().contains("`runner.default`"));
        assert!(read("[limit]\ngrace = '3s'\n").unwrap_err().hint().contains("limits.grace"));
    }

    #[test]
    fn an_unknown_section_is_refused_even_if_it_is_empty() {
        for unknown in ["limit", "web.page", "runner.claude.more", "target.desktop.more"] {
            let error = read(&format!("[{unknown}]\n")).unwrap_err();
            assert_eq!(error.to_string(), format!("config.toml: {unknown}: unknown section"));
        }
        for known in ["limits", "runner", "runner.mine", "target.desktop", "peers.build"] {
            assert!(read(&format!("[{known}]\n")).is_ok(), "{known}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let error = read("[relaunch]\nbackoff = 'soon'\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(read("[relaunch]\nattempts = 0\n").is_err());
        assert!(read("[limits]\nday_cost = -1\n").is_err() && read("[limits]\nday_cost = nan\n").is_err());
        assert!(read("[limits]\ntree_cost = -0.1\n").is_err() && read("[limits]\ntree_time = 'long'\n").is_err());
        assert_eq!(read("[limits]\nday_cost = 3\n").unwrap().config.limits.day_cost, 3.0);
        assert!(read("[runner]\ndefault = 'codex'\n").is_err());
        assert!(read("[approvals]\nask = ['AskUserQuestion']\n").is_err() && read("[approvals]\nrefuse = ['AskUserQuestion']\n").is_ok());
        assert!(read("[history]\nkeep = 'long'\n").unwrap_err().to_string().contains("line 2"));
        assert_eq!(read("[history]\nkeep = '2h'\n").unwrap().config.history.keep, Keep(Some(Span(Duration::from_secs(7200)))));
    }

    #[test]
    fn a_wrong_value_is_reported_with_its_key_and_its_place() {
        for (text, expected) in [
            ("[limits]\nturns = 'ü'\n", "limits.turns: invalid type: string \"ü\", expected a whole number from 0 (line 2, column 9)"),
            (
                "[web]\nlisten = 'unix:/a'\n[limits]\nsilence = '1h'\ngrace = true\n",
                "limits.grace: invalid type: boolean `true`, expected a string (line 5, column 9)",
            ),
            ("limits = { run_cost = 1, grace = 3 }\n", "limits.grace: invalid type: integer `3`, expected a string (line 1, column 34)"),
            (
                "[relaunch]\nmode = 'frsh'\n",
                "relaunch.mode: unknown variant `frsh`, expected one of `auto`, `fresh`, `resume` (line 2, column 8)",
            ),
            (
                "[relaunch]\nattempts = -1\n",
                "relaunch.attempts: invalid value: integer `-1`, expected a whole number from 0 (line 2, column 12)",
            ),
            // The wrong part of a value, or the whole value.
            ("[runner.x]\nargs = ['a',\n 'ü', 3]\n", "runner.x.args: invalid type: integer `3`, expected a string (line 3, column 7)"),
            ("[runner.x.env]\nA = 'b'\nB = 7\n", "runner.x.env: invalid type: integer `7`, expected a string (line 3, column 5)"),
            ("[limits.grace]\nx = 3\n", "limits.grace: invalid type: map, expected a string (line 1, column 1)"),
            (
                "[approvals]\nask = ['Write',\n 'Bash(git *)']\n",
                "approvals.ask: the rule `Bash(git *)` is not understood: a `*` stands only at its end, after a colon; write a tool's name, \
                 `Bash(WORDS:*)`, `Bash(COMMAND)`, or `mcp__SERVER__TOOL` (line 3, column 2)",
            ),
            // Values that JSON cannot hold.
            ("[relaunch]\nattempts = 99999999999999999999\n", "relaunch.attempts: number out of range (line 2, column 12)"),
            ("[limits]\nday_cost = inf\n", "limits.day_cost: not a finite number (line 2, column 12)"),
            ("[limits]\nday_cost = 1e999\n", "limits.day_cost: not a finite number (line 2, column 12)"),
            ("[runner.x]\nargs = ['a', 2026-11-22]\n", "runner.x.args: no key takes a date; put a text in quotes (line 2, column 14)"),
            // Errors outside of a key.
            ("\n[log\n", "line 2, column 5: unclosed table, expected `]`"),
            ("[limits]\nturns = 1\nturns = 1\n", "line 3, column 1: duplicate key"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), format!("config.toml: {expected}"), "{text}");
        }
    }

    #[test]
    fn every_form_of_a_value_is_read() {
        let text = "limits = { turns = 1_000, day_cost = 0x10, run_cost = 2 }\nrelaunch.config_dirs = ['/a', \"/\\u00fc\"]\n\
            [runner]\ndefault = 'x'\n[runner.x]\nargs = [\"\"\"\na\"\"\"]\nenv.A = 'b'\n[runner.'y z']\n[chain]\nmax_depth = 18446744073709551615\n";
        let loaded = read(text).unwrap();
        let config = &loaded.config;
        assert_eq!((config.limits.turns, config.limits.day_cost, config.limits.run_cost), (1000, 16.0, 2.0));
        assert_eq!(config.relaunch.config_dirs, [Path::new("/a"), Path::new("/ü")]);
        let (name, runner) = config.runner.find(None).unwrap();
        assert_eq!((name.as_str(), runner.args, runner.env["A"].as_str()), ("x", vec!["a".to_owned()], "b"));
        assert_eq!(config.runner.find(Some("y z")).unwrap().1.allowed_tools, Runner::default().allowed_tools);
        assert_eq!(config.chain.max_depth, usize::MAX);
        let set = ["limits.turns", "limits.day_cost", "limits.run_cost", "relaunch.config_dirs", "runner.default"];
        assert_eq!(loaded.set[..5], set);
    }
}
