//! The system refuses a process, a thread or a descriptor (EAGAIN, EMFILE, ENFILE, ENOMEM). Programs wait or say so. No program aborts,
//! and no round is parked for a shortage that waiting mends.

use crate::support::{World, in_parallel, needs, output, strace, until};

/// The system refuses the `n`th call of a program's main thread.
struct Refused {
    call: &'static str,
    error: &'static str,
    n: usize,
}

impl Refused {
    fn strace(&self) -> Vec<String> {
        let inject = format!("inject={}:error={}:when={}", self.call, self.error, self.n);
        strace(&["-qq", "-e", &format!("trace={}", self.call), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"])
    }
}

/// Every such call that `relaunch ID` makes.
fn every_call(setup: impl Fn() -> World) -> Vec<Refused> {
    let world = setup();
    let trace = world.path("trace");
    let calls = [("clone3", "EAGAIN"), ("clone3", "ENOMEM"), ("pipe2", "EMFILE"), ("pipe2", "ENFILE"), ("pidfd_open", "EMFILE")];
    let set = "trace=clone,clone3,fork,vfork,pipe2,pidfd_open";
    let before = strace(&["-qq", "-e", set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    assert_eq!(output(world.wrapped(&before, "relaunch").arg("docs")).code(), 0);
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let count = |call: &str| text.lines().filter(|l| l.starts_with(&format!("{call}("))).count();
    assert!(count("clone3") >= 5 && count("pipe2") >= 2, "{text}");
    calls.into_iter().flat_map(|(call, error)| (1..=count(call)).map(move |n| Refused { call, error, n })).collect()
}

#[test]
fn a_run_short_of_a_resource_is_tried_again_and_not_parked() {
    needs!("strace");
    let setup = || {
        let world = World::stepping("work");
        world.configure("attempts = 1");
        world.ask_and_answer("docs");
        world
    };
    let points = every_call(setup);
    in_parallel(4, &points, |refused| {
        let world = setup();
        let when = format!("{} number {} fails with {}", refused.call, refused.n, refused.error);
        let first = output(world.wrapped(&refused.strace(), "relaunch").arg("docs"));
        assert!([0, 1].contains(&first.code()), "{when}: {first:?}");
        assert!(!first.words().contains("panicked"), "{when}: {first:?}");
        assert_eq!(world.names("parked"), [""; 0], "{when}: {first:?}");
        if first.code() == 1 {
            assert!(first.stderr.contains("hint: "), "{when}: {first:?}");
            world.ok("relaunch", &["docs"]);
        }
        assert!(world.only("closed", "docs.").is_some(), "{when}");
        assert_eq!((world.logged("shown "), world.logged("violation")), (1, 0), "{when}: {:#?}", world.log());
    });
}

#[test]
fn a_watcher_that_is_refused_any_one_thread_or_process_goes_on() {
    needs!("strace");
    let refusals: Vec<Refused> = (1..=8).map(|n| Refused { call: "clone3", error: "EAGAIN", n }).collect();
    in_parallel(4, &refusals, |refused| {
        let world = World::stepping("work");
        world.make_mailbox();
        world.configure("[target.command]\nexec = [\"true\"]\n");
        world.ok("ask-post", &["-w", "open", "?"]);
        world.ask_and_answer("docs");
        let mut watcher = world.start_watcher_behind(&refused.strace());
        let ended = until("it ends or delivers", || {
            let ended = watcher.process.has_ended();
            (ended || world.only("closed", "docs.").is_some()).then_some(ended)
        });
        let log = watcher.log();
        assert!(!log.contains("panicked"), "number {}: {log}", refused.n);
        // The watcher cannot start without the threads for Unix signals and for file events. It says so, and a service manager starts it
        // again.
        assert!(!ended || watcher.process.wait().code() == Some(1) && log.contains("cannot start a thread"), "number {}: {log}", refused.n);
        assert!(!ended || refused.n <= 3, "number {}: {log}", refused.n);
        assert_eq!(world.logged("violation"), 0, "{:#?}", world.log());
    });
}

mod promises {
    use super::*;

    #[test]
    fn a_round_without_a_process_waits_and_counts_no_attempt() {
        needs!("strace");
        let world = World::stepping("work");
        world.configure("attempts = 1");
        world.ask_and_answer("docs");
        // The main thread starts the threads of the run before the agent's process, which is the last one that it starts.
        let refused = Refused { call: "clone3", error: "EAGAIN", n: 5 };
        let out = output(world.wrapped(&refused.strace(), "relaunch").arg("docs"));
        // The command tries again by itself.
        assert_eq!(out.code(), 0, "{out:?}");
        assert!(out.stdout.contains("cannot launch"), "{out:?}");
        let closed = world.closed("docs", "delivered", 1);
        let first = world.document(&format!("runs/docs/{}/1/run.json", closed[0]["question_id"].as_str().expect("an id")));
        assert_eq!((first["failure"]["class"].as_str(), first["state"].as_str()), (Some("shortage"), Some("failed")), "{first:#}");
        assert!(first["retry_at"].is_string(), "{first:#}");
        assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
    }
}
