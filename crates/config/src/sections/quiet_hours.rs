//! The hours in which nobody is notified: `22:00-07:00`.

use chrono::{DateTime, Days, Local, NaiveTime, TimeZone};
use serde::{Deserialize, Serialize};

use askbox_mailbox::{Time, text};

/// The hours from one time of day to another, in local time, or none. The end may lie on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(with = "String")]
#[serde(try_from = "String", into = "String")]
pub struct QuietHours(Option<(NaiveTime, NaiveTime)>);

impl QuietHours {
    /// True if there are any.
    pub fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// The end of the quiet hours, if `at` lies in them; otherwise `None`.
    pub fn end(&self, at: Time) -> Option<Time> {
        self.end_in(at.with_timezone(&Local)).map(|end| end.to_utc())
    }

    fn end_in<Zone: TimeZone>(&self, at: DateTime<Zone>) -> Option<DateTime<Zone>> {
        let (from, to) = self.0?;
        let clock = at.time();
        let is_quiet = if from < to { (from..to).contains(&clock) } else { clock >= from || clock < to };
        if !is_quiet {
            return None;
        }
        let day = if clock < to { at.date_naive() } else { at.date_naive() + Days::new(1) };
        // The clock may leave this hour out. Then the quiet hours end when the clock goes on.
        let end = day.and_time(to).and_local_timezone(at.timezone());
        end.latest().or_else(|| (day.and_time(to) + chrono::TimeDelta::hours(1)).and_local_timezone(at.timezone()).latest())
    }
}

impl TryFrom<String> for QuietHours {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        if written.is_empty() {
            return Ok(Self(None));
        }
        let clock = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
        match written.split_once('-').map(|(from, to)| (clock(from), clock(to))) {
            Some((Some(from), Some(to))) if from != to => Ok(Self(Some((from, to)))),
            _ => Err(format!("`{}` is no time of day to another, such as 22:00-07:00", text::excerpt(&written, 40))),
        }
    }
}

impl From<QuietHours> for String {
    fn from(hours: QuietHours) -> Self {
        hours.0.map_or_else(String::new, |(from, to)| format!("{}-{}", from.format("%H:%M"), to.format("%H:%M")))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Utc};

    use super::*;

    fn end(hours: &str, at: &str) -> Option<String> {
        let at = DateTime::parse_from_rfc3339(at).unwrap();
        QuietHours::try_from(hours.to_owned()).unwrap().end_in(at).map(|end| end.to_rfc3339())
    }

    #[test]
    fn quiet_hours_end_in_the_morning_on_both_sides_of_midnight() {
        for (at, expected) in [
            ("2026-11-23T21:59:59+01:00", None),
            ("2026-11-23T22:00:00+01:00", Some("2026-11-24T07:00:00+01:00")),
            ("2026-11-24T06:59:00+01:00", Some("2026-11-24T07:00:00+01:00")),
            ("2026-11-24T07:00:00+01:00", None),
        ] {
            assert_eq!(end("22:00-07:00", at).as_deref(), expected, "{at}");
        }
        assert_eq!(end("12:00-13:30", "2026-11-23T13:00:00+00:00").as_deref(), Some("2026-11-23T13:30:00+00:00"));
        assert_eq!(end("12:00-13:30", "2026-11-23T14:00:00+00:00"), None);
        assert_eq!(end("", "2026-11-23T14:00:00+00:00"), None);
        let utc = Utc.with_ymd_and_hms(2026, 11, 23, 23, 0, 0).unwrap().with_timezone(&FixedOffset::east_opt(0).unwrap());
        assert!(QuietHours::try_from("22:00-07:00".to_owned()).unwrap().end_in(utc).is_some());
    }

    #[test]
    fn quiet_hours_are_two_times_of_day() {
        for wrong in ["22:00", "22-07", "22:00-22:00", "25:00-07:00", "night"] {
            assert!(QuietHours::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
        let hours = QuietHours::try_from("22:00 - 07:00".to_owned()).unwrap();
        assert_eq!(String::from(hours), "22:00-07:00");
    }
}
