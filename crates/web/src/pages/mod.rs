//! The pages, and the frame around every page.
//!
//! | file | page |
//! |---|---|
//! | `inbox` | the waiting questions |
//! | `question` | one question: takes the filled-in form, and shows the answer that counts |
//! | `remote_question` | a question of another machine: the answer is sent there, and accepted there or not |
//! | `question_form` | the page for answering a question of this or another machine, with the question in its form |
//! | `outcome` | the state of an answered question: accepted, launched, delivered, result |
//! | `done` | the last questions that were answered or are over |
//! | `tree`, `run` | workflows below those that started them, and the work of a run |
//! | `events` | tells an open page about changes, by `/events` |
//! | `sign_in` | a device signs in and out |
//! | `markdown` | the context of a question as HTML |

pub mod done;
pub mod events;
pub mod inbox;
mod markdown;
mod outcome;
pub mod question;
pub mod question_form;
mod remote_question;
pub mod run;
pub mod sign_in;
pub mod tree;

use crate::reply;
use crate::site::Visit;
use askbox_mailbox::listing::list;
use askbox_mailbox::who::presence;

/// The values for the frame: the device, the current page, and the number of waiting questions.
#[derive(Debug)]
pub struct Frame {
    /// The name of the device.
    pub device: String,
    /// The token for forms.
    pub form: String,
    /// The current page in the navigation.
    pub at: &'static str,
    /// The number of questions that wait for a person.
    pub waiting: usize,
    /// True if no watcher runs, so that answers are stored but no agent is launched.
    pub no_watcher: bool,
    /// A word that changes with the style and the script, so that a browser may cache both.
    pub version: &'static str,
}

impl Frame {
    /// The frame of a page of this device.
    pub fn new(visit: &Visit, at: &'static str) -> Self {
        let site = &visit.site;
        let waiting = site.waiting().unwrap_or(0);
        let (device, form) = (visit.signed_in.device.clone(), visit.signed_in.form_token.clone());
        // A machine that only answers other machines' questions launches nothing, so it needs no watcher.
        let only_answers = !site.elsewhere.is_nobody() && list::is_unused(&site.mailbox);
        let no_watcher = !only_answers && !presence::anybody(&site.mailbox).unwrap_or(true);
        Self { device, form, at, waiting, no_watcher, version: reply::files_version() }
    }
}
