//! A person elsewhere, who looks at the page of one session.

use crate::page::{Browser, Reply};
use crate::until;

/// The page of a session in a browser.
pub struct SessionPage {
    pub browser: Browser,
    pub session: String,
}

impl SessionPage {
    fn place(&self) -> String {
        format!("/session/{}", self.session)
    }

    /// The page.
    pub fn see(&self) -> Reply {
        self.browser.see(&self.place())
    }

    /// Waits until the page shows these words.
    #[track_caller]
    pub fn shows(&self, words: &str) -> String {
        until(words, || Some(self.see().text()).filter(|text| text.contains(words)))
    }

    /// Presses the button of the form with this class.
    #[track_caller]
    fn presses(&self, class: &str, more: &[(&str, &str)], to: &str) {
        let page = until("the form", || Some(self.see()).filter(|page| page.body.contains(class)));
        let form = page.body.split(class).nth(1).expect("a form");
        let id = form.split("name=\"prompt\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
        let token = page.hidden("form").expect("a token");
        let reply = self.browser.post(&format!("{}{to}", self.place()), &[&[("form", token.as_str()), ("prompt", id)], more].concat());
        assert_eq!(reply.status, 303, "{}", reply.text());
    }

    /// Sends the next prompt.
    #[track_caller]
    pub fn sends(&self, words: &str) {
        self.presses("class=\"answer prompt\"", &[("words", words)], "");
    }

    /// Stops the turn at work.
    #[track_caller]
    pub fn stops(&self) {
        self.presses("class=\"prompt stop\"", &[], "/stop");
    }
}
