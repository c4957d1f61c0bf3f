//! The cost of turns, and the limits on it.

use super::*;

#[test]
fn turns_are_booked_one_by_one_with_their_own_figures() {
    let world = world("paid 0.5", "", "");
    world.ask_and_answer("docs");
    world.ask_and_answer("more");
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "delivered");
    world.reaches("more", "delivered");
    assert_eq!(status["cost_usd"], 0.75, "the total of 9 is not this turn's");
    let bookings = bookings(&world);
    assert_eq!(bookings.len(), 2, "{bookings:#?}");
    assert!(bookings.iter().all(|b| b["cost_usd"] == 0.75 && b["tokens"]["input"] == 10 && b["turn"] == 1), "{bookings:#?}");
    assert_eq!(summary(&world)["spent_today_usd"], 1.5);
}

#[test]
fn a_workflow_without_budget_is_parked_before_its_launch() {
    let world = world("paid 0.5", "", "[limits]\nworkflow_cost = 0.7");
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    world.ask_and_answer("docs");
    let status = world.reaches("docs", "parked");
    assert_eq!((&status["failure"], world.logged("start ")), (&"budget".into(), 1));
    assert!(status["why"].as_str().is_some_and(|w| w.contains("limits.workflow_cost = 0.7")), "{status}");
    world.configure("[limits]\nworkflow_cost = 5");
    world.ok("relaunch", &["retry", "docs"]);
    assert_eq!(world.state("docs"), "delivered");
}

#[test]
fn the_agent_is_told_what_is_left_for_all_its_attempts() {
    let world = world(
        "log \"args $*\"\n[ $n = 1 ] && error '\"terminal_reason\":\"odd\",\"result\":\"x\",\"model_usage_since_last_result\":{\"m\":{\"costUSD\":0.3}}' || paid 0.1",
        "",
        "[limits]\nturns = 7\nrun_cost = 1\nday_cost = 20",
    );
    world.ask_and_answer("docs");
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    let args: Vec<String> = world.log().into_iter().filter(|l| l.starts_with("args ")).collect();
    assert!(args.iter().all(|a| a.contains("--max-turns=7")), "{args:#?}");
    assert!(args[0].contains("--max-budget-usd=1.000000") && args[1].contains("--max-budget-usd=0.700000"), "{args:#?}");
    assert!((world.status("docs")["cost_usd"].as_f64().expect("a cost") - 0.65).abs() < 1e-9);
}

#[test]
fn a_killed_supervisors_turn_is_booked_once() {
    for lost in [false, true] {
        let world = world("paid 0.5; step paid", "", "");
        world.hold("paid");
        world.ask_and_answer("docs");
        let _watcher = world.start_watcher();
        until("the agent is paid", || world.is_held("paid") && bookings(&world).len() == 1);
        let [_, supervisor] = world.held("paid");
        if lost {
            files(&world.in_mailbox("costs")).keys().for_each(|path| std::fs::write(path, "{\"torn\n").expect("a file"));
        }
        kill(supervisor);
        world.let_go("paid");
        let status = world.reaches("docs", "delivered");
        assert_eq!((&status["cost_usd"], world.logged("start ")), (&Value::from(0.75), 1), "lost: {lost}");
        assert_eq!(summary(&world)["spent_today_usd"], 0.75, "lost: {lost}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn go_says_that_the_days_money_is_used_up() {
        let world = world("paid 0.5", "", "[limits]\nday_cost = 0.5\n");
        world.ask_and_answer("docs");
        let _watcher = world.start_watcher();
        world.reaches("docs", "delivered");
        let said = world.run("relaunch", &["go"]).ok();
        assert!(said.stderr.contains("nothing is launched today: limits.day_cost"), "{said:?}");
    }

    #[test]
    fn a_days_limit_holds_the_queue_and_keeps_the_answers() {
        let world = world("paid 0.5", "", "[limits]\nday_cost = 1.5");
        ["a", "b"].iter().for_each(|w| world.ask_and_answer(w));
        let _watcher = world.start_watcher();
        world.reaches("a", "delivered");
        world.reaches("b", "delivered");
        world.ask_and_answer("c");
        until("it is said", || audited(&world, "queue_paused") == 1);
        let (summary, waiting) = (summary(&world), world.status("c"));
        assert_eq!((&summary["queue"]["state"], &waiting["state"]), (&"paused".into(), &"answered".into()));
        assert!(summary["queue"]["until"].as_str().is_some_and(|u| u.ends_with("T00:00:00Z")), "{summary}");
        assert!(waiting["why"].as_str().is_some_and(|w| w.contains("limits.day_cost = 1.5 USD is used up (1.50 spent)")), "{waiting}");
        assert_eq!(world.logged("start "), 2);
        assert!(held_up(&world).ends_with("config.toml"), "{}", held_up(&world));
        // By hand it is not launched either, and a round that the next day would start is not parked.
        for by_hand in [&["c"][..], &["run", "--prompt", "do it"]] {
            let out = world.run("relaunch", by_hand);
            assert_eq!(out.status.code(), Some(4), "{out:?}");
            assert!(out.words().contains("limits.day_cost = 1.5 USD is used up") && out.words().contains("T00:00:00"), "{out:?}");
        }
        assert_eq!((world.state("c").as_str(), world.logged("start ")), ("answered", 2));
        assert_eq!(files(&world.in_mailbox("running")).len() + files(&world.in_mailbox("parked")).len(), 0);
        // A higher limit counts at once, without a restart.
        world.reconfigure("day_cost = 1.5", "day_cost = 9");
        world.reaches("c", "delivered");
        assert_eq!(audited(&world, "queue_resumed"), 1);
        assert!(world.watchers_said().contains("limits.day_cost allows more"), "{}", world.watchers_said());
    }
}
