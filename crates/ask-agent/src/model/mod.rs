//! The Messages API: a request, its streamed reply, HTTP.
//!
//! - `request`: the body of a request
//! - `reply`: puts the events of a stream together
//! - `api`: sends a request in a thread of its own, and reports what it hears
//! - `tls`: encryption without C

mod api;
mod reply;
mod request;
mod tls;

pub(crate) use api::{Api, Failure, Heard};
pub(crate) use reply::Reply;
pub(crate) use request::{MODEL, Request, body};
