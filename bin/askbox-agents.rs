//! `askbox agents`: the agents that are defined in files, as claude reads them.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

askbox::surface!("agents", Agents, |args, _| askbox_definitions::command::run(&args));
