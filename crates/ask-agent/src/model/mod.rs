//! The Messages API: a request, its streamed reply, HTTP.
//!
//! | file | idea |
//! |---|---|
//! | `api` | HTTP to the API, in a thread of its own |
//! | `request` | the body of a request |
//! | `reply` | puts the events of a streamed reply together |

mod api;
mod reply;
mod request;

pub(crate) use api::{Api, Failure, Heard};
pub(crate) use reply::{ModelReply, UNPARSED};
pub(crate) use request::{MODEL, Request, body};
