//! `[history]`: what `askbox gc` keeps.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// `[history]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct History {
    /// How long what is over is kept; empty for ever.
    #[serde(with = "for_ever_or_a_span")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub keep: Option<Span>,
}

/// A duration, or `""` where there is none.
mod for_ever_or_a_span {
    use serde::de::IntoDeserializer;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::time::Span;

    pub(super) fn serialize<S: Serializer>(keep: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
        match keep {
            Some(span) => span.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Span>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() { Ok(None) } else { Span::deserialize(text.into_deserializer()).map(Some) }
    }
}
