//! `quarantine/`: files that cannot be used, each with its reason beside it. askbox never deletes them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::mailbox::audit::{self, Entry};
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

/// Moves a file to `quarantine/NAME` and writes `quarantine/NAME.reason`. Returns the file's new path.
pub fn quarantine(mailbox: &Mailbox, path: &Path, name: &str, reason: &str) -> Result<PathBuf> {
    let folder = mailbox.folder(Folder::Quarantine);
    let from = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let text = format!("{} from {from}/: {reason}\n", time::rfc3339(time::now()));
    for n in 0..MAX_SAME_NAME {
        let target = folder.join(if n == 0 { name.to_owned() } else { format!("{name}.{n}") });
        let reason_file = folder.join(format!("{}.reason", target.file_name().unwrap_or_default().to_string_lossy()));
        if disk::exists(&target) || disk::create(&reason_file, text.as_bytes())? == Placed::NameExists {
            continue;
        }
        match disk::rename(path, &target) {
            Ok(Placed::Done) => {
                audit::record(mailbox, Entry::about("quarantined").by("askbox").why(format!("{from}/{name}: {reason}")));
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
