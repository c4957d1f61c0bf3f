//! The list of waiting questions: all of them, those that match the filter, the chosen one, and the marked ones.
//!
//! First, only their names are listed. The documents are then read piece by piece, so that ten thousand of them delay neither the first
//! picture nor a key. Later, only changed questions are read.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Instant;

use crate::row::{Order, Row};
use crate::search::Search;
use crate::sender::Sender;
use askbox_mailbox::{Address, Folder, Result, list};

/// The number of questions that are read between two looks at the clock.
const AT_ONCE: usize = 16;

/// The row that stays chosen when the list changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Holds {
    /// The first row: the person has not moved yet, and the list is still being read.
    #[default]
    First,
    /// The last row: the person went there while the list was being read.
    Last,
    /// The chosen row.
    Row,
}

/// The list, as far as it was read.
#[derive(Debug, Default)]
pub struct WaitingList {
    rows: BTreeMap<Order, Rc<Row>>,
    orders: HashMap<Address, Order>,
    /// The questions that must be read, or read again.
    unread: BTreeSet<Address>,
    /// True if rows have changed since they were last arranged. While thousands of questions are read, this is done only once for each
    /// picture.
    is_stale: bool,
    /// The rows that match the filter, in the order in which they are shown.
    pub shown: Vec<Rc<Row>>,
    pub filter: String,
    chosen: Option<Address>,
    /// The position of the chosen row. If that row vanishes, the next one is chosen.
    pub at: usize,
    holds: Holds,
    /// The number of rows that were on the screen.
    pub page: Cell<isize>,
    pub marked: BTreeSet<Address>,
    /// The last typed reason to decline the marked questions.
    pub why_declined: String,
    /// The number of questions that were read, for tests.
    reads: usize,
}

impl WaitingList {
    /// Lists the names. Every question must then be read, and those that are gone leave the list.
    pub fn list(&mut self, sender: Sender<'_>) -> Result<()> {
        let here = list::workflows(sender.mailbox, Folder::Pending)?.into_iter().map(Address::here);
        let names: BTreeSet<_> = here.chain(sender.others.latest().addresses()).collect();
        let gone: Vec<_> = self.orders.keys().filter(|known| !names.contains(*known)).cloned().collect();
        gone.iter().for_each(|address| self.remove(address));
        self.unread = names;
        self.is_stale = true;
        Ok(())
    }

    /// Notes that the question of this address may have changed, so that it is read again.
    pub fn changed(&mut self, address: Address) {
        self.unread.insert(address);
    }

    /// Reads outstanding questions, until the time `until`. Returns true if any was read.
    pub fn read(&mut self, sender: Sender<'_>, until: Instant) -> bool {
        let before = self.reads;
        while !self.unread.is_empty() && (self.reads == before || Instant::now() < until) {
            for _ in 0..AT_ONCE {
                let Some(address) = self.unread.pop_first() else { break };
                self.reads += 1;
                if let Some(row) = Row::read(sender, &address) { self.insert(row) } else { self.remove(&address) }
            }
        }
        self.is_stale |= self.reads > before;
        self.reads > before
    }

