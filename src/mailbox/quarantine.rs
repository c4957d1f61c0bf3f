//! `quarantine/`: files that cannot be used, each with its reason beside it. askbox never deletes them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::held;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::time;

/// The grace time. An unusable file may still be in the middle of being written: it is moved only after it has not changed for
/// this long.
pub const GRACE: Duration = Duration::from_secs(3);

/// What is left of a file's [`GRACE`] time; `None` once it is over, or if the file is gone.
pub(super) fn grace_left(path: &Path) -> Option<Duration> {
    use std::os::unix::fs::MetadataExt;
    let meta = disk::metadata(path).ok()?;
    // ctime: the last change of any kind, renames included.
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let changed = u64::try_from(meta.ctime()).map_or(SystemTime::UNIX_EPOCH, |s| SystemTime::UNIX_EPOCH + Duration::new(s, nanos));
    GRACE.checked_sub(changed.elapsed().unwrap_or_default()).filter(|left| !left.is_zero())
}

/// How many files of one name the quarantine takes.
const MAX_SAME_NAME: u32 = 100_000;

/// The longest name that a file keeps in quarantine, in bytes: a number and `.reason` follow it, and filesystems take 255 bytes.
const MAX_NAME: usize = 240;

/// Moves a file to `quarantine/NAME` and writes `quarantine/NAME.reason`. Returns the file's new path. A name keeps its bytes, UTF-8 or
/// not; one that leaves no room for `.reason` is cut.
pub fn quarantine(mailbox: &Mailbox, path: &Path, name: impl AsRef<OsStr>, reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let shown = crate::text::file_name(name.as_ref());
    let held = held::instead(path, &shown).map_or_else(String::new, |held| format!("; {held}"));
    let cut = if name.as_ref().len() > MAX_NAME { format!("; its whole name was {shown}") } else { String::new() };
    let reason = format!("{reason}{held}{cut}");
    let name = cut_to(name.as_ref(), MAX_NAME);
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0..MAX_SAME_NAME {
        let mut own = name.clone();
        if n > 0 {
            own.push(format!(".{n}"));
        }
        let target = folder.join(&own);
        own.push(".reason");
        let reason_file = folder.join(own);
        if disk::exists(&target) || disk::create(&reason_file, text.as_bytes())? == Placed::NameExists {
            continue;
        }
        match disk::rename(path, &target) {
            Ok(Placed::Done) => {
                audit::record(mailbox, Entry::about("quarantined").by("askbox").why(format!("{from}/{shown}: {reason}")));
                return Ok(target);
            }
            Ok(Placed::NameExists) => {}
            Err(e) => {
                disk::remove(&reason_file)?;
                return Err(e);
            }
        }
    }
    Err(Error::failed("every name in quarantine/ for this file is in use", "remove files from quarantine/ that you no longer need"))
}

/// The first `max` bytes of a name, without half a character at the end.
fn cut_to(name: &OsStr, max: usize) -> OsString {
    let end = name.to_str().map_or(max.min(name.len()), |text| text.floor_char_boundary(max));
    OsStr::from_bytes(&name.as_bytes()[..end]).to_owned()
}
