//! Which version of `claude` the tests run on, and what single tests rely on that older versions lack. `docs/versions.md` has the table.

use std::process::Command;
use std::sync::LazyLock;

use askbox_agent::claude::Version;

/// A feature that a test relies on, and older versions lack.
#[derive(Debug, Clone, Copy)]
pub enum Capability {
    DropsRepetitionAfterTool,
    TranscriptBeforeOutput,
    CostOfTheTurn,
    DeferBesideRefusal,
    SameRequestAfterRefusal,
    TextNotTyped,
    StartupFailureResults,
    BlocksOnHookFailure,
}

impl Capability {
    /// The oldest version that was seen to have it, and what is lacking in words.
    fn known(self) -> (&'static str, &'static str) {
        match self {
            Self::DropsRepetitionAfterTool => {
                ("2.1.300", "a message whose turn was killed after a tool call is shown a second time when it is sent again")
            }
            Self::TranscriptBeforeOutput => ("2.1.300", "a session that was ended before any output has no transcript"),
            Self::CostOfTheTurn => ("2.1.330", "a result does not say what its own turn cost"),
            Self::SameRequestAfterRefusal => {
                ("2.1.300", "the request of the next attempt after an API error is another one, which the scripted API refuses anew")
            }
            Self::TextNotTyped => ("2.1.300", "a message is always taken for typed: it opens files and runs commands"),
            Self::StartupFailureResults => ("2.1.330", "an agent that refuses to start says so on standard error only"),
            Self::BlocksOnHookFailure => ("2.1.295", "a call goes on to the rules of `claude` if its hook dies or takes too long"),
            Self::DeferBesideRefusal => ("2.1.300", "the answer to a deferred call is lost if another call of its message was refused"),
        }
    }
}

static VERSION: LazyLock<Version> = LazyLock::new(|| {
    let output = Command::new(super::claude()).arg("--version").env_clear().output().expect("claude --version");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Version::parse(&said).unwrap_or_else(|| panic!("claude says `{said}`"))
});

/// Whether this version of `claude` has what the test relies on. If not, says what it lacks.
pub fn has(capability: Capability) -> bool {
    let (since, lack) = capability.known();
    let has = *VERSION >= Version::parse(since).expect("a version");
    if !has {
        eprintln!("not tested: with claude {}, {lack} ({capability:?})", *VERSION);
    }
    has
}

/// Ends the test at once if this version of `claude` lacks the feature that the test relies on, and says so.
#[macro_export]
macro_rules! needs_claude {
    ($capability:ident) => {
        if !$crate::claude::version::has($crate::claude::version::Capability::$capability) {
            return;
        }
    };
}
pub use crate::needs_claude;
