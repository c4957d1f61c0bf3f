//! The clients for Python and TypeScript, driven against the real programs. The scripts in `python/` and `node/` call the clients; most of
//! the expectations stand there, because they are about values of those languages.

mod client;
mod conformance;
mod crossing;
mod packages;
mod plain_post;
mod runs;
mod scripts;
mod sdks;
mod words;
