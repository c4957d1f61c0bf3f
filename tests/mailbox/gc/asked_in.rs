//! The record that proves where an open question was asked.

use super::*;

mod promises {
    use super::*;

    #[test]
    fn the_round_of_an_open_questions_run_stays_with_it() {
        let world = world();
        gc(&world, &["--keep", "0s"]);
        let rounds: Vec<String> = (0..4).map(|_| deliver(&world, "parent")).collect();
        (0..).zip(&rounds).for_each(|(n, round)| age(&world, "parent", round, 100 - n));
        let run = format!("parent/{}/1", rounds[1]);
        let within =
            [("ASKBOX_WORKFLOW_ID", "parent"), ("ASKBOX_RUN", run.as_str()), ("ASKBOX_NONCE", "01a20535-7c1c-40f4-93d9-68b4a24a55aa")];
        let asked = output(world.command("ask-post").args(["-w", "asks", "?"]).envs(within));
        assert!(asked.status.success(), "{}", asked.words());
        assert_eq!(gc(&world, &["--keep", "30d"])["rounds"], 2);
        assert!(closed(&world, "parent", &rounds[1]).exists() && world.in_mailbox(format!("runs/{run}/run.json")).exists());
        world.ok("ask-answer", &["cancel", "asks"]);
        world.ok("ask-post", &["-w", "parent", "Goes on?"]);
        assert_eq!(gc(&world, &["--keep", "30d"])["rounds"], 1);
        assert!(!closed(&world, "parent", &rounds[1]).exists());
    }
}
