//! Times and durations. A time is written as RFC 3339 in UTC, a duration as `90s`, `2h`, `1h 30m`.

use std::time::Duration;

use chrono::{DateTime, Datelike, Local, SecondsFormat, Utc};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::error::{Error, Result};

/// A point in time, in UTC.
pub type Time = DateTime<Utc>;

/// How far the clock of a file server may be ahead of this machine's clock. A file with a later date was written before this clock
/// was set back.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The first time that RFC 3339 can express in UTC: the start of the year 0000.
pub const FIRST: Time = match DateTime::from_timestamp(-62_167_219_200, 0) {
    Some(time) => time,
    None => Time::MIN_UTC,
};

/// Returns the current time, to the millisecond: documents keep no more.
pub fn now() -> Time {
    to_the_millisecond(Utc::now())
}

/// Returns the time without its microseconds and nanoseconds.
pub fn to_the_millisecond(time: Time) -> Time {
    DateTime::from_timestamp_millis(time.timestamp_millis()).unwrap_or(time)
}

/// Returns the time as `2026-11-22T10:15:00.000Z`.
pub fn rfc3339(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns the time of day as `10:15:00`, in the local time zone.
pub fn local_clock(time: Time) -> String {
    time.with_timezone(&Local).format("%H:%M:%S").to_string()
}

/// Returns the time for a person at a terminal, in the local time zone: `2026-11-22 11:15 +01:00`.
pub fn local(time: Time) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M %:z").to_string()
}

/// Returns the value of `$TZ` if this system does not know such a time zone. Local times are those of UTC then, without a word.
pub fn unknown_zone() -> Option<String> {
    std::env::var("TZ").ok().filter(|zone| !is_zone(zone))
}

/// The folders of the system's time zones.
const ZONES: [&str; 4] = ["/usr/share/zoneinfo", "/share/zoneinfo", "/etc/zoneinfo", "/usr/share/lib/zoneinfo"];

/// True if a value of `$TZ` names a file of a time zone, or is a rule of POSIX such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn is_zone(zone: &str) -> bool {
    let name = zone.strip_prefix(':').unwrap_or(zone);
    let is_file = || ZONES.iter().any(|folder| std::path::Path::new(folder).join(name).is_file());
    let is_rule = || {
        let behind = match name.strip_prefix('<') {
            Some(quoted) => quoted.split_once('>').map(|(_, behind)| behind),
            None => Some(name.trim_start_matches(|c: char| c.is_ascii_alphabetic())).filter(|behind| name.len() - behind.len() >= 3),
        };
        behind.is_some_and(|behind| behind.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit()))
    };
    matches!(name, "" | "localtime" | "UTC") || is_file() || is_rule()
}

/// Reads an RFC 3339 time with any UTC offset. `None` if the text is not such a time, or if it lies outside the years 0000 to 9999
/// in UTC.
pub fn parse_rfc3339(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text).ok().map(|t| t.with_timezone(&Utc)).filter(|t| is_rfc3339(to_the_millisecond(*t)))
}

/// True if RFC 3339 can express the time: its year has four digits.
pub fn is_rfc3339(time: Time) -> bool {
    // A leap second at the end of a year is written as the first second of the next year.
    let end = DateTime::from_timestamp(253_402_300_800, 0).unwrap_or(Time::MAX_UTC);
    (0..=9999).contains(&time.year()) && to_the_millisecond(time) < end
}

/// True if the time lies before all times that RFC 3339 can express in UTC, as `0000-01-01T00:00:00+01:00` does. Such a time is
/// always in the past.
pub fn is_before_all_years(time: Time) -> bool {
    time < FIRST
}

/// Reads a duration such as `90s`, `2h`, `1h 30m` or `3d`, at most ten years. A number needs its unit.
///
/// # Errors
/// [`Error::Invalid`] with the field `field` if the text is not a duration, or if it is longer than ten years.
pub fn parse_duration(text: &str, field: &str) -> Result<Duration> {
    let fix = "write a duration such as 90s, 15m, 2h or 3d";
    // humantime reads `0` as a duration. Here a number without a unit is refused: the unit was forgotten.
    let unitless = text.trim().bytes().all(|b| b.is_ascii_digit());
    let duration = Some(text.trim())
        .filter(|_| !unitless)
        .and_then(|t| humantime::parse_duration(t).ok())
        .ok_or_else(|| Error::invalid(field, format!("`{}` is not a duration", crate::text::excerpt(text, 40)), fix))?;
    if duration > Duration::from_secs(10 * 366 * 86_400) {
        return Err(Error::invalid(field, "is longer than ten years", fix));
    }
    Ok(duration)
}

