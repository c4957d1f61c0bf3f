//! What changed, told to pages that are open: ids alone. A page then asks for itself again.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::sync::mpsc::Receiver;

use crate::surface::askbox::web::changes::Change;
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::site::Visit;

/// How often a page hears that the connection lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// `/events`
pub async fn stream(visit: Visit) -> Response {
    match visit.site.changes.page(visit.signed_in.cookie) {
        Some(told) => Sse::new(Told(told)).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)).into_response(),
        None => reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open"),
    }
}

/// The changes as a stream; it ends when the page is not told any more.
struct Told(Receiver<Change>);

impl Stream for Told {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|change| change.map(|change| Ok(Event::default().data(change))))
    }
}
