//! `askbox sync`: the questions of this machine in a database.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

askbox::surface!("sync", Sync, |args, context| askbox_peers::sync_command::run(&args, context));
