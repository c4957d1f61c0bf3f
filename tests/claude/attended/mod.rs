//! Dialogs of a session that a person attends, with the real `claude` in a terminal and the plugin's hook beside them.
//!
//! | file | content |
//! |---|---|
//! | `answered` | answered in the mailbox: what the session does, and what the model is told |
//! | `crowd` | many dialogs of five sessions, answered in two places at once, also while processes are killed |
//! | `elsewhere` | the person of `crowd` who is not at the terminal |
//! | `ended` | ended at the keyboard, in each way |
//! | `fenced` | behind the fence |
//! | `figures` | how fast the session goes on, and what a question costs |
//! | `forms` | the form of an MCP server, while nobody is at the terminal |
//! | `hour` | a plan, a question and an edit, answered on a phone, one after the other |
//! | `killed` | a hook or a session that is killed |
//! | `left_alone` | runs of askbox, `claude -p`, and a mailbox without `[live]` |
//! | `prompted` | sent its next prompt from the page |
//! | `read_along` | read along on the page |
//! | `ways` | how fast the mailbox is told of each way of ending |
//! | `woken` | an idle session that is woken by an answer |

mod answered;
mod crowd;
mod elsewhere;
mod ended;
mod fenced;
mod figures;
mod forms;
mod hour;
mod killed;
mod left_alone;
mod prompted;
mod read_along;
mod ways;
mod woken;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::claude::uuid;
use crate::support::{ClaudeWorld, Terminal, until};

/// The end of each dialog on the screen, but of a plan's.
const DIALOG: &str = "Esc to cancel";
/// The words of a plan's dialog on the screen.
const PLAN_DIALOG: &str = "Would you like to proceed?";

/// The name of the terminal whose session stands behind the fence.
const FENCED: &str = "fenced";

/// True if a dialog is open on this screen.
fn shows_dialog(screen: &str) -> bool {
    screen.contains(DIALOG) || screen.contains(PLAN_DIALOG)
}

/// A world with `[live]`, and nothing else that could answer.
fn world() -> ClaudeWorld {
    let world = ClaudeWorld::used_before();
    world.make_mailbox();
    world.configure("[live]\nenabled = true\ngrace = \"200ms\"\nhold = \"20s\"\n");
    world
}

/// The folder of the plugin.
fn plugin() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin").display().to_string()
}

/// A session at a terminal.
struct Attended<'a> {
    world: &'a ClaudeWorld,
    terminal: Terminal<'a>,
    session: String,
}

impl<'a> Attended<'a> {
    fn begin(world: &'a ClaudeWorld) -> Self {
        Self::begin_in(world, "default")
    }

    fn begin_in(world: &'a ClaudeWorld, mode: &str) -> Self {
        Self::begin_with(world, mode, &[])
    }

    fn begin_with(world: &'a ClaudeWorld, mode: &str, args: &[&str]) -> Self {
        Self::begin_beside("tmux", world, mode, args)
    }

    /// The same beside other sessions of the world, at a terminal of this name.
    fn begin_beside(name: &str, world: &'a ClaudeWorld, mode: &str, args: &[&str]) -> Self {
        let session = Self::starting(name, world, mode, args);
        session.terminal.see("❯");
        session
    }

    /// The same, where the session may be killed while it starts.
    fn try_begin_beside(name: &str, world: &'a ClaudeWorld) -> Option<Self> {
        let session = Self::starting(name, world, "default", &[]);
        until("the session has started, or is dead", || match session.terminal.try_screen() {
            None => Some(false),
            Some(screen) => screen.contains("❯").then_some(true),
        })
        .then_some(session)
    }

    /// A session in plan mode that shows this plan, and then takes these steps.
    fn begin_with_plan(world: &'a ClaudeWorld, plan: &str, then: &[Value]) -> Self {
        let session = Self::begin_planning(world);
        session.goes(&session.plan_steps(plan, then));
        session
    }

    /// A session in plan mode whose first turn is over. Claude Code tells the model there where the plan's file belongs, and reads the
    /// plan from there.
    fn begin_planning(world: &'a ClaudeWorld) -> Self {
        world.api.on("Say hello.", json!([{"text": "hello there"}]));
        let session = Self::begin_in(world, "plan");
        session.terminal.press(&["Say hello.", "Enter"]);
        session.terminal.see("hello there");
        session
    }

    /// The steps that show this plan, and then these. The model was told before where the plan's file belongs.
    fn plan_steps(&self, plan: &str, then: &[Value]) -> Vec<Value> {
        let told = self.world.api.turns().pop().expect("a turn").body.to_string();
        let at = told.find("/plans/").expect("the plan's file is named");
        let is_end = |c: char| c.is_whitespace() || "\"\\`'()".contains(c);
        let begin = told[..at].rfind(is_end).expect("its begin") + 1;
        let end = at + told[at..].find(is_end).expect("its end");
        let file = told[begin..end].trim_end_matches('.');
        let write = json!({"tool": "Write", "input": {"file_path": file, "content": plan}});
        [&[write, json!({"tool": "ExitPlanMode", "input": {}})], then].concat()
    }

