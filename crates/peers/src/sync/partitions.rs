//! One partition for each week. Ids of version 7 begin with their time, so the ids of a week are a range. All other ids are in the
//! partition `…_other`. Partitions are made ahead of time, and a week is removed with one statement.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc};
use postgres::GenericClient;
use uuid::Uuid;

use crate::sync::connection::Database;
use askbox_mailbox::{Result, Time, time};

/// The number of weeks for which partitions are made ahead. After that time without `askbox sync prune` or `migrate`, rows go to
/// `…_other`.
const AHEAD: u64 = 9;
const TABLES: [&str; 2] = ["question", "offer"];

/// The amount that was removed.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pruned {
    /// Weeks of questions or offers.
    pub weeks: u64,
    /// Rows that were removed one by one, because other rows of their week stay.
    pub rows: u64,
}

/// The Monday of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Week(NaiveDate);

impl Week {
    fn containing(at: Time) -> Self {
        let day = at.date_naive();
        Self(day - Days::new(u64::from(day.weekday().num_days_from_monday())))
    }

    fn after(self, weeks: u64) -> Self {
        Self(self.0 + Days::new(7 * weeks))
    }

    fn begin(self) -> DateTime<Utc> {
        self.0.and_time(NaiveTime::MIN).and_utc()
    }

    /// The smallest id of the week.
    fn first_id(self) -> Uuid {
        let millis = u128::try_from(self.begin().timestamp_millis()).unwrap_or_default();
        Uuid::from_u128(millis << 80)
    }

    /// The name of the week's partition, such as `question_2026w48`.
    fn table(self, of: &str) -> String {
        let week = self.0.iso_week();
        format!("{of}_{}w{:02}", week.year(), week.week())
    }

    fn from_table(name: &str, of: &str) -> Option<Self> {
        let (year, week) = name.strip_prefix(of)?.strip_prefix('_')?.split_once('w')?;
        NaiveDate::from_isoywd_opt(year.parse().ok()?, week.parse().ok()?, chrono::Weekday::Mon).map(Self)
    }
}

/// Makes the partitions of this week and of the next ones. If `…_other` has rows of a week already, all rows of that week stay there.
///
/// # Errors
/// If the database refuses.
pub fn make_ahead(database: &Database, client: &mut impl GenericClient) -> Result<()> {
    let failed = |e: &postgres::Error| database.failed("made no partitions", e);
    let this = Week::containing(time::now());
    for table in TABLES {
        for week in (0..=AHEAD).map(|n| this.after(n)) {
            let (name, from, to) = (week.table(table), week.first_id(), week.after(1).first_id());
            let is_needed = format!(
                "SELECT to_regclass('askbox.{name}') IS NULL
                    AND NOT EXISTS (SELECT FROM askbox.{table}_other WHERE {table}_id >= '{from}' AND {table}_id < '{to}')"
            );
            if client.query_one(&is_needed, &[]).and_then(|row| row.try_get(0)).map_err(|e| failed(&e))? {
                let make = format!("CREATE TABLE askbox.{name} PARTITION OF askbox.{table} FOR VALUES FROM ('{from}') TO ('{to}')");
                client.batch_execute(&make).map_err(|e| failed(&e))?;
            }
        }
    }
    Ok(())
}

/// Removes old questions that are over, and old offers: those that are older than `keep`. A question that is open stays, however old it
/// is. Then makes the partitions of the next weeks.
///
/// # Errors
/// If the database refuses: only the role that owns the schema may do this.
pub fn prune(database: &Database, keep: std::time::Duration) -> Result<Pruned> {
    let failed = |e: &postgres::Error| database.failed("was not pruned", e);
    let mut client = database.connect()?;
    let kept_from = time::now() - keep;
    let mut pruned = Pruned::default();
    for (table, stays) in TABLES.into_iter().zip(["rank < 2", "outcome IS NULL"]) {
        let found = client.query(
            "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = ('askbox.' || $1)::regclass ORDER BY c.relname",
            &[&table],
        );
        for row in found.map_err(|e| failed(&e))? {
            let name: String = row.try_get(0).map_err(|e| failed(&e))?;
            let week = Week::from_table(&name, table);
            if week.is_some_and(|week| week.after(1).begin() > kept_from) || (week.is_none() && name != format!("{table}_other")) {
                continue;
            }
            let mut work = client.transaction().map_err(|e| failed(&e))?;
            // A writer waits until this is over. Then the row goes to the partition of all others.
            work.batch_execute(&format!("LOCK TABLE askbox.{table}, askbox.{name} IN ACCESS EXCLUSIVE MODE")).map_err(|e| failed(&e))?;
            let is_open = format!("SELECT EXISTS (SELECT FROM askbox.{name} WHERE {stays})");
            let is_open: bool = work.query_one(&is_open, &[]).and_then(|row| row.try_get(0)).map_err(|e| failed(&e))?;
            if week.is_some() && !is_open {
                work.batch_execute(&format!("DROP TABLE askbox.{name}")).map_err(|e| failed(&e))?;
                pruned.weeks += 1;
            } else {
                let at = if table == "question" { "changed_at" } else { "sent_at" };
                let remove = format!("DELETE FROM askbox.{name} WHERE NOT ({stays}) AND {at} < to_timestamp($1::bigint)");
                pruned.rows += work.execute(&remove, &[&kept_from.timestamp()]).map_err(|e| failed(&e))?;
            }
            work.commit().map_err(|e| failed(&e))?;
        }
    }
    make_ahead(database, &mut client)?;
    Ok(pruned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_week_are_those_between_two_first_ids() {
        let at = |text: &str| time::parse_rfc3339(text).unwrap();
        let week = Week::containing(at("2026-11-24T07:30:00Z"));
        assert_eq!(week, Week::containing(at("2026-11-29T23:59:59Z")));
        assert_eq!(week.after(1), Week::containing(at("2026-11-30T00:00:00Z")));
        assert_eq!(week.table("question"), "question_2026w48");
        assert_eq!(Week::from_table("question_2026w48", "question"), Some(week));
        assert_eq!(Week::from_table("question_other", "question"), None);
        let now = Uuid::now_v7();
        let this = Week::containing(time::now());
        assert!(this.first_id() <= now && now < this.after(1).first_id());
    }
}