/// Returns a duration for people, in its two largest units: `2h 5m`, `3d 1h`, `12s`.
pub fn human(duration: Duration) -> String {
    let s = duration.as_secs();
    let (d, h, m) = (s / 86_400, s / 3600 % 24, s / 60 % 60);
    let pair = |a: u64, x: &str, b: u64, y: &str| if b == 0 { format!("{a}{x}") } else { format!("{a}{x} {b}{y}") };
    match (d, h, m) {
        (0, 0, 0) => format!("{s}s"),
        (0, 0, m) => pair(m, "m", s % 60, "s"),
        (0, h, m) => pair(h, "h", m, "m"),
        (d, h, _) => pair(d, "d", h, "h"),
    }
}

/// Returns an age as people say it, in its largest unit: `3h ago`. Empty if the time is not known.
pub fn ago(at: Option<Time>) -> String {
    let age = at.map(|at| human(since(at)));
    age.map(|age| format!("{} ago", age.split(' ').next().unwrap_or_default())).unwrap_or_default()
}

/// Returns the time since `then`. Zero if `then` lies in the future.
pub fn since(then: Time) -> Duration {
    (Utc::now() - then).to_std().unwrap_or_default()
}

/// True if `then` is less than `limit` away from now, in the past or in the future. A time further in the future was written before
/// the clock was set back, so it counts as old.
pub fn is_near(then: Time, limit: Duration) -> bool {
    (Utc::now() - then).abs().to_std().is_ok_and(|away| away < limit)
}

/// True if a stored date still lies ahead. A date that lies further ahead than the `longest` possible wait was written before the
/// clock was set back: it counts as due.
pub fn is_ahead(date: Time, longest: Duration, now: Time) -> bool {
    date > now && (date - now).to_std().is_ok_and(|wait| wait <= longest)
}

/// A duration that documents and the configuration write as text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display, SerializeDisplay, DeserializeFromStr, schemars::JsonSchema,
)]
#[display("{}", humantime::format_duration(*_0))]
#[schemars(with = "String")]
pub struct Span(pub Duration);

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |_| format!("`{}` is not a duration such as 90s or 2h", crate::text::excerpt(text, 40));
        parse_duration(text, "").map(Self).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_zone_is_a_file_or_a_rule() {
        for known in ["", "UTC", "localtime", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", "EST5", ":EST5EDT"] {
            assert!(is_zone(known), "{known}");
        }
        for unknown in ["Europe/Berln", "MESZ", "Berlin", "+02:00", "<+03>", "AB3", "/etc/no-such-zone"] {
            assert!(!is_zone(unknown), "{unknown}");
        }
    }

    #[test]
    fn durations_read_as_people_write_them() {
        assert_eq!(parse_duration("90s", "timeout").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("1h 30m", "timeout").unwrap(), Duration::from_secs(5400));
        for bad in ["", "5", "0", "-1s", "forever", "999999y"] {
            assert!(parse_duration(bad, "timeout").is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_date_further_ahead_than_the_longest_wait_is_due() {
        let (now, hour) = (now(), Duration::from_secs(3600));
        let ahead = |seconds| is_ahead(now + chrono::TimeDelta::seconds(seconds), hour, now);
        assert!(ahead(1) && ahead(3600));
        assert!(!ahead(0) && !ahead(-5) && !ahead(3601) && !ahead(315_360_000));
    }

    #[test]
    fn an_age_shows_its_two_largest_units() {
        assert_eq!(human(Duration::from_secs(5)), "5s");
        assert_eq!(human(Duration::from_secs(65)), "1m 5s");
        assert_eq!(human(Duration::from_secs(7500)), "2h 5m");
        assert_eq!(human(Duration::from_secs(90_000)), "1d 1h");
    }
}
