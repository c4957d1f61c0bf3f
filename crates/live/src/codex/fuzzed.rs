//! The dialogs that Codex's daemon tells, for `fuzz/`.

use crate::codex::question;
use crate::codex::request::Request;
use crate::codex::threads::Threads;
use crate::codex::wire::{self, Incoming};
use askbox_mailbox::programs::CODEX;
use askbox_mailbox::{QuestionDocument, Result, Time};

/// The questions that these messages of the daemon become. A response is read as that to the request for a session.
pub fn questions(messages: &str, since: Time) -> Vec<Result<QuestionDocument>> {
    let mut threads = Threads::default();
    let mut asked = Vec::new();
    for message in messages.lines() {
        match wire::read(message) {
            Incoming::Response { result: Ok(result), .. } => {
                let newest = wire::newest_items(&result);
                wire::thread(&result).into_iter().for_each(|thread| threads.add(thread, newest.clone()));
            }
            Incoming::ItemStarted { thread, item } => threads.begin(&thread, item),
            Incoming::ItemCompleted { thread, item } => threads.end(&thread, &item),
            Incoming::Request { method, params, .. } => {
                let Some(request) = Request::read(&method, &params) else { continue };
                let Some(thread) = threads.get(&request.thread) else { continue };
                asked.push(question::request(&request, thread).and_then(|request| request.question(&CODEX, since)));
            }
            _ => {}
        }
    }
    asked
}
