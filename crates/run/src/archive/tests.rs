//! The format under torn writes and damage.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use askbox_mailbox::time::parse_rfc3339;
use askbox_mailbox::{Mailbox, QuestionId, RoundId, Time};

use super::*;

struct Place {
    _folder: tempfile::TempDir,
    mailbox: Mailbox,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
    Place { _folder: folder, mailbox }
}

fn at(minute: u32) -> Time {
    parse_rfc3339(&format!("2026-01-02T03:{minute:02}:00Z")).unwrap()
}

fn month() -> Month {
    Month::of(at(0))
}

impl Place {
    fn round(&self, workflow: &str) -> RoundId {
        RoundId { workflow: workflow.parse().unwrap(), question: QuestionId::generate() }
    }

    /// Archives rounds as one member. Each has one file with the given text.
    fn append(&self, rounds: &[(&RoundId, Time, &[u8], bool)]) -> askbox_mailbox::error::Result<u64> {
        let files: Vec<(String, PathBuf)> = rounds
            .iter()
            .enumerate()
            .map(|(n, (round, _, bytes, _))| {
                let path = self.mailbox.root().join(format!("source{n}"));
                fs::write(&path, bytes).unwrap();
                (format!("closed/{}", round.file_name()), path)
            })
            .collect();
        let mut sources = Vec::new();
        for ((round, changed, _, again), (name, path)) in rounds.iter().zip(&files) {
            let files = vec![(name.as_str(), path.clone())];
            sources.push(Source { round, changed: *changed, closed: Some(at(0)), again: *again, files });
        }
        Writer::try_new(&self.mailbox).unwrap().expect("nobody else").append(month(), &sources)
    }

