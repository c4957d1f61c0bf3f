//! The plan of a round's first attempt, made when the round is claimed: fresh session or fork, folder, settings, runner.
//!
//! The costs that `relaunch.mode = "auto"` knows when it chooses: the tokens of both ways, and the state of the prompt cache.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::attempt::auto_choice::{AutoChoice, PromptCache};
use crate::attempt::record::{self, Begin, Claimant, Run};
use crate::attempt::{acp_session, suspended_call};
use crate::delivery::Delivery;
use crate::process::permitted::{self, WorkFolder};
use askbox_agent::claude::{self, CONFIG_DIR};
use askbox_agent::session_size::{self, SessionSize};
use askbox_agent::transcript;
use askbox_config::{Config, Mode, Runner, RunnerKind};
use askbox_mailbox::documents::awaited::Workflow;
use askbox_mailbox::{
    Content, Folder, Mailbox, Question, Result, RoundId, SessionId, Time, WorkflowId, caller, disk, list, time, workflows,
};

pub use askbox_agent::transcript::FIRST_MESSAGE;

/// The first attempt to deliver a round. Nothing is written.
pub fn first(mailbox: &Mailbox, config: &Config, question: &Question, round: &RoundId) -> Result<Run> {
    let known = workflows::read(mailbox, &round.workflow)?.map(|d| d.typed);
    let (name, runner) = config.runner_of(&round.workflow)?;
    let (cwd, cwd_why) = cwd(config, question, known.as_ref());
    let (config_dir, why) = config_dir(config, &runner, cwd.as_deref(), question, known.as_ref());
    let why = why.or(cwd_why);
    let kind = runner.kind;
    let decided = match kind {
        RunnerKind::Claude | RunnerKind::Acp => {
            begin(mailbox, config, question, known.as_ref(), &Sessions::of(kind, config_dir.as_deref()))?
        }
        // A program has no session that could be continued.
        RunnerKind::Program => Decided { begin: Begin::Fresh, why: None, auto: None, transcript: None },
    };
    Ok(Run {
        auto: auto(mailbox, question, &decided),
        begin: decided.begin,
        begin_why: decided.why.or(why),
        runner: name,
        role: known.as_ref().and_then(|w| w.role.clone()),
        model: known.as_ref().and_then(|w| w.model.clone()),
        cwd,
        config_dir,
        ..Run::first(round, Delivery::Launch.claimant())
    })
}

/// True if the process that gets the answer will know only the question and the answer: it begins a new session without a checkpoint. The configuration is asked for only if there is a session that may be continued. The transcript of that session
/// may come `until` then.
pub fn knows_nothing(mailbox: &Mailbox, config: impl FnOnce() -> Config, question: &Question, until: Instant) -> Result<bool> {
    if carries_checkpoint(mailbox, question) {
        return Ok(false);
    }
    let known = workflows::read(mailbox, &question.workflow_id)?.map(|d| d.typed);
    let Asker::Session { id, .. } = session_of_asker(mailbox, question, known.as_ref())? else { return Ok(true) };
    let config = config();
    let (kind, config_dir) = kind_and_folder(&config, question, known.as_ref())?;
    let sessions = Sessions::of(kind, config_dir.as_deref());
    match &sessions {
        _ if kind == RunnerKind::Program => return Ok(true),
        Sessions::Claude(Some(dir)) if config.relaunch.mode != Mode::Fresh => drop(transcript::wait_for(dir, &id.to_string(), until)),
        Sessions::Claude(_) | Sessions::Acp => {}
    }
    Ok(begin(mailbox, &config, question, known.as_ref(), &sessions)?.begin == Begin::Fresh)
}

/// The sessions that the answer to a question may continue, and the folder of Claude Code that holds them.
pub(super) fn sessions_of(mailbox: &Mailbox, config: &Config, question: &Question) -> Result<(Option<PathBuf>, Vec<SessionId>)> {
    let known = workflows::read(mailbox, &question.workflow_id)?.map(|d| d.typed);
    let (_, folder) = kind_and_folder(config, question, known.as_ref())?;
    let folder = folder.or_else(|| claude::config_dir(|name| std::env::var_os(name)));
    let sessions = question.session_id.into_iter().chain(known.and_then(|known| known.session_id));
    Ok((folder, sessions.collect()))
}

