//! An answer that a process took for itself: `relaunch prompt`, `relaunch done`, `ask-post --wait`. Nobody waits for a run that never was.

use std::time::{Duration, Instant};

use crate::support::{World, needs};

/// `relaunch resume w` answers at once, with these words and status 1.
#[track_caller]
fn resumed_at_once(world: &World, words: &str) {
    let began = Instant::now();
    let out = world.run("relaunch", &["resume", "w"]);
    assert!(began.elapsed() < Duration::from_secs(60), "it waited: {out:?}");
    assert_eq!(out.code(), 1, "{out:?}");
    assert!(out.stdout.starts_with("handed over (w): ") && out.stdout.contains(words), "{out:?}");
    let status = world.status("w");
    assert_eq!((&status["state"], status.get("session_id")), (&"delivered".into(), None), "{status:#}");
}

#[test]
fn a_workflow_whose_asker_waited_is_handed_over_too() {
    let world = World::new();
    let out = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run("ask-post", &["-w", "w", "Merge?", "--wait", "1m"]));
        world.appears("pending/w.json");
        world.ok("ask-answer", &["w", "yes"]);
        waiting.join().expect("it ends")
    });
    assert_eq!(out.stdout, "yes\n");
    resumed_at_once(&world, "the asker that waited for it (ask-post --wait, or an MCP client) took the answer");
}

#[test]
fn an_answer_given_to_a_process_of_its_own_is_said_to_be_done() {
    let world = World::new();
    world.ask_and_answer("w");
    // The first design's main agent runs `claude -p` itself now. Its agent asks again, and that answer is refused with the way out.
    let asked = world.run("ask-post", &["-w", "w", "And now?"]).ok();
    assert!(asked.stderr.contains("if you have it already: relaunch done w"), "{asked:?}");
    let refused = world.run("ask-answer", &["w", "yes"]);
    assert_eq!(refused.code(), 4, "{refused:?}");
    assert!(refused.stderr.contains("if a process of yours has it: relaunch done w"), "{refused:?}");
    assert_eq!(world.ok("relaunch", &["done", "w"]), "w: its answer counts as delivered; no agent is started\n");
    world.ok("ask-answer", &["w", "yes"]);
    assert_eq!(world.ok("relaunch", &["done", "w", "--json"]).matches("\"state\":\"delivered\"").count(), 1);
    resumed_at_once(&world, "relaunch done");
    assert_eq!(world.run("relaunch", &["done", "w"]).code(), 4);
    assert_eq!(world.run("relaunch", &["done", "nobody"]).code(), 3);
}

#[test]
fn a_cancelled_workflow_is_refused_with_the_way_on() {
    let world = World::at_home();
    world.agent_does("w", "echo went on");
    world.ok("ask-post", &["-w", "w", "Merge?"]);
    world.ok("ask-answer", &["cancel", "w"]);
    let refused = world.run("relaunch", &["w"]);
    assert_eq!(refused.code(), 4, "{refused:?}");
    assert!(refused.stderr.contains("hint: go on with words of your own: relaunch run -w w --prompt TEXT"), "{refused:?}");
    world.ok("relaunch", &["run", "-w", "w", "--prompt", "go on without it"]);
    assert_eq!(world.told("w", 1), "go on without it");
    assert_eq!(world.state("w"), "delivered");
}

#[test]
fn every_parked_round_is_retried_here_or_by_the_watcher() {
    for watched in [false, true] {
        let world = World::stepping("[ -e $AGENT_DIR/well ] && work || exit 3");
        world.configure("attempts = 1");
        world.make_mailbox();
        assert_eq!(world.ok("relaunch", &["retry", "--all"]), "nothing is parked\n");
        for workflow in ["a", "b"] {
            world.ask_and_answer(workflow);
            world.run("relaunch", &[workflow]);
            assert_eq!(world.state(workflow), "parked");
        }
        let failed = world.run("relaunch", &["retry", "--all"]);
        assert_eq!((failed.code(), world.names("parked").len()), (1, 2), "{failed:?}");
        std::fs::write(world.agent("well"), "").expect("a file");
        let _watcher = watched.then(|| world.watch());
        let said = world.ok("relaunch", &["retry", "--all"]);
        assert!(!watched || said == "a: the watcher launches attempt 3\nb: the watcher launches attempt 3\n", "{said}");
        for workflow in ["a", "b"] {
            world.closed(workflow, "delivered", 1);
        }
    }
    assert_eq!(World::new().run("relaunch", &["retry"]).code(), 2);
}

