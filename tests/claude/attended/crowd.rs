//! Many dialogs of five sessions, answered at random at the keyboard and from somewhere else in the same second. Each is decided once, the
//! session does what the mailbox says, and nothing is left waiting. A second test also kills hooks, sessions, watchers and the page's server.
//!
//! `tests/run live N` lets N dialogs be answered, and N more while processes are killed. `docs/guide-live.md` says how it ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::elsewhere::{Elsewhere, thinks};
use super::{Attended, DIALOG, made, touch, world};
use crate::support::{ClaudeWorld, Dice, kill, number, until};

const SESSIONS: usize = 5;
/// The number of dialogs in an ordinary run of the tests.
const FEW: usize = 20;
/// Claude Code shows no dialog for these calls, so only the mailbox answers them.
const OF_SUBAGENT: usize = 2;

/// One session's part: its calls in the main thread, behind a subagent with calls of its own. Each call makes a file that no other makes.
fn steps(world: &ClaudeWorld, name: &str, calls: usize) -> Vec<Value> {
    let file = |n: usize| format!("{name}-{n}-x");
    let of_subagent: Vec<_> = (0..OF_SUBAGENT).map(|n| touch(&file(n))).chain([json!({"text": "sub is done"})]).collect();
    world.api.on(&format!("Sub of {name}."), json!(of_subagent));
    let input = json!({"description": "work", "prompt": format!("Sub of {name}."), "subagent_type": "general-purpose"});
    let own = (OF_SUBAGENT..calls).map(|n| touch(&file(n)));
    std::iter::once(json!({"tool": "Agent", "input": input})).chain(own).collect()
}

/// The person at the keyboard: says yes to two of three dialogs after a while, until this is over. Returns false if the session was killed.
fn sits_at(session: &Attended<'_>, dice: &mut Dice, is_over: impl Fn() -> bool) -> bool {
    loop {
        let Some(screen) = session.terminal.try_screen() else { return false };
        if screen.contains("at the end") && is_over() {
            return true;
        }
        if screen.contains(DIALOG) {
            std::thread::sleep(thinks(dice, 1400));
            if dice.roll(3) > 0 {
                session.terminal.try_burst(&["1"]);
            }
        }
        std::thread::sleep(Duration::from_millis(150));
    }
}

