//! A deployment tool that asks before it deploys. It embeds askbox's mailbox: no other program of askbox has to run.
//!
//!     cargo run --example embed           asks, and waits for up to an hour: answer with `ask-answer deploy-7 staging`
//!     cargo run --example embed -- me     asks, and answers itself: what the person at its own prompt would do
//!
//! In a project of your own, `Cargo.toml` needs one line: askbox-mailbox = "0.1"

use std::error::Error;
use std::time::Duration;

use askbox_mailbox::{Caller, Checkpoint, Mailbox, Outcome, Question, WorkflowId};

fn main() -> Result<(), Box<dyn Error>> {
    let mailbox = Mailbox::open_or_create(Mailbox::locate(None)?)?;
    let id: WorkflowId = "deploy-7".parse()?;

    // The state first: whoever continues after the answer, also after a crash, reads it from here.
    let state = Checkpoint { next_action: Some("deploy build 7 to the place in user_answer".into()), ..Checkpoint::default() };
    mailbox.save_checkpoint(&id, &state)?;

    let question = Question::new(id.clone(), "Where does build 7 go?")
        .with_options([("staging", "The test site"), ("production", "The shop itself")])
        .with_context("All 412 tests passed.");
    mailbox.post(question)?;

    if std::env::args().nth(1).as_deref() == Some("me") {
        let person = Caller::person("ann", "deploy")?;
        let pending = mailbox.answer(&id)?;
        println!("{}", pending.question().title());
        pending.by(&person).note("the shop is closed today").value("staging")?;
    }

    match mailbox.wait(&id, Duration::from_secs(3600))? {
        Some(answer) if answer.outcome == Outcome::Answered => {
            println!("{} says: {}", answer.by, answer.value.map(|value| value.to_text()).unwrap_or_default());
        }
        Some(answer) => println!("{} decides nothing: {}", answer.by, answer.note.unwrap_or_default()),
        None => println!("no answer yet; the question stays in the mailbox"),
    }
    Ok(())
}
