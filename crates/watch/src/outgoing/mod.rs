//! Whatever leaves the machine, or starts a program of the operator's: one call of a program, within a time limit.
//!
//! | file | idea |
//! |---|---|
//! | `call` | one run of a program, within a time limit |
//! | `curl` | a request of HTTP, as a run of `curl` |

pub(crate) mod call;
pub(crate) mod curl;
