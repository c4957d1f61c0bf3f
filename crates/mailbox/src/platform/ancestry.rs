//! Finds out whether this process belongs to a run, to an agent or to a person, from its environment and its ancestors. This is not
//! a security boundary: a process that wants to hide its origin can do so.

use crate::platform::ancestors::{self, Ancestor};
use crate::platform::handle::ProcessHandle;

/// Environment variables that askbox sets for every process of a run.
const MARKS_OF_A_RUN: [&str; 2] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES"];

/// Environment variables that agent programs set for every process that they start: Claude Code and `ask-agent`, Copilot, Gemini, opencode, pi, and
/// Qwen.
const MARKS_OF_AN_AGENT: [&str; 6] = ["CLAUDECODE", "COPILOT_CLI", "GEMINI_CLI", "OPENCODE", "PI_CODING_AGENT", "QWEN_CODE"];

/// The names of agent programs. A person may have started one, so its own environment may have no mark. Kimi calls its process
/// `kimi-code`. The processes of Copilot, Gemini, pi and Qwen have names of Node.js, so only their mark tells.
const AGENTS: [&str; 5] = ["claude", "ask-agent", "codex", "kimi-code", "opencode"];

/// The name of the process that supervises runs. A supervisor that a person started in the foreground has no other mark.
const SUPERVISOR: &str = "relaunch";

/// How many ancestors are looked at.
const DEPTH: usize = 64;

/// The origin of a process: what it runs below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// No agent is above the process: a person started it.
    NoAgent,
    /// The process runs below an agent program that a person uses.
    Agent,
    /// The process belongs to a run of askbox.
    Run,
    /// The origin is unknown: no terminal shows that a person started the process.
    Unknown,
}

impl Below {
    /// Every value, for tables.
    pub const ALL: [Self; 4] = [Self::NoAgent, Self::Agent, Self::Run, Self::Unknown];

    /// Returns the origin of this process.
    pub fn of_this_process() -> Self {
        let above = above();
        match () {
            () if MARKS_OF_A_RUN.into_iter().any(is_marked) || above.has_run => Self::Run,
            () if MARKS_OF_AN_AGENT.into_iter().any(is_marked) || above.has_agent => Self::Agent,
            () if above.ends_early => Self::Unknown,
            () => Self::NoAgent,
        }
    }
}

/// Gives this process the name by which everything below it is known as a run's. A person may have started a supervisor in the
/// foreground, by a link with another name.
pub fn mark_supervisor() {
    crate::platform::ancestors::take_name(SUPERVISOR);
}

/// The findings about the ancestors of this process.
#[derive(Default)]
struct Above {
    has_run: bool,
    has_agent: bool,
    /// True if no terminal shows where this process comes from.
    ends_early: bool,
}

/// The agent whose command this process is.
#[derive(Debug)]
pub enum NearestAgent {
    /// The process is a person's, or the system does not show its agent.
    Unknown,
    /// The agent, which was alive when this was made.
    Is(ProcessHandle),
    /// The agent has ended.
    HasEnded,
}

impl NearestAgent {
    /// Finds the agent of this process: the nearest process above it that is called like one, is the child of a supervisor, is the one
    /// that Claude Code names in `CLAUDE_PID`, or set the mark that this process has.
    pub fn of_this_process() -> Self {
        let named: Option<i32> = std::env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
        let marks: Vec<&str> = MARKS_OF_AN_AGENT.into_iter().filter(|mark| named.is_none() && is_marked(mark)).collect();
        let mut below = None;
        for (pid, ancestor) in line_above().take_while(|(pid, _)| *pid > 1) {
            let found = match () {
                () if ancestor.is_called(SUPERVISOR) => below,
                () if AGENTS.iter().any(|agent| ancestor.is_called(agent)) || named == Some(pid) => Some(pid),
                () if !marks.is_empty() && !ancestor.has_any(&marks) => Some(pid),
                () => None,
            };
            if let Some(agent) = found {
                return Self::open(agent).unwrap_or(Self::HasEnded);
            }
            below = Some(pid);
        }
        match named {
            // The process has another parent by now, or its agent has just ended.
            Some(agent) if ancestors::namespace_is_known() => Self::open(agent).unwrap_or(Self::HasEnded),
            _ => Self::Unknown,
        }
    }

    fn open(pid: i32) -> Option<Self> {
        ProcessHandle::open(u32::try_from(pid).ok()?).map(Self::Is)
    }

    /// True if it has ended. A zombie counts as ended.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Is(process) => process.is_gone(),
            Self::HasEnded => true,
        }
    }
}

fn is_marked(mark: &str) -> bool {
    std::env::var_os(mark).is_some_and(|value| !value.is_empty())
}

fn pid_of(pid: Option<rustix::process::Pid>) -> i32 {
    pid.map_or(0, |pid| pid.as_raw_nonzero().get())
}

/// The processes above this one with their pids, the nearest first. A long line is not followed to its end.
fn line_above() -> impl Iterator<Item = (i32, Ancestor)> {
    let at = |pid: i32| Some(pid).filter(|pid| *pid > 0).and_then(Ancestor::at).map(|ancestor| (pid, ancestor));
    std::iter::successors(at(pid_of(rustix::process::getppid())), move |(_, below)| at(below.parent)).take(DEPTH)
}

fn above() -> Above {
    let mut above = Above::default();
    let leader = ancestors::session_leader();
    let parent = pid_of(rustix::process::getppid());
    let mut leads = leader == pid_of(Some(rustix::process::getpid()));
    for (pid, ancestor) in line_above() {
        above.has_run |= ancestor.is_called(SUPERVISOR) || ancestor.has_any(&MARKS_OF_A_RUN);
        above.has_agent |= AGENTS.iter().any(|agent| ancestor.is_called(agent)) || ancestor.has_any(&MARKS_OF_AN_AGENT);
        leads |= pid == leader;
    }
    let line = Line { parent, terminal: std::fs::File::open("/dev/tty").ok().map(|_| leads) };
    above.ends_early = line.ends_early() || !ancestors::namespace_is_known();
    above
}

/// The line from this process up to its terminal.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// The pid of the parent. It is 0 if the parent is out of sight.
    parent: i32,
    /// `None` without a terminal. Otherwise true if the process that leads the terminal's session is in the line, as a person's
    /// shell is. An orphan keeps the terminal, but not the line to that shell.
    terminal: Option<bool>,
}

impl Line {
    /// True if no terminal shows that a person started this. A process without a terminal may have been started by anything: a process that an
    /// agent left behind looks like a service.
    fn ends_early(self) -> bool {
        self.parent == 0 || self.terminal != Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_a_terminal_led_from_within_the_line() {
        // The servers of tmux and of VS Code are orphans, and so are many windows. Each leads a person's shell with a terminal.
        let ssh_tmux_or_screen = Line { parent: 50, terminal: Some(true) };
        assert!(!ssh_tmux_or_screen.ends_early());
        let in_a_namespace = Line { parent: 0, ..ssh_tmux_or_screen };
        let orphan_that_keeps_its_terminal = Line { parent: 1, terminal: Some(false) };
        let below_such_an_orphan = Line { terminal: Some(false), ..ssh_tmux_or_screen };
        let orphan = Line { parent: 1, terminal: None };
        let cron_or_a_service = Line { terminal: None, ..ssh_tmux_or_screen };
        let unknown = [in_a_namespace, orphan_that_keeps_its_terminal, below_such_an_orphan, orphan, cron_or_a_service];
        assert!(!unknown.map(Line::ends_early).contains(&false));
    }
}
