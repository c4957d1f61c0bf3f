//! Which address is which page.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};

use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::surface::askbox::web::changes::Changes;
use crate::surface::askbox::web::gate::{Devices, Hosts};
use crate::surface::askbox::web::index::Index;
use crate::surface::askbox::web::onlooker::Onlooker;
use crate::surface::askbox::web::pages::{done, events, files, inbox, problem, question, run, sign_in, tree};

/// What all pages work with.
#[derive(Debug)]
pub struct Site {
    /// The mailbox.
    pub mailbox: Mailbox,
    /// The names of the page.
    pub hosts: Hosts,
    /// Who is signed in.
    pub devices: Devices,
    /// The questions that wait.
    pub index: Arc<Index>,
    /// The pages that are told of changes.
    pub changes: Changes,
    /// Whether a person is there.
    pub onlooker: Onlooker,
    /// How long a device stays signed in.
    pub session_lasts: Duration,
}

impl Site {
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

/// All pages.
pub fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(inbox::show))
        .route("/q/{workflow}", get(question::newest))
        .route("/q/{workflow}/{question}", get(question::show).post(question::decide))
        .route("/q/{workflow}/{question}/undo", post(question::undo))
        .route("/done", get(done::show))
        .route("/tree", get(tree::show))
        .route("/tree/{workflow}", get(tree::show_one))
        .route("/run/{workflow}", get(run::show))
        .route("/events", get(events::stream))
        .route("/here", get(inbox::count))
        .route("/in/{link}", get(sign_in::show).post(sign_in::sign_in))
        .route("/out", post(sign_in::sign_out))
        .route("/static/{file}", get(files::show))
        .fallback(async || problem::page(StatusCode::NOT_FOUND, "Not there", "There is no such page."))
        .with_state(site)
}
