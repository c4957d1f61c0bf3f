use std::fs;

use askbox_mailbox::{Error, Mailbox, QuestionId, RoundId, Time, time};

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

fn round(workflow: &str) -> RoundId {
    RoundId { workflow: workflow.parse().unwrap(), question: QuestionId::generate() }
}

fn at(text: &str) -> Time {
    time::parse_rfc3339(text).unwrap()
}

impl Place {
    /// Archives a round with these files.
    fn write(&self, round: &RoundId, closed: Time, files: &[(&str, &[u8])]) -> askbox_mailbox::error::Result<ArchivedRound> {
        for (name, bytes) in files {
            let path = self.mailbox.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let archived = ArchivedRound::new(round, closed);
        write(&self.mailbox, &archived, &files.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
        Ok(archived)
    }

    fn found(&self, workflow: Option<&str>, since: Option<Time>) -> Vec<ArchivedRound> {
        let workflow = workflow.map(|workflow| workflow.parse().unwrap());
        NewestArchived::find(&self.mailbox, workflow.as_ref(), since, None).unwrap().map(Result::unwrap).collect()
    }
}

#[test]
fn rounds_come_back_newest_first_and_by_workflow() {
    let place = place();
    let (one, two) = (round("one"), round("one.two"));
    let times = ["2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"].map(at);
    let [a, b, c] = [(&one, times[0]), (&two, times[2]), (&one, times[1])].map(|(id, at)| place.write(id, at, &[]).unwrap());
    assert!(a.path(&place.mailbox).ends_with(format!("archive/2025-12/{one}.20251231T235959999Z.tar.gz")));
    fs::write(folder(&place.mailbox).join("2026-01/notes.txt"), "mine").unwrap();
    fs::create_dir(folder(&place.mailbox).join("notes")).unwrap();
    assert_eq!(place.found(None, None), [b.clone(), c.clone(), a.clone()]);
    assert_eq!(place.found(Some("one"), None), [c.clone(), a.clone()]);
    assert_eq!(place.found(None, Some(times[1])), [b, c]);
    assert_eq!(place.found(Some("on"), None), []);
    // Months that end before what the caller has are not opened.
    let mut found = NewestArchived::find(&place.mailbox, None, None, None).unwrap();
    assert!(found.peek(Some(at("2026-02-01T00:00:00Z"))).is_none() && found.peek(Some(times[2])).is_some());
}

#[test]
fn every_byte_of_every_archived_file_comes_back() {
    let place = place();
    let id = round("docs");
    let (document, record) = (format!("closed/{}", id.file_name()), format!("runs/docs/{}/1/run.json", id.question));
    let (log, long) = (format!("runs/docs/{}/1/stderr.log", id.question), (0..=255).cycle().take(300_000).collect::<Vec<u8>>());
    let closed = at("2026-01-01T00:00:00Z");
    let archived = place.write(&id, closed, &[(&document, b"{\"a\":1}"), (&record, b"{}"), (&log, &long)]).unwrap();
    let path = archived.path(&place.mailbox);
    let lines = |path: &std::path::Path| {
        let mut lines = Vec::new();
        let mut take = |line: &str| lines.push(line.to_owned());
        assert!(
            each_line(path, &log, |line| {
                take(line);
                Ok(())
            })
            .unwrap()
        );
        lines.join("\n")
    };
    assert_eq!(lines(&path), String::from_utf8_lossy(&long));
    assert!(!each_line(&path, "runs/other", |_| Ok(())).unwrap());
    let stopped = each_line(&path, &log, |_| Err(Error::conflict("enough", "")));
    assert!(matches!(stopped, Err(Error::Conflict { .. })), "{stopped:?}");
    let content =
        |path: &std::path::Path| content(path).unwrap().into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect::<Vec<_>>();
    assert_eq!(content(&path), ["{\"a\":1}", "{}"]);
    // A power cut brings back the document alone.
    let before = fs::read(&path).unwrap();
    let changed = fs::metadata(place.mailbox.root().join(&document)).unwrap().modified().unwrap();
    place.write(&id, closed, &[(&document, b"{\"a\":1}")]).unwrap();
    if fs::metadata(place.mailbox.root().join(&document)).unwrap().modified().unwrap() == changed {
        assert!(fs::read(&path).unwrap() == before);
    }
    place.write(&id, closed, &[(&document, b"{\"a\":2}")]).unwrap();
    assert_eq!(
        (content(&path), lines(&path)),
        (vec!["{\"a\":2}".to_owned(), "{}".to_owned()], String::from_utf8_lossy(&long).into_owned())
    );
}

#[test]
fn damage_at_any_byte_is_told_and_nothing_replaces_it() {
    let place = place();
    let (one, two) = (round("one"), round("two"));
    let closed = at("2026-01-01T00:00:00Z");
    let [path, other] = [&one, &two].map(|id| {
        let document = format!("closed/{}", id.file_name());
        place.write(id, closed, &[(&document, b"{\"question\":\"Merge?\"}")]).unwrap().path(&place.mailbox)
    });
    let whole = fs::read(&path).unwrap();
    let is_told = |what: &str| {
        assert!(matches!(content(&path), Err(Error::Failed { .. })), "{what}");
        assert_eq!(damage_of(&place.mailbox, u64::MAX).unwrap().len(), 1, "{what}");
        assert!(place.write(&one, closed, &[("closed/other.json", b"{}")]).is_err() && content(&other).is_ok(), "{what}");
    };
    // The bytes 3 to 9 of gzip hold flags, a time and the system.
    for byte in (0..whole.len()).filter(|byte| !(3..10).contains(byte)) {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0x55;
        fs::write(&path, damaged).unwrap();
        is_told(&format!("byte {byte}"));
    }
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        is_told(&format!("end {end}"));
    }
    let state = state(&place.mailbox).unwrap();
    assert!(state.rounds == 2 && state.bytes > 0);
}
