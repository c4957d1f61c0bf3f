//! `askbox mcp`: the mailbox as tools of an agent, by the Model Context Protocol.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

askbox::surface!("mcp", Mcp, |args, context| askbox_mcp::run(args, context));
