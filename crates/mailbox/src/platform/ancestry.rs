//! Finds out whether this process belongs to a run, to an agent or to a person, from its environment and its ancestors. This is not
//! a security boundary: a process that wants to hide its origin can do so.

/// Environment variables that askbox sets for every process of a run.
const MARKS_OF_A_RUN: [&str; 2] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES"];

/// An environment variable that Claude Code sets for every process that it starts.
const MARK_OF_AN_AGENT: &str = "CLAUDECODE";

/// The name of Claude Code's program. A person may have started it, so its own environment may have no mark.
const AGENT: &str = "claude";

/// The name of the program that supervises runs. A supervisor that a person started in the foreground has no mark.
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
    /// The origin is unknown: the parent has ended or cannot be seen, and the process has no terminal.
    Unknown,
}

impl Below {
    /// Every value, for tables.
    pub const ALL: [Self; 4] = [Self::NoAgent, Self::Agent, Self::Run, Self::Unknown];

    /// Returns the origin of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let is_marked = |mark: &str| std::env::var_os(mark).is_some_and(|value| !value.is_empty());
        let above = above();
        match () {
            () if MARKS_OF_A_RUN.into_iter().any(is_marked) || above.has_run => Self::Run,
            () if is_marked(MARK_OF_AN_AGENT) || above.has_agent => Self::Agent,
            () if above.ends_early => Self::Unknown,
            () => Self::NoAgent,
        }
    }
}

/// The findings about the ancestors of this process.
#[derive(Default)]
struct Above {
    has_run: bool,
    has_agent: bool,
    /// True if an ancestor has ended or cannot be seen from here, and no terminal shows where this process comes from.
    ends_early: bool,
}

fn above() -> Above {
    use crate::platform::ancestors::Ancestor;
    let mut above = Above::default();
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let (mut next, mut topmost) = (parent, None);
    for _ in 0..DEPTH {
        let Some(ancestor) = Some(next).filter(|pid| *pid > 0).and_then(Ancestor::at) else { break };
        above.has_run |= ancestor.is_called(SUPERVISOR) || ancestor.has_any(&MARKS_OF_A_RUN);
        above.has_agent |= ancestor.is_called(AGENT) || ancestor.has_any(&[MARK_OF_AN_AGENT]);
        let pid = std::mem::replace(&mut next, ancestor.parent);
        if pid != 1 {
            topmost = Some(ancestor);
        }
    }
    // The first process of the system adopts every process whose parent has ended. So an orphan of an ordinary user, and everything
    // below it, may come from anywhere. An orphan of root is a service of the system.
    let is_below_an_orphan = || topmost.is_some_and(|topmost| topmost.parent <= 1 && topmost.is_an_ordinary_users());
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    above.ends_early = parent == 0 || (parent == 1 || is_below_an_orphan()) && !has_terminal();
    above
}
