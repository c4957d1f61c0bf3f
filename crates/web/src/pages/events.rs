//! `/events`: tells an open page about changes of the mailbox, as a stream.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::reply;
use crate::site::Visit;

/// The time between two signs of life for a page.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// `/events`
pub async fn stream(visit: Visit) -> Response {
    match visit.site.changes.page(visit.signed_in.cookie) {
        // The stream ends when the page is no longer told.
        Some(told) => {
            let events = ReceiverStream::new(told).map(|change| Ok::<_, Infallible>(Event::default().data(change)));
            Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)).into_response()
        }
        None => reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open"),
    }
}
