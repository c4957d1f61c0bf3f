//! Whether an agent has heard the answer that its waiting command printed. The command ends before the agent reads its output, and the agent
//! may be killed in between. So the round stays claimed until the session's transcript has the command's result.
//!
//! The file `hearer` beside the record says that the answer was printed, and to which process: `PID BEGAN`, in the kernel's ticks. It is
//! not synced: after a power cut the agent is dead, too.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::attempt::record::Run;
use askbox_agent::{claude, subagents, transcript};
use askbox_mailbox::disk;
use askbox_mailbox::error::Result;
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::platform::processes::Seen;
use askbox_mailbox::who::presence;
use askbox_mailbox::{Mailbox, Question, time};

/// The longest file, in bytes.
const LONGEST: u64 = 64;
/// How long the result may take to be written, while the agent lives or cannot be seen from here.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an agent that cannot be seen may live elsewhere, for example in a container.
const UNSEEN: Duration = Duration::from_secs(5);

/// What is known of an answer that was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The session's transcript has the result of the command, or the agent has gone on without one.
    Yes,
    /// The agent lives, and its transcript has no result yet.
    NotYet,
    /// The agent has ended, and its session knows nothing of the answer.
    No,
}

/// Notes that the answer was printed to an agent, if it can be found out later whether the agent has heard it, and somebody is there to
/// look. Returns false if not: then the answer counts as delivered now.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Io`] if the system refuses.
pub fn note_printed(mailbox: &Mailbox, question: &Question, run: &Run, agent: i32) -> Result<bool> {
    let Some(began) = Seen::at(agent).and_then(|agent| agent.began()) else { return Ok(false) };
    if transcript_of(question).is_none() || !presence::anybody(mailbox)? {
        return Ok(false);
    }
    disk::replace_unsynced(&path(mailbox, run), format!("{agent} {began}\n").as_bytes(), SystemTime::now()).map(|()| true)
}

/// Looks whether the agent has heard the answer of this claim. `None` if it was not printed to an agent that can be watched.
#[must_use]
pub fn look(mailbox: &Mailbox, question: &Question, run: &Run) -> Option<Heard> {
    let noted = disk::read(&path(mailbox, run), LONGEST).ok()?;
    let lives = lives(&noted);
    // In this order: an agent that has ended writes no more.
    let has_result = transcript_of(question).is_some_and(|session| has_result(&session, run));
    let is_young = |limit| time::is_near(run.progress.claimed_at, limit);
    Some(match () {
        () if has_result || (lives && !is_young(PATIENCE)) => Heard::Yes,
        () if lives || is_young(UNSEEN) => Heard::NotYet,
        () => Heard::No,
    })
}

/// True if the answer was printed to an agent that lives, so that a later question of that agent shows that it went on.
#[must_use]
pub fn goes_on(mailbox: &Mailbox, run: &Run) -> bool {
    disk::read(&path(mailbox, run), LONGEST).is_ok_and(|noted| lives(&noted))
}

fn path(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("hearer")
}

fn lives(noted: &[u8]) -> bool {
    let noted = std::str::from_utf8(noted).ok().and_then(|noted| noted.trim().split_once(' '));
    let Some((Ok(pid), Ok(began))) = noted.map(|(pid, began)| (pid.parse::<u32>(), began.parse::<u64>())) else { return false };
    // A zombie has ended.
    let process = ProcessHandle::open(pid).filter(|process| !process.is_gone());
    process.and_then(|process| Seen::at(process.pid())?.began()) == Some(began)
}

/// The transcript of the session that asked, if Claude Code writes one.
fn transcript_of(question: &Question) -> Option<PathBuf> {
    let folder = question.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)))?;
    transcript::find(&folder, &question.session_id?.to_string())
}

/// True if the session, or one of its subagents, has got the result of a call since the claim.
fn has_result(session: &Path, run: &Run) -> bool {
    let of_subagents = subagents::transcripts(session);
    let has =
        |path: &PathBuf| disk::open_of_another_program(path).is_ok_and(|file| transcript::has_result_since(file, run.progress.claimed_at));
    std::iter::once(session.to_path_buf()).chain(of_subagents).any(|path| has(&path))
}
