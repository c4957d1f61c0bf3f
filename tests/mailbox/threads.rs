//! A person asks back: the agent is told, asks again, and both questions show as one thread.

use crate::support::World;

mod promises {
    use super::*;

    #[test]
    fn an_agent_that_is_asked_back_replies_in_one_thread() {
        let world = World::at_home();
        world.agent_does(
        "w",
        "if [ -e $AGENT_DIR/again ]; then echo done; else touch $AGENT_DIR/again; ask-post 'Merge the errors section?' -o a=A -o b=B; fi",
    );
        world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A", "-o", "b=B"]);
        let first = world.round("w");
        assert_eq!(world.ok("ask-answer", &["ask-back", "w", "Which section?", "--by", "ann"]), "w: asked back\n");
        world.audit_is("w", &["posted", "asked_back"]);
        world.ok("relaunch", &["w"]);
        let told = world.told("w", 1);
        assert!(told.contains("The user asks back before they decide: Which section?") && told.contains("decide nothing"), "{told}");
        assert!(!told.contains("User chose") && !told.contains("declined"), "{told}");
        assert_eq!(world.document("pending/w.json")["in_reply_to"], first.as_str());
        let shown = world.ok("ask-answer", &["show", "w"]);
        assert!(shown.contains("  before: Merge?\n  ann asked back: Which section?\n"), "{shown}");
        assert!(world.ok("ask-answer", &["list"]).contains("(reply to you) Merge the errors section?"));
        world.ok("ask-answer", &["w", "a"]);
        world.ok("relaunch", &["w"]);
        assert!(world.told("w", 2).contains("User chose: a (A)"));
    }

    #[test]
    fn an_older_program_reads_a_counter_question_as_a_refusal() {
        let world = World::at_home();
        world.ok("ask-post", &["-w", "w", "Merge?", "-o", "a=A"]);
        world.ok("ask-answer", &["ask-back", "w", "Which section?"]);
        let answer = &world.document("answered/w.json")["answer"];
        assert_eq!(
            (&answer["outcome"], &answer["note"], &answer["asks_back"]),
            (&"declined".into(), &"Which section?".into(), &true.into())
        );
        assert_eq!(world.run("ask-answer", &["ask-back", "w", " "]).code(), 2);
    }

    #[test]
    fn a_waiting_asker_is_told_what_the_person_asks() {
        let world = World::at_home();
        let out = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| world.run("ask-post", &["-w", "w", "Merge?", "--wait", "1m"]));
            world.appears("pending/w.json");
            world.ok("ask-answer", &["ask-back", "w", "Which section?"]);
            waiting.join().unwrap()
        });
        assert_eq!(out.code(), 4, "{out:?}");
        assert!(out.stderr.contains("the user asks back: Which section?"), "{}", out.stderr);
    }
}
