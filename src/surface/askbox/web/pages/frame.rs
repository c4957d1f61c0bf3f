//! What all pages have around them.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::surface::askbox::web::gate::SignedIn;
use crate::surface::askbox::web::pages::{files, problem};
use crate::surface::askbox::web::routes::Site;
use crate::time::{self, Time};

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
    /// A word that changes with style and script, so that a browser may keep them.
    pub version: &'static str,
}

impl Frame {
    /// The frame of a page of this device.
    pub fn of(site: &Site, signed_in: &SignedIn, at: &'static str) -> Self {
        let waiting = site.index.rows(&site.mailbox).map_or(0, |rows| rows.iter().filter(|row| !row.is_event).count());
        let SignedIn { device, form_token, .. } = signed_in;
        Self { device: device.clone(), form: form_token.clone(), at, waiting, version: files::version() }
    }
}

/// A page as a reply.
pub fn reply(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(e) => problem::plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("the page cannot be made: {e}")),
    }
}

/// Leads to another page after a form.
pub fn go_to(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path.to_owned())]).into_response()
}

/// An age as people say it, in its largest unit; empty where the time is not known.
pub fn ago(at: Option<Time>) -> String {
    let age = at.map(|at| time::human(time::since(at)));
    age.map(|age| format!("{} ago", age.split(' ').next().unwrap_or_default())).unwrap_or_default()
}