/// The file that the call of a closed question makes.
fn file_of(round: &Value) -> String {
    let text = round.to_string();
    let behind = text.split("touch ").nth(1).unwrap_or_else(|| panic!("no file in {text}"));
    behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// All closed questions, and how many of each state there are.
fn ends(world: &ClaudeWorld) -> (Vec<Value>, BTreeMap<String, usize>) {
    let rounds: Vec<Value> = world.names("closed").iter().map(|name| world.document(&format!("closed/{name}"))).collect();
    let mut states = BTreeMap::new();
    for round in &rounds {
        *states.entry(round["closed"]["state"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
    }
    (rounds, states)
}

fn is_refused(round: &Value) -> bool {
    round["closed"]["state"] == "delivered" && round["answer"]["outcome"] == "declined"
}

/// Waits until no question is left. An answer that came too late is closed some time after the session went on.
/// The transcript of a session that was killed may never tell the end of an answer that was sent.
fn nothing_is_left(world: &ClaudeWorld, besides: &str) {
    let folders = ["pending", "answered", "running", "parked"];
    until("nothing is left", || folders.iter().all(|folder| *folder == besides || world.names(folder).is_empty()));
}

/// Checks that each question ended once. A process that is killed behind the end of a round writes no line about it.
fn check_ends(world: &ClaudeWorld, rounds: &[Value], ends: std::ops::RangeInclusive<usize>) {
    let ended = |audit: &[Value], round: &Value| {
        let is_end = |line: &&Value| {
            let event = line["event"].as_str().unwrap_or_default();
            line["question_id"] == round["question_id"] && ["delivered", "withdrawn", "superseded", "expired"].contains(&event)
        };
        audit.iter().filter(is_end).count()
    };
    // The line of the audit is written after the round is closed.
    until("each end is on record", || {
        let audit = world.audited();
        rounds.iter().all(|round| ended(&audit, round) >= *ends.start())
    });
    let audit = world.audited();
    for round in rounds {
        assert!(ends.contains(&ended(&audit, round)), "{round}");
    }
}

#[test]
fn dialogs_answered_in_two_places_at_once_are_decided_once() {
    let prompts = number("ASKBOX_LIVE", FEW);
    let mut world = world();
    world.set_longest_life(Duration::from_secs(300 + 5 * prompts as u64));
    let (world, over) = (&world, &AtomicBool::new(false));
    let elsewhere = &Elsewhere::new(world, false);
    let names: Vec<_> = (0..SESSIONS).map(|n| format!("s{n}")).collect();
    let calls = prompts / SESSIONS;
    std::thread::scope(|scope| {
        scope.spawn(|| elsewhere.sits(over, &mut Dice::new(7)));
        let sitting: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(n, name)| {
                scope.spawn(move || {
                    let session = Attended::begin_beside(name, world, "default", &[]);
                    session.goes_from(&format!("Begin {name}."), &steps(world, name, calls));
                    // The transcript of a session that is closed at once may never tell the end of its last answer.
                    let is_settled = || ["answered", "running"].iter().all(|folder| world.names(folder).is_empty());
                    let is_over = || (0..calls).all(|n| is_decided(world, &format!("{name}-{n}-x"))) && is_settled();
                    assert!(sits_at(&session, &mut Dice::new(100 + n as u64), is_over), "the session lives");
                })
            })
            .collect();
        let ended: Vec<_> = sitting.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    nothing_is_left(world, "");
    let (rounds, states) = ends(world);
    check_ends(world, &rounds, 1..=1);
    let refused: Vec<_> = rounds.iter().filter(|round| is_refused(round)).map(file_of).collect();
    let allowed = rounds.iter().filter(|round| round["closed"]["state"] == "delivered" && !is_refused(round)).map(file_of);
    for file in allowed {
        assert!(made(world, &file), "{file} was allowed");
    }
    // The person at the keyboard only ever says yes.
    for (name, n) in names.iter().flat_map(|name| (0..calls).map(move |n| (name, n))) {
        let file = format!("{name}-{n}-x");
        assert_eq!(made(world, &file), !refused.contains(&file), "{file}");
    }
    println!("{prompts} dialogs of {SESSIONS} sessions: {} were asked in the mailbox: {states:?}", rounds.len());
    println!("{}", elsewhere.check(&rounds));
}

/// True if the call that makes this file was made or refused.
fn is_decided(world: &ClaudeWorld, file: &str) -> bool {
    made(world, file) || ends(world).0.iter().any(|round| is_refused(round) && file_of(round) == file)
}

#[test]
fn dialogs_of_killed_processes_are_decided_once_or_withdrawn() {
    let prompts = number("ASKBOX_LIVE", FEW);
    let mut world = world();
    world.set_longest_life(Duration::from_secs(300 + 10 * prompts as u64));
    let (world, over) = (&world, &AtomicBool::new(false));
    let elsewhere = &Elsewhere::new(world, true);
    let (kills, calls) = (&AtomicUsize::new(0), prompts / SESSIONS);
    std::thread::scope(|scope| {
        scope.spawn(|| elsewhere.sits(over, &mut Dice::new(11)));
        scope.spawn(|| kills_processes(elsewhere, world, over, kills, &mut Dice::new(13)));
        let sitting: Vec<_> = (0..SESSIONS)
            .map(|n| {
                scope.spawn(move || {
                    let mut dice = Dice::new(200 + n as u64);
                    // A killed session is followed by another one, which begins anew.
                    for life in 0.. {
                        let name = format!("s{n}l{life}");
                        let Some(session) = Attended::try_begin_beside(&name, world) else { continue };
                        session.goes_from(&format!("Begin {name}."), &steps(world, &name, calls));
                        if sits_at(&session, &mut dice, || true) || life >= 3 {
                            break;
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = sitting.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    // A watcher that lives withdraws what dead hooks have left.
    let _watcher = world.start_watcher();
    nothing_is_left(world, "running");
    let (rounds, states) = ends(world);
    check_ends(world, &rounds, 0..=1);
    for file in rounds.iter().filter(|round| is_refused(round)).map(file_of) {
        assert!(!made(world, &file), "{file} was refused");
    }
    // The transcript of a killed session may never tell the end of an answer.
    let sent = world.names("running").iter().map(|name| world.document(&format!("running/{name}"))).collect();
    println!("{}", elsewhere.check(&[rounds.clone(), sent].concat()));
    let kills = kills.load(Ordering::Relaxed);
    println!("{kills} other kills among the dialogs of {SESSIONS} sessions: {} were asked in the mailbox: {states:?}", rounds.len());
}

/// Kills a hook, a session, the watcher or the page's server, at random moments.
fn kills_processes(elsewhere: &Elsewhere<'_>, world: &ClaudeWorld, over: &AtomicBool, kills: &AtomicUsize, dice: &mut Dice) {
    let mut watcher = Some(world.start_watcher());
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(thinks(dice, 2500));
        let victims = match dice.roll(7) {
            6 => {
                elsewhere.kills_the_server();
                continue;
            }
            0 => {
                // Killed when it is dropped.
                drop(watcher.take());
                watcher = Some(world.start_watcher());
                kills.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            1 => world.processes("--session-id").into_iter().filter(|pid| is_called(*pid, "claude")).collect::<Vec<_>>(),
            _ => world.processes("askbox hook"),
        };
        if !victims.is_empty() {
            kill(*dice.one(&victims));
            kills.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn is_called(pid: i32, name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}
