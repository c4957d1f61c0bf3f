//! The versions of `claude` that askbox was tested with, and the lacks of older ones. `docs/versions.md` describes them for people.

/// A version of `claude`, such as 2.1.330.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{}.{}.{}", _0[0], _0[1], _0[2])]
pub struct Version([u32; 3]);

/// The versions that all tests with the real `claude` ran on, the newest first.
pub const TESTED: [Version; 3] = [Version([2, 1, 332]), Version([2, 1, 300]), Version([2, 1, 260])];

/// The lacks of older versions, and the oldest version that is known to be without each.
const LACKS: [(Version, &str); 5] = [
    (Version([2, 1, 295]), "a call whose hook was killed or took too long is not refused: it goes on to the rules of claude"),
    (
        Version([2, 1, 300]),
        "` @/a/path` in an answer or a task puts that file before the model, and a `/command` at the beginning of a task is run",
    ),
    (
        Version([2, 1, 300]),
        "where the agent asks with AskUserQuestion twice in one message, the answer does not reach it: let it put its questions into one call, or ask with ask-post",
    ),
    (Version([2, 1, 300]), "a run that was killed after its first tool call, and is tried again, may show its agent the answer twice"),
    (Version([2, 1, 330]), "what a session costs that is forked or tried again is not known, so limits.day_cost counts too little"),
];

impl Version {
    /// Reads `2.1.330`, or a line that begins with it, as `claude --version` prints it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().next()?.split('.').map(|n| n.parse().ok());
        let version = Self([numbers.next()??, numbers.next()??, numbers.next()??]);
        numbers.next().is_none().then_some(version)
    }

    /// True if all tests ran on this version.
    pub fn is_tested(self) -> bool {
        TESTED.contains(&self)
    }

    /// The lacks of this version, in sentences.
    pub fn lacks(self) -> impl Iterator<Item = &'static str> {
        LACKS.iter().filter(move |(since, _)| self < *since).map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers_at_the_beginning() {
        assert_eq!(Version::parse("2.1.330 (Claude Code)\n").unwrap().to_string(), "2.1.330");
        for other in ["", "2.1", "v2.1.330", "2.1.330.4", "2.1.x", "claude 2.1.330", "2.1.99999999999"] {
            assert_eq!(Version::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_tested_version_lacks_nothing() {
        assert_eq!(TESTED[0].lacks().count(), 0);
        assert!(TESTED.is_sorted_by_key(|version| version.lacks().count()));
        assert!(Version([2, 1, 100]).lacks().count() >= TESTED[2].lacks().count() && !Version([2, 1, 299]).is_tested());
    }
}
