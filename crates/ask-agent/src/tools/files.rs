//! `Read`, `Write`, `Edit` and `Glob`. The error is what the model reads.

#![allow(clippy::disallowed_methods, reason = "the files of the agent's work lie outside of any mailbox")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

const MOST_BYTES: u64 = 8 << 20;
const MOST_LINES: u64 = 2000;
const LONGEST_LINE: usize = 2000;
const MOST_FILES: usize = 100;

type Done = Result<String, String>;

fn text(path: &Path) -> Result<String, String> {
    let say = |e: std::io::Error| format!("{} cannot be read: {e}", path.display());
    // Opening a pipe would block.
    if !path.metadata().map_err(say)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(say)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("{} is larger than {MOST_BYTES} bytes: look at parts of it with Bash", path.display()));
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))
}

pub(super) fn read(path: &Path, offset: Option<u64>, limit: Option<u64>) -> Done {
    let content = text(path)?;
    let first = usize::try_from(offset.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
    let most = usize::try_from(limit.unwrap_or(MOST_LINES)).unwrap_or(usize::MAX);
    let mut out = String::new();
    for (n, line) in content.lines().enumerate().skip(first - 1).take(most) {
        let cut = line.floor_char_boundary(LONGEST_LINE);
        let _ = writeln!(out, "{:>6}\t{}", n + 1, &line[..cut]);
    }
    let left = content.lines().count().saturating_sub((first - 1).saturating_add(most));
    if left > 0 {
        let _ = writeln!(out, "({left} more lines)");
    }
    Ok(if content.is_empty() { "(the file is empty)".into() } else { out })
}

pub(super) fn write(path: &Path, content: &str) -> Done {
    let known = path.exists();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{} cannot be created: {e}", folder.display()))?;
    }
    replace(path, content)?;
    Ok(format!("File {} successfully at: {}", if known { "updated" } else { "created" }, path.display()))
}

pub(super) fn edit(path: &Path, old: &str, new: &str, all: bool) -> Done {
    let content = text(path)?;
    match (content.matches(old).count(), all) {
        _ if old.is_empty() || old == new => Err("`old_string` is empty or the same as `new_string`".into()),
        (0, _) => Err(format!("String to replace not found in {}", path.display())),
        (n, false) if n > 1 => Err(format!("Found {n} matches in {}: give more of the text around, or set replace_all", path.display())),
        (n, _) => {
            replace(path, &content.replace(old, new))?;
            Ok(format!("The file {} has been updated ({n} {})", path.display(), if n == 1 { "place" } else { "places" }))
        }
    }
}

/// Replaces a file in one step: a process that dies leaves the old content or the new one.
fn replace(path: &Path, content: &str) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{} cannot be written: {e}", path.display());
    let real = path.canonicalize().unwrap_or_else(|_| path.into());
    let Ok(known) = real.metadata() else { return std::fs::write(&real, content).map_err(say) };
    if !known.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let mut half = tempfile::NamedTempFile::new_in(real.parent().unwrap_or(Path::new("/"))).map_err(say)?;
    half.write_all(content.as_bytes()).map_err(say)?;
    half.as_file().set_permissions(known.permissions()).map_err(say)?;
    half.persist(&real).map(drop).map_err(|e| say(e.error))
}

pub(super) fn glob(folder: &Path, pattern: &str) -> Done {
    let whole = format!("{}/{pattern}", glob::Pattern::escape(&folder.to_string_lossy()));
    let whole = if pattern.starts_with('/') { pattern } else { &whole };
    let found = glob::glob(whole).map_err(|e| format!("the pattern is not understood: {e}"))?;
    let newest = |path: &std::path::PathBuf| std::cmp::Reverse(path.metadata().and_then(|about| about.modified()).ok());
    let mut files: Vec<_> = found.flatten().filter(|path| path.is_file()).collect();
    files.sort_by_cached_key(newest);
    let lines: Vec<String> = files.iter().take(MOST_FILES).map(|path| path.display().to_string()).collect();
    let more = files.len().saturating_sub(MOST_FILES);
    let rest = if more > 0 { format!("\n({more} more files)") } else { String::new() };
    Ok(if lines.is_empty() { "No files found".into() } else { lines.join("\n") + &rest })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_written_read_edited_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.txt");
        assert!(write(&path, "one\ntwo\ntwo\n").unwrap().starts_with("File created"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(read(&path, Some(2), Some(1)).unwrap(), "     2\ttwo\n(1 more lines)\n");
        assert!(edit(&path, "two", "2", false).unwrap_err().contains("2 matches"));
        assert!(edit(&path, "three", "3", false).unwrap_err().contains("not found"));
        edit(&path, "two", "2", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\n2\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(glob(folder.path(), "**/*.txt").unwrap(), path.display().to_string());
        assert_eq!(glob(folder.path(), "*.rs").unwrap(), "No files found");
        assert!(read(folder.path(), None, None).unwrap_err().contains("not a file"));
    }
}
