//! The lines of two texts: which stay, which go, and which come.

use similar::algorithms::{Capture, Compact, Replace, myers};
pub use similar::{Change, ChangeTag};
use similar::{DiffOp, DiffableStr};

/// Returns each line of either text in its order, with its end. A line that stays is there once.
///
/// `similar::TextDiff` would do the same, but it chooses among six algorithms while it runs. All six would be in the program, and five of
/// them are never used.
pub fn changes<'t>(old: &'t str, new: &'t str) -> Vec<Change<&'t str>> {
    let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
    let mut found = Compact::new(Replace::new(Capture::new()), old.as_slice(), new.as_slice());
    let Ok(()) = myers::diff(&mut found, old.as_slice(), 0..old.len(), new.as_slice(), 0..new.len());
    let ops = found.into_inner().into_inner().into_ops();
    ops.iter().flat_map(|op: &DiffOp| op.iter_changes(old.as_slice(), new.as_slice())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_those_of_the_library() {
        let long: String = (0..150).map(|n| format!("{n}\n")).collect();
        let changed = long.replace("\n70\n", "\nseventy\n").replace("\n90\n91\n", "\n");
        let mirrored: String = long.lines().rev().map(|line| format!("{line}\n")).collect();
        for (old, new) in
            [("", ""), ("", "a"), ("a\n", ""), ("a\nb\nc", "a\nx\r\nc\n"), ("a\r\nb\n", "a\nb\n"), (&long, &changed), (&long, &mirrored)]
        {
            let library = similar::TextDiff::from_lines(old, new);
            let says = |change: &Change<&str>| format!("{}{:?}", change.tag(), change.value());
            let expected: Vec<_> = library.iter_all_changes().map(|change| says(&change)).collect();
            assert_eq!(changes(old, new).iter().map(says).collect::<Vec<_>>(), expected, "{old:?} {new:?}");
        }
    }
}
