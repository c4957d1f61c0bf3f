//! Machines that are reached by ssh. The programs of the other machine do the work there: `ask-answer list --json --watch` reports its
//! questions and their changes, `ask-answer --offer -` takes an answer, and `ask-answer show ID --json` reports how a question ended.
//! The command that is executed is a constant text, made of the configuration and at most of an id. Everything that a person or a
//! machine writes goes through pipes.
//!
//! - `conversation`: the ssh command line, and a running ssh with limited lines and waits, and the reason why it ended

mod conversation;

pub use conversation::by_hand;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::known;
use crate::lines::{self, ALIVE_EVERY, Line, MAX_LINE, WaitingLine, read_reply};
use crate::peer::{Change, Peer, Problem, Progress, Stop, Unanswered};
use crate::remote_question::{Last, RemoteQuestion};
use crate::ssh::conversation::{Ask, Conversation, Next, command, control_path};
use askbox_config::PeerConfig;
use askbox_mailbox::{HostName, Offer, Untrusted, Verdict, WorkflowId, document, text, time};
use askbox_sessions::{Asked, Reply};

/// The peers of the configuration that are reached by ssh. The sockets of the kept connections lie in `folder`, which is private.
pub fn configured(peers: &BTreeMap<String, PeerConfig>, folder: Option<&Path>) -> Vec<Box<dyn Peer>> {
    let named = peers.iter().filter(|(_, config)| !config.ssh.is_empty());
    let peer = |(name, config): (&String, &PeerConfig)| {
        let peer = SshPeer { host: name.parse().ok()?, config: config.clone(), folder: folder.map(Path::to_path_buf) };
        Some(Box::new(peer) as Box<dyn Peer>)
    };
    named.filter_map(peer).collect()
}

/// How long a machine may take to send its first line.
const GREETS_WITHIN: Duration = Duration::from_secs(20);
/// How long it may take on a connection that already exists.
const KEPT_GREETS_WITHIN: Duration = Duration::from_secs(3);
/// How long a machine may be silent.
const SILENT_FOR: Duration = Duration::from_secs(3 * ALIVE_EVERY);
/// How long one attempt to offer may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
/// The most lines that the shell's startup files there may print before the first line of the protocol.
const NOISE: usize = 200;
/// The most bytes that a machine may send until its list is complete.
const TOLD_AT_FIRST: usize = 4 * known::MAX_BYTES;
/// The most bytes that a machine may send in a minute once its list is complete. Without this limit it could keep a core of this
/// machine busy.
const TOLD_IN_A_MINUTE: usize = 64 << 20;

/// A machine that is reached by ssh.
struct SshPeer {
    host: HostName,
    config: PeerConfig,
    /// The folder with the socket of the kept connection.
    folder: Option<PathBuf>,
}

/// The reason why there is no first line.
enum Refusal {
    Silence(Problem),
    Other(Problem),
}

/// The content of the first line.
struct Greeting {
    version: String,
    missing: Option<Untrusted>,
}

fn missing(no_mailbox: Option<String>) -> Option<Untrusted> {
    no_mailbox.map(|path| text::excerpt(&path, 300).into())
}

impl Refusal {
    fn problem(self) -> Problem {
        let (Self::Silence(problem) | Self::Other(problem)) = self;
        problem
    }
}

impl SshPeer {
    /// Starts ssh and reads the first line. Returns its content as well. If a kept connection sends nothing, a new one is made, because
    /// the other end of the kept one may have been stopped or have vanished.
    fn connect(&self, ask: Ask<'_>, limit: Duration, stop: Option<&Stop>) -> Result<(Conversation, Greeting), Problem> {
        let is_kept = |folder: &PathBuf| control_path(folder, &self.host).is_some_and(|path| path.exists());
        let kept = self.folder.as_ref().filter(|folder| is_kept(folder));
        if let Some(folder) = kept {
            match self.connect_in(Some(folder), ask, limit.min(KEPT_GREETS_WITHIN), stop) {
                Err(Refusal::Silence(_)) if limit > KEPT_GREETS_WITHIN => {
                    let rest = limit.saturating_sub(KEPT_GREETS_WITHIN);
                    return self.connect_in(None, ask, rest, stop).map_err(Refusal::problem);
                }
                other => return other.map_err(Refusal::problem),
            }
        }
        self.connect_in(self.folder.as_deref(), ask, limit, stop).map_err(Refusal::problem)
    }

