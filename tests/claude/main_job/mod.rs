//! The product's main job with the real `claude`: a question that was answered relaunches its agent, once, with the answer. The requests
//! that the API received are the proof.

mod answers;
mod blocked_prompt;
mod costs;
mod fresh;
mod killed;
mod limits;
mod lost_sessions;
#[cfg(feature = "web")]
mod page;
mod resume;
mod surface;
mod surroundings;