    fn text_of(&self, round: &ArchivedRound) -> askbox_mailbox::error::Result<String> {
        let mut found = content(&self.mailbox, round.located)?;
        let bytes = found.remove(&round.id()).unwrap().into_values().next().unwrap();
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// The texts of all rounds, the newest first; `!` for an error.
    fn texts(&self) -> Vec<String> {
        let found = NewestArchived::find(&self.mailbox, None, None, None).unwrap();
        found.map(|round| round.and_then(|round| self.text_of(&round)).unwrap_or_else(|_| "!".into())).collect()
    }
}

#[test]
fn rounds_come_back_newest_first_and_by_workflow() {
    let place = place();
    let (one, two) = (place.round("one"), place.round("two"));
    place.append(&[(&one, at(1), b"first", false), (&two, at(3), b"third", false)]).unwrap();
    place.append(&[(&one, at(2), b"second", false)]).unwrap();
    assert_eq!(place.texts(), ["third", "second", "first"]);
    let of = |workflow: &str| newest_of(&place.mailbox, &workflow.parse().unwrap()).unwrap();
    assert_eq!(place.text_of(&of("one").unwrap()).unwrap(), "second");
    assert!(of("three").is_none());
    let rounds = HashSet::from([one.clone(), two.clone()]);
    let located = located(&place.mailbox, &HashSet::from([month()]), &rounds).unwrap();
    assert!(located.len() == 2 && located[&one] > located[&two], "the newest member of a round");
    assert!(Writer::try_new(&place.mailbox).unwrap().is_some());
    let _held = Writer::try_new(&place.mailbox).unwrap();
    assert!(Writer::try_new(&place.mailbox).unwrap().is_none(), "one writer at a time");
    // Months that end before what the caller has are not opened.
    let mut found = NewestArchived::find(&place.mailbox, None, None, None).unwrap();
    assert!(found.peek(Some(month().end())).is_none() && found.peek(Some(at(9))).is_some());
}

#[test]
fn a_later_state_of_a_round_hides_the_earlier_one() {
    let place = place();
    let (one, two) = (place.round("one"), place.round("two"));
    place.append(&[(&one, at(1), b"old", false), (&two, at(2), b"other", false)]).unwrap();
    place.append(&[(&one, at(3), b"new", true)]).unwrap();
    assert_eq!(place.texts(), ["new", "other"]);
}

#[test]
fn a_tail_torn_at_any_byte_is_passed_over_and_cut_off() {
    let place = place();
    let (one, two, three) = (place.round("one"), place.round("two"), place.round("three"));
    let (file, index) = (file(&place.mailbox, month()), index_file(&place.mailbox, month()));
    place.append(&[(&one, at(1), b"one", false)]).unwrap();
    let (file_before, index_before) = (fs::read(&file).unwrap(), fs::read(&index).unwrap());
    place.append(&[(&two, at(2), b"two", false)]).unwrap();
    let (file_after, index_after) = (fs::read(&file).unwrap(), fs::read(&index).unwrap());
    let torn = |file_end: usize, index_end: usize| {
        fs::write(&file, &file_after[..file_end]).unwrap();
        fs::write(&index, &index_after[..index_end]).unwrap();
        assert_eq!(place.texts(), ["one"], "{file_end} {index_end}");
        place.append(&[(&three, at(3), b"three", false)]).unwrap();
        assert_eq!(place.texts(), ["three", "one"], "{file_end} {index_end}");
        let mut all = String::new();
        let decoder = flate2::read::MultiGzDecoder::new(fs::File::open(&file).unwrap());
        std::io::Read::read_to_string(&mut { decoder }, &mut all).unwrap();
        assert_eq!(all.lines().count(), 2, "what was cut off is not in the file: {all}");
    };
    (file_before.len()..=file_after.len()).for_each(|end| torn(end, index_before.len()));
    (index_before.len()..index_after.len()).for_each(|end| torn(file_after.len(), end));
    // The very first member.
    for end in 0..file_before.len() {
        fs::write(&file, &file_before[..end]).unwrap();
        fs::write(&index, "").unwrap();
        assert!(place.texts().is_empty());
        place.append(&[(&three, at(3), b"three", false)]).unwrap();
        assert_eq!(place.texts(), ["three"]);
    }
}

#[test]
fn a_torn_end_is_seen_and_cut_off_without_a_new_member() {
    let place = place();
    place.append(&[(&place.round("one"), at(1), b"one", false)]).unwrap();
    let (file, index) = (file(&place.mailbox, month()), index_file(&place.mailbox, month()));
    let whole = (fs::read(&file).unwrap(), fs::read(&index).unwrap());
    assert!(state(&place.mailbox).unwrap().torn.is_empty());
    for torn in [&file, &index] {
        let mut bytes = fs::read(torn).unwrap();
        bytes.extend(b"{\"off");
        fs::write(torn, bytes).unwrap();
        assert_eq!(state(&place.mailbox).unwrap().torn, std::slice::from_ref(&file));
        Writer::try_new(&place.mailbox).unwrap().unwrap().cut_off_torn_ends();
        assert!((fs::read(&file).unwrap(), fs::read(&index).unwrap()) == whole);
    }
    fs::write(&file, &whole.0[1..]).unwrap();
    assert_eq!(state(&place.mailbox).unwrap().damaged.len(), 1);
}

#[test]
fn a_damaged_byte_is_told_and_the_rest_is_readable() {
    let place = place();
    let (one, two) = (place.round("one"), place.round("two"));
    let (file, index) = (file(&place.mailbox, month()), index_file(&place.mailbox, month()));
    place.append(&[(&one, at(1), b"one", false)]).unwrap();
    let end = fs::metadata(&file).unwrap().len() as usize;
    place.append(&[(&two, at(2), b"two", false)]).unwrap();
    let whole = fs::read(&file).unwrap();
    for byte in (0..end).filter(|byte| !(3..10).contains(byte)) {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0x55;
        fs::write(&file, damaged).unwrap();
        let texts = place.texts();
        assert!(texts == ["two", "!"], "byte {byte}: {texts:?}");
    }
    fs::write(&file, &whole).unwrap();
    // A line of the index that cannot be read.
    let lines = fs::read_to_string(&index).unwrap();
    fs::write(&index, lines.replacen("{\"offset\":0", "{\"offset\":?", 1)).unwrap();
    let found: Vec<_> = NewestArchived::find(&place.mailbox, None, None, None).unwrap().collect();
    assert!(found.len() == 2 && found.iter().filter(|f| f.is_err()).count() == 1, "{found:?}");
    // An index that was lost, and an archive that is too short.
    fs::remove_file(&index).unwrap();
    assert!(place.append(&[(&one, at(1), b"one", false)]).unwrap_err().to_string().contains("lost its index"));
    assert_eq!(fs::read(&file).unwrap(), whole);
    fs::write(&index, &lines).unwrap();
    fs::write(&file, &whole[..end]).unwrap();
    assert!(place.append(&[(&one, at(1), b"one", false)]).unwrap_err().to_string().contains("its end is missing"));
    assert_eq!(place.texts(), ["!", "one"]);
}

#[test]
fn a_member_that_claims_to_be_small_is_not_read_further() {
    let place = place();
    let one = place.round("one");
    place.append(&[(&one, at(1), &vec![b'x'; 3 << 20], false)]).unwrap();
    let index = index_file(&place.mailbox, month());
    let line = fs::read_to_string(&index).unwrap();
    let raw = line.split("\"raw\":").nth(1).unwrap().split(',').next().unwrap();
    for other in ["1", "70000", "99999999"] {
        fs::write(&index, line.replace(&format!("\"raw\":{raw}"), &format!("\"raw\":{other}"))).unwrap();
        assert_eq!(place.texts(), ["!"], "{other} of {raw}");
    }
}
