//! The pages, and the frame around every page.
//!
//! | file | page |
//! |---|---|
//! | `inbox` | the waiting questions |
//! | `question` | one question: takes the filled-in form, and shows the answer that counts |
//! | `remote_question` | a question of another machine: the answer is sent there, and accepted there or not |
//! | `question_form` | the page for answering a question of this or another machine, with the question in its form |
//! | `change_call` | the change of a tool call, before it is sent |
//! | `decline` | several questions, shown whole and declined together |
//! | `outcome` | the state of an answered question: accepted, launched, delivered, result, a later question |
//! | `done` | the last questions that were answered or are over |
//! | `tree`, `run` | workflows below those that started them, and the work of a run |
//! | `session` | the sessions of Claude Code on this machine, and the conversation of one |
//! | `prompt` | the next prompt for a session: kept, sent, taken back |
//! | `events` | tells an open page about changes, by `/events` |
//! | `sign_in` | a device signs in and out |
//! | `markdown` | the context of a question as HTML |
//! | `held_up` | the reason why answers launch no agent now: the queue is paused, or no watcher runs |

pub mod change_call;
pub mod decline;
pub mod done;
pub mod events;
mod held_up;
pub mod inbox;
mod markdown;
mod outcome;
pub mod prompt;
pub mod question;
pub mod question_form;
mod remote_question;
pub mod run;
pub mod session;
pub mod sign_in;
pub mod tree;

use crate::gate::SignedIn;
use crate::reply;
use crate::site::Visit;
use askbox_mailbox::listing::list;

/// The values for the frame: the device, the current page, and the number of waiting questions.
#[derive(Debug)]
pub struct Frame {
    /// The name of the device.
    pub device: String,
    /// The path that its pages lie below.
    pub home: String,
    /// The token for forms.
    pub form: String,
    /// The current page in the navigation.
    pub at: &'static str,
    /// The number of questions that wait for a person.
    pub waiting: usize,
    /// The reason why answers are kept, but launch no agent now. Empty if they do, or if this machine launches none.
    pub held_up: String,
    /// A word that changes with the style and the script, so that a browser may cache both.
    pub version: &'static str,
}

impl Frame {
    /// The frame of a page of this device.
    pub fn new(visit: &Visit, at: &'static str) -> Self {
        let site = &visit.site;
        let waiting = site.waiting().unwrap_or(0);
        let SignedIn { device, home, form_token: form, .. } = visit.signed_in.clone();
        // A machine that only answers other machines' questions launches nothing, so it needs no watcher.
        let only_answers = !site.elsewhere.is_nobody() && list::is_unused(&site.mailbox);
        let held_up = if only_answers { String::new() } else { held_up::in_words(site).unwrap_or_default() };
        Self { device, home, form, at, waiting, held_up, version: reply::files_version() }
    }

    /// The same frame for a question of another machine, whose agents are launched there.
    pub fn for_another_machine(self) -> Self {
        Self { held_up: String::new(), ..self }
    }
}
