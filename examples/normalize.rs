//! Measures how long reading and normalizing an agent's stream takes, beside a bare `serde_json` parse of the same bytes. Prints one
//! line a round, with the nanoseconds of each. `benches/run` makes a ratio of them.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use askbox::agent::events::EventWriter;
use askbox::agent::stream::lines::BoundedLines;
use askbox::agent::stream::{Interpreter, StreamItem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    for folder in paths(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/streams")))? {
        for recorded in paths(&folder)? {
            bytes.extend(fs::read(recorded)?);
        }
    }
    let stream = bytes.repeat((4 << 20) / bytes.len() + 1);
    for round in 0..40 {
        let (ours, bare) = if round % 2 == 0 {
            let ours = normalize(&stream)?;
            (ours, parse(&stream)?)
        } else {
            let bare = parse(&stream)?;
            (normalize(&stream)?, bare)
        };
        println!("{ours} {bare}");
    }
    Ok(())
}

/// The paths in a folder, sorted.
fn paths(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Does the work of the supervisor without the disk: lines, signals, events as JSON lines.
fn normalize(stream: &[u8]) -> std::io::Result<u128> {
    let begin = Instant::now();
    let mut lines = BoundedLines::new(stream);
    let mut interpreter = Interpreter::new();
    let mut writer = EventWriter::new(std::io::sink());
    while let Some(line) = lines.next_line()? {
        for signal in interpreter.feed(&line) {
            if let StreamItem::Event(kind) = signal {
                writer.append(chrono::Utc::now(), &kind)?;
            }
        }
    }
    black_box(writer.last_seq);
    Ok(begin.elapsed().as_nanos())
}

fn parse(stream: &[u8]) -> serde_json::Result<u128> {
    let begin = Instant::now();
    for line in stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // A torn line is part of the fixtures.
        drop(black_box(serde_json::from_slice::<serde_json::Value>(line)));
    }
    Ok(begin.elapsed().as_nanos())
}
