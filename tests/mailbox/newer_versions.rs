//! Files that a later version wrote. A program of this version refuses each by its name, and leaves it as it is and where it is.

use crate::support::{World, files};

/// Makes a document one of version 2, with another type for a known field.
fn is_newer(world: &World, below: &str) {
    let mut document = world.document(below);
    document["schema_version"] = 2.into();
    document["options"] = "all that fit".into();
    // Long ago, so that nobody is still writing it.
    world.sh(&format!("printf '%s' '{document}' >.claude/questions/{below}; touch -d '1 hour ago' .claude/questions/{below}"));
}

mod promises {
    use super::*;

    #[test]
    fn a_question_of_a_newer_version_is_refused_and_left() {
        let world = World::at_home();
        for workflow in ["pending", "answered", "running", "parked", "closed"] {
            world.sh(&format!("ask-post -w {workflow} 'Which?' -o a=A --timeout 1s --default a"));
        }
        for workflow in ["answered", "running", "parked", "closed"] {
            world.sh(&format!("ask-answer {workflow} a"));
        }
        world.agent_does("parked", "echo HOPELESS");
        world.configure("[relaunch]\nattempts = 1");
        world.shell("relaunch parked; relaunch closed");
        let round = world.round("running");
        world.sh(&format!("cd .claude/questions; mv answered/running.json running/running.{round}.json"));
        let name = |folder| format!("{folder}/{}", world.only(folder, folder).unwrap().file_name().unwrap().to_str().unwrap());
        let newer = ["pending", "answered", "running", "parked", "closed"].map(name);
        newer.iter().for_each(|file| is_newer(&world, file));
        let documents = || {
            let all = files(world.mailbox());
            newer.iter().map(|file| (file.clone(), all.get(&world.in_mailbox(file)).cloned())).collect::<Vec<_>>()
        };
        let before = documents();

        let refused = [
            ("pending", "ask-answer show pending; ask-answer pending a; ask-answer decline pending; ask-answer cancel pending"),
            ("pending", "ask-post -w pending 'Again?'; ask-post -w pending --supersede 'Again?'; relaunch status pending"),
            ("answered", "ask-answer undo answered; ask-answer show answered; relaunch answered; relaunch prompt answered"),
            ("parked", "relaunch retry parked; relaunch drop parked; relaunch status parked"),
            ("running", "relaunch status running; relaunch running"),
        ];
        for (folder, commands) in refused {
            for command in commands.split("; ") {
                let said = world.shell(command);
                let words = format!("{folder}/{folder}");
                let is_named = said.stderr.contains(&words) && said.stderr.contains("schema_version: 2 is of a newer askbox");
                assert!(is_named && said.stderr.contains("update askbox"), "{command}: {}", said.stderr);
                assert_eq!(said.status.code(), Some(5), "{command}");
            }
        }
        for looks in
            ["ask-answer list", "relaunch status", "relaunch status --summary", "askbox tree", "askbox tree --all", "askbox history"]
        {
            world.sh(looks);
        }
        let doctor = world.shell("askbox doctor").stdout;
        for file in &newer {
            assert!(doctor.contains(&format!("newer: {file}")), "{file}: {doctor}");
        }
        let watcher = world.start_watcher();
        for file in ["pending/pending.json", "answered/answered.json", "running/running."] {
            watcher.says(file);
        }
        // The round that comes last is delivered: the watcher has been through all that was there.
        world.ask_and_answer("last");
        world.reaches("last", "delivered");
        watcher.stop();
        world.sh("askbox gc --keep 0s");
        assert_eq!(documents(), before, "nothing has changed or moved a file of a newer version");
        assert_eq!(world.names("quarantine"), [] as [&str; 0]);
        assert_eq!(world.launches_of("running").len() + world.launches_of("answered").len(), 0);
    }

    #[test]
    fn documents_of_a_newer_version_keep_number_and_fields() {
        let world = World::new();
        world.sh("checkpoint save w --step one; sed -i 's/\"schema_version\": 1/\"schema_version\": 2, \"later\": {\"kept\": 1.50}/' m/checkpoints/w.json");
        world.sh("checkpoint set w current_step two");
        let checkpoint = world.document("checkpoints/w.json");
        assert_eq!((&checkpoint["schema_version"], &checkpoint["current_step"]), (&2.into(), &"two".into()));
        assert!(world.sh("cat m/checkpoints/w.json").contains("1.50"));
    }
}
