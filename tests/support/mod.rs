//! What the tests share. Each of the five test programs uses a part of it.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod api;
pub mod claude;
pub mod cli;
pub mod faults;
pub mod home;
mod http;
pub mod json_schema;
pub mod live;
pub mod program;
mod script;
pub mod service;
pub mod terminal;
