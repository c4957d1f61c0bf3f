//! The attacker of a storm: every few milliseconds somebody is killed, ended, or stopped for a while.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::crowd::Storm;
use crate::support::{Dice, Signal, Watcher, processes, signal};

/// The longest time that a process is stopped, in milliseconds.
const LONGEST_STOP: usize = 400;

/// SIGKILL as often as the two others together.
const SIGNALS: [(Signal, &str); 4] =
    [(Signal::KILL, "SIGKILL"), (Signal::KILL, "SIGKILL"), (Signal::TERM, "SIGTERM"), (Signal::STOP, "SIGSTOP")];

/// Attacks until the storm is over; a watcher that is gone is replaced. Returns the signals by kind.
pub fn attack(storm: &Storm, seed: u64, watchers: &mut [Watcher; 2]) -> BTreeMap<String, usize> {
    let (mut dice, mut sent) = (Dice::new(seed), BTreeMap::new());
    let mut stopped: Vec<(Instant, i32)> = Vec::new();
    // Does not wait for the process here: it may wait for another one that the attacker has stopped, and would then stay stopped.
    let mut leaving: Vec<Watcher> = Vec::new();
    let ours = format!("ASKBOX_DIR={}", storm.world.mailbox().display());
    while !storm.over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(2 + dice.roll(20) as u64));
        let now = Instant::now();
        stopped.retain(|(end, pid)| {
            let is_due = *end <= now;
            if is_due {
                signal(*pid, Signal::CONT);
            }
            !is_due
        });
        let (with, name) = SIGNALS[dice.roll(SIGNALS.len())];
        let victim = match dice.roll(10) {
            0 => {
                let n = dice.roll(2);
                let pid = watchers[n].process.pid();
                if with != Signal::STOP {
                    let fresh = storm.world.start_watcher();
                    let old = std::mem::replace(&mut watchers[n], fresh);
                    signal(pid, with);
                    // A stopped process takes SIGTERM only when it goes on.
                    signal(pid, Signal::CONT);
                    leaving.push(old);
                }
                Some(("watcher", pid))
            }
            1..4 => {
                // Under the lock, so that nobody else can have the pid meanwhile.
                let clients = storm.clients.lock().expect("clients");
                let pid = clients.iter().nth(dice.roll(clients.len())).copied();
                pid.into_iter().for_each(|pid| signal(pid, with));
                pid.map(|pid| ("client", pid))
            }
            what => {
                let (kind, mark) = if what < 7 { ("supervisor", "\0supervise\0") } else { ("agent", "stepping.sh\0") };
                let is = |pid: i32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(mark));
                let found: Vec<i32> =
                    processes().into_iter().filter(|(pid, env)| env.contains(&ours) && is(*pid)).map(|(pid, _)| pid).collect();
                found.get(dice.roll(found.len())).map(|pid| {
                    signal(*pid, with);
                    (kind, *pid)
                })
            }
        };
        let Some((kind, pid)) = victim else { continue };
        if with == Signal::STOP {
            // A watcher has not been sent it yet.
            signal(pid, Signal::STOP);
            stopped.push((now + Duration::from_millis(dice.roll(LONGEST_STOP) as u64), pid));
        }
        *sent.entry(format!("{name} to a {kind}")).or_insert(0) += 1;
    }
    stopped.iter().for_each(|(_, pid)| signal(*pid, Signal::CONT));
    for watcher in &mut leaving {
        watcher.process.wait();
    }
    sent
}
