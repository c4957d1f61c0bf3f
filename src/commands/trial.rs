//! `askbox trial`: asks the person one question as an agent would, and shows how it reaches them. `ask-post --wait` asks, so it takes the
//! answer, and no agent is started.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::commands::surfaces::{self, About};
use askbox_cli::args::askbox_args::Trial;
use askbox_cli::{Context, program};
use askbox_config::{self as config, Config};
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::{Error, Folder, IoContext, Mailbox, Result, Time, WorkflowId, disk, round, text, time};
use askbox_run::{Cause, Teller, programs};
use askbox_watch::news::arrivals::{self, Kind};

const QUESTION: &str = "Does this question reach you?";
/// The time to wait for the answer, if no other is given.
const WAIT: Duration = Duration::from_secs(600);
/// How much later the question ends if this process cannot end it.
const ENDS_AFTER: Duration = Duration::from_secs(60);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// The longest time until `ask-post` has asked.
const ASKS_WITHIN: Duration = Duration::from_secs(20);
/// The exit status if nobody answered in time.
const UNANSWERED: u8 = 6;

/// Asks, and shows what becomes of it. Returns the exit status.
///
/// # Errors
/// If the mailbox or the configuration cannot be used, or `ask-post` cannot be run.
pub fn run(args: &Trial, context: &Context) -> Result<u8> {
    if program::env("ASKBOX_RUN").is_some() {
        return Err(Error::usage("a trial is for a person, and this is a run of an agent", "ask your person with: ask-post"));
    }
    let (mailbox, config) = (Mailbox::open_or_create(Mailbox::locate(args.mailbox.as_deref())?)?, context.config()?);
    let workflow: WorkflowId = format!("trial-{:04x}", uuid::Uuid::new_v4().as_u128() & 0xffff).parse()?;
    let signal = Arc::new(AtomicUsize::new(0));
    for ending in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(ending).unwrap_or_default();
        signal_hook::flag::register_usize(ending, Arc::clone(&signal), number).io("handle", "Unix signals")?;
    }
    let mut trial = Trying { began: Instant::now(), asked_at: time::now(), told: BTreeSet::new(), mailbox, workflow, signal };
    program::print("One question, asked as an agent asks it. No agent is started.\n")?;
    let wait = args.wait.unwrap_or(WAIT);
    let mut asker = trial.ask(wait)?;
    let ended = trial.introduce(&config, context).and_then(|()| trial.follow(&mut asker, &config, wait));
    // Without its asker, an answer that comes now would start an agent.
    let is_taken_back = withdraw::withdraw(&trial.mailbox, &trial.workflow, &program::user(), Some("the trial ended".to_owned())).is_ok();
    let _ = asker.kill();
    let _ = asker.wait();
    let status = ended?;
    if is_taken_back {
        trial.line("withdrawn", "nobody answered; try again: askbox trial")?;
    }
    Ok(status)
}

/// A trial under way.
struct Trying {
    began: Instant,
    asked_at: Time,
    /// The targets of which it was said how they were told.
    told: BTreeSet<String>,
    mailbox: Mailbox,
    workflow: WorkflowId,
    /// The number of the signal that came, or 0.
    signal: Arc<AtomicUsize>,
}

impl Trying {
    fn line(&self, name: &str, words: &str) -> Result<()> {
        program::print(&format!("  {name:<10} {words}\n"))
    }

    fn after(&self) -> String {
        format!("after {:.1} s", self.began.elapsed().as_secs_f64())
    }

    /// Starts `ask-post`, and waits until it has asked.
    fn ask(&self, wait: Duration) -> Result<Child> {
        // This process ends the question in time. If it is killed, the question ends by itself, and starts nothing.
        let seconds = format!("{}s", wait.saturating_add(ENDS_AFTER).as_secs());
        let mut command = Command::new(programs::beside("ask-post"));
        command.args(["-w", self.workflow.as_str(), "-t", "yes_no", "--asked-by", "askbox trial", "--wait", &seconds, QUESTION]);
        command.args(["--timeout", &seconds, "--on-expiry", "cancel", "--mailbox"]).arg(self.mailbox.root());
        let mut asker = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().io("run", "ask-post")?;
        let question = self.mailbox.document(Folder::Pending, &self.workflow);
        while !disk::exists(&question) {
            let has_ended = asker.try_wait().io("wait for", "ask-post")?.is_some();
            if has_ended || self.began.elapsed() > ASKS_WITHIN {
                let _ = asker.kill();
                let said = asker.wait_with_output().map(|output| output.stderr).unwrap_or_default();
                let said = text::excerpt(&String::from_utf8_lossy(&said), 500);
                return Err(Error::failed(format!("ask-post could not ask: {said}"), "look for the cause: askbox doctor"));
            }
            std::thread::sleep(LOOK);
        }
        Ok(asker)
    }