    /// Sorts the questions that were read into the list. Must be called before rows are shown or chosen.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.arrange();
        }
        if self.unread.is_empty() {
            self.holds = Holds::Row;
        }
    }

    /// True if there are still questions to read.
    pub fn is_behind(&self) -> bool {
        !self.unread.is_empty()
    }

    fn insert(&mut self, row: Row) {
        self.remove(&row.address);
        self.orders.insert(row.address.clone(), row.order());
        self.rows.insert(row.order(), Rc::new(row));
    }

    fn remove(&mut self, address: &Address) {
        if let Some(order) = self.orders.remove(address) {
            self.rows.remove(&order);
        }
    }

    fn arrange(&mut self) {
        let filter = self.filter.trim();
        self.shown = if filter.is_empty() { self.rows.values().cloned().collect() } else { Search::new(filter).of(self.rows.values()) };
        if !self.marked.is_empty() {
            let (orders, unread) = (&self.orders, &self.unread);
            self.marked.retain(|address| orders.contains_key(address) || unread.contains(address));
        }
        self.choose(match self.holds {
            Holds::First => 0,
            Holds::Last => usize::MAX,
            Holds::Row => self.shown.iter().position(|row| Some(&row.address) == self.chosen.as_ref()).unwrap_or(self.at),
        });
    }

    /// The number of waiting questions, also counting those that were not read yet.
    pub fn total(&self) -> usize {
        self.orders.len() + self.unread.iter().filter(|address| !self.orders.contains_key(address)).count()
    }

    /// The number of questions that wait for an event, not for a person.
    pub fn for_events(&self) -> usize {
        // Questions that wait for an event come last.
        self.rows.values().rev().take_while(|row| row.facts.is_event).count()
    }

    /// Sets the filter, and chooses the first row.
    pub fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        (self.chosen, self.at) = (None, 0);
        self.arrange();
    }

    /// Shows all rows again. The chosen row stays chosen.
    pub fn clear_filter(&mut self) {
        self.filter.clear();
        self.arrange();
    }

    pub fn chosen(&self) -> Option<&Row> {
        self.shown.get(self.at).map(Rc::as_ref)
    }

    /// Chooses the row at this position, or the last one.
    fn choose(&mut self, at: usize) {
        self.at = at.min(self.shown.len().saturating_sub(1));
        self.chosen = self.shown.get(self.at).map(|row| row.address.clone());
    }

    /// Moves the choice by this many rows, for a person.
    pub fn step(&mut self, by: isize) {
        self.holds = Holds::Row;
        self.choose(self.at.saturating_add_signed(by));
    }

    /// Chooses the first or the last row, for a person.
    pub fn choose_end(&mut self, last: bool) {
        self.holds = match (self.is_behind(), last) {
            (true, true) => Holds::Last,
            (true, false) => Holds::First,
            (false, _) => Holds::Row,
        };
        self.choose(if last { usize::MAX } else { 0 });
    }

    /// Chooses the row of this address, once the row is there.
    pub fn prefer(&mut self, address: &Address) {
        (self.chosen, self.holds) = (Some(address.clone()), Holds::Row);
    }

    /// Chooses the row of this address, for a person. Nothing changes if it is not shown.
    pub fn choose_address(&mut self, address: &Address) {
        if let Some(at) = self.shown.iter().position(|row| row.address == *address) {
            self.holds = Holds::Row;
            self.choose(at);
        }
    }

    /// Marks the chosen row, or removes its mark.
    pub fn mark_chosen(&mut self) {
        if let Some(chosen) = self.chosen().map(|row| row.address.clone())
            && !self.marked.remove(&chosen)
        {
            self.marked.insert(chosen);
        }
    }

    /// The marked rows, in order.
    pub fn marked_rows(&self) -> Vec<Rc<Row>> {
        self.rows.values().filter(|row| self.marked.contains(&row.address)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sender::Others;
    use askbox_cli::program::Context;
    use askbox_mailbox::{Caller, Mailbox};

    struct Place {
        mailbox: Mailbox,
        context: Context,
        others: Others,
        person: Caller,
        waiting: WaitingList,
        _folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
            let person = Caller::person("ann", "inbox").unwrap();
            let (context, others) = (Context::default(), Others::nobody());
            Self { mailbox, context, others, person, waiting: WaitingList::default(), _folder: folder }
        }

        #[allow(clippy::disallowed_methods, reason = "a stranger's file")]
        fn ask(&self, id: &str, priority: i32) {
            let json =
                format!(r#"{{"workflow_id":"{id}","question":"Really {id}?","priority":{priority},"timestamp":"2026-11-22T10:00:00Z"}}"#);
            std::fs::write(self.mailbox.document(Folder::Pending, &id.parse().unwrap()), json).unwrap();
        }

        fn read(&mut self) -> bool {
            let sender = Sender { mailbox: &self.mailbox, context: &self.context, others: &self.others, person: &self.person };
            let has_read = self.waiting.read(sender, Instant::now());
            self.waiting.settle();
            has_read
        }

        fn list(&mut self) {
            let sender = Sender { mailbox: &self.mailbox, context: &self.context, others: &self.others, person: &self.person };
            self.waiting.list(sender).unwrap();
        }

        fn read_all(&mut self) {
            let sender = Sender { mailbox: &self.mailbox, context: &self.context, others: &self.others, person: &self.person };
            self.waiting.list(sender).unwrap();
            while self.waiting.is_behind() {
                self.waiting.read(sender, Instant::now() + Duration::from_secs(60));
            }
            self.waiting.settle();
        }

        fn shown(&self) -> Vec<&str> {
            self.waiting.shown.iter().map(|row| row.address.workflow.as_str()).collect()
        }

        fn chosen(&self) -> &str {
            self.waiting.chosen().map_or("", |row| row.address.workflow.as_str())
        }
    }

    #[test]
    fn only_the_question_that_has_changed_is_read_again() {
        let mut place = Place::new();
        (0..100).for_each(|n| place.ask(&format!("w{n:02}"), 0));
        place.read_all();
        assert_eq!((place.waiting.reads, place.shown().len(), place.chosen()), (100, 100, "w00"));
        place.ask("w42", 5);
        place.waiting.changed("w42".parse().unwrap());
        assert!(place.read());
        assert!(!place.read(), "nothing is to be read");
        assert_eq!((place.waiting.reads, place.shown()[0]), (101, "w42"));
        assert_eq!(place.chosen(), "w00", "what is chosen does not change below a person's hands");
    }

    #[test]
    fn a_list_being_read_counts_all_and_chooses_the_first_row() {
        let mut place = Place::new();
        (0..40).for_each(|n| place.ask(&format!("w{n:02}"), n));
        place.list();
        assert_eq!((place.waiting.total(), place.waiting.shown.len()), (40, 0));
        place.read();
        assert_eq!((place.waiting.reads, place.waiting.total(), place.chosen()), (AT_ONCE, 40, "w15"));
        place.read();
        assert_eq!(place.chosen(), "w31");
        place.waiting.step(1);
        place.read();
        assert_eq!((place.chosen(), place.shown()[0], place.waiting.total()), ("w30", "w39", 40));
        place.list();
        place.waiting.choose_end(true);
        (0..50).for_each(|n| place.ask(&format!("z{n}"), -n));
        place.read_all();
        assert_eq!(place.chosen(), "z49", "the end is the end of all");
    }

    #[test]
    fn marks_and_the_choice_outlive_changes_but_not_their_question() {
        let mut place = Place::new();
        (0..4).for_each(|n| place.ask(&format!("w{n}"), 0));
        place.read_all();
        place.waiting.step(2);
        place.waiting.mark_chosen();
        place.ask("first", 9);
        place.read_all();
        assert_eq!((place.chosen(), place.waiting.marked.len()), ("w2", 1));
        place.waiting.set_filter("w3".into());
        assert_eq!((place.chosen(), place.waiting.marked.len(), place.waiting.marked_rows().len()), ("w3", 1, 1));
        place.waiting.clear_filter();
        let path = place.mailbox.document(Folder::Pending, &"w2".parse().unwrap());
        askbox_mailbox::disk::remove(&path).unwrap();
        place.waiting.changed("w2".parse().unwrap());
        place.read();
        assert_eq!((place.chosen(), place.waiting.marked.len()), ("w3", 0));
    }
}
