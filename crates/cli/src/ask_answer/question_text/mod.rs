//! Questions as text for people. The caller removes control characters before printing it.
//!
//! | file | idea |
//! |---|---|
//! | `part` | its parts, with their options |
//! | `origin` | where it comes from, and the questions before it |
//! | `round` | a whole round with its answers |

mod origin;
mod part;
mod round;

pub use origin::{Earlier, as_rule, earlier, origin, to_allow, within};
pub use part::{age, asked, asker, headline, is_overdue, is_reply, kind, marked_title, part};
pub use round::{fitted, fitted_within, round, then_on_expiry};
