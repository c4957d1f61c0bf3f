//! The schemas in `docs/schema/` are made from the types, and the output of the programs fits them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::programs::schema;
use crate::support::{World, json_schema};
use serde_json::{Value, json};

fn schema_of(name: &str) -> Value {
    schema::all().into_iter().find(|(n, _)| *n == name).unwrap().1
}

#[track_caller]
fn fits(name: &str, value: &Value) {
    let problems = json_schema::problems(&schema_of(name), value);
    assert!(problems.is_empty(), "{name}: {value:#}\n{problems:#?}");
}

#[track_caller]
fn fits_not(name: &str, value: Value) {
    assert!(!json_schema::problems(&schema_of(name), &value).is_empty(), "{name}: {value} fits");
}

#[test]
fn a_document_without_a_version_is_version_1() {
    for (name, schema) in schema::all() {
        if let Some(version) = schema["properties"].get("schema_version") {
            assert_eq!(version["default"], 1, "{name}");
        }
    }
}

#[test]
fn what_a_file_made_by_hand_may_hold_fits() {
    let question = |field: &str, value: Value| json!({"workflow_id": "w", "question": "?", field: value});
    for bare in [json!("merge"), json!(3), json!(true), json!(["a", 2]), json!({"q1": "a"}), json!({"outcome": "declined"})] {
        fits("question", &question("answer", bare));
    }
    for wrong in [json!({"outcome": "perhaps"}), json!({"value": {"q1": 1}, "by": 7}), json!([["a"]])] {
        fits_not("question", question("answer", wrong));
    }
    fits("question", &question("default", json!(3)));
    for option in ["label", "key", "value"] {
        fits("question", &question("options", json!([{option: "a", "description": "A"}, "b"])));
    }
    fits_not("question", question("options", json!([{"description": "no key"}])));
}

#[test]
fn the_first_sketchs_examples_fit() {
    let read = |name: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/seed/{name}.json"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let (mut question, checkpoint) = (read("question"), read("checkpoint"));
    // As the example itself says: "matches checkpoint workflow_id".
    question["workflow_id"] = checkpoint["workflow_id"].clone();
    fits("question", &question);
    fits("checkpoint", &checkpoint);
}

#[test]
fn an_invalid_document_does_not_fit_its_schema() {
    fits("question", &json!({"workflow_id": "w", "question": "?", "of_my_own": {"kept": true}}));
    fits_not("question", json!({"question": "?"}));
    fits_not("question", json!({"workflow_id": "../w", "question": "?"}));
    fits_not("question", json!({"workflow_id": "w", "type": "guess"}));
    fits_not("question", json!({"workflow_id": "w", "expires_at": "tomorrow"}));
    fits_not("question", json!({"workflow_id": "w", "question_id": "17"}));
    fits_not("answer", json!({"outcome": "answered", "value": 17, "by": [], "channel": "x"}));
    fits_not("checkpoint", json!({"completed_steps": "one"}));
    fits_not("event", json!({"seq": 1, "at": "2026-01-01T00:00:00Z", "type": "text"}));
    fits_not("config", json!({"relaunch": {"attemps": 3}}));
    fits_not("config", json!({"runner": {"claude": {"programm": "x"}}}));
}

#[test]
fn the_configuration_with_every_key_fits() {
    let uncommented: String = askbox::config::template()
        .lines()
        .map(|l| if l.starts_with("# ") { String::new() } else { l.replacen('#', "", 1) + "\n" })
        .collect();
    fits("config", &serde_json::to_value(uncommented.parse::<toml::Table>().unwrap()).unwrap());
}

