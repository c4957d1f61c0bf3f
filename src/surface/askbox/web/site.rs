//! What all pages work with, and who asks for one.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::who::caller::Caller;
use crate::surface::askbox::web::changes::Changes;
use crate::surface::askbox::web::elsewhere::Elsewhere;
use crate::surface::askbox::web::gate::{Devices, Hosts, SignedIn};
use crate::surface::askbox::web::index::{Index, Row};
use crate::surface::askbox::web::onlooker::Onlooker;
use crate::surface::askbox::web::reply::{plain, problem};
use crate::surface::askbox::web::taken_back::TakenBack;
use crate::surface::program::Context;

/// What all pages work with.
#[derive(Debug)]
pub struct Site {
    /// What the program has found out.
    pub context: Context,
    /// The mailbox.
    pub mailbox: Mailbox,
    /// The names of the page.
    pub hosts: Hosts,
    /// Who is signed in.
    pub devices: Devices,
    /// The questions that wait here.
    pub index: Arc<Index>,
    /// The questions of other machines.
    pub elsewhere: Elsewhere,
    /// The answers that were taken back here.
    pub taken_back: TakenBack,
    /// The pages that are told of changes.
    pub changes: Changes,
    /// Whether a person is there.
    pub onlooker: Onlooker,
    /// How long a device stays signed in.
    pub session_lasts: Duration,
}

impl Site {
    /// The questions that wait here and elsewhere, the urgent first.
    pub fn rows(&self) -> Result<Arc<Vec<Arc<Row>>>> {
        let (here, there) = (self.index.rows(&self.mailbox)?, self.elsewhere.rows());
        if there.is_empty() {
            return Ok(here);
        }
        let mut all: Vec<_> = here.iter().chain(there.iter()).cloned().collect();
        all.sort_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
        Ok(Arc::new(all))
    }

    /// How many questions wait for a person, here and elsewhere.
    pub fn waiting(&self) -> Result<usize> {
        let for_a_person = |rows: &[Arc<Row>]| rows.iter().filter(|row| !row.is_event).count();
        Ok(for_a_person(&self.index.rows(&self.mailbox)?) + for_a_person(&self.elsewhere.rows()))
    }

    /// The person at this device, who answers through `channel`. The operator may have changed how answers are signed.
    ///
    /// # Errors
    /// If the answer would not count.
    pub fn caller(&self, device: &str, channel: &str) -> Result<Caller> {
        self.context.reload();
        self.context.caller_through(device, channel, Through::Web)
    }

    /// Reads or writes files, on another thread than the one that talks to browsers.
    pub async fn off_thread<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self) -> Result<T> + Send + 'static) -> Result<T> {
        let site = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        done.unwrap_or_else(|e| Err(Error::failed(format!("a worker ended early: {e}"), "load the page again")))
    }

    /// A page that is made off the thread; an error is a page, too.
    pub async fn page(self: &Arc<Self>, make: impl FnOnce(&Self) -> Result<Response> + Send + 'static) -> Response {
        self.off_thread(make).await.unwrap_or_else(|e| problem::of(&e))
    }
}

/// A device that is signed in asks for a page.
#[derive(Debug, Clone)]
pub struct Visit {
    /// What the page works with.
    pub site: Arc<Site>,
    /// The device.
    pub signed_in: SignedIn,
}

impl Visit {
    /// A page that is made off the thread; an error is a page, too.
    pub async fn page(self, make: impl FnOnce(&Self) -> Result<Response> + Send + 'static) -> Response {
        let site = Arc::clone(&self.site);
        site.page(move |_| make(&self)).await
    }
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> std::result::Result<Self, Response> {
        match parts.extensions.get::<SignedIn>() {
            Some(signed_in) => Ok(Self { site: Arc::clone(site), signed_in: signed_in.clone() }),
            // The check before all routing lets nobody come here who is not.
            None => Err(plain(StatusCode::UNAUTHORIZED, "not signed in")),
        }
    }
}