    fn connect_in(
        &self,
        folder: Option<&Path>,
        ask: Ask<'_>,
        limit: Duration,
        stop: Option<&Stop>,
    ) -> Result<(Conversation, Greeting), Refusal> {
        let started = Conversation::start(command(&self.host, &self.config, folder, ask));
        let mut ssh = started.map_err(|e| Refusal::Other(cannot_run(&e)))?;
        let end = Instant::now() + limit;
        for _ in 0..NOISE {
            match ssh.next(end.saturating_duration_since(Instant::now()), stop) {
                Next::Line(line) => match Line::read(&line) {
                    Some(Line::Hello { protocol, version, no_mailbox, .. }) => {
                        return lines::greeted(protocol, &version, self.host.as_str())
                            .map(|version| (ssh, Greeting { version, missing: missing(no_mailbox) }))
                            .map_err(Refusal::Other);
                    }
                    // The shell's startup files print something.
                    _ => continue,
                },
                Next::Stopped => {
                    ssh.leave();
                    return Err(Refusal::Other(Problem::passing("this program ends", "start it again")));
                }
                Next::Silence => return Err(Refusal::Silence(self.why(ssh, &Next::Silence, false))),
                next => return Err(Refusal::Other(self.why(ssh, &next, false))),
            }
        }
        Err(Refusal::Other(Problem::lasting(
            format!("{} prints other text than that of ask-answer", self.host),
            format!("see it with: {}; a shell's file such as .bashrc prints it", by_hand(&self.config, "true")),
        )))
    }

    /// The reason why a conversation ended, for people.
    fn why(&self, ssh: Conversation, next: &Next, was_greeted: bool) -> Problem {
        let host = &self.host;
        match next {
            Next::Silence => Problem::passing(format!("{host} is silent"), self.look()),
            Next::TooLong => Problem::lasting(format!("{host} sends a line that is too long"), "update askbox there"),
            Next::Stopped | Next::Line(_) => Problem::passing("this program ends", "start it again"),
            Next::End => {
                let (status, said) = ssh.ended();
                self.why_ended(status, &said, was_greeted)
            }
        }
    }

    /// The hint with a command to look at the machine.
    fn look(&self) -> String {
        format!("look at it with: {}", by_hand(&self.config, ""))
    }

    /// The reason why ssh ended with this status and these last words.
    fn why_ended(&self, status: Option<i32>, said: &str, was_greeted: bool) -> Problem {
        let host = &self.host;
        let because = |or: &str| if said.is_empty() { format!("{host}: {or}") } else { format!("{host}: {said}") };
        match status {
            Some(255) | None if said.contains("Host key verification failed") => {
                Problem::lasting(because(""), format!("compare its key once by hand: {}", by_hand(&self.config, "")))
            }
            Some(255) | None if said.contains("Permission denied") => {
                let batch = PeerConfig {
                    ssh_options: [&self.config.ssh_options[..], &["-o".into(), "BatchMode=yes".into()]].concat(),
                    ..self.config.clone()
                };
                Problem::lasting(because(""), format!("a key or an agent must let you in without a question: {}", by_hand(&batch, "true")))
            }
            Some(127) => Problem::lasting(
                format!("ask-answer is not found on {host}"),
                format!("install askbox there, or write its path: peers.{host}.program = \"~/.local/bin/ask-answer\""),
            ),
            Some(2) if !was_greeted => Problem::lasting(
                format!("askbox on {host} is of an older version, which cannot be seen from elsewhere ({said})"),
                format!("update askbox on {host}"),
            ),
            Some(255) | None => Problem::passing(because("the connection ended"), self.look()),
            Some(status) => Problem::passing(because(&format!("ask-answer ended there with status {status}")), self.look()),
        }
    }

