//! Live sessions: the dialogs that plugins, hooks and daemons tell, and the files of sessions and dialogs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use askbox::agent::sessions;
use askbox::cli::args::askbox_args::LiveProgram;
use askbox::commands::hook::fuzzed as hook;
use askbox::disk::Lock;
use askbox::live::codex::fuzzed as codex;
use askbox::live::fuzzed as plugin;
use askbox::mailbox::dialogs::{self, Dialog, Program};
use askbox::mailbox::documents::checks::check_question;
use askbox::mailbox::{Mailbox, Question, QuestionDocument};
use askbox::time::Time;

use super::promises;

/// The first line names a program, and the rest is what the program says of its dialogs. A question shows what a person allows, and a
/// program other than Claude Code gets a permission for one call alone.
pub fn live(bytes: &[u8]) {
    let Some(at) = bytes.iter().position(|b| *b == b'\n') else { return };
    let (program, said) = (&bytes[..at], &bytes[at + 1..]);
    let of_plugin =
        |program| said.split(|b| *b == b'\n').filter_map(|line| plugin::question(program, line, since())).for_each(asks_for_one_call);
    match program {
        b"opencode" => of_plugin(LiveProgram::Opencode),
        b"copilot" => of_plugin(LiveProgram::Copilot),
        b"codex" => {
            let Ok(said) = std::str::from_utf8(said) else { return };
            codex::questions(said, since()).into_iter().for_each(asks_for_one_call);
        }
        b"claude" => hook::question(said, since()).into_iter().for_each(|asked| drop(can_be_posted(asked))),
        b"kimi" => hook::dialog(Program::Kimi, said).iter().for_each(is_told_safely),
        b"gemini" => hook::dialog(Program::Gemini, said).iter().for_each(is_told_safely),
        _ => {}
    }
}

fn since() -> Time {
    Time::UNIX_EPOCH
}

fn asks_for_one_call(asked: askbox::Result<QuestionDocument>) {
    let Some(question) = can_be_posted(asked) else { return };
    if question.approval.is_some() {
        assert_eq!(question.options.keys(), "once", "{question:?}");
    }
}

/// A question that is posted has a known form and is shown safely. For any other one there is a reason.
fn can_be_posted(asked: askbox::Result<QuestionDocument>) -> Option<Question> {
    let asked = asked.and_then(|document| check_question::check(&document.typed).map(|()| document));
    let question = match asked {
        Ok(document) => document.typed,
        Err(e) => {
            promises::is_a_usable_error(&e);
            return None;
        }
    };
    let live = question.live.as_ref().expect("a dialog's question names its session");
    promises::is_one_safe_line(&live.words());
    let call = question.tool_call.as_ref().expect("a dialog's question names its call");
    let named = call.subagent.iter().flat_map(|agent| [Some(&agent.id), agent.kind.as_ref(), agent.task.as_ref()]);
    named.flatten().for_each(|name| promises::is_one_safe_line(name));
    assert_eq!(question.asked_by, None, "nobody but the session speaks");
    if question.approval.is_some() {
        promises::is_shown_safely(&question.question);
        assert!(question.options.keys().starts_with("once"), "{question:?}");
    }
    Some(question)
}

fn is_told_safely(dialog: &Dialog) {
    for words in [&dialog.session_id, &dialog.cwd, &dialog.tool, &dialog.asks, &dialog.project()] {
        promises::is_one_safe_line(words);
        assert!(words.chars().count() <= 1001, "{dialog:?}");
    }
}

/// The parts between lines `---` are the files of sessions and of a dialog: one of Claude Code or Qwen, two of Kimi, one of Copilot, and one
/// of ours. `$PID` is the id of this process. Each file is read within bounds, or counted, or left out.
pub fn sessions(bytes: &[u8]) {
    let own = std::process::id().to_string();
    let text = String::from_utf8_lossy(bytes).replace("$PID", &own);
    let parts: Vec<&str> = text.split("\n---\n").collect();
    let folder = folder();
    for (below, part) in files(&own).iter().zip(parts.iter().cycle()) {
        let path = folder.join(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        fs::write(path, part).expect("a writable folder");
    }
    let lock = Lock::try_acquire(&folder.join("session-state/c1").join(format!("inuse.{own}.hold"))).expect("a lock").expect("it is free");
    let _ = sessions::claude::all(folder);
    for program in sessions::Program::ALL {
        let read = program.sessions(folder);
        assert!(read.found.len() + read.unreadable <= 1, "{read:?}");
    }
    let seen = dialogs::seen(mailbox());
    seen.iter().for_each(is_told_safely);
    assert!(seen.len() <= 1 && seen.iter().all(|dialog| dialog.since <= askbox::time::now()), "{seen:?}");
    drop(lock);
    fs::remove_dir_all(folder).expect("the folder goes");
}

fn files(own: &str) -> [String; 5] {
    [
        format!("sessions/{own}.json"),
        "sessions/wd_shop/session_1/state.json".into(),
        "sessions/wd_shop/session_1/agents/main/wire.jsonl".into(),
        "session-state/c1/events.jsonl".into(),
        "m/dialogs/0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11.json".into(),
    ]
}

/// The folder that all programs keep their files in, in memory if the system has such a place.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let in_memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
        in_memory.unwrap_or_else(std::env::temp_dir).join(format!("askbox-fuzz-sessions-{}", std::process::id()))
    })
}

fn mailbox() -> &'static Mailbox {
    static MAILBOX: OnceLock<Mailbox> = OnceLock::new();
    MAILBOX.get_or_init(|| Mailbox::open_or_create(folder().join("m")).expect("a mailbox"))
}