#[test]
fn every_kind_of_question_and_answer_fits() {
    let world = World::new();
    world.sh("checkpoint save a --step one --state n=1 --file-ref f=f && ask-post -w a 'Which?' -o x=X -o y=Y -t multi_choice");
    world.sh("ask-post -w b 'How many?' -t number --timeout 2h --default 3 --remind-every 10m --priority 2 --context 'c' --asked-by me");
    world.sh(r#"echo '{"workflow_id":"c","questions":[{"id":"q","question":"A?","header":"A","options":[{"label":"k","description":"d","preview":"p"}]},{"question":"B?","multiSelect":true,"options":["m","n"]}]}' | ask-post --file -"#);
    world.sh("ask-post -w d 'Go?' -t yes_no && ask-post -w e 'Why?' && ask-post -w f 'Late?'");
    for id in ["a", "b", "c", "d", "e"] {
        fits("question", &world.json(format!("m/pending/{id}.json")));
    }
    world.sh("ask-answer a x y && ask-answer b 4 && ask-answer c q=k q2=m && ask-answer decline d --note no");
    world.sh("ask-answer cancel f --why 'no more'");
    for id in ["a", "b", "c", "d"] {
        let document = world.json(format!("m/answered/{id}.json"));
        fits("question", &document);
        fits("answer", &document["answer"]);
    }
    fits("question", &world.json(world.only("closed", "").unwrap()));
    fits("checkpoint", &world.json("m/checkpoints/a.json"));
    for line in world.sh("relaunch status --json").lines() {
        fits("status", &serde_json::from_str(line).unwrap());
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_schemas_in_docs_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
        let mut expected = BTreeSet::new();
        for (name, schema) in schema::all() {
            let file = schema::file_name(name);
            if std::env::var_os("ASKBOX_WRITE_DOCS").is_some() {
                std::fs::write(folder.join(&file), schema::text(&schema)).unwrap();
            }
            let there = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
            assert!(there == schema::text(&schema), "docs/schema/{file} is stale; ASKBOX_WRITE_DOCS=1 rewrites it");
            expected.insert(file);
        }
        let there: BTreeSet<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(there, expected, "docs/schema holds something else than the schemas");
    }

    #[test]
    fn every_field_has_its_meaning() {
        fn walk(at: &str, schema: &Value) {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let own = field.get("description").or_else(|| field.get("const"));
                assert!(own.is_some(), "{at}.{name} has no description");
            }
            match schema {
                Value::Object(map) => map.iter().for_each(|(name, inner)| walk(&format!("{at}.{name}"), inner)),
                Value::Array(items) => items.iter().for_each(|inner| walk(at, inner)),
                _ => {}
            }
        }
        schema::all().iter().for_each(|(name, schema)| walk(name, schema));
    }

    #[test]
    fn descriptions_hold_no_rust_paths_and_no_links() {
        fn walk(at: &str, schema: &Value) {
            match schema {
                Value::Object(map) => map.iter().for_each(|(name, inner)| match inner {
                    Value::String(text) if name == "description" => {
                        let leaks = ["::", "[`", "]("].into_iter().find(|mark| text.contains(mark));
                        assert_eq!(leaks, None, "{at}: {text}");
                    }
                    inner => walk(&format!("{at}.{name}"), inner),
                }),
                Value::Array(items) => items.iter().for_each(|inner| walk(at, inner)),
                _ => {}
            }
        }
        schema::all().iter().for_each(|(name, schema)| walk(name, schema));
    }

    #[test]
    fn what_a_whole_job_leaves_behind_fits() {
        let world = World::new();
        std::fs::create_dir(world.path("tmp")).unwrap();
        world.sh("TMPDIR=$PWD/tmp askbox demo --auto --keep && mv tmp/*/questions m");
        let read = |path: &str| std::fs::read_to_string(world.path(path)).unwrap();
        let closed = world.json(world.only("closed", "").unwrap());
        fits("question", &closed);
        fits("answer", &closed["answer"]);
        fits("checkpoint", &world.json("m/checkpoints/docs-42.json"));
        fits("workflow", &world.json("m/workflows/docs-42.json"));
        let run = world.sh("echo m/runs/docs-42/*/1");
        fits("run", &world.json(format!("{run}/run.json")));
        let (events, audit) = (read(&format!("{run}/events.jsonl")), read("m/audit.jsonl"));
        for (name, lines) in [("event", &events), ("audit", &audit)] {
            assert!(lines.lines().count() > 3);
            lines.lines().for_each(|line| fits(name, &serde_json::from_str(line).unwrap()));
        }
        fits("status", &serde_json::from_str(&world.sh("relaunch status docs-42 --json")).unwrap());
    }
}
