//! Through what an answer came: the field `through` of an answer.

use serde::{Deserialize, Serialize};

/// Through what an answer came. Another word is a later version's: it is kept, and says no more than [`Through::File`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Through {
    /// A command or the inbox of askbox, with no agent above it.
    Terminal,
    /// The page.
    Web,
    /// A reply to a message that the person was sent.
    Message,
    /// A hook of an agent program, with what its user chose there.
    Hook,
    /// A tool call of an agent.
    Mcp,
    /// A command in an agent's environment, or below an agent's process.
    Agent,
    /// A file made by hand, or a command of a process whose parents are unknown: nothing is known of its writer.
    File,
    /// A later version's.
    Other(String),
}

impl Through {
    /// All that this version knows.
    pub const ALL: [Self; 7] = [Self::Terminal, Self::Web, Self::Message, Self::Hook, Self::Mcp, Self::Agent, Self::File];

    /// The word for it in files and messages.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Terminal => "terminal",
            Self::Web => "web",
            Self::Message => "message",
            Self::Hook => "hook",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::File => "file",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for Through {
    fn from(word: String) -> Self {
        Self::ALL.into_iter().find(|known| known.word() == word).unwrap_or(Self::Other(word))
    }
}

impl From<Through> for String {
    fn from(through: Through) -> Self {
        through.word().to_owned()
    }
}

#[cfg(feature = "schema")]
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
        assert_eq!(Through::from("agent".to_owned()), Through::Agent);
        assert!(matches!(Through::from("Agent".to_owned()), Through::Other(_)));
        assert!(serde_json::from_str::<Through>("7").is_err());
    }
}
