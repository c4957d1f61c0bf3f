//! `askbox doctor ID` walks the road of one round, and names where it stands and the next command.

use super::*;

/// The road of a workflow: the step where its round stands, what is said of it, and the next command.
#[track_caller]
fn stands(world: &World, id: &str) -> (String, String, String) {
    let ran = world.shell(&format!("askbox doctor --json {id}"));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.words()));
    let steps = report["road"]["steps"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    let here: Vec<_> = steps.iter().filter(|step| step["state"] == "here").collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let [step] = here.as_slice() else { return ("end".into(), String::new(), text(&report["road"]["next"])) };
    (text(&step["name"]), text(&step["said"]), text(&report["road"]["next"]))
}

#[track_caller]
fn stands_at(world: &World, step: &str, said: &str, next: &str) {
    let (at, why, command) = stands(world, "w");
    assert!(at == step && why.contains(said) && command == next, "{at}: {why}: {command}");
}

#[test]
fn a_doctor_of_a_round_tells_every_cause_that_holds_it_up() {
    let world = well();
    world.sh("ask-post -w w 'Go?' -t yes_no");
    assert!(world.sh("askbox doctor w").contains("No problems found."));
    // The program is missing before the answer is given.
    world.sh("mv agent elsewhere");
    let ran = world.shell("askbox doctor w");
    assert!(ran.code() == 1 && ran.stdout.contains("no_runner: "), "{}", ran.stdout);
    // The watcher and the program are missing, and the queue is paused.
    world.sh("ask-answer w yes; relaunch pause --why lunch");
    let ran = world.shell("askbox doctor w");
    for line in [
        "-> queue       the queue is paused",
        "!! watcher     no watcher runs\n",
        "!! program     its runner `claude` cannot be started",
        "no_runner: ",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let next = ran.stdout.split("Next:\n").nth(1).unwrap();
    assert!(next.starts_with("  $ relaunch go\n  $ relaunch watch\n  $ ${EDITOR:-vi} "), "{next}");
    world.sh("mv elsewhere agent; relaunch go");
    let words = world.shell("askbox doctor w").stdout;
    assert!(words.contains("-> watcher") && words.contains("1 problem found"), "{words}");
    let agent = world.path("agent");
    assert!(words.contains(&format!("     program     {}\n", agent.display())), "a step that is fine says so: {words}");
}

#[test]
fn the_road_of_a_round_that_waits_for_money_leads_to_the_limit() {
    let world = well();
    std::fs::write(
        world.path("agent"),
        AGENT.replace(r#""result":"ok""#, r#""result":"ok","model_usage_since_last_result":{"m":{"costUSD":5}}"#),
    )
    .unwrap();
    configure(&world, "[limits]\nday_cost = 1\n");
    let watcher = world.watch();
    answered(&world, "first");
    world.closed("first", "delivered", 1);
    answered(&world, "w");
    let (at, why, next) = stands(&world, "w");
    assert!(at == "queue" && why.contains("limits.day_cost = 1 USD is used up"), "{at}: {why}");
    // `relaunch go` brings no money.
    assert!(next.contains("config.toml") && !next.contains("relaunch go"), "{next}");
    watcher.stop();
}

#[test]
fn a_paused_queue_is_a_problem_of_each_round_before_its_launch() {
    let world = well();
    answered(&world, "w");
    let _watcher = world.watch();
    world.closed("w", "delivered", 1);
    world.sh("relaunch pause --why lunch; ask-post -w v 'Go?' -t yes_no");
    for workflow in ["v", "w"] {
        let ran = world.shell(&format!("askbox doctor {workflow}"));
        let is_before_launch = workflow == "v";
        assert_eq!(ran.stdout.contains("No problems found."), !is_before_launch, "{}", ran.stdout);
        assert_eq!(ran.stdout.contains("paused: the queue: the queue is paused by ann"), is_before_launch, "{}", ran.stdout);
        assert_eq!(ran.code(), i32::from(is_before_launch), "{}", ran.stdout);
    }
}

#[test]
fn the_road_stops_at_an_answer_that_does_not_count() {
    let world = well();
    answered(&world, "w");
    let signed = world.only_signed_answers();
    configure(&world, &signed);
    let (at, why, next) = stands(&world, "w");
    assert!(at == "counts" && why.starts_with("no: ") && next == "relaunch watch", "{at}: {why}: {next}");
}

mod promises {
    use super::*;

    #[test]
    fn the_road_of_a_round_names_the_step_where_it_stands() {
        let world = well();
        world.sh("ask-post -w w 'Go?' -t yes_no");
        stands_at(&world, "answered", "a person has to answer", "ask-answer show w");
        world.sh("ask-answer w yes");
        stands_at(&world, "watcher", "no watcher runs", "relaunch watch");
        let words = world.shell("askbox doctor w").stdout;
        assert!(words.contains("The road of w, round ") && words.contains("-> watcher     no watcher runs\n"), "{words}");
        assert!(words.contains("Next:\n  $ relaunch watch\n") && words.contains("\n     delivered\n"), "{words}");
        // A paused queue, with a watcher.
        world.sh("relaunch pause --why lunch");
        let watcher = world.watch();
        stands_at(&world, "queue", "lunch", "relaunch go");
        // The agent program is missing.
        world.sh("mv agent elsewhere; relaunch go");
        let (at, why, _) = stands(&world, "w");
        assert!(at == "program" && why.contains("there is no program"), "{at}: {why}");
        world.sh("mv elsewhere agent");
        world.closed("w", "delivered", 1);
        assert_eq!(stands(&world, "w"), ("end".into(), String::new(), String::new()));
        assert!(world.sh("askbox doctor w").contains("It has come to its end."));
        // A run that failed.
        write_program(&world.path("agent"), "#!/bin/sh\nexit 3\n");
        answered(&world, "w");
        world.reaches("w", "parked");
        stands_at(&world, "attempts", "1 failed, and it is parked", "relaunch retry w");
        world.sh("relaunch drop w");
        stands_at(&world, "delivered", "was dropped", "");
        watcher.stop();
        // A question that is over, and a workflow without any.
        world.sh("ask-post -w w 'Go?' -t yes_no; ask-answer cancel w --why moot");
        stands_at(&world, "answered", "was withdrawn", "");
        world.refused(3, "askbox doctor nobody");
    }
}
