//! Whether an agent has heard the answer that was given to it. A waiting command ends before its agent reads the output, and a client of
//! `askbox mcp` has a task's result before its model is shown it. The agent may be killed in between. So the round stays claimed until the
//! session's transcript shows the answer.
//!
//! The file `hearer` beside the record says that the answer was given: `PID BEGAN SIGN TRANSCRIPT`. It names the process, when the process began
//! in the kernel's ticks, how the transcript shows the answer, and the path of the transcript. It is not synced: after a power cut the agent is
//! dead, too.
//!
//! A session that ends with the answer may take `askbox mcp` with it before the file is there. So the file `giving`, of the same form, comes before
//! the reply. Alone it says nothing: only a good result of the call tells then that the answer was given.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::attempt::acp_session;
use crate::attempt::record::Run;
use askbox_agent::transcript::{self, Notice};
use askbox_agent::{claude, subagents};
use askbox_mailbox::platform::ancestry::NearestAgent;
use askbox_mailbox::platform::processes::Seen;
use askbox_mailbox::{AttemptId, Mailbox, ProcessHandle, Question, Result, SessionId, Time, disk, presence, time};

/// The longest file, in bytes.
const LONGEST: u64 = 8 << 10;
/// The longest id of a call, in bytes.
const LONGEST_ID: usize = 200;
/// How long the answer may take to be shown, while the agent lives or cannot be seen from here.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an agent that cannot be seen may live elsewhere, for example in a container.
const UNSEEN: Duration = Duration::from_secs(5);

/// How long a busy machine may take to write the first message of a transcript.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// The variables that name the session of this process, as for the question that it posts.
const SESSION: [&str; 2] = ["ASKBOX_SESSION_ID", "CLAUDE_CODE_SESSION_ID"];

/// What is known of an answer that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The session's transcript shows the answer, or the agent has gone on without that.
    Yes,
    /// The agent lives, and its transcript does not show the answer yet.
    NotYet,
    /// The agent has ended, and its session knows nothing of the answer.
    No,
}

/// A process that hears answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    pid: u32,
    began: u64,
}

impl Agent {
    /// The nearest agent, if the system shows it.
    pub fn of(nearest: &NearestAgent) -> Option<Self> {
        let NearestAgent::Is(process) = nearest else { return None };
        let began = Seen::at(process.pid())?.began()?;
        Some(Self { pid: u32::try_from(process.pid()).ok()?, began })
    }

    fn lives(self) -> bool {
        // A zombie has ended.
        let process = ProcessHandle::open(self.pid).filter(|process| !process.is_gone());
        process.and_then(|process| Seen::at(process.pid())?.began()) == Some(self.began)
    }
}

/// The entry of the transcript that shows the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// The result of any call since the claim.
    AnyResult,
    /// The result of the call with this id.
    ResultOf(String),
    /// The notice that the round's task is completed.
    Task,
}

impl Sign {
    /// The result of the call with this id, or of any if the client does not tell the id.
    pub fn of_call(id: Option<&str>) -> Self {
        let id = id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic()));
        id.map_or(Self::AnyResult, |id| Self::ResultOf(id.to_owned()))
    }

    fn word(&self) -> String {
        match self {
            Self::AnyResult => "result".into(),
            Self::ResultOf(id) => format!("result:{id}"),
            Self::Task => "task".into(),
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "result" => Some(Self::AnyResult),
            "task" => Some(Self::Task),
            other => other.strip_prefix("result:").map(|id| Self::ResultOf(id.to_owned())),
        }
    }
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    agent: Agent,
    sign: Sign,
    transcript: PathBuf,
}

impl Given {
    fn read(mailbox: &Mailbox, run: &Run) -> Option<Self> {
        Self::read_from(&path(mailbox, run))
    }

