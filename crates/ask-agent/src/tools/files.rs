//! `Read`, `Write`, `Edit`, `Glob` and `Grep`. The error is what the model reads.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use regex_lite::Regex;

use crate::history::Call;
use crate::place::{Place, literal_folder};

const MOST_BYTES: u64 = 8 << 20;
const MOST_LINES: u64 = 2000;
const LONGEST_LINE: usize = 2000;
const MOST_FOUND: usize = 100;

type Done = Result<String, String>;

fn text(place: &Place) -> Result<String, String> {
    let path = place.path.display();
    let mut bytes = Vec::new();
    let read = place.open().and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|e| format!("{path} cannot be read: {e}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("{path} is larger than {MOST_BYTES} bytes: look at parts of it with Bash"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not text"))
}

pub(super) fn read(place: &Place, offset: Option<u64>, limit: Option<u64>) -> Done {
    let content = text(place)?;
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

pub(super) fn write(place: &Place, content: &str) -> Done {
    let known = replace(place, content)?;
    Ok(format!("File {} successfully at: {}", if known { "updated" } else { "created" }, place.path.display()))
}

fn replace(place: &Place, content: &str) -> Result<bool, String> {
    place.write(content).map_err(|e| format!("{} cannot be written: {e}", place.path.display()))
}

pub(super) fn edit(place: &Place, old: &str, new: &str, all: bool) -> Done {
    let content = text(place)?;
    let path = place.path.display();
    match (content.matches(old).count(), all) {
        _ if old.is_empty() || old == new => Err("`old_string` is empty or the same as `new_string`".into()),
        (0, _) => Err(format!("String to replace not found in {path}")),
        (n, false) if n > 1 => Err(format!("Found {n} matches in {path}: give more of the text around, or set replace_all")),
        (n, _) => {
            replace(place, &content.replace(old, new))?;
            Ok(format!("The file {path} has been updated ({n} {})", if n == 1 { "place" } else { "places" }))
        }
    }
}

/// Finds files. The place is the folder in front of the pattern's first wildcard. A file that a link or `..` behind a wildcard leads to
/// elsewhere is left out, and so is a file that `is_refused` names.
pub(super) fn glob(place: &Place, pattern: &str, is_refused: impl Fn(&Path) -> bool) -> Done {
    let whole = format!("{}/{}", glob::Pattern::escape(&place.path.to_string_lossy()), literal_folder(pattern).1);
    let found = glob::glob(&whole).map_err(|e| format!("the pattern is not understood: {e}"))?;
    let is_shown = |path: &PathBuf| {
        path.is_file()
            && path
                .canonicalize()
                .is_ok_and(|real| real.starts_with(&place.path) && ![&real, path].into_iter().any(|path| is_refused(path)))
    };
    let newest = |path: &PathBuf| std::cmp::Reverse(path.metadata().and_then(|about| about.modified()).ok());
    let mut files: Vec<_> = found.flatten().filter(is_shown).collect();
    files.sort_by_cached_key(newest);
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    listed(&files, "No files found")
}

/// The first lines, and how many there are beside them.
fn listed(lines: &[String], none: &str) -> Done {
    let shown = lines[..lines.len().min(MOST_FOUND)].join("\n");
    let rest = if lines.len() > MOST_FOUND { format!("\n({} more)", lines.len() - MOST_FOUND) } else { String::new() };
    Ok(if lines.is_empty() { none.into() } else { shown + &rest })
}

/// Searches the texts of files, except hidden and ignored ones. A file that a link leads to, or that `is_refused` names, is left out.
pub(super) fn grep(place: &Place, pattern: &str, call: &Call, is_refused: impl Fn(&Path) -> bool) -> Done {
    let case = if call.input.get("-i") == Some(&true.into()) { "(?i)" } else { "" };
    let pattern = Regex::new(&format!("{case}{pattern}")).map_err(|e| format!("the pattern is not understood: {e}"))?;
    let mut globs = OverrideBuilder::new(&place.path);
    let only = call.text("glob").map_or(Ok(()), |glob| globs.add(glob).map(drop)).and_then(|()| globs.build());
    let only = only.map_err(|e| format!("the glob is not understood: {e}"))?;
    let mut lines = Vec::new();
    for entry in WalkBuilder::new(&place.path).overrides(only).sort_by_file_path(Path::cmp).build().flatten() {
        let found = Place::find(entry.path()).ok().filter(|found| found.path == entry.path() && !is_refused(entry.path()));
        let Some(Ok(content)) = found.map(|found| text(&found)) else { continue };
        let (path, matches) = (entry.path().display(), content.lines().enumerate().filter(|(_, line)| pattern.is_match(line)));
        match call.text("output_mode") {
            Some("content") => {
                lines.extend(matches.map(|(n, line)| format!("{path}:{}:{}", n + 1, &line[..line.floor_char_boundary(LONGEST_LINE)])))
            }
            _ => lines.extend(matches.take(1).map(|_| path.to_string())),
        }
    }
    listed(&lines, "No matches found")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_written_read_edited_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a/b.txt");
        let place = |path: &Path| Place::find(path).unwrap();
        assert!(write(&place(&path), "one\ntwo\ntwo\n").unwrap().starts_with("File created"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(read(&place(&path), Some(2), Some(1)).unwrap(), "     2\ttwo\n(1 more lines)\n");
        assert!(edit(&place(&path), "two", "2", false).unwrap_err().contains("2 matches"));
        assert!(edit(&place(&path), "three", "3", false).unwrap_err().contains("not found"));
        edit(&place(&path), "two", "2", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n2\n2\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(glob(&place(folder.path()), "**/*.txt", |_| false).unwrap(), path.display().to_string());
        assert_eq!(glob(&place(folder.path()), "*.rs", |_| false).unwrap(), "No files found");
        assert_eq!(glob(&place(folder.path()), "**/*.txt", |path| path.ends_with("b.txt")).unwrap(), "No files found");
        assert!(read(&place(folder.path()), None, None).unwrap_err().contains("not a file"));
    }
}