/// The kind of the runner that gets the answer to a question, and its `CLAUDE_CONFIG_DIR`.
fn kind_and_folder(config: &Config, question: &Question, known: Option<&Workflow>) -> Result<(RunnerKind, Option<PathBuf>)> {
    let (_, runner) = config.runner_of(&question.workflow_id)?;
    let (cwd, _) = cwd(config, question, known);
    Ok((runner.kind, config_dir(config, &runner, cwd.as_deref(), question, known).0))
}

/// True if there is a checkpoint: one that the question names, or the workflow's own.
fn carries_checkpoint(mailbox: &Mailbox, question: &Question) -> bool {
    question.checkpoint.is_some() || disk::exists(mailbox.document(Folder::Checkpoints, &question.workflow_id))
}

/// How the session begins.
struct Decided {
    begin: Begin,
    /// The reason, if the choice differs from the configuration.
    why: Option<String>,
    /// The reason, if `relaunch.mode = "auto"` decided.
    auto: Option<&'static str>,
    /// The transcript of the session that could be forked.
    transcript: Option<PathBuf>,
}

/// The choice of `auto`, with what it knows of both ways.
fn auto(mailbox: &Mailbox, question: &Question, decided: &Decided) -> Option<AutoChoice> {
    let why = decided.auto.filter(|_| matches!(question.content(), Content::Question))?;
    Some(weigh(mailbox, question, decided.transcript.as_deref(), why, time::now()))
}

/// Decides between a fresh session and a fork, and says why if the choice differs from the configuration. Only sessions that askbox
/// launched are forked: a subagent's Bash sees the id of its *main* session, which may be in use in a terminal.
fn begin(mailbox: &Mailbox, config: &Config, question: &Question, known: Option<&Workflow>, sessions: &Sessions) -> Result<Decided> {
    let carries_checkpoint = carries_checkpoint(mailbox, question);
    // The results of children, and the answer that a session waits for, mean something only to that session.
    let waits = question.tool_call.is_some() || question.elicited_by.is_some();
    let is_known = waits && suspended_call::is_on_record(mailbox, question)?;
    let belongs_to_session = is_known || matches!(question.content(), Content::Results(_));
    let mode = if belongs_to_session { Mode::Resume } else { config.relaunch.mode };
    let by_auto = |why: &'static str| (mode == Mode::Auto).then_some(why);
    let fresh = |why: Option<String>, auto| Decided { begin: Begin::Fresh, why, auto: by_auto(auto), transcript: None };
    // A session over ACP is continued itself, not a copy of it, and its agent has not read how to work with a checkpoint.
    let is_acp = matches!(sessions, Sessions::Acp);
    let fresh_by_mode = mode == Mode::Fresh || (mode == Mode::Auto && carries_checkpoint && !is_acp);
    let asker = match (fresh_by_mode, mode) {
        (true, Mode::Fresh) => None,
        _ => Some(session_of_asker(mailbox, question, known)?),
    };
    let session = match &asker {
        Some(Asker::Session { id, of }) => sessions.find(mailbox, &question.workflow_id, *id, of.as_ref()),
        _ => None,
    };
    if fresh_by_mode {
        let why = "fresh: the question names a call that waits in a session, and no run is on record that asked it so";
        let decided = fresh(waits.then(|| why.into()), "a new session, because the question has a checkpoint");
        return Ok(Decided { transcript: session.and_then(Found::transcript), ..decided });
    }
    Ok(match (asker, session) {
        (Some(Asker::Session { id: from, of }), Some(found)) => {
            let why = if is_acp {
                "the session that asked: it is an agent's over ACP"
            } else {
                "the session that asked, because the question has no checkpoint"
            };
            let auto = by_auto(why);
            Decided { begin: Begin::Fork { from, of }, why: None, auto, transcript: found.transcript() }
        }
        (Some(Asker::Session { id: from, .. }), None) => {
            fresh(Some(transcript_gone(&from)), "a new session without a checkpoint: the transcript of the session that asked is gone")
        }
        (Some(Asker::NotProven(parent)), _) => fresh(
            Some(format!("fresh instead of resume: it is not proven that this was asked within {parent}")),
            "a new session without a checkpoint: nothing proves which session asked",
        ),
        (Some(Asker::NotOurs) | None, _) => fresh(
            (mode == Mode::Resume).then(|| "fresh instead of resume: the asker's session was not launched by askbox".into()),
            "a new session without a checkpoint: askbox did not launch the session that asked",
        ),
    })
}