    fn starting(name: &str, world: &'a ClaudeWorld, mode: &str, args: &[&str]) -> Self {
        let (program, session) = (world.claude_program().display().to_string(), uuid());
        let plugin = plugin();
        let before: &[&str] = if name == FENCED { &[crate::support::program("askbox"), "fence"] } else { &[] };
        let command: [&str; 7] = [&program, "--plugin-dir", &plugin, "--permission-mode", mode, "--session-id", &session];
        let terminal = Terminal::beside(name, world, (120, 50), &["TERM=screen"], &[before, &command, args].concat());
        Self { world, terminal, session }
    }

    /// Lets the model go through these steps, and then say that it has come to the end.
    fn goes(&self, steps: &[Value]) {
        self.answers_with("Begin now.", steps);
        self.terminal.press(&["Begin now.", "Enter"]);
    }

    /// The same with a prompt of its own, where the session may be killed at any moment.
    fn goes_from(&self, prompt: &str, steps: &[Value]) {
        self.answers_with(prompt, steps);
        self.terminal.try_burst(&[prompt]);
        until("the prompt is typed", || self.terminal.try_screen().is_none_or(|screen| screen.contains(prompt)));
        self.terminal.try_burst(&["Enter"]);
    }

    fn answers_with(&self, prompt: &str, steps: &[Value]) {
        let all: Vec<Value> = steps.iter().cloned().chain([json!({"text": "at the end"})]).collect();
        self.world.api.on(prompt, json!(all));
    }

    /// Waits until the session says that it waits for its user's next prompt.
    fn idles(&self) {
        until("the session is idle", || self.world.ok("askbox", &["sessions", "--json"]).contains("\"status\":\"idle\""));
    }

    /// Waits until the dialog is open and its question lies in the mailbox. Returns the id of the question.
    #[track_caller]
    fn asks(&self) -> String {
        self.terminal.see(DIALOG);
        only_question(self.world)
    }

    /// Presses these keys until the dialog is gone, and returns when they were pressed last. Claude Code ignores keys for a moment after a
    /// dialog has opened.
    fn ends_dialog(&self, keys: &[&str]) -> Instant {
        self.presses_while_open(keys, true).expect("keys were pressed")
    }

    /// The same for a dialog that may be gone before a key is pressed.
    fn ends_dialog_if_open(&self, keys: &[&str]) {
        self.presses_while_open(keys, false);
    }

    fn presses_while_open(&self, keys: &[&str], is_surely_open: bool) -> Option<Instant> {
        let mut pressed: Option<Instant> = None;
        // One screen may lack the dialog's last line, because the session draws it at this moment.
        let mut gone = 0;
        until("the dialog is gone", || {
            let is_open = shows_dialog(&self.terminal.screen());
            if is_open && pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(2)) {
                pressed = Some(Instant::now());
                self.terminal.burst(keys);
            }
            gone = if is_open { 0 } else { gone + 1 };
            gone >= 2 && (pressed.is_some() || !is_surely_open)
        });
        pressed
    }

    /// The same where the next dialog may open at once: the end is that the model is told the call's result. A key that is pressed again
    /// never meets the next dialog.
    fn ends_dialog_of_turn(&self, key: &str) {
        let turns = self.world.api.turns().len();
        let mut pressed: Option<Instant> = None;
        until("the dialog's turn is over", || {
            let is_open = self.terminal.screen().contains(DIALOG);
            let is_over = self.world.api.turns().len() > turns;
            if is_open && !is_over && pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(2)) {
                pressed = Some(Instant::now());
                self.terminal.burst(&[key]);
            }
            is_over
        });
    }

    /// What the model was told as the result of its latest call, once it has come to the end.
    #[track_caller]
    fn told(&self) -> String {
        self.terminal.see("at the end");
        self.world.api.turns().pop().expect("a turn").tool_results().pop().expect("a result")
    }

    /// The entries of the transcript.
    fn entries(&self) -> Vec<Value> {
        let transcript = self.world.transcript_of(&self.session).expect("the transcript");
        let lines = std::fs::read_to_string(transcript).expect("it can be read");
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The attachments of hooks' decisions in the transcript.
    fn receipts(&self) -> Vec<Value> {
        self.entries().into_iter().map(|entry| entry["attachment"].clone()).filter(|a| a["type"] == "hook_permission_decision").collect()
    }
}

/// Waits until one question waits in the mailbox, and returns its id.
#[track_caller]
fn only_question(world: &ClaudeWorld) -> String {
    let name = until("a question waits", || world.names("pending").first().cloned());
    name.trim_end_matches(".json").to_owned()
}

/// Waits until the only round of the workflow is closed, and returns it.
#[track_caller]
fn closed(world: &ClaudeWorld, id: &str, state: &str) -> Value {
    let end = until("the round is closed", || world.rounds("closed", id).pop());
    assert_eq!(end["closed"]["state"], state, "{end}");
    end
}

fn touch(file: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": format!("touch {file}"), "description": "Make a file"}})
}

fn made(world: &ClaudeWorld, file: &str) -> bool {
    world.work().join(file).exists()
}

fn which_database() -> Value {
    let options = [json!({"label": "SQLite", "description": "one file"}), json!({"label": "Postgres", "description": "a server"})];
    json!({"tool": "AskUserQuestion", "input": {"questions": [
        {"question": "Which database?", "header": "DB", "multiSelect": false, "options": options}
    ]}})
}