    /// Says what the question can go through, and where it is answered.
    fn introduce(&self, config: &Config, context: &Context) -> Result<()> {
        self.line("asked", &format!("{}: {QUESTION}", self.workflow))?;
        self.line("mailbox", &text::path_word(self.mailbox.root()))?;
        let teller = Teller::new(&self.mailbox, context.loaded());
        let all = teller.general();
        if all.iter().all(|hold_up| !matches!(hold_up.cause, Cause::NoWatcher | Cause::WatcherStopped)) {
            self.line("watcher", "is at work")?;
        }
        for hold_up in all {
            self.line("missing", &hold_up.words())?;
        }
        if config::targets(&config.target).is_empty() {
            self.line("news", "no [target.NAME] is set, so nobody is told: see docs/guide-news.md")?;
        }
        match surfaces::web_about() {
            Some(About { place: Some(place), .. }) => self.line("page", &format!("is at {place}"))?,
            Some(_) => self.line("page", "does not run. Start it: askbox web")?,
            None => {}
        }
        let here = if program::is_interactive() { ", or press enter to answer here" } else { "" };
        program::print(&format!("Answer it where you would answer an agent{here}:\n  $ ask-answer {} yes\n", self.workflow))
    }

    /// Shows what becomes of the question. Returns the exit status.
    fn follow(&mut self, asker: &mut Child, config: &Config, wait: Duration) -> Result<u8> {
        loop {
            self.show_news(config)?;
            if let Some(status) = asker.try_wait().io("wait for", "ask-post")? {
                self.show_news(config)?;
                return self.show_end(status.code());
            }
            if let signal @ 1.. = self.signal.load(Ordering::Acquire) {
                return Ok(u8::try_from(128 + signal).unwrap_or(1));
            }
            if self.began.elapsed() > wait {
                return Ok(UNANSWERED);
            }
            if !program::is_interactive() {
                std::thread::sleep(LOOK);
            } else if is_enter_pressed()? {
                // It becomes the inbox, with this question.
                let mut answer = Command::new(programs::beside("ask-answer"));
                answer.arg(self.workflow.as_str()).arg("--mailbox").arg(self.mailbox.root()).status().io("run", "ask-answer")?;
            }
        }
    }

    /// Says how each target was told, once.
    fn show_news(&mut self, config: &Config) -> Result<()> {
        for name in config::targets(&config.target).into_keys() {
            let since = |kind| arrivals::last(&self.mailbox, &name, kind).filter(|last| last.at >= self.asked_at);
            let words = match (since(Kind::Sent), since(Kind::Failed)) {
                (Some(_), _) => format!("was told {}", self.after()),
                (None, Some(failed)) => {
                    let why = failed.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
                    format!("could not be told: {why}. Try it: askbox notify test {name}")
                }
                (None, None) => continue,
            };
            if self.told.insert(name.clone()) {
                self.line(&name, &words)?;
            }
        }
        Ok(())
    }

    /// Says how the question ended.
    fn show_end(&self, status: Option<i32>) -> Result<u8> {
        let answer = round::latest(&self.mailbox, &self.workflow).and_then(|round| round.document.typed.answer);
        let Some(answer) = answer else { return Ok(UNANSWERED) };
        let value = match status {
            Some(0) => answer.value.as_ref().map(|value| value.to_text()).unwrap_or_default(),
            _ => "declined".to_owned(),
        };
        let words = format!("{value}, by {} through {}, {}", answer.by, answer.channel, self.after());
        self.line("answered", &text::one_line(&words))?;
        program::print("The answer has reached its asker.\n")?;
        Ok(0)
    }
}

/// Waits a moment. True if the person has pressed enter.
fn is_enter_pressed() -> Result<bool> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: i64::try_from(LOOK.as_nanos()).unwrap_or(1) };
    match poll(&mut fds, Some(&moment)) {
        Ok(1..) => Ok(stdin.lock().read_line(&mut String::new()).io("read", "the terminal")? > 0),
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(std::io::Error::from(e)).io("read", "the terminal"),
    }
}
