//! How fast a question is withdrawn whose dialog has ended at its terminal: each way of ending, 20 times. `tests/run live` prints one
//! row of a table for each way. The usual suite has one of each in `ended` and `killed`.
//!
//! The time is from the last key, or from the signal, to the time in the closed round.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::figures::{closed_at, is_idle, since};
use super::killed::{kill_hook, processes_of};
use super::{Attended, closed, only_question, shows_dialog, touch, which_database, world};
use crate::support::{ClaudeWorld, Signal, kill, number, signal, until};

/// Opens a dialog. The number tells it from the others of its row.
type Opens = fn(&Attended<'_>, usize);
/// Ends the dialog, and returns when that was.
type Ends = fn(&Attended<'_>) -> SystemTime;

/// One row of the table.
struct Way {
    name: &'static str,
    /// More arguments of the session.
    args: &'static [&'static str],
    /// True if the session is in plan mode.
    is_planning: bool,
    opens: Opens,
    ends: Ends,
    /// True if the session is over then, or asks no more.
    is_last: bool,
}

impl Way {
    fn begins<'a>(&self, world: &'a ClaudeWorld) -> Attended<'a> {
        if self.is_planning { Attended::begin_planning(world) } else { Attended::begin_with(world, "default", self.args) }
    }
}

fn way(name: &'static str, opens: Opens, ends: Ends) -> Way {
    Way { name, args: &[], is_planning: false, opens, ends, is_last: false }
}

fn last_way(name: &'static str, opens: Opens, ends: Ends) -> Way {
    Way { is_last: true, ..way(name, opens, ends) }
}

/// A way to end a plan's dialog.
fn plan_way(name: &'static str, ends: Ends) -> Way {
    Way { is_planning: true, ..way(name, plans, ends) }
}

/// Prints the rows of these ways.
fn print_rows(world: &ClaudeWorld, ways: &[Way]) {
    print_rows_of(world, ways, number("ASKBOX_WAYS", 20));
}

fn print_rows_of(world: &ClaudeWorld, ways: &[Way], times: usize) {
    for way in ways {
        let mut took = Vec::new();
        let mut session = None;
        for n in 0..times {
            if way.is_last {
                session = None;
            } else if session.is_some() {
                until("the session is idle", || is_idle(world));
            }
            let session = session.get_or_insert_with(|| way.begins(world));
            (way.opens)(session, n);
            let id = only_question(world);
            let ended = (way.ends)(session);
            took.push(since(ended, closed_at(&closed(world, &id, "withdrawn"))));
            leaves(session);
        }
        took.sort_unstable();
        let seconds = |took: Duration| format!("{:.2} s", took.as_secs_f64());
        println!("| {} | {} | {} |", way.name, seconds(took[took.len() / 2]), seconds(took[took.len() - 1]));
    }
}

/// Ends a dialog that is still open at its terminal. It may close by itself at this moment.
fn leaves(session: &Attended<'_>) {
    if session.terminal.try_screen().is_some_and(|screen| shows_dialog(&screen)) {
        session.ends_dialog_if_open(&["1"]);
    }
}

/// Presses keys at the dialog, each after the effect of the one before. Claude Code ignores keys for a moment after a dialog has opened.
fn presses(session: &Attended<'_>, keys: &[&str]) -> SystemTime {
    until("a dialog is open", || shows_dialog(&session.terminal.screen()));
    let (last, before) = keys.split_last().expect("a key");
    for key in before {
        let shown = session.terminal.screen();
        let mut pressed: Option<SystemTime> = None;
        until("the key has an effect", || {
            if pressed.is_none_or(|at| since(at, SystemTime::now()) > Duration::from_secs(2)) {
                pressed = Some(SystemTime::now());
                session.terminal.burst(&[key]);
            }
            session.terminal.screen() != shown
        });
        session.terminal.settle();
    }
    let pressed = session.ends_dialog(&[last]);
    SystemTime::now() - pressed.elapsed()
}

fn touches(session: &Attended<'_>, n: usize) {
    session.goes(&[touch(&format!("f{n}"))]);
}

fn writes(session: &Attended<'_>, n: usize) {
    let file = session.world.work().join(format!("w{n}"));
    session.goes(&[json!({"tool": "Write", "input": {"file_path": file, "content": "text"}})]);
}

fn waits(session: &Attended<'_>, _: usize) {
    session.goes(&[json!({"tool": "Bash", "input": {"command": "touch long; sleep 2", "description": "Wait"}})]);
}

fn asks(session: &Attended<'_>, _: usize) {
    session.goes(&[which_database()]);
}

fn plans(session: &Attended<'_>, n: usize) {
    session.goes(&session.plan_steps(&format!("# Plan {n}\n\nBuild it.\n"), &[]));
}

