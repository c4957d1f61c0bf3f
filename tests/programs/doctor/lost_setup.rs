//! The parts of a setup that are gone or off since.

use crate::programs::setup::home;

mod promises {
    use super::*;

    #[test]
    fn doctor_names_each_promise_of_a_setup_that_is_gone() {
        let world = home();
        world.sh("ask-post -w seed Seed && ask-answer cancel seed");
        world.ok("askbox", &["setup", "--yes"]);
        let lost = || {
            let report: serde_json::Value = serde_json::from_str(&world.run("askbox", &["doctor", "--json"]).stdout).expect("JSON");
            let found = report["findings"].as_array().expect("findings").iter().filter(|f| f["kind"] == "setup_lost").cloned();
            found
                .map(|f| (f["subject"].as_str().unwrap_or_default().to_owned(), f["mend"].as_str().unwrap_or_default().to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(lost(), []);
        for (damage, part) in [
            ("rm -r $HOME/.claude/skills/askbox/hooks", "plugin"),
            ("echo '{}' > $HOME/.claude/settings.json", "permissions"),
            ("rm $HOME/.config/askbox/config.toml", "config"),
        ] {
            world.sh(damage);
            let found = lost();
            assert!(
                !found.is_empty() && found.iter().all(|(_, mend)| *mend == format!("askbox setup --only {part}")),
                "{damage}: {found:?}"
            );
            world.sh(&format!("askbox setup --only {part} --yes"));
            assert_eq!(lost(), [], "{damage}");
        }
        // The service was switched off.
        world.sh("rm on");
        let found = lost();
        assert!(found.len() == 1 && found[0].0 == "askbox.service", "{found:?}");
        world.sh(&found[0].1);
        assert_eq!(lost(), []);
    }
}
