//! A month of UTC, as in the names of the archives.

use std::fmt;

use askbox_mailbox::time::Time;
use chrono::{Datelike, NaiveDate};

/// A month. The order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Month {
    year: i32,
    month: u32,
}

impl Month {
    /// The month of a time. A time outside of the years 0 to 9999 belongs to the nearest month within them.
    pub fn of(time: Time) -> Self {
        match time.year() {
            ..0 => Self { year: 0, month: 1 },
            10_000.. => Self { year: 9999, month: 12 },
            year => Self { year, month: time.month() },
        }
    }

    /// Reads `YYYY-MM`.
    pub fn parse(name: &str) -> Option<Self> {
        let (year, month) = name.split_once('-')?;
        let is_number = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        let found = Self { year: year.parse().ok()?, month: month.parse().ok()? };
        (is_number(year, 4) && is_number(month, 2) && (1..=12).contains(&found.month)).then_some(found)
    }

    /// The first moment after the month.
    pub fn end(self) -> Time {
        let (year, month) = if self.month == 12 { (self.year + 1, 1) } else { (self.year, self.month + 1) };
        let day = NaiveDate::from_ymd_opt(year, month, 1).unwrap_or(NaiveDate::MAX);
        day.and_time(chrono::NaiveTime::MIN).and_utc()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_read_as_it_is_written() {
        let at = |text: &str| askbox_mailbox::time::parse_rfc3339(text).unwrap();
        for (time, name) in
            [("2026-01-31T23:59:59.999Z", "2026-01"), ("2026-12-01T00:00:00Z", "2026-12"), ("0003-07-01T00:00:00Z", "0003-07")]
        {
            let month = Month::of(at(time));
            assert_eq!((month.to_string().as_str(), Month::parse(name)), (name, Some(month)));
            assert!(month.end() > at(time) && Month::of(month.end()) > month);
        }
        for bad in ["2026-13", "2026-00", "2026-1", "+026-01", "2026_01", "2026-01.1", ""] {
            assert_eq!(Month::parse(bad), None, "{bad}");
        }
        assert_eq!(Month::of(Time::MIN_UTC).to_string(), "0000-01");
        assert_eq!(Month::of(Time::MAX_UTC).to_string(), "9999-12");
    }
}
