//! `/events`: tells an open page about changes of the mailbox, as a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::sync::mpsc::Receiver;

use crate::changes::Change;
use crate::reply;
use crate::site::Visit;
use askbox_mailbox::Result;

/// The time between two signs of life for a page.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// `/events`
pub async fn stream(visit: Visit) -> Response {
    match visit.site.changes.page(visit.signed_in.cookie) {
        Some(told) => Sse::new(EventStream(told)).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)).into_response(),
        None => reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open"),
    }
}

/// The changes as a stream. It ends when the page is no longer told about them.
struct EventStream(Receiver<Change>);

impl Stream for EventStream {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|change| change.map(|change| Ok(Event::default().data(change))))
    }
}
