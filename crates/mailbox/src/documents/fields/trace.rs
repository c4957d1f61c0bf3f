//! `trace`: the asker's place in a trace, as [W3C Trace Context](https://www.w3.org/TR/trace-context-2/) spells it. The run that the answer
//! starts belongs to the same trace.
//!
//! A trace decides nothing. So a malformed one is ignored, and no hash of the protocol covers it.

use std::str::FromStr;

use derive_more::Display;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use uuid::Uuid;

/// The environment variable with the trace of a process.
pub const TRACEPARENT: &str = "TRACEPARENT";
/// The environment variable with what tracing systems add to the trace.
pub const TRACESTATE: &str = "TRACESTATE";

/// The longest `tracestate`, in bytes. W3C demands that programs pass on so many.
const LONGEST_STATE: usize = 512;
/// The most members of a `tracestate`.
const MOST_MEMBERS: usize = 32;
/// The longest `traceparent`, in bytes. Version 00 has 55. Later versions may add fields.
const LONGEST_PARENT: usize = 256;
/// The length of a `traceparent` of version 00.
const VERSION_00: usize = 55;

/// The flag that says that the spans of the trace are recorded.
const SAMPLED: u8 = 1;
/// The flags that a version 00 defines.
const FLAGS: u8 = 3;

/// The place in a trace where a question was asked. A malformed one is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trace {
    /// `TRACEPARENT` of the asker: the trace, and the span that asked.
    pub traceparent: TraceParent,
    /// `TRACESTATE` of the asker, if it has one.
    #[serde(default, deserialize_with = "well_formed", skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<TraceState>,
}

/// A `traceparent` as W3C Trace Context spells it.
#[derive(Debug, Clone, PartialEq, Eq, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[display("{text}")]
#[schemars(with = "String")]
pub struct TraceParent {
    text: String,
    trace: TraceId,
    span: SpanId,
    flags: u8,
}

/// A `tracestate` as W3C Trace Context spells it.
#[derive(Debug, Clone, PartialEq, Eq, Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema)]
#[schemars(with = "String")]
pub struct TraceState(String);

/// The id of a trace. It is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
#[display("{_0:032x}")]
pub struct TraceId(u128);

/// The id of a span. It is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
#[display("{_0:016x}")]
pub struct SpanId(u64);

/// Why a text is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not as W3C Trace Context spells it")]
pub struct Malformed;

impl TraceId {
    /// Returns the id with these bytes; `None` for zeros.
    pub fn of_bytes(bytes: [u8; 16]) -> Option<Self> {
        Some(u128::from_be_bytes(bytes)).filter(|id| *id != 0).map(Self)
    }

    /// Returns the id that belongs to a name: the same for each call.
    pub fn derived(name: &str) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).as_u128().max(1))
    }
}

impl SpanId {
    /// Returns the id with these bytes; `None` for zeros.
    pub fn of_bytes(bytes: [u8; 8]) -> Option<Self> {
        Some(u64::from_be_bytes(bytes)).filter(|id| *id != 0).map(Self)
    }

    /// Returns the id that belongs to a name: the same for each call.
    pub fn derived(name: &str) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).as_u64_pair().0.max(1))
    }
}

impl TraceParent {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the parent for whatever happens below a span: the trace and its flags stay.
    pub fn below(&self, span: SpanId) -> Self {
        Self::new(self.trace, span, self.flags & FLAGS)
    }

    /// Returns the parent for whatever happens below the first span of a new trace, which is recorded.
    pub fn first(trace: TraceId, span: SpanId) -> Self {
        Self::new(trace, span, SAMPLED)
    }

    fn new(trace: TraceId, span: SpanId, flags: u8) -> Self {
        Self { text: format!("00-{trace}-{span}-{flags:02x}"), trace, span, flags }
    }

    /// Returns the trace.
    pub fn trace(&self) -> TraceId {
        self.trace
    }

    /// Returns the span.
    pub fn span(&self) -> SpanId {
        self.span
    }

    /// True if the spans of the trace are recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl FromStr for TraceParent {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut fields = text.split('-');
        let version = hex(fields.next(), 2)?;
        let trace = hex(fields.next(), 32).ok().and_then(|id| TraceId::of_bytes(id.to_be_bytes())).ok_or(Malformed)?;
        let span = hex(fields.next(), 16)?;
        let span = u64::try_from(span).ok().and_then(|id| SpanId::of_bytes(id.to_be_bytes())).ok_or(Malformed)?;
        let flags = u8::try_from(hex(fields.next(), 2)?).map_err(|_| Malformed)?;
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_long_enough = if version == 0 { text.len() == VERSION_00 } else { text.len() <= LONGEST_PARENT };
        // Version ff is forbidden.
        if version == 0xff || !is_long_enough || !is_printable {
            return Err(Malformed);
        }
        Ok(Self { text: text.to_owned(), trace, span, flags })
    }
}

