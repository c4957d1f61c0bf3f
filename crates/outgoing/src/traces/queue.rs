//! The rounds that wait to be sent, and when the next request is due. This is a state machine without a clock of its own.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::traces::spans::Span;

/// The most rounds that wait.
pub(super) const LONGEST: usize = 1000;
/// The most rounds of one request.
const AT_ONCE: usize = 50;
/// How often the same rounds are sent, if the collector does not take them.
const TRIES: u32 = 5;
/// The pause behind the first request that failed. Each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The rounds that wait, the oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    rounds: VecDeque<Vec<Span>>,
    /// The number of rounds at the front that a request under way has.
    under_way: usize,
    failures: u32,
    not_before: Instant,
}

impl Queue {
    pub(super) fn new(now: Instant) -> Self {
        Self { rounds: VecDeque::new(), under_way: 0, failures: 0, not_before: now }
    }

    /// Adds a round. Returns false if the queue is full.
    pub(super) fn add(&mut self, round: Vec<Span>) -> bool {
        let has_room = self.rounds.len() < LONGEST;
        if has_room {
            self.rounds.push_back(round);
        }
        has_room
    }

    /// The spans of the next request, if one is due. It is under way from now on.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Vec<&Span>> {
        if self.under_way > 0 || self.rounds.is_empty() || now < self.not_before {
            return None;
        }
        self.under_way = self.rounds.len().min(AT_ONCE);
        Some(self.rounds.iter().take(self.under_way).flatten().collect())
    }

    /// The request has ended: the collector has its rounds. Returns their number.
    pub(super) fn taken(&mut self) -> usize {
        self.failures = 0;
        self.drop_first()
    }

    /// The request has failed. Returns the number of rounds that are given up.
    pub(super) fn failed(&mut self, now: Instant) -> usize {
        self.failures += 1;
        self.not_before = now + FIRST_PAUSE * 2_u32.pow(self.failures.saturating_sub(1).min(TRIES));
        if self.failures < TRIES {
            self.under_way = 0;
            return 0;
        }
        self.failures = 0;
        self.drop_first()
    }

    fn drop_first(&mut self) -> usize {
        let gone = std::mem::take(&mut self.under_way);
        self.rounds.drain(..gone.min(self.rounds.len()));
        gone
    }

    /// When the next request is due; `None` if nothing waits, or while one is under way.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.under_way == 0 && !self.rounds.is_empty()).then_some(self.not_before)
    }

    /// Makes a request due at once, because the watcher ends.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.not_before = now;
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way > 0
    }

    pub(super) fn len(&self) -> usize {
        self.rounds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(rounds: usize, now: Instant) -> Queue {
        let mut queue = Queue::new(now);
        (0..rounds).for_each(|_| assert!(queue.add(vec![Span::default()])));
        queue
    }

    #[test]
    fn a_full_queue_of_spans_takes_no_more() {
        let now = Instant::now();
        let mut queue = filled(LONGEST, now);
        assert!(!queue.add(Vec::new()));
        assert_eq!(queue.begin(now).map(|spans| spans.len()), Some(AT_ONCE));
        assert_eq!(queue.begin(now), None, "one request at a time");
        assert_eq!(queue.taken(), AT_ONCE);
        assert!(queue.add(Vec::new()));
    }

    #[test]
    fn spans_are_given_up_after_five_requests_in_15_seconds() {
        let mut now = Instant::now();
        let begun = now;
        let mut queue = filled(2, now);
        for left in [0, 0, 0, 0, 2] {
            now = queue.deadline().unwrap();
            assert!(queue.begin(now).is_some());
            assert_eq!(queue.deadline(), None);
            assert_eq!(queue.failed(now), left);
            assert_eq!(queue.begin(now), None);
        }
        assert_eq!((queue.len(), now - begun), (0, Duration::from_secs(15)));
    }
}
