//! Turns a claimed attempt into an agent that speaks ACP and has been asked what it can do. The rest of the conversation up to its
//! message follows in `attend/acp_talk`.
//!
//! An agent program of an unknown maker may act before it reads anything. So the attempt's record is durable before it starts.

use crate::approval::permit;
use crate::attempt::acp_session::{self, AcpSession};
use crate::attempt::record::{Begin, Run};
use crate::process::launch::{self, Handed, SessionStart};
use crate::process::own_server;
use crate::process::permitted::{self, WorkFolder};
use crate::prompt::{message, to_acp};
use crate::supervise::acp_state::{AcpTalk, Heard, Messages, Opening};
use crate::supervise::started_agent::{self, Launch, RunningAgent, Started};
use askbox_agent::acp::{Client, SessionPlace};
use askbox_agent::output::AgentOutput;
use askbox_config::{Config, Runner, RunnerKind};
use askbox_mailbox::disk::{Lock, Staged};
use askbox_mailbox::{Error, Mailbox, Question, Result};

/// The lock of a workflow's session. Most agents let two processes work on one session, and then lose the work of one.
const SESSION_LOCK: &str = "acp.lock";

/// Launches the agent of an attempt and asks it what it can do.
pub(super) fn start(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    let fix = "choose it in the agent's own settings, and start without that choice";
    attempt.refuse_choices("speaks ACP, which has no way to choose one", fix)?;
    let preset = runner.agent(&attempt.run.runner);
    let lock = Lock::try_acquire(&mailbox.runs_of_workflow(&attempt.run.workflow_id).join(SESSION_LOCK))?;
    let lock =
        lock.ok_or_else(|| Error::Held { message: "another run works on the session of the workflow".into(), hint: "it waits".into() })?;
    let mut folder = permitted::of_launch(config, &attempt.run)?;
    let document = attempt.take_document(mailbox)?;
    let mut opening = opening(mailbox, &attempt.run);
    // Some agents hang or look into another project if a session is continued in another folder.
    match opening.session.as_ref().map(|session| WorkFolder::open(config, &session.cwd)) {
        Some(Ok(begun_in)) => folder = begun_in,
        Some(Err(_)) => opening.session = None,
        None => {}
    }
    if opening.session.is_none() && attempt.run.begin != Begin::Fresh {
        attempt.run.begin = Begin::Fresh;
        attempt.run.begin_why = Some("fresh instead of resume: the agent's session is not on record, or its folder is gone".into());
    }
    let handed = Handed::new(config, &document.typed, &attempt.run);
    let messages = messages(mailbox, config, &document.typed, &attempt.run)?;
    attempt.begin(mailbox, &handed.nonce)?.map_or(Ok(()), Staged::replace_ahead)?;
    attempt.make_durable(mailbox, &document)?;
    let run = &attempt.run;
    let call = launch::acp_call(mailbox, run, runner, &handed);
    let spawned = started_agent::spawn(mailbox, run, &call, &folder, SessionStart::New, RunnerKind::Acp)?;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    let server = own_server::of_run(mailbox, run, runner, &handed, &call)
        .and_then(|server| server.map_err(|why| log.note(format!("the tools of `askbox mcp` are not offered to the agent: {why}"))).ok());
    let (cwd, folders) = (folder.path().to_path_buf(), vec![mailbox.root().to_path_buf()]);
    let place = SessionPlace { cwd, folders, mode: runner.mode.clone(), server };
    let mut client = Client::new(&run.session_id.to_string(), place, preset);
    let initialize = client.initialize();
    let output = AgentOutput::Acp(Box::new(client));
    let mut agent = RunningAgent::connect(mailbox, run, spawned, output, sources, channel, log);
    agent.say(&initialize);
    let waits_a_minute = preset.is_some_and(|preset| preset.loads_after_a_minute);
    let talk = AcpTalk::new(opening, messages, runner.mode.clone(), waits_a_minute, handed.nonce, lock);
    let max_turns = Some(config.limits.turns).filter(|turns| *turns > 0);
    Ok(Started { agent, held_message: None, max_turns, acp: Some(talk) })
}

/// Finds the session to continue: an earlier attempt of the round has opened it, or the plan names it.
fn opening(mailbox: &Mailbox, run: &Run) -> Opening {
    let round = run.round();
    let earlier: Vec<(u32, AcpSession)> =
        (1..run.attempt).rev().filter_map(|n| Some((n, acp_session::of_attempt(mailbox, &round, n)?))).collect();
    let (session, heard) = match (earlier.first(), &run.begin) {
        (Some((_, last)), _) => {
            let mut same = earlier.iter().filter(|(_, session)| session.session == last.session);
            let is_heard = same.any(|(n, _)| acp_session::last_heard(mailbox, &round, *n).is_some());
            (Some(last.clone()), if is_heard { Heard::Yes } else { Heard::Unknown })
        }
        (None, Begin::Fork { from, of: None }) => (acp_session::find(mailbox, &run.workflow_id, *from), Heard::No),
        (None, Begin::Fork { of: Some(_), .. } | Begin::Fresh) => (None, Heard::No),
    };
    let unsure = session.as_ref().map(|session| acp_session::unsure(mailbox, run, &session.session)).unwrap_or_default();
    Opening { session, heard, unsure }
}

/// The messages for each way to open the session.
fn messages(mailbox: &Mailbox, config: &Config, question: &Question, run: &Run) -> Result<Messages> {
    let mut fresh = run.clone();
    fresh.begin = Begin::Fresh;
    let in_new_session = message::first_message(mailbox, config, question, &fresh)?;
    let continued = message::round_message(mailbox, config, question, run)? + &message::renamed_folder(question, run);
    let continued = format!("{}{}", continued.trim_end(), to_acp::about_cut_call(question));
    let used = question.approval.is_some() && permit::is_used(mailbox, &run.round());
    Ok(Messages { in_new_session, continued, may_be_done: used })
}
