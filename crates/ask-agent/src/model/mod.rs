//! The Messages API: a request, its streamed reply, HTTP.

mod api;
mod reply;
mod request;
mod tls;

pub(crate) use api::{Api, Failure, Heard};
pub(crate) use reply::{Reply, add_usage};
pub(crate) use request::{MODEL, Request, body};
