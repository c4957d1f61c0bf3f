//! Each answer says who gave it, and through what.

use serde_json::{Value, json};

use crate::support::World;

/// How the programs of a clean environment, below no agent, are recorded. These tests may themselves run below an agent.
fn here() -> &'static str {
    let mut pid = "self".to_owned();
    while let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(b"CLAUDECODE=") || variable.starts_with(b"ASKBOX_RUN="));
        if stat.contains("(claude)") || is_marked {
            return "agent";
        }
        pid = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)).unwrap_or("0").to_owned();
    }
    "terminal"
}

fn answer(world: &World, workflow: &str) -> Value {
    world.document(&format!("answered/{workflow}.json"))["answer"].clone()
}

fn asked() -> World {
    let world = World::new();
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B");
    world
}

#[test]
fn a_command_below_each_agent_program_is_an_agents() {
    for name in ["codex", "kimi-code", "opencode"] {
        counts_as_an_agents(&format!("cp \"$(command -v bash)\" {name} && ./{name} -c 'ask-answer w a; :'"));
    }
    // These are programs of Node.js, and tell by their environment alone.
    for mark in ["COPILOT_CLI=1", "GEMINI_CLI=1", "OPENCODE=1", "PI_CODING_AGENT=true", "QWEN_CODE=1"] {
        counts_as_an_agents(&format!("{mark} bash -c 'env -u ${{0%%=*}} ask-answer w a; :' {mark}"));
    }
}

fn counts_as_an_agents(command: &str) {
    let world = asked();
    world.sh(command);
    assert_eq!(answer(&world, "w")["through"], "agent", "{command}");
    assert!(world.sh("ask-answer show w").contains("through ask-answer (agent)"), "{command}");
}

#[test]
fn a_file_made_by_hand_is_unverified_whatever_it_says() {
    for by_hand in [
        r#"{"answer": "a"}"#,
        r#"{"answer": {"value": "a", "by": "ann", "channel": "ask-answer", "through": "terminal"}}"#,
        r#"{"answer": {"value": "a", "by": "default", "channel": "timer"}}"#,
    ] {
        let world = asked();
        world.sh(&format!("cd m && jq '. + {by_hand}' pending/w.json >answered/w.json && rm pending/w.json && relaunch prompt w"));
        let answer = &world.closed("w", "delivered", 1)[0]["answer"];
        assert_eq!(answer["through"], "file", "{answer}");
        assert_ne!(answer["by"], "default", "{answer}");
    }
}

#[test]
fn nobody_is_called_default_or_event() {
    let world = asked();
    for command in [
        "ask-answer w a --by default",
        "ask-answer w a --by event",
        "ask-answer decline w --by ' Event '",
        "USER=default ask-answer w a",
        "ask-answer ask-back w 'Why?' --by DEFAULT",
    ] {
        assert!(world.refused(2, command).contains("is no person's name"), "{command}");
    }
    world.sh("ask-answer w a --by ann");
    assert!(world.refused(2, "ask-answer undo w --by event").contains("is no person's name"));
    assert_eq!(world.state("w"), "answered");
}

#[test]
fn what_no_person_decided_came_through_nothing() {
    let world = World::stepping("work");
    world.sh("ask-post -w d 'Which?' -o a=A --timeout 1ms --default a; touch come; ask-post -w e --until-file \"$PWD/come\"");
    let _watcher = world.watch();
    for (workflow, by) in [("d", "default"), ("e", "event")] {
        let answer = &world.closed(workflow, "delivered", 1)[0]["answer"];
        assert_eq!((&answer["by"], answer.get("through")), (&json!(by), None), "{answer}");
    }
}

#[test]
fn an_answer_of_an_earlier_or_later_version_stays_as_it_is() {
    let world = World::new();
    for (workflow, through) in [("old", None), ("new", Some("carrier-pigeon"))] {
        world.sh(&format!("ask-post -w {workflow} 'Merge?' -o a=A; ask-answer {workflow} a --by ann"));
        let mut document = world.document(&format!("answered/{workflow}.json"));
        let answer = document["answer"].as_object_mut().unwrap();
        match through {
            None => drop(answer.remove("through")),
            Some(word) => answer["through"] = word.into(),
        }
        std::fs::write(world.in_mailbox(format!("answered/{workflow}.json")), document.to_string()).unwrap();
        world.sh(&format!("relaunch prompt {workflow}"));
        let answer = &world.closed(workflow, "delivered", 1)[0]["answer"];
        assert_eq!(answer.get("through").and_then(Value::as_str), through);
    }
    assert!(world.sh("ask-answer show old").contains("answered by ann through ask-answer, "));
    assert!(world.sh("ask-answer show new").contains("through ask-answer (carrier-pigeon)"));
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_at_a_terminal_says_so_wherever_it_is_told() {
        let (world, through) = (asked(), here());
        world.sh("ask-answer w a --by ann");
        assert_eq!(answer(&world, "w")["through"], through);
        let words = format!("answered by ann through ask-answer ({through})");
        assert!(world.sh("ask-answer show w").contains(&words));
        assert!(world.refused(4, "ask-answer w b").contains(&words));
        assert!(world.sh("askbox history w").contains(&format!("by ann through ask-answer ({through}), ")));
        let told = world.audited().into_iter().find(|entry| entry["event"] == "answered").unwrap();
        assert_eq!((&told["by"], &told["why"]), (&json!("ann"), &json!(format!("ask-answer ({through})"))));
    }

    #[test]
    fn declining_and_asking_back_say_through_what_too() {
        for reply in ["ask-answer decline w --note never", "ask-answer ask-back w 'Which what?'", "echo '\"a\"' | ask-answer w --file -"] {
            let world = asked();
            world.sh(reply);
            assert_eq!(answer(&world, "w")["through"], here(), "{reply}");
        }
    }

    #[test]
    fn an_agents_command_is_known_by_environment_or_ancestor() {
        for command in [
            "ASKBOX_RUN=p/01a20605-3431-7298-8d9f-05f18633a3ef/1 ask-answer w a",
            "CLAUDECODE=1 ask-answer w a",
            // The command hides its own environment, but not the environment of the shell above it.
            "CLAUDECODE=1 bash -c 'env -u CLAUDECODE ask-answer w a; :'",
            // The agent itself was started by a person: nothing but its name tells.
            "cp \"$(command -v bash)\" claude && ./claude -c 'ask-answer w a; :'",
        ] {
            counts_as_an_agents(command);
        }
    }
}
