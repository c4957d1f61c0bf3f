//! What all pages have around them.

use crate::mailbox::listing::list;
use crate::mailbox::who::presence;
use crate::surface::askbox::web::reply::files;
use crate::surface::askbox::web::site::Visit;

/// Who looks, where, and how many questions wait.
#[derive(Debug)]
pub struct Frame {
    /// The name of the device.
    pub device: String,
    /// The token of forms.
    pub form: String,
    /// The page in the navigation.
    pub at: &'static str,
    /// How many questions wait for a person.
    pub waiting: usize,
    /// Whether no watcher runs, so that answers are kept and launch nothing.
    pub no_watcher: bool,
    /// A word that changes with style and script, so that a browser may keep them.
    pub version: &'static str,
}

impl Frame {
    /// The frame of a page of this device.
    pub fn of(visit: &Visit, at: &'static str) -> Self {
        let site = &visit.site;
        let waiting = site.waiting().unwrap_or(0);
        let (device, form) = (visit.signed_in.device.clone(), visit.signed_in.form_token.clone());
        // Where one only answers other machines' questions, nothing is launched.
        let only_answers = !site.elsewhere.is_nobody() && list::is_unused(&site.mailbox);
        let no_watcher = !only_answers && !presence::anybody(&site.mailbox).unwrap_or(true);
        Self { device, form, at, waiting, no_watcher, version: files::version() }
    }
}