    fn read_from(path: &Path) -> Option<Self> {
        Self::from_bytes(&disk::read(path, LONGEST).ok()?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let Self { agent: Agent { pid, began }, sign, transcript } = self;
        [format!("{pid} {began} {} ", sign.word()).as_bytes(), transcript.as_os_str().as_bytes(), b"\n"].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(b"\n")?.splitn(4, |byte| *byte == b' ');
        let mut word = || std::str::from_utf8(fields.next()?).ok();
        let agent = Agent { pid: word()?.parse().ok()?, began: word()?.parse().ok()? };
        let sign = Sign::from_word(word()?)?;
        Some(Self { agent, sign, transcript: PathBuf::from(OsStr::from_bytes(fields.next()?)) })
    }

    /// The round's notice in the transcript. The result of a call counts as shown.
    fn notice(&self, run: &Run) -> Option<Notice> {
        match &self.sign {
            Sign::AnyResult => self.result(run, None, false),
            Sign::ResultOf(id) => self.result(run, Some(id), false),
            Sign::Task => transcript::notice_of_task(open(&self.transcript)?, &run.round().to_string()),
        }
    }

    fn result(&self, run: &Run, of: Option<&str>, is_good: bool) -> Option<Notice> {
        let of_subagents = subagents::transcripts(&self.transcript);
        let has = |path: PathBuf| open(&path).is_some_and(|file| transcript::has_result_since(file, run.claimed_at, of, is_good));
        std::iter::once(self.transcript.clone()).chain(of_subagents).any(has).then_some(Notice::Shown)
    }
}

/// Notes that the answer was given to an agent, if it can be found out later whether the agent has heard it, and somebody is there to
/// look. Returns false if not: then the answer counts as delivered now.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Io`] if the system refuses.
pub fn note_given(mailbox: &Mailbox, question: &Question, run: &Run, agent: Agent, sign: Sign) -> Result<bool> {
    if !presence::anybody(mailbox)? {
        return Ok(false);
    }
    let Some(transcript) = own_transcript(mailbox, question, WRITTEN_WITHIN) else { return Ok(false) };
    let given = Given { agent, sign, transcript };
    disk::replace_unsynced(&path(mailbox, run), &given.to_bytes(), SystemTime::now()).map(|()| true)
}

/// Notes that the answer is about to be given to an agent. The reply does not wait for a transcript that is not there yet.
pub fn note_giving(mailbox: &Mailbox, question: &Question, run: &Run, agent: Agent, sign: Sign) {
    if let Some(transcript) = own_transcript(mailbox, question, Duration::ZERO) {
        let given = Given { agent, sign, transcript };
        // Without it, a watcher starts an agent with the answer if this process dies now.
        let _ = disk::replace_unsynced(&giving(mailbox, run), &given.to_bytes(), SystemTime::now());
    }
}

/// Looks at an answer whose process died while it gave it. `None` if the agent has no good result of the call.
fn look_at_giving(mailbox: &Mailbox, run: &Run) -> Option<Heard> {
    let path = giving(mailbox, run);
    let given = Given::read_from(&path)?;
    let Sign::ResultOf(id) = &given.sign else { return None };
    let is_young = disk::metadata(&path).and_then(|file| file.modified()).is_ok_and(|at| time::is_near(at.into(), UNSEEN));
    given.result(run, Some(id), true).map(|_| Heard::Yes).or_else(|| is_young.then_some(Heard::NotYet))
}

/// Looks whether the agent has heard the answer of this claim. `None` if it was not given to an agent that can be watched.
pub fn look(mailbox: &Mailbox, run: &Run) -> Option<Heard> {
    let Some(given) = Given::read(mailbox, run) else { return look_at_giving(mailbox, run) };
    let given_at = disk::metadata(path(mailbox, run)).and_then(|file| file.modified()).map_or(run.claimed_at, Time::from);
    let lives = given.agent.lives();
    // In this order: an agent that has ended writes no more.
    let notice = given.notice(run);
    let is_young = |limit| time::is_near(given_at, limit);
    Some(match notice {
        Some(Notice::Shown) => Heard::Yes,
        // A busy session shows it at its next step. If it ends before that, it forgets the notice.
        Some(Notice::Queued) if lives => Heard::NotYet,
        _ if lives && !is_young(PATIENCE) => Heard::Yes,
        _ if lives || is_young(UNSEEN) => Heard::NotYet,
        _ => Heard::No,
    })
}

/// True if a later question of the agent shows that it has heard the answer, because it got the answer as a call's result and lives. A
/// task's result is fetched behind its back, so only its transcript tells. `None` if the answer was not given to an agent that can be watched.
pub fn goes_on(mailbox: &Mailbox, run: &Run) -> Option<bool> {
    Given::read(mailbox, run).map(|given| match given.sign {
        Sign::AnyResult | Sign::ResultOf(_) => given.agent.lives(),
        Sign::Task => given.notice(run) == Some(Notice::Shown),
    })
}

/// True if the agent that was given the answer lives.
pub fn lives(mailbox: &Mailbox, run: &Run) -> bool {
    Given::read(mailbox, run).is_some_and(|given| given.agent.lives())
}

fn path(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("hearer")
}

fn giving(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("giving")
}

fn open(transcript: &Path) -> Option<File> {
    disk::open_of_another_program(transcript).ok()
}

/// The transcript of this process's session, if Claude Code writes one within this time. A later session may take the answer of an earlier one.
fn own_transcript(mailbox: &Mailbox, question: &Question, within: Duration) -> Option<PathBuf> {
    let run = std::env::var("ASKBOX_RUN").ok().and_then(|run| run.parse::<AttemptId>().ok());
    if let Some(acp) = run.and_then(|run| acp_session::of_attempt(mailbox, &run.round, run.attempt)) {
        // The agent knows its session by an id of its own. Only Claude Code has a transcript of it, and has it now.
        let session: SessionId = acp.session.parse().ok()?;
        return transcript::wait_for(&claude::config_dir(|name| std::env::var_os(name))?, &session.to_string(), Instant::now());
    }
    let own = SESSION.iter().find_map(|name| std::env::var(name).ok()?.parse::<SessionId>().ok());
    let here = || claude::config_dir(|name| std::env::var_os(name));
    let (session, folder) = match own {
        Some(own) if question.session_id != Some(own) => (own, here()?),
        _ => (question.session_id?, question.config_dir.clone().or_else(here)?),
    };
    // Other agents write no transcript.
    let is_claudes = ["CLAUDECODE", SESSION[1]].iter().any(|name| std::env::var_os(name).is_some());
    let patience = if is_claudes { within } else { Duration::ZERO };
    transcript::wait_for(&folder, &session.to_string(), Instant::now() + patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_an_answer_that_was_given_is_read_as_written() {
        for sign in [Sign::AnyResult, Sign::of_call(Some("toolu_01")), Sign::Task] {
            let transcript = PathBuf::from(OsStr::from_bytes(b"/a b/\xff\n.jsonl"));
            let given = Given { agent: Agent { pid: 7, began: 12 }, sign, transcript };
            assert_eq!(Given::from_bytes(&given.to_bytes()).as_ref(), Some(&given));
        }
        assert_eq!(Sign::of_call(Some("two words")), Sign::AnyResult);
        assert_eq!(Given::from_bytes(b"7 12\n"), None);
    }

    #[test]
    fn an_answer_on_its_way_counts_only_by_a_good_result() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let round = askbox_mailbox::RoundId::from_file_name(&format!("w.{}.json", uuid::Uuid::nil())).unwrap();
        let run = Run::first(&round, crate::attempt::record::Claimant::Inline);
        std::fs::create_dir_all(run.folder(&mailbox)).unwrap();
        let transcript = folder.path().join("t.jsonl");
        // The agent has ended.
        let given = Given { agent: Agent { pid: 1, began: 0 }, sign: Sign::of_call(Some("toolu_1")), transcript: transcript.clone() };
        let write = |ago: u64, given: &Given| {
            let at = SystemTime::now() - Duration::from_secs(ago);
            disk::replace_unsynced(&giving(&mailbox, &run), &given.to_bytes(), at).unwrap();
        };
        let says = |id: &str, is_error: bool| {
            let at = time::rfc3339(time::now() + chrono::TimeDelta::seconds(1));
            let block = serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": "pg", "is_error": is_error});
            let entry = serde_json::json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": [block]}});
            std::fs::write(&transcript, format!("{entry}\n")).unwrap();
        };
        assert_eq!(look(&mailbox, &run), None);
        write(0, &given);
        assert_eq!(look(&mailbox, &run), Some(Heard::NotYet), "the transcript may come a moment later");
        write(60, &given);
        for (id, is_error, heard) in [("toolu_2", false, None), ("toolu_1", true, None), ("toolu_1", false, Some(Heard::Yes))] {
            says(id, is_error);
            assert_eq!(look(&mailbox, &run), heard, "{id} {is_error}");
        }
        write(60, &Given { sign: Sign::AnyResult, ..given });
        assert_eq!(look(&mailbox, &run), None, "any other call may have had that result");
    }
}