/// Where the sessions of a runner lie.
enum Sessions {
    /// Claude Code's transcripts, in this folder.
    Claude(Option<PathBuf>),
    /// The agent keeps them. The records of the runs have their ids.
    Acp,
}

/// A session that exists.
enum Found {
    Transcript(PathBuf),
    OnRecord,
}

impl Found {
    fn transcript(self) -> Option<PathBuf> {
        match self {
            Self::Transcript(path) => Some(path),
            Self::OnRecord => None,
        }
    }
}

impl Sessions {
    fn of(kind: RunnerKind, config_dir: Option<&Path>) -> Self {
        match kind {
            RunnerKind::Acp => Self::Acp,
            _ => Self::Claude(config_dir.map(Path::to_path_buf).or_else(|| claude::config_dir(|n| std::env::var_os(n)))),
        }
    }

    /// Finds a session. `of` is its workflow, if it is another one: the session of another workflow is not continued over ACP.
    fn find(&self, mailbox: &Mailbox, workflow: &WorkflowId, id: SessionId, of: Option<&WorkflowId>) -> Option<Found> {
        match self {
            Self::Claude(dir) => transcript::find(dir.as_ref()?, &id.to_string()).map(Found::Transcript),
            Self::Acp if of.is_some() => None,
            Self::Acp => acp_session::find(mailbox, workflow, id).map(|_| Found::OnRecord),
        }
    }
}

/// Why a session that askbox launched is not forked.
pub fn transcript_gone(from: &SessionId) -> String {
    format!("fresh instead of resume: the transcript of session {from} is gone")
}

/// The session that asked.
enum Asker {
    /// askbox launched it.
    Session {
        id: SessionId,
        /// The workflow that it was launched for, if it is another one.
        of: Option<WorkflowId>,
    },
    /// The question names a session of this workflow, but does not prove that it was asked in a run of that session.
    NotProven(WorkflowId),
    /// No record shows that askbox launched the session.
    NotOurs,
}

/// The asker's session according to askbox's own records. That is the workflow's session, or the session of its parent's run that asked
/// the question. The question's own `session_id` and `parent` alone are not trusted: anybody who writes a question can name any
/// session.
fn session_of_asker(mailbox: &Mailbox, question: &Question, known: Option<&Workflow>) -> Result<Asker> {
    let own = known.and_then(|w| w.session_id);
    let id = match (own, question.session_id) {
        (Some(id), None) => return Ok(Asker::Session { id, of: None }),
        (Some(id), Some(asker)) if id == asker => return Ok(Asker::Session { id, of: None }),
        // An earlier session of the workflow asked beside another question, whose answer was launched in a fork of it. The fork goes on.
        (Some(id), Some(asker)) if question.parent.is_none() && is_earlier_session(mailbox, &question.workflow_id, asker)? => {
            return Ok(Asker::Session { id, of: None });
        }
        (_, Some(asker)) => asker,
        (None, None) => return Ok(Asker::NotOurs),
    };
    Ok(match &question.parent {
        Some(parent) if caller::is_proven(mailbox, question)? => Asker::Session { id, of: Some(parent.clone()) },
        Some(parent) => Asker::NotProven(parent.clone()),
        None => Asker::NotOurs,
    })
}

