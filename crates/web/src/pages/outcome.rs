//! The state of a question that was answered or is over: accepted, launched, delivered, and the result.
//!
//! The next question of a workflow, for the page of a question that was answered before.

use crate::filled_part::{self, GivenPart};
use crate::gate::Hosts;
use crate::other_machines::OtherMachines;
use crate::pages::held_up::clock;
use crate::pages::markdown;
use crate::site::Site;
use askbox_mailbox::address::HostName;
use askbox_mailbox::documents::checks::match_option;
use askbox_mailbox::round::Round;
use askbox_mailbox::{Answer, Folder, Mailbox, Question, Result, RoundId, Time, round, text, time};
use askbox_run::attempt::record;
use askbox_run::story::{self, Reached, Standing, Story};

/// The maximum size of a result that is shown, in bytes.
const RESULT: usize = 16 << 10;
/// The maximum length of a question in one line, in characters.
const TITLE: usize = 300;

/// The state of a question that was answered or is over.
#[derive(Debug)]
pub struct Outcome {
    pub workflow: String,
    pub question_id: String,
    /// The question in one line.
    pub title: String,
    /// Its state, for people to read.
    pub status: Story,
    /// The answer to each part.
    pub answer: Vec<GivenPart>,
    /// The word for a refusal or for asking back.
    pub word: &'static str,
    pub is_own_words: bool,
    pub note: String,
    /// The answer's author, channel and time.
    pub who: String,
    pub late: Vec<(String, String)>,
    pub steps: Vec<Step>,
    /// The beginning of the result, as the agent wrote it.
    result: Option<String>,
    hosts: Hosts,
    /// True if the answer can be taken back.
    pub can_be_undone: bool,
    /// True if a run of this round is on record. The session of a dialog is not a run of askbox.
    pub has_run: bool,
}

/// One step of an answer's progress.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub name: &'static str,
    pub ago: String,
    /// `done`, `now`, `failed`, or empty if the step is still to come.
    pub state: &'static str,
}

impl Outcome {
    /// The state of a round that was answered or is over.
    pub fn read(site: &Site, round: &Round) -> Result<Self> {
        let question = &round.document.typed;
        let teller = site.teller();
        let status = printable(teller.of_round_or_why(round.folder, &round.id, question));
        let run = record::latest(&site.mailbox, &round.id).ok().flatten();
        let answer = question.answer.as_ref();
        let is_taken_back = question.taken_back.is_some() && answer.is_none();
        // The session of a dialog goes on by itself: no run is launched for the answer.
        let is_of_dialog = question.live.is_some();
        Ok(Self {
            workflow: round.id.workflow.to_string(),
            question_id: round.id.question.to_string(),
            title: text::excerpt(&question.title(), TITLE),
            answer: answer.map(|answer| filled_part::in_words(question, answer)).unwrap_or_default(),
            word: answer.map_or("", |answer| if answer.value.is_some() { "" } else { answer.word() }),
            is_own_words: answer.is_some_and(|a| a.value.as_ref().is_some_and(|v| !match_option::in_own_words(question, v).is_empty())),
            note: answer.and_then(|a| a.note.as_deref()).map(text::printable).unwrap_or_default(),
            who: answer.map_or_else(|| story::in_words(round), Answer::who),
            late: question.late_answers.iter().map(|late| (late.who(), said(late))).collect(),
            steps: steps(&status, is_of_dialog),
            result: status.result.as_deref().map(|result| text::beginning(result, RESULT)),
            hosts: site.hosts.clone(),
            can_be_undone: round.folder == Folder::Answered && answer.is_some_and(Answer::is_a_persons) && !is_taken_back,
            has_run: run.is_some() && !is_of_dialog,
            status,
        })
    }

    /// The result as HTML.
    pub fn result_html(&self) -> Option<String> {
        self.result.as_deref().map(|result| markdown::to_html(&self.hosts, result))
    }

    /// The result in one line, or nothing.
    pub fn result_line(&self) -> String {
        self.result.as_deref().map(|result| text::excerpt(result, 600)).unwrap_or_default()
    }
}

fn said(answer: &Answer) -> String {
    answer.value.as_ref().map_or_else(|| answer.word().into(), |value| text::printable(&value.to_text()))
}

/// The whole text of a question, or nothing if its line is all of it.
pub fn beyond_its_line(question: &Question) -> String {
    let whole = question.question.trim();
    if whole == text::excerpt(&question.title(), TITLE) || whole.is_empty() {
        return String::new();
    }
    if question.approval.is_some() { text::still_visible(whole) } else { text::printable(whole) }
}

/// The state with its sentences as they are shown.
pub fn printable(mut status: Story) -> Story {
    for words in [&mut status.why, &mut status.todo, &mut status.next] {
        *words = words.as_deref().map(text::printable).filter(|words| !words.is_empty());
    }
    status
}

/// True if the state will still change.
pub fn goes_on(status: &Story) -> bool {
    status.state.is_open() && !matches!(status.state, Standing::Parked | Standing::Interrupted)
}