/// Lets a subagent make a call.
fn sub_touches(session: &Attended<'_>, n: usize) {
    session.world.api.on("Sub work.", json!([touch(&format!("sub{n}")), {"text": "sub is done"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    session.goes(&[json!({"tool": "Agent", "input": input})]);
}

/// Does something to processes at an open dialog.
fn at_dialog(session: &Attended<'_>, act: impl FnOnce()) -> SystemTime {
    session.terminal.see(super::DIALOG);
    let now = SystemTime::now();
    act();
    now
}

fn told_to_end(session: &Attended<'_>, how: Signal) -> SystemTime {
    at_dialog(session, || processes_of(session).into_iter().for_each(|pid| signal(pid, how)))
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_calls_that_are_decided_at_the_terminal() {
    let world = world();
    print_rows(
        &world,
        &[
            way("a call: yes", touches, |s| presses(s, &["1"])),
            way("a call that takes long: yes", waits, |s| presses(s, &["1"])),
            way("a call: yes, with words", touches, |s| presses(s, &["Tab", "be quick", "Enter"])),
            way("a call: no", touches, |s| presses(s, &["Down", "Down", "Down", "Enter"])),
            way("a call: no, with words", touches, |s| presses(s, &["Down", "Down", "Down", "Tab", "another name", "Enter"])),
            way("a call: Esc", touches, |s| presses(s, &["Escape"])),
            last_way("an edit: yes, and all others", writes, |s| presses(s, &["2"])),
        ],
    );
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_questions_that_are_answered_at_the_terminal() {
    let world = world();
    print_rows(
        &world,
        &[
            way("AskUserQuestion: an option", asks, |s| presses(s, &["1"])),
            way("AskUserQuestion: own words", asks, |s| presses(s, &["Down", "Down", "DuckDB", "Enter"])),
            way("AskUserQuestion: chat about this", asks, |s| presses(s, &["4"])),
            way("AskUserQuestion: Esc", asks, |s| presses(s, &["Escape"])),
        ],
    );
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_plans_that_are_decided_at_the_terminal() {
    let world = world();
    // An approval ends plan mode.
    let approved = |name, ends| Way { is_last: true, ..plan_way(name, ends) };
    print_rows(
        &world,
        &[
            approved("a plan: yes, and ask about edits", |s| presses(s, &["2"])),
            approved("a plan: yes, in auto mode", |s| presses(s, &["1"])),
            approved("a plan: yes, with words", |s| presses(s, &["Down", "Down", "and test it", "BTab"])),
            plan_way("a plan: back to planning, with words", |s| presses(s, &["Down", "Down", "test it first", "Enter"])),
            plan_way("a plan: Esc", |s| presses(s, &["Escape"])),
        ],
    );
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_sessions_and_hooks_that_end() {
    let mut world = world();
    world.keep_watching();
    print_rows(
        &world,
        &[
            last_way("the session gets SIGTERM", touches, |s| told_to_end(s, Signal::TERM)),
            last_way("the session gets SIGHUP", touches, |s| told_to_end(s, Signal::HUP)),
            last_way("the session gets SIGINT", touches, |s| told_to_end(s, Signal::INT)),
            last_way("the terminal is closed", touches, |s| at_dialog(s, || s.terminal.close())),
            last_way("the session is killed (SIGKILL)", touches, |s| at_dialog(s, || processes_of(s).into_iter().for_each(kill))),
            way("the hook gets SIGTERM, as at its timeout", touches, |s| {
                at_dialog(s, || s.world.processes("askbox hook").into_iter().for_each(|pid| signal(pid, Signal::TERM)))
            }),
            way("the hook is killed (SIGKILL), with a watcher", touches, |s| at_dialog(s, || kill_hook(s.world))),
        ],
    );
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_of_subagents_that_end() {
    let world = world();
    let stops = |s: &Attended<'_>| {
        let now = SystemTime::now();
        s.terminal.burst(&["C-x", "C-k", "C-x", "C-k"]);
        now
    };
    print_rows(&world, &[last_way("an agent in the background is stopped", sub_touches, stops)]);
    let mut in_foreground = self::world();
    in_foreground.set_env(&[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")]);
    print_rows(
        &in_foreground,
        &[
            way("a call of an agent in the foreground: yes", sub_touches, |s| presses(s, &["1"])),
            way("a call of an agent in the foreground: Esc", sub_touches, |s| presses(s, &["Escape"])),
        ],
    );
}

/// A hook of somebody else, which allows the call once the file `decide` is there, and notes when.
const OTHER_HOOK: &str = r#"until [ -e "$HOME/decide" ]; do sleep 0.02; done
rm "$HOME/decide"
touch "$HOME/decided"
echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'"#;

#[test]
#[ignore = "prints figures, and takes minutes"]
fn twenty_dialogs_that_another_hook_decides() {
    let world = world();
    world.add_script("other-hook", OTHER_HOOK);
    let decides = |s: &Attended<'_>| {
        s.terminal.see(super::DIALOG);
        std::fs::write(s.world.home().join("decide"), "").expect("a file");
        let decided = s.world.home().join("decided");
        until("the other hook has decided", || !s.world.home().join("decide").exists() && decided.exists());
        let at = decided.metadata().and_then(|about| about.modified()).expect("a time");
        std::fs::remove_file(decided).expect("it was there");
        at
    };
    let args = &["--settings", r#"{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"other-hook"}]}]}}"#];
    print_rows(&world, &[Way { args, ..way("another hook decides", touches, decides) }]);
}

/// The result of a picker that goes on by itself, in the transcript.
fn goes_on_by_itself(session: &Attended<'_>) -> SystemTime {
    let result =
        until("the picker goes on", || session.entries().into_iter().rfind(|entry| entry.to_string().contains("No response after 60s")));
    super::figures::time_of(&result["timestamp"])
}

#[test]
#[ignore = "prints figures, and takes minutes"]
fn pickers_that_go_on_by_themselves_withdraw_their_questions() {
    let world = world();
    let args = &["--settings", r#"{"askUserQuestionTimeout":"60s"}"#];
    // Each takes a minute.
    print_rows_of(&world, &[Way { args, ..way("AskUserQuestion: no answer in `askUserQuestionTimeout`", asks, goes_on_by_itself) }], 3);
}
