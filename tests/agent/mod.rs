//! `ask-agent` against a scripted Messages API on loopback.

mod ends;
mod figures;
mod killed;
mod listings;
mod long_jobs;
mod places;
mod questions;
mod relaunched;
mod rules;
pub(crate) mod scene;
mod stops;
mod trouble;