/// Reads a field of exactly so many digits in lower-case hexadecimal.
fn hex(field: Option<&str>, digits: usize) -> Result<u128, Malformed> {
    let field = field.filter(|field| field.len() == digits && field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    field.and_then(|field| u128::from_str_radix(field, 16).ok()).ok_or(Malformed)
}

impl FromStr for TraceState {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let members: Vec<&str> =
            text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty()).collect();
        let keys: Vec<&str> = members.iter().filter_map(|member| key_of_member(member)).collect();
        let is_twice = |n: usize| keys[..n].contains(&keys[n]);
        if members.is_empty() || members.len() > MOST_MEMBERS || text.len() > LONGEST_STATE {
            return Err(Malformed);
        }
        if keys.len() != members.len() || (0..keys.len()).any(is_twice) { Err(Malformed) } else { Ok(Self(text.to_owned())) }
    }
}

/// Returns the key of a valid member of a `tracestate`.
fn key_of_member(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let is_char = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b',' | b'=');
    let is_value = (1..=256).contains(&value.len()) && value.bytes().all(is_char) && !value.ends_with(' ');
    let in_key = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'*' | b'/');
    let begins = |name: &str, digit: bool| name.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || (digit && b.is_ascii_digit()));
    let is_name = |name: &str, longest: usize, digit: bool| begins(name, digit) && name.len() <= longest && name.bytes().all(in_key);
    let is_key = match key.split_once('@') {
        Some((tenant, system)) => is_name(tenant, 241, true) && is_name(system, 14, false),
        None => is_name(key, 256, false),
    };
    (is_key && is_value).then_some(key)
}

impl TraceState {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Trace {
    /// Returns the trace with these two texts. `Err` if the first one is there and is malformed. A malformed `tracestate` is left out.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(traceparent: Option<&str>, tracestate: Option<&str>) -> Result<Option<Self>, Malformed> {
        let Some(traceparent) = traceparent.filter(|text| !text.is_empty()) else { return Ok(None) };
        Ok(Some(Self { traceparent: traceparent.parse()?, tracestate: tracestate.and_then(|text| text.parse().ok()) }))
    }

    /// Returns the trace of this process: `$TRACEPARENT` and `$TRACESTATE`.
    ///
    /// # Errors
    /// [`Malformed`] if `$TRACEPARENT` is there and is malformed.
    pub fn of_environment() -> Result<Option<Self>, Malformed> {
        let text = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self::parse(text(TRACEPARENT).as_deref(), text(TRACESTATE).as_deref())
    }

    /// Returns the place in the trace below a span.
    pub fn below(&self, span: SpanId) -> Self {
        Self { traceparent: self.traceparent.below(span), tracestate: self.tracestate.clone() }
    }
}

/// Reads a value that is ignored if it is malformed.
pub(crate) fn well_formed<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_as_w3c_spells_it() {
        let read: TraceParent = VALID.parse().unwrap();
        assert_eq!(read.trace().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((read.span().to_string(), read.is_sampled()), ("00f067aa0ba902b7".into(), true));
        let below = read.below(SpanId::of_bytes([0, 0, 0, 0, 0, 0, 0, 7]).unwrap());
        assert_eq!(below.as_str(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01");
        assert_eq!(below.as_str().parse(), Ok(below));
        let later = format!("01{}-more", VALID.strip_prefix("00").unwrap());
        assert!(later.parse::<TraceParent>().is_ok(), "a later version may have more fields");
        assert!(!VALID.replace("-01", "-02").parse::<TraceParent>().unwrap().is_sampled());
        for wrong in [
            "",
            "00",
            &VALID.replace("00-4b", "ff-4b"),
            &VALID.replace("4bf9", "4BF9"),
            &VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &VALID.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &VALID[1..],
            &format!("{VALID}-x"),
            &format!("{VALID} "),
            &VALID.replace("-01", "-1"),
            &VALID.replace("4bf9", "+bf9"),
            &format!("01{}-\u{7f}", VALID.strip_prefix("00").unwrap()),
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(Malformed), "{wrong}");
        }
    }

    #[test]
    fn a_tracestate_is_read_as_w3c_spells_it() {
        for right in ["rojo=00f067aa0ba902b7", "rojo=1, congo=t61rcWkgMzE ,,", "0t@s=a b!", "a*/_-=x"] {
            assert_eq!(right.parse::<TraceState>().unwrap().as_str(), right);
        }
        let many = (0..33).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        let long = format!("k={}", "v".repeat(511));
        for wrong in ["", ",", "rojo", "Rojo=1", "rojo=", "a=1,a=2", "0a=1", "a=b=c", "a=\u{e9}", "a@1=x", &many, &long] {
            assert_eq!(wrong.parse::<TraceState>(), Err(Malformed), "{wrong}");
        }
    }

    #[test]
    fn a_malformed_tracestate_does_not_take_the_trace_away() {
        let kept = Trace::parse(Some(VALID), Some("=")).unwrap().unwrap();
        assert_eq!((kept.traceparent.as_str(), kept.tracestate), (VALID, None));
        assert_eq!(Trace::parse(Some(""), Some("a=1")), Ok(None));
        assert_eq!(Trace::parse(Some("x"), None), Err(Malformed));
    }
}
