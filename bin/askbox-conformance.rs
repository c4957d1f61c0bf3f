//! `askbox conformance`: checks another implementation of the protocol.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

askbox::surface!("conformance", Conformance, |args, _| askbox_check::conformance::run(&args));
