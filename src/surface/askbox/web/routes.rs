//! Which address is which page.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};

use crate::surface::askbox::web::pages::{done, events, inbox, question, run, sign_in, tree};
use crate::surface::askbox::web::reply::{files, problem};
use crate::surface::askbox::web::site::Site;

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
