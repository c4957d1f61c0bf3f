//! The sessions whose pages somebody has open. Only their files are watched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use askbox_mailbox::disk::file_events::Hints;
use askbox_mailbox::thread;

/// How long a session is watched after a look. A page that is still open is then told to look again.
const LASTS: Duration = Duration::from_secs(60);
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
    pub fn follow(&self, source: &mut Hints, watched: &mut Vec<PathBuf>) -> Vec<String> {
        let mut words = Vec::new();
        thread::locked(&self.0).retain(|_, (word, at)| {
            let is_fresh = at.elapsed() < LASTS;
            if !is_fresh {
                words.push(word.clone());
            }
            is_fresh
        });
        let wanted = thread::locked(&self.0).clone();
        watched.retain(|path| {
            wanted.contains_key(path) || {
                source.unwatch(path);
                false
            }
        });
        for (new, (word, _)) in wanted {
            if !watched.contains(&new) && source.watch(&new).is_ok() {
                watched.push(new);
                words.push(word);
            }
        }
        words
    }
}
