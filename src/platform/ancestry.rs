//! Whether this process was started by an agent, as far as its own environment and its ancestors tell. It is no wall: a process that
//! wants to hide its origin can.

/// Variables that an agent program, or askbox for the agent of a run, gives to what it starts.
const MARKS: [&str; 3] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES", "CLAUDECODE"];

/// Those of them that only a run of askbox has.
const MARKS_OF_A_RUN: [&str; 2] = ["ASKBOX_RUN", "ASKBOX_SUPERVISES"];

/// The agent program's own name. Its process was started by a person, so its environment may have no mark.
#[cfg(feature = "relaunch")]
const PROGRAM: &str = "claude";

/// How many ancestors are looked at.
#[cfg(feature = "relaunch")]
const DEPTH: usize = 64;

/// Whether this process has an agent's environment, or is below a process that has one or is an agent.
pub(crate) fn is_below_an_agent() -> bool {
    is_marked(&MARKS) || has_ancestor(&MARKS, true)
}

/// Whether this process belongs to a run of askbox, also if it took the marks out of its own environment.
pub(crate) fn is_below_a_run() -> bool {
    is_marked(&MARKS_OF_A_RUN) || has_ancestor(&MARKS_OF_A_RUN, false)
}

fn is_marked(marks: &[&str]) -> bool {
    marks.iter().any(|mark| std::env::var_os(mark).is_some_and(|value| !value.is_empty()))
}

/// Whether a process above this one has one of these marks or, if that counts, is an agent by its name.
#[cfg(feature = "relaunch")]
fn has_ancestor(marks: &[&str], or_agent: bool) -> bool {
    use crate::platform::ancestors::Ancestor;
    let above = |pid: i32| Some(pid).filter(|pid| *pid > 0).and_then(Ancestor::at);
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let mut ancestors = std::iter::successors(above(parent), |child| above(child.parent)).take(DEPTH);
    ancestors.any(|ancestor| (or_agent && ancestor.is_called(PROGRAM)) || ancestor.has_any(marks))
}

/// Without the crates that read processes, only the own environment counts.
#[cfg(not(feature = "relaunch"))]
fn has_ancestor(_: &[&str], _: bool) -> bool {
    false
}
