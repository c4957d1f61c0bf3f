//! Estimates the space that the closed rounds in the mailbox take.

use crate::gc::round_files::RoundFiles;
use askbox_mailbox::Mailbox;
use askbox_mailbox::listing::closings::Closed;

/// The inodes of a round besides its files: its folder, its lock, and the folder of an attempt.
const BESIDES: u64 = 3;

/// The space that the closed rounds in the mailbox take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The number of rounds.
    pub rounds: u64,
    /// About how many bytes their files take.
    pub bytes: u64,
    /// About how many files and folders they have.
    pub files: u64,
}

/// Estimates the space that the closed rounds take. The others are taken to be like the newest ones.
pub fn cost(mailbox: &Mailbox, closed: &Closed) -> Cost {
    let (mut seen, mut bytes, mut files) = (0, 0, 0);
    for found in closed.newest.iter().filter_map(|round| RoundFiles::of(mailbox, round, false).ok()) {
        seen += 1;
        bytes += found.space();
        files += found.files.len() as u64 + BESIDES;
    }
    let rounds = closed.count as u64;
    let of_all = |sum: u64| u64::try_from(u128::from(sum) * u128::from(rounds) / u128::from(u64::max(seen, 1))).unwrap_or(u64::MAX);
    Cost { rounds, bytes: of_all(bytes), files: of_all(files) }
}
