//! The hooks of Kimi and Gemini, whose dialogs are told as news (`live.news`). A person adds their lines to the files of these programs:
//! setup shows the lines, and does not edit the files.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use serde_json::{Value, json};

use askbox_agent::sessions;
use askbox_cli::args::askbox_args::Setup;
use askbox_mailbox::dialogs::Program;
use askbox_mailbox::{disk, without_bom};
use askbox_run::programs;

/// The keys of a hook of Kimi.
const OF_A_HOOK: [&str; 4] = ["event", "matcher", "command", "timeout"];
/// The longest file of a program that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The events that the hooks of the program take.
fn events(program: Program) -> &'static [&'static str] {
    match program {
        Program::Kimi => &["PermissionRequest", "PermissionResult"],
        // No and Esc have no event of their own. The next event of the session ends its dialog.
        Program::Gemini => &["Notification", "AfterTool", "BeforeAgent", "AfterAgent"],
    }
}

/// The command of the hooks.
fn command(program: Program) -> String {
    format!("askbox hook --from {}", program.command())
}

/// The file of the program with its hooks. `None` if it has no place.
pub(in crate::commands) fn file(program: Program) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match program {
        Program::Kimi => sessions::Program::Kimi.folder(|name| std::env::var_os(name)).map(|folder| folder.join("config.toml")),
        Program::Gemini => set("GEMINI_CLI_HOME").or_else(|| set("HOME")).map(|home| home.join(".gemini/settings.json")),
    }
}

/// True if this file of the program calls all hooks.
pub(in crate::commands) fn are_in(program: Program, file: &Path) -> bool {
    let bytes = disk::read(file, LONGEST).unwrap_or_default();
    let text = String::from_utf8_lossy(without_bom(&bytes));
    match program {
        Program::Kimi => are_in_kimi(&text),
        Program::Gemini => are_in_gemini(&text),
    }
}

fn are_in_kimi(text: &str) -> bool {
    let Ok(table) = text.parse::<toml::Table>() else { return false };
    let hooks = table.get("hooks").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Keys that stand below such lines belong to the hook, and Kimi then reads none of the hooks.
    let is_whole = |hook: &toml::Value| hook.as_table().is_some_and(|hook| hook.keys().all(|key| OF_A_HOOK.contains(&key.as_str())));
    if !hooks.iter().all(is_whole) {
        return false;
    }
    let word = |hook: &toml::Value, key: &str| hook.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let calls = |event: &str| hooks.iter().any(|hook| word(hook, "event") == event && is_ours(Program::Kimi, &word(hook, "command")));
    events(Program::Kimi).iter().all(|event| calls(event))
}

fn are_in_gemini(text: &str) -> bool {
    // Gemini allows comments.
    let options = ParseOptions { allow_missing_commas: false, allow_trailing_commas: false, ..ParseOptions::default() };
    let Ok(settings) = jsonc_parser::parse_to_serde_value::<Value>(text, &options) else { return false };
    let groups = |event: &str| settings["hooks"][event].as_array().cloned().unwrap_or_default();
    let hooks = |event: &str| groups(event).into_iter().flat_map(|group| group["hooks"].as_array().cloned().unwrap_or_default());
    let calls = |event: &str| hooks(event).any(|hook| hook["command"].as_str().is_some_and(|command| is_ours(Program::Gemini, command)));
    settings["hooksConfig"]["enabled"] != false && events(Program::Gemini).iter().all(|event| calls(event))
}

/// True for a command that calls the hook. The person may have written the path of `askbox`.
fn is_ours(program: Program, called: &str) -> bool {
    called.contains("askbox") && called.contains(&format!("hook --from {}", program.command()))
}

