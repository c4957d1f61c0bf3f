//! Questions as text for people. The caller removes control characters before printing it.
//!
//! | file | idea |
//! |---|---|
//! | `title` | a question in one line |
//! | `part` | its parts, with their options |
//! | `call` | the tool call that it asks about, and how to allow it |
//! | `origin` | where it comes from, and the questions before it |
//! | `round` | a whole round with its answers |
//! | `fit` | the width of a terminal |

mod call;
mod fit;
mod origin;
mod part;
mod round;
mod title;

pub use call::{as_rule, to_allow};
pub use fit::{fitted, fitted_within};
pub use origin::{Earlier, earlier, origin, within};
pub use part::{asked, kind, part};
pub use round::{round, then_on_expiry};
pub use title::{age, asker, headline, is_overdue, is_reply, marked_title};