/// True if askbox launched this session for the workflow, in one of its newest rounds.
fn is_earlier_session(mailbox: &Mailbox, workflow: &WorkflowId, session: SessionId) -> Result<bool> {
    let rounds = list::newest_rounds_of(mailbox, workflow);
    for round in rounds.into_iter().take(list::SEARCHED) {
        if record::latest(mailbox, &round)?.is_some_and(|run| run.claimant == Claimant::Supervisor && run.session_id == session) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A folder, and why it is not the asker's.
type Chosen = (Option<PathBuf>, Option<String>);

/// The first `CLAUDE_CONFIG_DIR` of the runner, the asker and the earlier runs, if the operator permits it; otherwise the reason. `None` means
/// the folder of the process that launches the agent. A relative one is named here, so that every process of the run finds it.
fn config_dir(config: &Config, runner: &Runner, cwd: Option<&Path>, question: &Question, known: Option<&Workflow>) -> Chosen {
    let in_place = |dir: &Path| permitted::config_dir_in(cwd, dir);
    if let Some(dir) = runner.env.get(CONFIG_DIR).filter(|dir| !dir.is_empty()) {
        return (Some(in_place(Path::new(dir))), None);
    }
    let own = claude::config_dir(|name| std::env::var_os(name)).filter(|own| own.is_relative()).map(|own| in_place(&own));
    let earlier = known.and_then(|w| w.config_dir.as_deref()).map(in_place);
    let is_permitted = |dir: &PathBuf| permitted::config_dir(config, runner, cwd, dir);
    let why = |dir: PathBuf| format!("{} is not used as CLAUDE_CONFIG_DIR: it is not in relaunch.config_dirs", dir.display());
    let asked = question.config_dir.as_deref().map(in_place).or_else(|| earlier.clone());
    match asked {
        Some(dir) if is_permitted(&dir) => (Some(dir), None),
        asked => (earlier.filter(is_permitted).or(own), asked.map(why)),
    }
}

/// The asker's working folder, if the operator permits it; otherwise the folder of the earlier runs, and the reason. `None` means the
/// home folder, which only stands in for this round: the workflow's record keeps its folder.
///
/// A folder that does not exist, or a relative one, stays in the plan, and the launch is parked for it: in another folder, the agent would
/// not find its work.
fn cwd(config: &Config, question: &Question, known: Option<&Workflow>) -> Chosen {
    let opened = |dir: &Path| WorkFolder::open(config, dir).ok().map(WorkFolder::into_path);
    let mut why = None;
    let named = [("asker's", question.cwd.as_deref()), ("workflow's", known.and_then(|w| w.cwd.as_deref()))];
    for (whose, dir) in named.into_iter().filter_map(|(whose, dir)| Some((whose, dir?))) {
        let is_elsewhere = || dir.is_relative() || disk::open_folder(dir).is_err_and(|e| e.is_missing_file());
        match opened(dir).filter(|_| dir.is_absolute()) {
            Some(real) => return (Some(real), why),
            None if is_elsewhere() => return (Some(dir.to_path_buf()), why),
            None => why = why.or(Some(format!("the {whose} folder {} is not under relaunch.cwd_roots", dir.display()))),
        }
    }
    (None, why)
}

/// A token has about this many bytes.
const BYTES_PER_TOKEN: u64 = 4;

/// The choice with the costs of both ways, as of `now`. `transcript` belongs to the session that can be resumed.
fn weigh(mailbox: &Mailbox, question: &Question, transcript: Option<&Path>, why: &str, now: Time) -> AutoChoice {
    let size = transcript.and_then(session_size::of_transcript);
    let told = bytes_to_tell(mailbox, question) / BYTES_PER_TOKEN;
    with_costs(why, size, told, now)
}

fn with_costs(why: &str, size: Option<SessionSize>, told: u64, now: Time) -> AutoChoice {
    let Some(size) = size else { return AutoChoice::because(why) };
    let until = size.cached_until;
    AutoChoice {
        resume_tokens: Some(size.tokens),
        cache: Some(if until.is_some_and(|until| until > now) { PromptCache::Warm } else { PromptCache::Cold }),
        cache_seconds: until.map(|until| (until - now).num_seconds().unsigned_abs()),
        // Both begin with the system prompt, the tools and a first prompt, which the first request of the session had too.
        fresh_tokens: size.first_request.map(|first| first.saturating_add(told)),
        ..AutoChoice::because(why)
    }
}

/// The bytes of the checkpoint and of the question, which a new session has to read.
fn bytes_to_tell(mailbox: &Mailbox, question: &Question) -> u64 {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let length = |path: &Path| disk::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
    let checkpoint = question.checkpoint.as_deref().and_then(length).or_else(|| length(&own));
    checkpoint.unwrap_or(0).saturating_add(question.question.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_warm_until_its_time_is_over() {
        let size = |until: &str| Some(SessionSize { first_request: Some(100), tokens: 900, cached_until: Some(until.parse().unwrap()) });
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        let warm = with_costs("w", size("2026-01-01T12:03:00Z"), 50, now);
        assert_eq!((warm.cache, warm.cache_seconds), (Some(PromptCache::Warm), Some(180)));
        assert_eq!((warm.resume_tokens, warm.fresh_tokens), (Some(900), Some(150)));
        let cold = with_costs("w", size("2026-01-01T11:59:00Z"), 50, now);
        assert_eq!((cold.cache, cold.cache_seconds), (Some(PromptCache::Cold), Some(60)));
        assert_eq!(with_costs("w", None, 50, now), AutoChoice::because("w"));
    }
}