/// The lines that a person adds to the file of the program.
fn lines(program: Program) -> String {
    let command = command(program);
    match program {
        Program::Kimi => {
            let hook = |event: &&str| format!("[[hooks]]\nevent = \"{event}\"\ncommand = \"{command}\"\n");
            events(program).iter().map(hook).collect()
        }
        Program::Gemini => {
            let hook = |event: &str| format!("    \"{event}\": {}", json!([{"hooks": [{"type": "command", "command": command}]}]));
            let all: Vec<_> = events(program).iter().map(|event| hook(event)).collect();
            format!("  \"hooks\": {{\n{}\n  }}\n", all.join(",\n"))
        }
    }
}

/// Where the lines belong.
fn place(program: Program, file: &Path, has_text: bool) -> String {
    let file = file.display();
    match program {
        _ if !has_text => format!("write {file}"),
        Program::Kimi => format!("add at the end of {file}"),
        Program::Gemini => format!("merge into the object of {file}, each event behind those that you may have in \"hooks\""),
    }
}

/// The files that still call the hooks.
pub(super) fn still_there() -> Vec<String> {
    let has_hooks = |program: &Program| file(*program).filter(|file| are_in(*program, file));
    let line = |program: Program| has_hooks(&program).map(|file| format!("{} still calls {}", file.display(), command(program)));
    Program::ALL.into_iter().filter_map(line).collect()
}

/// True if a person of this machine uses the program: it is on PATH, or its folder is there.
fn is_used(program: Program, file: &Path) -> bool {
    programs::find(Path::new(program.command())).is_ok() || file.parent().is_some_and(Path::is_dir)
}

/// The lines for the programs that are used here and have no such hooks yet.
pub(super) fn notes(args: &Setup) -> Vec<String> {
    if !args.updates_live() {
        return Vec::new();
    }
    let note = |program: Program| {
        let file = file(program).filter(|file| is_used(program, file) && !are_in(program, file))?;
        let has_text = disk::read(&file, LONGEST).is_ok_and(|bytes| !bytes.trim_ascii().is_empty());
        let lines = if program == Program::Gemini && !has_text { format!("{{\n{}}}\n", lines(program)) } else { lines(program) };
        let lines: String = lines.lines().map(|line| format!("      | {line}\n")).collect();
        let (name, word) = (program.name(), program.command());
        let what = format!(
            "{name}: nobody can answer its dialogs in the mailbox, but a [target.NAME] can be told of them, as long as `relaunch watch` runs. \
             You do this yourself: set `news = [\"{word}\"]` in [live] of askbox's configuration, and {}:\n{lines}",
            place(program, &file, has_text)
        );
        Some(what.trim_end().to_owned())
    };
    Program::ALL.into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shown_lines_are_found_in_the_files_of_both_programs() {
        let kimi = lines(Program::Kimi);
        assert!(are_in_kimi(&kimi) && are_in_kimi(&format!("model = \"m\"\n{kimi}")) && !are_in_kimi(""));
        assert!(are_in_kimi(&kimi.replace("\"askbox hook", "\"/opt/askbox hook")));
        for other in ["[[hooks]]\nevent = 1\n", "hooks = 1\n", &kimi.replace("PermissionResult", "Stop"), &kimi.replace("kimi", "gemini")] {
            assert!(!are_in_kimi(other), "{other}");
        }
        let gemini = format!("{{\n{}}}\n", lines(Program::Gemini));
        assert!(serde_json::from_str::<Value>(&gemini).is_ok() && are_in_gemini(&gemini), "{gemini}");
        assert!(are_in_gemini(&format!("// mine \"\n/* \" */{}", gemini.replacen('{', "{\"a\": \"http://x/*\\\"\", // b\n", 1))));
        assert!(!are_in_gemini(&lines(Program::Gemini)), "Gemini does not read it");
        assert!(!are_in_kimi(&format!("{kimi}model = \"m\"\n")), "the key is one of the hook then");
        let off = gemini.replacen('{', "{\"hooksConfig\": {\"enabled\": false},", 1);
        for other in ["", "{}", "{\"hooks\": []}", &off, &gemini.replace("AfterTool", "X"), &gemini.replace("from gemini", "from kimi")] {
            assert!(!are_in_gemini(other), "{other}");
        }
    }
}
