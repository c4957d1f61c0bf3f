//! The schema, as numbered files of SQL. `MAJOR.NUMBER_NAME.sql`: within a major version, files only add. A file that was released never
//! changes again: the database keeps its hash.

use std::fmt;

use sha2::{Digest, Sha256};

/// One file of SQL.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The major version. Programs of another major version refuse the database.
    pub major: i32,
    /// The number in the major version, from 1.
    pub number: i32,
    /// What it brings, as in its file's name.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

/// All of them, in their order.
pub const ALL: [Migration; 1] =
    [Migration { major: 1, number: 1, name: "questions_and_offers", sql: include_str!("1.001_questions_and_offers.sql") }];

/// The major version of this program.
pub const MAJOR: i32 = ALL[ALL.len() - 1].major;

impl Migration {
    /// The hash that the database keeps, in hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> String {
        crate::text::hex(&Sha256::digest(self.sql))
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}_{}", self.major, self.number, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_that_was_released_never_changes() {
        let released: [&str; 0] = [];
        for (migration, sha256) in ALL.iter().zip(released) {
            assert_eq!(migration.sha256(), sha256, "{migration} was released and is not to be changed: add another one");
        }
    }

    #[test]
    fn migrations_are_numbered_in_their_order() {
        let numbers: Vec<_> = ALL.iter().map(|m| (m.major, m.number)).collect();
        assert!(numbers.is_sorted() && numbers.windows(2).all(|two| two[0] != two[1]), "{numbers:?}");
    }
}
