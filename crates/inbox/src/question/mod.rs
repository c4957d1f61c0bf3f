//! The open question.
//!
//! | file | idea |
//! |---|---|
//! | `opened` | the question on the screen, and the effect of each key |
//! | `draft` | an answer before it is sent |
//! | `kept_drafts` | drafts that outlive the inbox |
//! | `stray` | letters that a person types while no text is written |

pub mod draft;
pub mod kept_drafts;
pub mod opened;
pub mod stray;
