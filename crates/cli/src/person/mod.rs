//! The parts that the terminal's inbox and the web page share: a person's decision about one question, and the warning before a decision
//! that would lose something, or that the person may not mean.
//!
//! The person is told once what is at stake, such as texts that the decision would not send. Then they go on: with the same button on the
//! page, with `ok` and enter in the inbox. This holds as long as exactly the same is at stake for the same question. Any other key makes the
//! warning count as not given. The person is also told again if the question, a text, or the set of questions to decline has changed.
//!
//! | file | idea |
//! |---|---|
//! | `decision` | the decision, and its name on the page |
//! | `texts` | the texts that a decision does not send |
//! | `at_stake` | the warning, in words |

mod at_stake;
mod decision;
mod texts;

pub use at_stake::{Answers, AtStake, Named, Next, PressAgain, about};
pub use decision::{Act, DECLINE_ALWAYS, DECLINE_AND_STOP, PersonsDecision, held_up, hold_up, refusal, warn_of_queue};
pub use texts::{LeftOut, Texts, texts_left_out};
