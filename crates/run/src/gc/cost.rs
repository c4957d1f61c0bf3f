//! Estimates the space that the closed rounds in the mailbox take.

use crate::gc::round_files::RoundFiles;
use askbox_mailbox::error::Result;
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox};

/// The most rounds whose files are looked at. The others are taken to be like these.
const LOOKED_AT: u64 = 200;
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

/// Counts the closed rounds, and estimates the space that they take.
///
/// # Errors
/// If `closed/` cannot be read.
pub fn cost(mailbox: &Mailbox) -> Result<Cost> {
    let (mut rounds, mut seen, mut bytes, mut files) = (0, 0, 0, 0);
    for round in list::each_round(mailbox, Folder::Closed)? {
        rounds += 1;
        if seen < LOOKED_AT
            && let Ok(found) = RoundFiles::of(mailbox, &round?, false)
        {
            seen += 1;
            bytes += found.space();
            files += found.files.len() as u64 + BESIDES;
        }
    }
    let of_all =
        |sum: u64| if seen == 0 { 0 } else { (u128::from(sum) * u128::from(rounds) / u128::from(seen)).try_into().unwrap_or(u64::MAX) };
    Ok(Cost { rounds, bytes: of_all(bytes), files: of_all(files) })
}
