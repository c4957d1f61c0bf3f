//! The page, `askbox web`: the check before all routing, answers, races, real browsers.

mod answering;
mod attachments;
mod browsers;
mod change_call;
mod check;
mod connection;
mod crowded;
mod hub;
mod in_a_browser;
mod killed;
mod list;
mod many;
mod no_mailbox;
mod own_host;
mod pictures;
mod presence;
mod reading;
pub(crate) mod sessions;
mod sessions_elsewhere;
mod signing_in;
mod told;
