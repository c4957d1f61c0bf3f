//! The end of a live question, without a session: the test writes the transcript.

mod thirteenth;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::approval::ask;
use crate::approval::call::Call;
use crate::asking::orphans;
use crate::asking::posted::Posted;
use crate::asking::receipt::{self, End};
use crate::attempt::record::{self, Run};
use crate::claim::inline::{self, Asked, Waited, Waiter};
use crate::recovery::{self, Recovered};
use crate::story::{Standing, Teller};
use askbox_config::Config;
use askbox_mailbox::documents::fields::live::Live;
use askbox_mailbox::programs::{ALL, CLAUDE};
use askbox_mailbox::transitions::accept::{self, Decision, On};
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::{AnswerValue, Caller, Closed, Document, Folder, Mailbox, Policy, Question, Receipt, WorkflowId, read_question, time};

const SESSION: &str = "15c96f27-091a-5dc1-bcce-0d2e49721bc0";

/// A mailbox with a question that a hook asked beside its dialog.
struct Asking {
    folder: tempfile::TempDir,
    mailbox: Mailbox,
    waiter: Option<Waiter>,
    receipt: Receipt,
}

impl Asking {
    fn new() -> Self {
        Self::of("claude")
    }

    /// The question of a session of this program.
    fn of(program: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let workflow: WorkflowId = "live-shop-1".parse().unwrap();
        let input: Map<String, Value> = json!({"command": "touch one"}).as_object().unwrap().clone();
        let call = Call { tool: "Bash", input: &input, cwd: Path::new("/work") };
        let live = Live {
            session: SESSION.parse().unwrap(),
            program: program.into(),
            title: None,
            project: "shop".into(),
            branch: None,
            agent: None,
            since: time::now(),
            in_background: false,
            unattended: false,
            until: None,
            offers: Vec::new(),
        };
        let mut question = ask::question_of_dialog(&workflow, &call, "toolu_1", None, live).unwrap();
        question.config_dir = Some(folder.path().to_path_buf());
        let waiter = Some(inline::begin(&mailbox, &workflow).unwrap());
        let receipt = post::post(&mailbox, question, IfPending::Conflict).unwrap();
        Self { folder, mailbox, waiter, receipt }
    }

    fn answer(&self) -> askbox_mailbox::error::Result<()> {
        let caller = Caller::person("ann", "test").unwrap();
        let on = On::question(&self.receipt.round, &self.receipt.question).unwrap();
        let value = caller.value(AnswerValue::Text("once".into()));
        accept::answer(&self.mailbox, &self.receipt.round.workflow, Decision::by(&caller, on), value).map(drop)
    }

    /// The hook claims the answer, prints it, and ends.
    fn print(&mut self) {
        let asked = Asked::of_receipt(&self.receipt).unwrap();
        let waiter = self.waiter.take().unwrap();
        let waited = waiter.wait(&self.mailbox, &Policy::default(), &asked, Duration::ZERO, &|| false).unwrap();
        assert!(matches!(waited, Waited::Answered(_)));
    }

    /// The session's transcript with these lines.
    fn transcript(&self, lines: &[Value]) -> PathBuf {
        let project = self.folder.path().join("projects/p");
        std::fs::create_dir_all(&project).unwrap();
        let path = project.join(format!("{SESSION}.jsonl"));
        let call =
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": {}}]}});
        let text: String = std::iter::once(&call).chain(lines).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn closed(&self) -> Question {
        read_question::of_round(&self.mailbox.round(Folder::Closed, &self.receipt.round), &self.receipt.round).unwrap().typed
    }

    fn state(&self) -> Closed {
        self.closed().closed.unwrap().state
    }
}

fn decided(decision: &str) -> Value {
    json!({"type": "attachment", "attachment": {"type": "hook_permission_decision", "decision": decision, "toolUseID": "toolu_1"}})
}

fn result() -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}})
}

#[test]
fn the_changed_question_of_a_dialog_is_not_said_to_come_anew() {
    let mut asking = Asking::new();
    let workflow = asking.receipt.round.workflow.clone();
    let mut document = read_question::pending(&asking.mailbox, &workflow).unwrap();
    document.typed.cwd = Some("/elsewhere".into());
    document.update().unwrap();
    std::fs::write(asking.mailbox.document(Folder::Pending, &workflow), document.to_bytes()).unwrap();
    let caller = Caller::person("ann", "test").unwrap();
    let on = On::question(&asking.receipt.round, &document.typed).unwrap();
    let value = caller.value(AnswerValue::Text("once".into()));
    accept::answer(&asking.mailbox, &workflow, Decision::by(&caller, on), value).unwrap();
    let asked = Asked::of_receipt(&asking.receipt).unwrap();
    let waited = asking.waiter.take().unwrap().wait(&asking.mailbox, &Policy::default(), &asked, Duration::ZERO, &|| false).unwrap();
    assert!(matches!(waited, Waited::Changed));
    let why = asking.closed().closed.unwrap().why.unwrap();
    assert_eq!(why, "its question was changed after it was asked, so this answer is not used: its session decides by itself");
}

#[test]
fn the_receipt_in_the_transcript_makes_an_answer_delivered() {
    let mut asking = Asking::new();
    asking.answer().unwrap();
    asking.print();
    asking.transcript(&[decided("allow")]);
    receipt::wait(&asking.mailbox, &asking.receipt.round).unwrap();
    assert_eq!(asking.state(), Closed::Delivered);
}