mod promises {
    use super::*;

    #[test]
    fn a_workflow_of_a_main_agent_is_handed_over() {
        let world = World::new();
        world.ask_and_answer("w");
        world.ok("relaunch", &["prompt", "w"]);
        resumed_at_once(&world, "a main agent (relaunch prompt, or relaunch done) took the answer");
    }

    #[test]
    fn an_answer_that_a_killed_process_took_is_not_given_twice() {
        let world = World::new();
        world.ask_and_answer("w");
        let question = world.document("answered/w.json")["question_id"].as_str().expect("an id").to_owned();
        // A process has claimed the answer, and was killed.
        std::fs::rename(world.in_mailbox("answered/w.json"), world.in_mailbox(format!("running/w.{question}.json"))).expect("the claim");
        for command in ["prompt", "done"] {
            let refused = world.run("relaunch", &[command, "w"]);
            assert_eq!((refused.code(), refused.stdout.as_str()), (4, ""), "{refused:?}");
            assert!(refused.stderr.contains("taken by a process that is gone") && refused.stderr.contains("relaunch w"), "{refused:?}");
        }
        assert_eq!(world.status("w")["state"], "orphaned");
    }

    #[test]
    fn the_same_question_again_takes_the_answer_that_waits() {
        let world = World::new();
        let ask = |words: &str| world.run("ask-post", &["-w", "w", words, "-o", "merge=m", "-o", "keep=k", "--wait", "100ms"]).ok();
        assert_eq!(ask("Merge?").stdout, "QUESTION_POSTED:w\n");
        world.ok("ask-answer", &["w", "keep"]);
        // Nobody has taken the answer. The asker comes back with the same words.
        let again = ask("Merge?");
        assert!(again.stdout == "keep\n" && again.stderr.contains("answered before"), "{again:?}");
        resumed_at_once(&world, "the asker that waited for it (ask-post --wait, or an MCP client) took the answer");
        assert_eq!(world.audit("w"), ["posted", "answered", "claimed", "delivered"]);
        // It was told once. The same words are a new question now, and so are other words beside an answer.
        assert_eq!(ask("Merge?").stdout, "QUESTION_POSTED:w\n");
        world.ok("ask-answer", &["w", "merge"]);
        assert_eq!(ask("Merge now?").stdout, "QUESTION_POSTED:w\n");
        assert_eq!(world.document("pending/w.json")["question"], "Merge now?");
    }

    #[test]
    fn a_question_brought_again_by_its_id_takes_its_answer() {
        needs!("jq");
        let world = World::new();
        world.sh("ask-post -w w 'Merge?' -o merge=m -o keep=k; cp m/pending/w.json again; ask-answer w keep");
        let again = world.sh("jq 'del(.schema_version)' again | ask-post --file - --wait 5s");
        assert_eq!(again.trim(), "keep");
        assert_eq!(world.audit("w"), ["posted", "answered", "claimed", "delivered"]);
        // Other words under this id stay refused, and so does the id once its answer was taken.
        assert_eq!(world.shell("jq 'del(.schema_version)' again | ask-post --file - --wait 1s").code(), 4);
        world.sh("ask-post -w v 'Merge?'; cp m/pending/v.json again; ask-answer v keep");
        assert_eq!(world.shell("jq 'del(.schema_version) | .question = \"Go?\"' again | ask-post --file - --wait 1s").code(), 4);
    }
}