    /// Handles one line of the list. `Err` ends the connection.
    fn heard(&self, line: Line, report: &dyn Fn(Change), is_listed: &Cell<bool>) -> Result<(), Problem> {
        let host = self.host.clone();
        match line {
            Line::Question(WaitingLine { workflow_id, question_id, document }) => {
                let question = RemoteQuestion::read(host, workflow_id, question_id, document.get().as_bytes());
                report(Change::Question(Box::new(question)));
            }
            Line::Unreadable { workflow_id, error } => {
                let why = text::excerpt(&error, 300);
                report(Change::Question(Box::new(RemoteQuestion::unreadable(host, workflow_id, why))));
            }
            Line::Gone { workflow_id, question_id, fate, offer_id } => {
                let fate = text::excerpt(&fate, 300).into();
                report(Change::Gone { host, workflow: workflow_id, question: question_id, fate, offer: offer_id });
            }
            Line::Listed => {
                is_listed.set(true);
                report(Change::Listed(host));
            }
            Line::Failed { error, hint } => {
                return Err(Problem { lasts: false, ..Problem::of_machine(&host, &error, &hint) });
            }
            Line::Hello { no_mailbox, .. } => report(Change::Mailbox(host, missing(no_mailbox))),
            Line::Alive | Line::Verdict { .. } | Line::Reply { .. } | Line::Unknown => report(Change::Heard(host, time::now())),
        }
        Ok(())
    }

    /// Sends this once, and returns the first line that is its reply.
    fn exchange<T>(&self, ask: Ask<'_>, bytes: &[u8], limit: Duration, is_reply: impl Fn(Line) -> Option<T>) -> Result<T, Unanswered> {
        let (mut ssh, _) = self.connect(ask, limit, None).map_err(Unanswered::unsent)?;
        let end = Instant::now() + limit;
        if let Err(e) = ssh.send(bytes, limit) {
            return Err(Unanswered::unknown(Problem::passing(format!("{}: not all was sent: {e}", self.host), self.look())));
        }
        loop {
            match ssh.next(end.saturating_duration_since(Instant::now()), None) {
                Next::Line(line) => match Line::read(&line) {
                    Some(Line::Failed { error, hint }) => return Err(Unanswered::unsent(Problem::of_machine(&self.host, &error, &hint))),
                    line => {
                        if let Some(reply) = line.and_then(&is_reply) {
                            return Ok(reply);
                        }
                    }
                },
                next => return Err(Unanswered::unknown(self.why(ssh, &next, true))),
            }
        }
    }
}

fn cannot_run(e: &std::io::Error) -> Problem {
    Problem::lasting(format!("ssh cannot be run: {e}"), "install the OpenSSH client, so that `ssh` is on the PATH")
}

/// A verdict with its words cut to the length that is shown.
fn bounded(verdict: Verdict) -> Verdict {
    let short = |words: String| text::excerpt(&words, 300);
    Verdict { said: short(verdict.said), hint: verdict.hint.map(short), warning: verdict.warning.map(short), ..verdict }
}

