//! Several machines: mailboxes of their own, whose questions are seen and answered elsewhere. PostgreSQL is a cluster that the tests start
//! themselves, on a socket in a temporary folder.

mod inbox;
mod postgres;
mod soak;
mod ssh;
