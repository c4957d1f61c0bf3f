//! The activity of one attempt: all that a view tells of its events, without reading all of them.
//!
//! `events.jsonl` of an attempt may have 64 MiB. So the supervisor writes beside it, now and then, what the events came to up to some
//! byte: `activity.json`. A reader begins there and applies the events behind it.
//!
//! It is a [derived file](askbox_mailbox::derived) of the beginning of `events.jsonl`. It counts only if the events go on with a greater
//! number there. Otherwise all events are read.
//!
//! The file `partial.jsonl` of an attempt: the text that the model is generating.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::activity::live::Live;
use askbox_agent::events::{self, EventLine};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::derived::{self, Beginning, Derived};
use askbox_mailbox::{Error, IoContext, Result, Time};

/// The file's name in the folder of an attempt.
pub const NAME: &str = "activity.json";

/// How many bytes of events are written before the file is written again.
const EVERY: u64 = 256 << 10;

/// The activity up to a byte of `events.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
struct SoFar {
    /// The number of the last event before that byte.
    seq: u64,
    live: Live,
}

impl Derived for SoFar {
    type Source = Beginning;
    const LONGEST: u64 = 1 << 20;
}

/// Writes the file of one attempt while its events are written.
pub(crate) struct Keeper {
    path: PathBuf,
    written: Beginning,
    live: Live,
}

impl Keeper {
    /// For an attempt whose file of events was just opened. `None` if it already holds events: they were not seen.
    pub(crate) fn of(folder: &Path, events: &File) -> Option<Self> {
        let meta = events.metadata().ok().filter(|meta| meta.len() == 0)?;
        Some(Self { path: folder.join(NAME), written: Beginning::of(&meta, 0), live: Live::default() })
    }

    /// Takes an event into account that was written. `bytes` is the length of the file with it. An error of the file only costs its
    /// readers some time.
    pub(crate) fn wrote(&mut self, seq: u64, at: Time, kind: &EventKind, bytes: u64) {
        self.live.apply_kind(at, kind);
        if bytes - self.written.bytes >= EVERY {
            self.written.bytes = bytes;
            derived::write(&self.path, &self.written, &SoFar { seq, live: self.live.shortened() });
        }
    }
}

/// The activity of the attempt in `folder`, from all its events. Nothing is known of an attempt whose events are refused: see
/// [`events::open`].
pub(crate) fn of_attempt(folder: &Path) -> Result<Live> {
    let path = folder.join("events.jsonl");
    let events = match events::open(&path) {
        Err(e) if e.is_missing_file() || matches!(e, Error::Invalid { .. }) => return Ok(Live::default()),
        other => other?,
    };
    let meta = events.metadata().io("read", &path)?;
    let mut lines = BufReader::new(events);
    if let Some((bytes, so_far)) = derived::read_beginning::<SoFar>(&folder.join(NAME), &meta) {
        lines.seek(SeekFrom::Start(bytes)).io("read", &path)?;
        if let Some(live) = apply(&mut lines, so_far.live, Some(so_far.seq), &path)? {
            return Ok(live);
        }
        lines.rewind().io("read", &path)?;
    }
    Ok(apply(&mut lines, Live::default(), None, &path)?.unwrap_or_default())
}

/// Applies the events that follow. `None` if they do not follow the event `after`.
fn apply(lines: &mut BufReader<File>, mut live: Live, mut after: Option<u64>, path: &Path) -> Result<Option<Live>> {
    let mut line = EventLine::default();
    loop {
        line.clear();
        if !line.read_on(lines).io("read", path)? {
            return Ok(Some(live));
        }
        // A line that was torn, or that a newer version wrote, is skipped.
        let Ok(event) = serde_json::from_slice::<Event>(&line.text) else { continue };
        if after.take().is_some_and(|after| event.seq <= after) {
            return Ok(None);
        }
        live.apply(&event);
    }
}

/// The largest size of `partial.jsonl`, in bytes. Further pieces of that text are left out.
pub(crate) const LARGEST_PARTIAL: u64 = 4 << 20;

/// The path of an attempt's file.
pub fn partial_path(folder: &Path) -> PathBuf {
    folder.join("partial.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_agent::events::EventWriter;
    use askbox_mailbox::time;

    /// Writes so many texts as the supervisor does, and returns the activity that a reader of all events would derive.
    fn write(folder: &Path, texts: usize) -> Live {
        let file = File::options().create(true).append(true).open(folder.join("events.jsonl")).unwrap();
        let mut keeper = Keeper::of(folder, &file).unwrap();
        let (mut writer, mut all) = (EventWriter::new(file), Live::default());
        for n in 0..texts {
            let kind = match n % 3 {
                0 => EventKind::Text { text: format!("{n}: {}", "x".repeat(2_000)).into(), parent: None },
                1 => serde_json::from_str(&format!(r#"{{"type":"tool_call","id":"{n}","name":"Bash","input":{{}}}}"#)).unwrap(),
                _ => serde_json::from_str(r#"{"type":"result","is_error":false,"text":"","cost_usd":0.5,"turns":2}"#).unwrap(),
            };
            let at = time::to_the_millisecond(time::now());
            let event = Event { seq: writer.append(at, &kind).unwrap(), at, kind };
            keeper.wrote(event.seq, at, &event.kind, writer.size);
            all.apply(&event);
        }
        all
    }

    #[test]
    fn a_long_attempt_is_read_from_the_last_kept_activity() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), 1_000);
        let (kept, _) = derived::read::<SoFar>(&folder.path().join(NAME)).unwrap();
        let length = std::fs::metadata(folder.path().join("events.jsonl")).unwrap().len();
        assert!(length > 2 * EVERY && length - kept.bytes < EVERY, "{length} {}", kept.bytes);
        assert_eq!(of_attempt(folder.path()).unwrap(), all);
        // Nothing before that byte is read.
        let path = folder.path().join("events.jsonl");
        let file = File::options().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![b'#'; 100_000], 0).unwrap();
        assert_eq!(of_attempt(folder.path()).unwrap(), all);
    }

    #[test]
    fn an_activity_of_other_events_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), 1_000);
        let (path, kept) = (folder.path().join("events.jsonl"), folder.path().join(NAME));
        for damage in ["", "{", "{\"schema_version\":1}"] {
            std::fs::write(&kept, damage).unwrap();
            assert_eq!(of_attempt(folder.path()).unwrap(), all, "{damage}");
        }
        std::fs::remove_file(&kept).unwrap();
        std::fs::remove_file(&path).unwrap();
        write(folder.path(), 1_000);
        // A shorter file, and another one with the same name.
        let bytes = std::fs::read(&path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert_eq!(of_attempt(folder.path()).unwrap(), Live::default());
        let moved = folder.path().join("moved");
        std::fs::write(&moved, &bytes[..bytes.len() / 2]).unwrap();
        std::fs::rename(&moved, &path).unwrap();
        assert!(of_attempt(folder.path()).unwrap().turns < all.turns);
    }

    #[test]
    fn an_attempt_without_events_has_no_activity() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_attempt(folder.path()).unwrap(), Live::default());
    }
}