/// The current work of the run.
pub fn now(status: &Story) -> Option<String> {
    status.live.as_ref().filter(|_| status.state == Standing::Running).map(|live| text::one_line(&live.words))
}

/// A sentence about an attempt that failed, or was throttled, and is tried again.
pub fn retry(status: &Story) -> Option<String> {
    let attempt = status.attempt.unwrap_or(1);
    let is_ahead = |at: &Time| *at > time::now();
    let when = status.retry_at.filter(is_ahead).map_or_else(|| "as soon as a watcher looks".to_owned(), |at| format!("at {}", clock(at)));
    match status.state {
        Standing::Retrying => Some(format!("Attempt {attempt} failed. The next one starts {when}.")),
        Standing::Throttled => Some(format!("The API has had enough for now (attempt {attempt}). The session goes on {when}.")),
        Standing::Queued => Some(format!("Attempt {attempt} waits to be launched.")),
        _ => None,
    }
}

/// The progress of an answer. The answer to a session's dialog launches nothing.
fn steps(story: &Story, is_of_dialog: bool) -> Vec<Step> {
    let marks = story.progress().into_iter().filter(|mark| !is_of_dialog || mark.name != "launched");
    marks
        .map(|mark| {
            let state = match mark.reached {
                Reached::Done => "done",
                Reached::Now => "now",
                Reached::Failed => "failed",
                Reached::Ahead if is_of_dialog => "now",
                Reached::Ahead => "",
            };
            Step { name: mark.name, ago: time::ago(mark.at), state }
        })
        .collect()
}

/// A later question of the same workflow.
#[derive(Debug)]
pub struct Later {
    /// The address of its page.
    pub path: String,
    /// The question in one line.
    pub title: String,
    /// True if it waits for an answer.
    pub waits: bool,
}

impl Later {
    /// The newest question of the round's workflow, if that is a later one.
    pub fn find(mailbox: &Mailbox, of: &RoundId) -> Option<Self> {
        let newest = round::latest(mailbox, &of.workflow).filter(|newest| newest.id != *of)?;
        let question = &newest.document.typed;
        question.content().asks_a_person().then(|| Self {
            path: format!("/q/{}/{}", of.workflow, newest.id.question),
            title: text::excerpt(&question.title(), 300),
            waits: newest.folder == Folder::Pending && question.until.is_none(),
        })
    }

    /// The question that the workflow asks on another machine now, if that is not this round's.
    pub fn on_another_machine(there: &OtherMachines, host: &HostName, of: &RoundId) -> Option<Self> {
        let question = there.question(host, of)?;
        let round = question.round().filter(|round| round != of)?;
        let title = question.document().ok().map(|document| text::excerpt(&document.typed.title(), 300))?;
        Some(Self { path: format!("/q/{host}:{}/{}", of.workflow, round.question), title, waits: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_failed_says_when_it_is_tried_again() {
        let blank = story::unreadable(&"w".parse().unwrap(), &askbox_mailbox::error::Error::failed("", ""));
        let at = time::now() + chrono::TimeDelta::days(2);
        let of = |state, retry_at| retry(&Story { state, retry_at, attempt: Some(2), ..blank.clone() });
        let told = of(Standing::Retrying, Some(at)).unwrap();
        assert_eq!(told, format!("Attempt 2 failed. The next one starts at {}.", time::local(at)));
        assert!(of(Standing::Retrying, Some(time::now())).unwrap().ends_with("as soon as a watcher looks."));
        assert!(of(Standing::Throttled, Some(at)).unwrap().contains("The session goes on at "));
        assert_eq!(of(Standing::Running, None), None);
    }

    #[test]
    fn an_answer_goes_from_accepted_to_its_end_step_by_step() {
        let of = |standing, launched: bool, is_of_dialog| {
            let at = launched.then(time::now);
            let blank = story::unreadable(&"w".parse().unwrap(), &askbox_mailbox::error::Error::failed("", ""));
            let steps = steps(&Story { state: standing, answered_at: Some(time::now()), launched_at: at, ..blank }, is_of_dialog);
            steps.iter().map(|s| format!("{}:{}", s.name, s.state)).collect::<Vec<_>>().join(" ")
        };
        let words = |standing, launched| of(standing, launched, false);
        assert_eq!(words(Standing::Answered, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Queued, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Running, true), "accepted:done launched:done delivered:now");
        assert_eq!(words(Standing::Delivered, true), "accepted:done launched:done delivered:done");
        assert_eq!(words(Standing::Parked, true), "accepted:done launched:done parked:failed");
        // Nothing is launched for the dialog of a session.
        assert_eq!(of(Standing::Answered, false, true), "accepted:done delivered:now");
        assert_eq!(of(Standing::Delivered, true, true), "accepted:done delivered:done");
        assert_eq!(of(Standing::Superseded, true, true), "accepted:done superseded:failed");
    }
}
