//! The data for all pages, and the device that requests a page.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use crate::changes::Changes;
use crate::gate::{Devices, Hosts, SignedIn};
use crate::index::{Index, Row};
use crate::onlooker::Onlooker;
use crate::other_machines::OtherMachines;
use crate::reply::{self, plain};
use crate::sessions_elsewhere::SessionsElsewhere;
use crate::taken_back::TakenBack;
use askbox_cli::Context;
use askbox_mailbox::{Caller, Error, Mailbox, Result, SecretKey, Through, text};
use askbox_run::Teller;

/// The data for all pages.
#[derive(Debug)]
pub struct Site {
    /// The facts that the program has found out.
    pub context: Context,
    /// The mailbox.
    pub mailbox: Mailbox,
    /// The names under which the page may be requested.
    pub hosts: Hosts,
    /// The signed-in devices.
    pub devices: Devices,
    /// The waiting questions of this machine.
    pub index: Arc<Index>,
    /// The questions of other machines.
    pub elsewhere: OtherMachines,
    /// The sessions of other machines.
    pub sessions: SessionsElsewhere,
    /// The answers that were taken back on this page.
    pub taken_back: TakenBack,
    /// The open pages that are told about changes.
    pub changes: Changes,
    /// Announces that a person is there.
    pub onlooker: Onlooker,
    /// How long a device stays signed in.
    pub session_lasts: Duration,
}

impl Site {
    /// The waiting questions of this and of other machines, the urgent ones first.
    pub fn rows(&self) -> Result<Arc<Vec<Arc<Row>>>> {
        let (here, there) = (self.index.rows(&self.mailbox)?, self.elsewhere.rows());
        if there.is_empty() {
            return Ok(here);
        }
        let mut all: Vec<_> = here.iter().chain(there.iter()).cloned().collect();
        all.sort_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
        Ok(Arc::new(all))
    }

    /// The number of questions that wait for a person, on this and on other machines.
    pub fn waiting(&self) -> Result<usize> {
        let for_a_person = |rows: &[Arc<Row>]| rows.iter().filter(|row| !row.facts.is_event).count();
        Ok(for_a_person(&self.index.rows(&self.mailbox)?) + for_a_person(&self.elsewhere.rows()))
    }

    /// The person at this device, who answers through `channel`. The configuration is read again, because the operator may have changed how
    /// answers are signed.
    ///
    /// # Errors
    /// If the answer would not count, or if the page has a key that did not sign this device in.
    pub fn caller(&self, signed_in: &SignedIn, channel: &str) -> Result<Caller> {
        if let Some(key) = self.own_key()?
            && !self.devices.of_cookie(&signed_in.cookie)?.is_some_and(|device| device.is_signed_by(&key))
        {
            return Err(Error::failed(
                format!(
                    "the device {} was not signed in with the key of this page, so its answers are not signed",
                    text::one_line(&signed_in.device)
                ),
                "make a new link, and sign in again: askbox web link",
            ));
        }
        self.context.caller_through(&signed_in.device, channel, Through::Web)
    }

    /// Tells the stories of rounds, with local times.
    pub fn teller(&self) -> Teller<'_> {
        Teller::new(&self.mailbox, self.context.loaded()).in_local_time()
    }

    /// The key with which the page signs, if it has one of its own. The configuration is read again.
    ///
    /// # Errors
    /// If the key cannot be read.
    pub fn own_key(&self) -> Result<Option<SecretKey>> {
        self.context.reload();
        self.context.config().map_or(Ok(None), |config| config.answers.own_key())
    }

    /// Reads or writes files on another thread than the one that talks to browsers.
    pub async fn off_thread<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self) -> Result<T> + Send + 'static) -> Result<T> {
        let site = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        done.unwrap_or_else(|e| Err(Error::failed(format!("a worker ended early: {e}"), "load the page again")))
    }

    /// Makes a page on another thread. An error also becomes a page.
    pub async fn page(self: &Arc<Self>, make: impl FnOnce(&Self) -> Result<Response> + Send + 'static) -> Response {
        self.off_thread(make).await.unwrap_or_else(|e| reply::error_page("", &e))
    }
}

/// A request for a page from a signed-in device.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The data for the page.
    pub site: Arc<Site>,
    /// The device that requests the page.
    pub signed_in: SignedIn,
}

impl Visit {
    /// Makes a page on another thread. An error also becomes a page.
    pub async fn page(self, make: impl FnOnce(&Self) -> Result<Response> + Send + 'static) -> Response {
        let (site, home) = (Arc::clone(&self.site), self.signed_in.home.clone());
        site.off_thread(move |_| make(&self)).await.unwrap_or_else(|e| reply::error_page(&home, &e))
    }

    /// Redirects to another page after a form.
    pub fn go_to(&self, path: &str) -> Response {
        reply::go_to(&format!("{}{path}", self.signed_in.home))
    }
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> std::result::Result<Self, Response> {
        match parts.extensions.get::<SignedIn>() {
            Some(signed_in) => Ok(Self { site: Arc::clone(site), signed_in: signed_in.clone() }),
            // This cannot happen: the check before all routing refuses a browser that is not signed in.
            None => Err(plain(StatusCode::UNAUTHORIZED, "not signed in")),
        }
    }
}
