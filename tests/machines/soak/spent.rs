//! What a process spends on its rounds: its time on a processor, and its memory, by tenths of the time.

use std::time::{Duration, Instant};

use crate::support::process::stat_field;

/// How many parts the time has.
const PARTS: u32 = 10;

#[derive(Debug, Clone, Copy)]
struct Reading {
    rounds: usize,
    /// Hundredths of a second, without those of its children.
    processor: u64,
    /// Anonymous memory in KiB.
    memory: u64,
}

pub struct Spent {
    pid: i32,
    part: Duration,
    readings: Vec<Reading>,
}

impl Spent {
    pub fn new(pid: i32, lasts: Duration) -> Self {
        let mut spent = Self { pid, part: lasts / PARTS, readings: Vec::new() };
        spent.read(Duration::ZERO, 0);
        spent
    }

    /// The time until the end of the current part.
    pub fn until_next(&self, begun: Instant) -> Duration {
        let parts = u32::try_from(self.readings.len()).expect("a few parts");
        (self.part * parts).saturating_sub(begun.elapsed()).min(Duration::from_secs(1))
    }

    /// Reads the figures if a part is over.
    pub fn read(&mut self, elapsed: Duration, rounds: usize) {
        if elapsed < self.part * u32::try_from(self.readings.len()).expect("a few parts") {
            return;
        }
        let processor = (11..13).filter_map(|n| stat_field(self.pid, n)?.parse::<u64>().ok()).sum();
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim_end_matches("kB").trim().parse().ok());
        self.readings.push(Reading { rounds, processor, memory: memory.expect("it lives") });
    }

    /// Milliseconds of the processor for each round of each part, and the memory at its end.
    fn parts(&self) -> Vec<(f64, u64)> {
        let part = |pair: &[Reading]| {
            let (rounds, spent) = (pair[1].rounds - pair[0].rounds, pair[1].processor.saturating_sub(pair[0].processor));
            (10.0 * spent as f64 / rounds.max(1) as f64, pair[1].memory)
        };
        self.readings.windows(2).map(part).collect()
    }

    pub fn print(&self) {
        for (n, (spent, memory)) in self.parts().iter().enumerate() {
            eprintln!("tenth {}: {spent:.2} ms of the watcher for each round, {memory} KiB of anonymous memory", n + 1);
        }
    }

    /// The last part costs at most `limit` times the second one.
    pub fn check(&self, limit: f64) {
        let parts = self.parts();
        let [_, second, .., last] = parts[..] else { panic!("the time was too short: {parts:?}") };
        assert!(last.0 <= limit * second.0, "time for each round: {:.2} ms, then {:.2} ms", second.0, last.0);
        assert!(last.1 as f64 <= limit * second.1 as f64, "memory: {} KiB, then {} KiB", second.1, last.1);
    }
}
