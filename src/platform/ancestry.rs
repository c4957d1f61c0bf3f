//! Whether this process was started by an agent, as far as its own environment and its ancestors tell. It is no wall: a process that
//! wants to hide its origin can.

/// Variables that an agent program, or askbox for the agent of a run, gives to what it starts.
const MARKS: [&str; 3] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES", "CLAUDECODE"];

/// The agent program's own name. Its process was started by a person, so its environment may have no mark.
#[cfg(feature = "relaunch")]
const PROGRAM: &str = "claude";

/// How many ancestors are looked at.
#[cfg(feature = "relaunch")]
const DEPTH: usize = 64;

/// Whether this process has an agent's environment, or is below a process that has one or is an agent.
pub(crate) fn is_below_an_agent() -> bool {
    MARKS.iter().any(|mark| std::env::var_os(mark).is_some_and(|value| !value.is_empty())) || has_such_an_ancestor()
}

#[cfg(feature = "relaunch")]
fn has_such_an_ancestor() -> bool {
    use crate::platform::processes::Seen;
    let parent = |child: &Seen| Some(child.parent).filter(|pid| *pid > 0).and_then(Seen::at);
    let own = i32::try_from(std::process::id()).ok().and_then(Seen::at);
    let ancestors = std::iter::successors(own.as_ref().and_then(parent), parent).take(DEPTH);
    let is_agents = |process: &Seen| {
        let is_marked = || process.environment().is_some_and(|all| MARKS.iter().any(|mark| all.get(mark).is_some_and(|v| !v.is_empty())));
        process.is_called(PROGRAM) || is_marked()
    };
    ancestors.into_iter().any(|ancestor| is_agents(&ancestor))
}

/// Without the crates that read processes, only the own environment counts.
#[cfg(not(feature = "relaunch"))]
fn has_such_an_ancestor() -> bool {
    false
}
