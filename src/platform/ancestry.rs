//! What is above this process, as far as its own environment and its ancestors tell. It is no wall: a process that wants to hide its origin can.

/// Variables that askbox gives to what belongs to a run.
const MARKS_OF_A_RUN: [&str; 2] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES"];

/// A variable that the agent program gives to what it starts.
const MARK_OF_AN_AGENT: &str = "CLAUDECODE";

/// The agent program's own name. A person started that process, so its environment may have no mark.
#[cfg(feature = "relaunch")]
const AGENT: &str = "claude";

/// The program that supervises runs. One that a person started in the foreground has no mark.
#[cfg(feature = "relaunch")]
const SUPERVISOR: &str = "relaunch";

/// How many ancestors are looked at.
#[cfg(feature = "relaunch")]
const DEPTH: usize = 64;

/// What is above a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// No agent: a person's own process.
    NoAgent,
    /// An agent program that a person uses.
    Agent,
    /// A run of askbox.
    Run,
    /// Nobody knows: its parent has ended, or is out of sight, and it has no terminal.
    Unknown,
}

impl Below {
    /// Every value, for tables.
    pub const ALL: [Self; 4] = [Self::NoAgent, Self::Agent, Self::Run, Self::Unknown];

    /// What is above this process.
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

/// What the ancestors tell.
#[derive(Default)]
struct Above {
    has_run: bool,
    has_agent: bool,
    /// A process that once stood above has ended, or cannot be seen from here, and no terminal tells where this one comes from.
    ends_early: bool,
}

#[cfg(feature = "relaunch")]
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
    // The first process of the system adopts whatever has lost its parent: an orphan of a user, and everything below it, may come from anywhere.
    // The system's own services are root's.
    let is_below_an_orphan = || topmost.is_some_and(|topmost| topmost.parent <= 1 && topmost.is_an_ordinary_users());
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    above.ends_early = parent == 0 || (parent == 1 || is_below_an_orphan()) && !has_terminal();
    above
}

/// Without the crates that read processes, only the own environment counts.
#[cfg(not(feature = "relaunch"))]
fn above() -> Above {
    Above::default()
}
