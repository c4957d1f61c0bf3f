//! The sessions whose pages somebody has open. Only their files are watched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use askbox_mailbox::disk::file_events::Hints;
use askbox_mailbox::thread;

/// How long a session is watched after a look. A page that is still open is then told to look again.
pub const LASTS: Duration = Duration::from_secs(60);
/// The maximum number of sessions that are watched.
const MOST: usize = 64;

/// The page of all sessions hears this word after a change.
pub const ALL: &str = "sessions";

/// The looks of the last minute: a file or folder, the word for its pages, and the time of the last look.
type Looks = BTreeMap<PathBuf, (String, Instant)>;

/// The sessions whose pages somebody has open.
#[derive(Debug, Clone, Default)]
pub struct LookedAt(Arc<Mutex<Looks>>);

impl LookedAt {
    /// Notes a look at the folder of all sessions, or at a transcript. Returns true if it was not watched before.
    pub fn look(&self, path: PathBuf, word: &str) -> bool {
        let mut looks = thread::locked(&self.0);
        if looks.len() >= MOST && !looks.contains_key(&path) {
            return false;
        }
        looks.insert(path, (word.to_owned(), Instant::now())).is_none()
    }

    /// The words for a path that has changed. Any file of the folder of all sessions concerns all of them.
    pub fn words(&self, path: &Path) -> Vec<String> {
        let looks = thread::locked(&self.0);
        if path.parent().is_some_and(|folder| looks.contains_key(folder)) {
            return looks.values().map(|(word, _)| word.clone()).collect();
        }
        looks.get(path).map(|(word, _)| word.clone()).into_iter().collect()
    }

    /// Watches the paths of new looks, and drops those without a look for a minute. Returns the words for both: a page may have missed what
    /// happened before the watch, and an open page looks again.
    pub fn follow(&self, source: &mut Hints, watched: &mut BTreeSet<PathBuf>) -> Vec<String> {
        let mut looks = thread::locked(&self.0);
        let mut words: Vec<String> = looks.extract_if(.., |_, (_, at)| at.elapsed() >= LASTS).map(|(_, (word, _))| word).collect();
        let wanted = looks.clone();
        drop(looks);
        let new = watch_only(source, watched, wanted.keys().cloned().collect());
        words.extend(new.iter().filter_map(|path| Some(wanted.get(path)?.0.clone())));
        words
    }
}

/// Watches these paths, and no longer the others. Returns those that were not watched before.
pub fn watch_only(source: &mut Hints, watched: &mut BTreeSet<PathBuf>, wanted: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    watched.extract_if(.., |path| !wanted.contains(path)).for_each(|over| source.unwatch(&over));
    let new: Vec<PathBuf> = wanted.into_iter().filter(|path| !watched.contains(path) && source.watch(path).is_ok()).collect();
    watched.extend(new.iter().cloned());
    new
}
