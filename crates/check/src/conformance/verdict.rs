//! The result of one check.

use std::fmt::Display;

use askbox_mailbox::Error;

/// Why a check ended before its end.
#[derive(derive_more::From)]
pub enum Stop {
    /// The implementation does something that the protocol forbids, in words.
    Violated(String),
    /// The check does not apply here: the implementation lacks an operation, or the system lacks a tool.
    Skipped(String),
    /// The check itself failed: the disk, or the command that should be checked.
    #[from]
    Failed(Error),
}

/// The result of a check, or of one of its steps.
pub type Verdict<T = ()> = Result<T, Stop>;

impl Stop {
    /// The same with more words, if it is a violation.
    pub fn in_words(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Violated(found) => Self::Violated(words(found)),
            other => other,
        }
    }
}

/// A violation, in words.
pub fn violated<T>(words: impl Display) -> Verdict<T> {
    Err(Stop::Violated(words.to_string()))
}

/// Requires a condition of the implementation. `words` say what is wrong if it does not hold.
pub fn require(holds: bool, words: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { violated(words()) }
}

/// Runs each step of a check that may be skipped alone. The check is skipped if all of its steps are.
pub fn each<T>(items: impl IntoIterator<Item = T>, mut step: impl FnMut(T) -> Verdict) -> Verdict {
    let (mut skipped, mut done) = (None, false);
    for item in items {
        match step(item) {
            Err(Stop::Skipped(why)) => skipped = Some(why),
            other => {
                other?;
                done = true;
            }
        }
    }
    match skipped {
        Some(why) if !done => Err(Stop::Skipped(why)),
        _ => Ok(()),
    }
}

/// Runs one step after a check that may be skipped alone: the other steps count without it.
pub fn if_possible(step: Verdict) -> Verdict {
    match step {
        Err(Stop::Skipped(_)) => Ok(()),
        other => other,
    }
}
