//! A tool that clears its environment and leaves its session and its parents is still a process of the run: its supervisor adopts it, and
//! ends it with the run. Processes of somebody else stay.

use crate::support::process::is_alive;
use crate::support::{Signal, World, output, signal, until};

/// An orphan without environment in a session of its own, which writes its pid into `$AGENT_DIR/orphan`.
const ORPHAN: &str = r#"(env -i /bin/sh -c 'exec setsid /bin/sh -c "(trap \"\" TERM; while :; do sleep 1; done) & echo \$! >$0.new; mv $0.new $0"' "$AGENT_DIR/orphan")
"#;

/// Killed when it is dropped: it has no environment that would let the world find it.
struct Orphan(i32);

impl Orphan {
    fn of(world: &World) -> Self {
        let text = until("the orphan has written its pid", || std::fs::read_to_string(world.agent("orphan")).ok());
        let orphan = Self(text.trim().parse().unwrap());
        let environment = || std::fs::read(format!("/proc/{}/environ", orphan.0)).unwrap();
        assert!(is_alive(orphan.0) && !String::from_utf8_lossy(&environment()).contains("ASKBOX"), "it is no orphan without environment");
        orphan
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if is_alive(self.0) {
            signal(self.0, Signal::KILL);
        }
    }
}

fn world() -> World {
    let world = World::stepping(&format!("{ORPHAN}work"));
    world.hold("tool");
    world.ask_and_answer("docs");
    world
}

#[test]
fn a_tool_without_environment_does_not_outlive_a_delivered_run() {
    let world = world();
    let _watcher = world.watch();
    world.held("tool");
    let orphan = Orphan::of(&world);
    world.let_go("tool");
    world.reaches("docs", "delivered");
    assert!(!is_alive(orphan.0));
}

#[test]
fn a_tool_without_environment_does_not_outlive_its_agent() {
    let world = world();
    let _watcher = world.watch();
    let [agent, _] = world.held("tool");
    let orphan = Orphan::of(&world);
    std::fs::write(world.agent("body.sh"), "work").unwrap();
    signal(agent, Signal::KILL);
    until("the next attempt", || world.logged("start ") == 2);
    assert!(!is_alive(orphan.0), "the next attempt began beside it");
    world.let_go("tool");
    world.reaches("docs", "delivered");
}

#[test]
fn what_a_shell_started_before_it_became_supervisor_stays() {
    let world = World::stepping(&format!("{ORPHAN}work"));
    world.ask_and_answer("docs");
    let script = "env -i sleep 100 </dev/null >/dev/null 2>&1 & echo $! >stranger; exec relaunch docs";
    let out = output(&mut world.shell_command(script));
    let stranger = Orphan(std::fs::read_to_string(world.path("stranger")).unwrap().trim().parse().unwrap());
    assert!(out.status.success(), "{out:?}");
    assert_eq!(world.state("docs"), "delivered");
    assert!(is_alive(stranger.0), "a process that was there before the run was ended");
    let orphan: i32 = std::fs::read_to_string(world.agent("orphan")).unwrap().trim().parse().unwrap();
    assert!(!is_alive(orphan));
}

#[test]
fn an_agent_without_environment_outlives_its_supervisor_briefly() {
    // Nothing but its lock says that it is the run's.
    let alone = r#"exec env -i /bin/sh -c 'trap "" TERM; while :; do sleep 0.1; done'"#;
    let world = World::stepping(&format!("mkdir \"$AGENT_DIR/first\" 2>/dev/null || {{ work; finish; }}\nlog alone $$ $PPID\n{alone}"));
    world.ask_and_answer("docs");
    let _watcher = world.watch();
    let pids = until("the agent is alone", || world.log().into_iter().find_map(|l| l.strip_prefix("alone ").map(str::to_owned)));
    let pids: Vec<i32> = pids.split(' ').map(|pid| pid.parse().unwrap()).collect();
    let agent = Orphan(pids[0]);
    until("it has no environment", || std::fs::read(format!("/proc/{}/environ", agent.0)).is_ok_and(|all| all.is_empty()));
    signal(pids[1], Signal::KILL);
    until("the next attempt", || world.logged("start ") == 2);
    assert!(!is_alive(agent.0), "the next attempt began beside it");
    world.reaches("docs", "delivered");
}

mod promises {
    use super::*;

    #[test]
    fn a_tool_without_environment_does_not_outlive_a_stopped_run() {
        let world = world();
        let _watcher = world.watch();
        world.held("tool");
        let orphan = Orphan::of(&world);
        world.ok("relaunch", &["stop", "docs", "--now"]);
        assert!(!is_alive(orphan.0));
    }
}