impl Peer for SshPeer {
    fn name(&self) -> &str {
        self.host.as_str()
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.host.clone()]
    }

    fn watch(&self, report: &dyn Fn(Change), stop: &Stop) -> Problem {
        let (mut ssh, Greeting { version, missing }) = match self.connect(Ask::Watch, GREETS_WITHIN, Some(stop)) {
            Ok(connected) => connected,
            Err(problem) => return problem,
        };
        report(Change::Begins(self.host.clone(), version));
        report(Change::Mailbox(self.host.clone(), missing));
        let (is_listed, mut told, mut minute) = (Cell::new(false), 0, Instant::now());
        loop {
            match ssh.next(SILENT_FOR, Some(stop)) {
                Next::Line(line) => {
                    if is_listed.get() && minute.elapsed() >= Duration::from_secs(60) {
                        (told, minute) = (0, Instant::now());
                    }
                    told += line.len() + 64;
                    if told > if is_listed.get() { TOLD_IN_A_MINUTE } else { TOLD_AT_FIRST } {
                        return Problem::lasting(format!("{} tells more than anybody can read", self.host), "look at what happens there");
                    }
                    let Some(line) = Line::read(&line) else {
                        let hint = "update askbox there and here";
                        return Problem::lasting(format!("{} sends a line that cannot be read", self.host), hint);
                    };
                    if let Err(problem) = self.heard(line, report, &is_listed) {
                        return problem;
                    }
                }
                next => return self.why(ssh, &next, true),
            }
        }
    }

    fn offer(&self, _: &HostName, offer: &Offer, limit: Duration) -> Progress {
        let bytes = match document::to_json(offer) {
            Ok(bytes) => bytes,
            Err(e) => return Progress::NotSent(Problem::lasting(e.to_string(), e.hint())),
        };
        let end = Instant::now() + limit;
        let mut may_have_arrived = false;
        let verdict =
            |line| if let Line::Verdict { verdict } = line { Some(verdict).filter(|v| v.offer_id == offer.offer_id) } else { None };
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let problem = match self.exchange(Ask::Offer, &bytes, left.min(ATTEMPT), verdict) {
                Ok(verdict) => return Progress::Decided(bounded(verdict)),
                Err(unanswered) => {
                    may_have_arrived |= unanswered.may_have_arrived;
                    unanswered.problem
                }
            };
            // An offer that certainly did not arrive is not tried again: the person decides. If it is not known whether the offer counts,
            // sending the same offer again finds out.
            if !may_have_arrived || end.saturating_duration_since(Instant::now()) < PAUSE * 2 {
                return Progress::failed(problem, may_have_arrived);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn sessions(&self, host: &HostName, asked: &Asked, limit: Duration) -> Result<Reply, Unanswered> {
        let bytes = document::to_json(asked).map_err(|e| Unanswered::unsent(Problem::lasting(e.to_string(), e.hint())))?;
        let reply = |line| if let Line::Reply { reply } = line { Some(reply) } else { None };
        read_reply(host, self.exchange(Ask::Sessions, &bytes, limit, reply)?)
    }

    fn last(&self, host: &HostName, workflow: &WorkflowId, limit: Duration) -> Result<Option<Last>, Problem> {
        let command = command(&self.host, &self.config, self.folder.as_deref(), Ask::Show(workflow));
        let mut ssh = Conversation::start(command).map_err(|e| cannot_run(&e))?;
        let (end, mut printed) = (Instant::now() + limit, Vec::new());
        loop {
            match ssh.next(end.saturating_duration_since(Instant::now()), None) {
                // The shell's startup files print something before it.
                Next::Line(line) if printed.is_empty() && !line.starts_with(b"{") => {}
                Next::Line(line) if printed.len() + line.len() > MAX_LINE => return Err(self.why(ssh, &Next::TooLong, true)),
                Next::Line(line) => printed.extend([&line[..], b"\n"].concat()),
                Next::End => {
                    let (status, said) = ssh.ended();
                    return match Last::read(host, workflow, &printed) {
                        Some(last) => Ok(last),
                        // The machine does not know this workflow.
                        None if status == Some(3) => Ok(None),
                        None => Err(self.why_ended(status, &said, true)),
                    };
                }
                next => return Err(self.why(ssh, &next, true)),
            }
        }
    }
}
