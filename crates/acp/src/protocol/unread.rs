//! Messages that were not read, and the calls that they may be about.
//!
//! A message may be too large, or of an unknown form. If it is about a call, a later request for a permission may leave out what the
//! message said. So nobody can decide about that call.

use serde::Deserialize;

use askbox_agent::stream::wire::{self, Raw};

/// The calls that a message may be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    NoCall,
    /// The call with this id.
    Call(String),
    AnyCall,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Params<'a> {
    session_id: Raw<'a>,
    update: Raw<'a>,
    tool_call: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct About<'a> {
    session_update: Raw<'a>,
    tool_call_id: Raw<'a>,
}

impl Subject {
    /// The calls that an update or a request for a permission may be about. `session` is the session of the turn.
    pub(super) fn of_params(params: Raw<'_>, session: Option<&str>) -> Self {
        let Some(Params { session_id, update, tool_call }) = wire::get(params) else { return Self::AnyCall };
        if wire::get::<String>(session_id).is_some_and(|id| session != Some(&id)) {
            return Self::NoCall;
        }
        let Some(about) = wire::get::<About<'_>>(tool_call.or(update)) else { return Self::AnyCall };
        match wire::get::<String>(about.session_update).as_deref() {
            Some("tool_call" | "tool_call_update") => {}
            None if tool_call.is_some() => {}
            Some(_) => return Self::NoCall,
            None => return Self::AnyCall,
        }
        wire::get(about.tool_call_id).map_or(Self::AnyCall, Self::Call)
    }

    /// The calls that a line that is not JSON may be about. An agent may also print words that are not a message.
    pub(super) fn of_line(text: &str) -> Self {
        if text.trim_start().starts_with('{') { Self::AnyCall } else { Self::NoCall }
    }
}
