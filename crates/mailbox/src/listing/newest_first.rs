//! Returns the newest of very many things first, in bounded memory.
//!
//! A scan names the things in any order. Each thing has a key that begins with its time. One scan keeps the newest `AT_ONCE` keys.
//! When these are used up, the next scan keeps those that come after them. So a caller that wants twenty things needs one scan and
//! the memory for twenty keys. A caller that wants a million needs a few more scans, but never the memory for all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;

/// How many keys are in memory at once.
const AT_ONCE: usize = 1 << 16;

/// An iterator over the keys that a scan offers: the largest first, each once. It ends after an error.
#[derive(Debug)]
pub struct NewestFirst<Key, Scan> {
    scan: Scan,
    /// How many keys the next scan keeps.
    room: usize,
    /// The keys that the last scan kept, ascending.
    kept: Vec<Key>,
    /// The key that was returned last.
    last: Option<Key>,
    /// True if the next scan would find no more keys.
    is_over: bool,
}

impl<Key, Scan> NewestFirst<Key, Scan>
where
    Key: Ord + Clone,
    Scan: FnMut(&mut dyn FnMut(Key)) -> Result<()>,
{
    /// Returns an iterator. `scan` offers every key, and must offer all of them again at each call. `wanted` is about how many keys
    /// the caller will use; `None` if it may use all.
    pub fn new(wanted: Option<usize>, scan: Scan) -> Self {
        Self { scan, room: wanted.unwrap_or(AT_ONCE).clamp(1, AT_ONCE), kept: Vec::new(), last: None, is_over: false }
    }

    fn look(&mut self) -> Result<()> {
        let (room, last) = (self.room, self.last.take());
        let mut newest: BinaryHeap<Reverse<Key>> = BinaryHeap::new();
        (self.scan)(&mut |key| {
            if last.as_ref().is_none_or(|last| key < *last) {
                newest.push(Reverse(key));
                if newest.len() > room {
                    newest.pop();
                }
            }
        })?;
        self.is_over = newest.len() < room;
        // A caller that goes on after the first keys probably wants many.
        self.room = AT_ONCE;
        self.kept = newest.into_iter().map(|Reverse(key)| key).collect();
        self.kept.sort_unstable();
        self.kept.dedup();
        Ok(())
    }
}

impl<Key, Scan> Iterator for NewestFirst<Key, Scan>
where
    Key: Ord + Clone,
    Scan: FnMut(&mut dyn FnMut(Key)) -> Result<()>,
{
    type Item = Result<Key>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.kept.is_empty()
            && !self.is_over
            && let Err(e) = self.look()
        {
            self.is_over = true;
            return Some(Err(e));
        }
        let key = self.kept.pop()?;
        if self.kept.is_empty() {
            self.last = Some(key.clone());
        }
        Some(Ok(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_comes_once_and_the_largest_first() {
        let keys: Vec<u32> = (0..150_000u32).map(|n| n.wrapping_mul(2_654_435_761) % 1_000_003).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable_by_key(|key| Reverse(*key));
        sorted.dedup();
        for (wanted, scans) in [(Some(20), 4), (Some(0), 4), (None, 3)] {
            let mut count = 0;
            let found = NewestFirst::new(wanted, |offer| {
                count += 1;
                keys.iter().for_each(|key| offer(*key));
                Ok(())
            });
            assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), sorted, "{wanted:?}");
            assert_eq!(count, scans, "{wanted:?}");
        }
    }

    #[test]
    fn a_few_keys_need_one_scan_and_no_more_memory_than_they_take() {
        let mut count = 0;
        let found = NewestFirst::new(Some(3), |offer| {
            count += 1;
            (0..100_000).for_each(offer);
            Ok(())
        });
        assert_eq!(found.take(3).map(Result::unwrap).collect::<Vec<i32>>(), [99_999, 99_998, 99_997]);
        assert_eq!(count, 1);
    }

    #[test]
    fn a_scan_that_fails_is_told_and_ends_it() {
        let mut found = NewestFirst::new(None, |_: &mut dyn FnMut(u32)| Err(crate::error::Error::failed("no", "")));
        assert!(found.next().unwrap().is_err() && found.next().is_none());
    }
}
