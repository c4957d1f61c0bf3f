//! An agent is killed at many moments around a call. The call is made once, or the model knows that it may have been made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::acp::scene::{Scene, Shell, until_just_now};
use crate::support::{in_parallel, kill, until};

/// The moments in milliseconds, some counted from the model's call, the others from its effect. Agents write a call down in the first
/// milliseconds behind its effect. The call ends 200 ms behind it.
const FROM_CALL: [u64; 6] = [0, 15, 30, 60, 90, 120];
const FROM_EFFECT: [u64; 14] = [0, 0, 0, 1, 1, 2, 3, 5, 8, 15, 40, 100, 250, 400];
const MOMENTS: usize = FROM_CALL.len() + FROM_EFFECT.len();

#[derive(Default)]
struct Seen {
    /// When the model of each workflow has made the call first, and the end of the line in front of the message that it had.
    called: [Option<(Instant, String)>; MOMENTS],
    /// The workflows whose model knew of its call.
    knew: BTreeSet<usize>,
}

fn workflow(n: usize) -> String {
    format!("job-{n}")
}

fn task(n: usize) -> String {
    format!("do part {n}.")
}

fn call(n: usize) -> String {
    format!("echo ran >> $HOME/effects-{n}")
}

fn moment(n: usize) -> Duration {
    Duration::from_millis(*FROM_CALL.iter().chain(&FROM_EFFECT).nth(n).unwrap())
}

impl Scene {
    /// The agent is killed at 20 moments from its call on. A model that knows of its call looks before it makes it again. One that was not
    /// told makes it again. `at_once` agents are at work at a time.
    pub(crate) fn is_killed_at_20_moments(&self, shell: Shell, at_once: usize) {
        let Self { world, api } = self;
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let shared = Arc::clone(&seen);
        api.on_knowing("[askbox round", move |known| {
            let Some(n) = (0..MOMENTS).find(|n| known.iter().any(|text| text.contains(&task(*n)))) else { return Vec::new() };
            let (mut seen, call) = (shared.lock().unwrap(), call(n));
            let attempt = known.last().and_then(|newest| Some(newest.split_once(" attempt ")?.1.split_once(']')?.0.to_owned())).unwrap();
            // Agents that begin beside each other may fail before the model is asked anything.
            if seen.called[n].get_or_insert_with(|| (Instant::now(), attempt.clone())).1 == attempt {
                return vec![shell(&format!("{call}; sleep 0.2")), shell("exec sleep 600"), json!({"text": "never"})];
            }
            let end = json!({"text": "It is done."});
            if known.iter().any(|text| text.contains(&call)) {
                seen.knew.insert(n);
                return vec![shell(&format!("test -s $HOME/effects-{n} || {call}")), end];
            }
            vec![shell(&call), end]
        });
        let times = |n: &usize| std::fs::read_to_string(world.home().join(format!("effects-{n}"))).unwrap_or_default().lines().count();
        let _watcher = world.watch();
        let moments: Vec<usize> = (0..MOMENTS).collect();
        in_parallel(at_once, &moments, |n| {
            world.ok("relaunch", &["spawn", "--background", "-w", &workflow(*n), "--prompt", &task(*n)]);
            let its_run = format!("ASKBOX_RUN={}/", workflow(*n));
            let called = until("its model makes the call", || seen.lock().unwrap().called[*n].as_ref().map(|(at, _)| *at));
            let agent = until("its agent runs", || self.agents().into_iter().find(|(_, env)| env.contains(&its_run)));
            let from = match FROM_CALL.get(*n) {
                Some(_) => called,
                None => {
                    until_just_now("the call has its effect", || times(n) > 0);
                    Instant::now()
                }
            };
            std::thread::sleep((from + moment(*n)).saturating_duration_since(Instant::now()));
            kill(agent.0);
            world.closed(&workflow(*n), "delivered", 1);
        });
        let knew = &seen.lock().unwrap().knew;
        let wrong: Vec<_> = moments.iter().map(|n| (n, moment(*n), times(n))).filter(|wrong| wrong.2 != 1).collect();
        eprintln!("killed at {MOMENTS} moments: the model knew of its call at {}", knew.len());
        assert!(wrong.is_empty(), "(number, moment, times that the call was made): {wrong:?}");
        assert!(!knew.is_empty(), "the agent was never killed behind its call");
    }
}