#[test]
fn a_session_that_went_on_without_the_receipt_means_too_late() {
    let next = json!({"type": "assistant", "message": {"id": "msg_2", "content": []}});
    let mut refused = result();
    (refused["toolDenialKind"], refused["toolDenialBeforeRun"]) = (json!("user-rejected"), json!(true));
    for (lines, why) in [
        (vec![refused], "it came too late: the call was refused at its terminal"),
        (vec![result(), next], "it came too late: the call was decided at its terminal, and has its result"),
        (vec![decided("deny")], "it came too late: another hook refused the call"),
        (vec![decided("deny"), result()], "it came too late: another hook refused the call"),
    ] {
        let mut asking = Asking::new();
        asking.answer().unwrap();
        asking.print();
        asking.transcript(&lines);
        receipt::wait(&asking.mailbox, &asking.receipt.round).unwrap();
        let closed = asking.closed().closed.unwrap();
        assert_eq!((closed.state, closed.why.as_deref()), (Closed::Superseded, Some(why)), "{lines:?}");
    }
}

#[test]
fn recovery_settles_a_printed_answer_and_launches_nothing() {
    let mut asking = Asking::new();
    asking.answer().unwrap();
    asking.print();
    asking.transcript(&[]);
    let recover = || recovery::recover_at_once(&asking.mailbox, &Config::default(), &asking.receipt.round).unwrap();
    assert!(matches!(recover(), Recovered::Later(_)), "the receipt may still come");
    asking.transcript(&[decided("allow")]);
    assert!(matches!(recover(), Recovered::Over));
    assert_eq!(asking.state(), Closed::Delivered);
}

#[test]
fn an_answer_without_proof_is_called_neither_taken_nor_late() {
    // A call that was cut may have run: Claude Code then drops the receipt of a hook.
    let mut cut = result();
    cut["toolDenialKind"] = json!("user-rejected");
    let next = json!({"type": "assistant", "message": {"id": "msg_2", "content": []}});
    let transcripts = [vec![], vec![result()], vec![cut, next]].map(|lines| (CLAUDE.name, lines));
    let others = ALL.into_iter().filter(|facts| facts.asks_again).map(|facts| (facts.name, Vec::new()));
    for (program, lines) in transcripts.into_iter().chain(others) {
        let mut asking = Asking::of(program);
        let (config, round) = (Config::default(), asking.receipt.round.clone());
        asking.answer().unwrap();
        asking.print();
        asking.transcript(&lines);
        let claimed_long_ago = |mut run: Run| {
            run.claimed_at -= chrono::TimeDelta::days(1);
            record::write(&asking.mailbox, &run).unwrap();
        };
        claimed_long_ago(record::latest(&asking.mailbox, &round).unwrap().unwrap());
        let recovered = recovery::recover_at_once(&asking.mailbox, &config, &round).unwrap();
        assert!(matches!(recovered, Recovered::Later(_)), "{program}: {recovered:?}");
        let story = Teller::of_states(&asking.mailbox).of_workflow(&round.workflow).unwrap();
        assert_eq!((story.state, story.why.as_deref()), (Standing::Sent, Some(receipt::NOT_KNOWN_YET)), "{program}");
        let told = receipt::told(&asking.mailbox, &asking.receipt.question, &round);
        assert_eq!(told, Some(End::NotKnownYet), "{program}");
        // The session makes the same call again.
        let other: WorkflowId = "live-shop-2".parse().unwrap();
        let mut again = asking.receipt.question.clone();
        (again.workflow_id, again.question_id) = (other.clone(), None);
        let _posted = Posted::post(&asking.mailbox, Document::draft(again), &CLAUDE).unwrap().unwrap();
        let asked = read_question::pending(&asking.mailbox, &other).unwrap().typed.question;
        assert!(asked.starts_with("May the agent call Bash once more? Allowed at "), "{asked}");
        assert!(asked.contains(" by ann; it may have run.\n"), "{asked}");
        // The session, or a person, tells it later.
        let sent = orphans::sent(&asking.mailbox, &round.workflow).unwrap().unwrap();
        End::Confirmed.close(sent, &asking.mailbox, "ann").unwrap();
        assert_eq!(End::of(&asking.closed()), End::Confirmed, "{program}");
    }
}

#[test]
fn a_question_without_its_hook_takes_no_answer_and_is_withdrawn() {
    let mut asking = Asking::new();
    let (mailbox, round) = (&asking.mailbox, &asking.receipt.round);
    assert!(!orphans::end_pending(mailbox, &asking.receipt.question, round).unwrap(), "its hook waits");
    asking.waiter = None;
    assert!(asking.answer().unwrap_err().to_string().contains("no longer waits"));
    assert!(orphans::end_pending(&asking.mailbox, &asking.receipt.question, &asking.receipt.round).unwrap());
    assert_eq!(asking.state(), Closed::Withdrawn);
}

#[test]
fn an_answer_whose_hook_died_is_closed_and_launches_nothing() {
    let mut asking = Asking::new();
    asking.answer().unwrap();
    let workflow = asking.receipt.round.workflow.clone();
    orphans::end_answered(&asking.mailbox, &workflow).unwrap();
    assert!(askbox_mailbox::disk::exists(asking.mailbox.document(Folder::Answered, &workflow)), "its hook takes it");
    asking.waiter = None;
    let claimed = crate::claim::take(&asking.mailbox, &Config::default(), &workflow).unwrap();
    assert!(matches!(claimed, crate::claim::ClaimAttempt::Refused(crate::claim::Refusal::OfDialog(_))));
    orphans::end_answered(&asking.mailbox, &workflow).unwrap();
    assert_eq!(asking.state(), Closed::Superseded);
}
