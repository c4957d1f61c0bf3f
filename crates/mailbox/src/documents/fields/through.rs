//! The channel of an answer: the field `through`.

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The channel of an answer. Another word in a file comes from a later version of askbox. It is kept, and counts like [`Through::File`].
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr, strum::AsRefStr, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Through {
    /// A command or the inbox of askbox, with no agent above it.
    Terminal,
    /// The web page of askbox.
    Web,
    /// A reply to a message that the person was sent.
    Message,
    /// A hook of an agent program that reports what its user chose there.
    Hook,
    /// A tool call of an agent.
    Mcp,
    /// A command in an agent's environment, or below an agent's process.
    Agent,
    /// A file made by hand, or a command of a process with unknown parents. The writer is unknown.
    File,
    /// The word of a later version.
    #[strum(default, transparent)]
    Other(String),
}

impl Through {
    /// All channels that this version knows.
    pub const ALL: [Self; 7] = [Self::Terminal, Self::Web, Self::Message, Self::Hook, Self::Mcp, Self::Agent, Self::File];

    /// Returns the word for files and messages.
    pub fn word(&self) -> &str {
        self.as_ref()
    }
}

impl schemars::JsonSchema for Through {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Through".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Through what an answer came: `terminal`, `web`, `message`, `hook`, `mcp`, `agent` or `file`. Another word is a later version's.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_of_a_later_version_is_kept_as_it_stands() {
        for word in ["terminal", "web", "message", "hook", "mcp", "agent", "file", "carrier-pigeon"] {
            let json = format!("{word:?}");
            assert_eq!(serde_json::to_string(&serde_json::from_str::<Through>(&json).unwrap()).unwrap(), json);
        }
        assert_eq!("agent".parse(), Ok(Through::Agent));
        assert!(matches!("Agent".parse(), Ok(Through::Other(_))));
        assert!(serde_json::from_str::<Through>("7").is_err());
    }
}
