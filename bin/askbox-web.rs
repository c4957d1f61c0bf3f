//! `askbox web`: the page with which people answer from a browser.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

askbox::surface!("web", Web, |args, context| askbox_web::run(&args, context));
