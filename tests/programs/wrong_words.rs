//! Wrong words lead somewhere: a misspelt command, a missing argument, a mailbox that does not exist yet. The snapshots in
//! `snapshots/wrong_words` are whole outputs. After a wanted change: `SNAPSHOTS=overwrite tests/run programs wrong_words::`.

use serde_json::json;
use snapbox::{assert_data_eq, file};

use crate::support::{Terminal, World, needs};

#[test]
fn a_reason_without_its_own_flag_leads_to_the_flag() {
    let world = World::new();
    for (command, hint) in [
        ("ask-answer cancel essay 'no longer'", "a reason follows --why"),
        ("ask-answer decline essay 'not me'", "a reason follows --note"),
        ("ask-answer cancel essay --note x", "a reason follows --why"),
        ("ask-answer decline essay --why x", "a reason follows --note"),
    ] {
        let said = world.refused(2, command);
        assert!(said.contains(hint), "{command}: {said}");
    }
}

#[test]
fn a_command_behind_the_id_is_not_taken_for_an_answer() {
    let world = World::new();
    world.sh("ask-post Why? -w w && ask-post Why? -w own && ask-post How? -w o -o cancel=Stop -o keep=Go");
    std::fs::write(world.path("q.json"), json!({"questions": [{"id": "a", "question": "?"}, {"id": "b", "question": "!"}]}).to_string())
        .unwrap();
    world.sh("ask-post -w b --file q.json");
    for (command, right) in [
        ("ask-answer w decline", "ask-answer decline w;"),
        ("ask-answer w decline 'not me'", "ask-answer decline w --note 'not me';"),
        ("ask-answer w cancel --by ann", "ask-answer cancel w;"),
        ("ask-answer w undo --json", "ask-answer undo w;"),
        ("ask-answer b show", "ask-answer show b;"),
        ("ask-answer o list", "ask-answer list o;"),
    ] {
        let said = world.refused(2, command);
        assert!(said.contains(right), "{command}: {said}");
    }
    assert!(world.path("m/pending/w.json").exists() && world.path("m/pending/b.json").exists());
    world.sh("ask-answer w -- decline && ask-answer own undo --text && ask-answer o cancel");
    for (id, value) in [("w", "decline"), ("own", "undo"), ("o", "cancel")] {
        assert_eq!(world.json(format!("m/answered/{id}.json"))["answer"]["value"], value);
    }
}

#[test]
fn every_program_answers_the_word_help_with_its_help() {
    let world = World::new();
    for program in ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox"] {
        assert_eq!(world.sh(&format!("{program} help")), world.sh(&format!("{program} --help")), "{program}");
    }
    for command in ["ask-answer show", "checkpoint save", "relaunch spawn", "askbox doctor", "askbox agents list"] {
        let (program, words) = command.split_once(' ').unwrap();
        assert_eq!(world.sh(&format!("{program} help {words}")), world.sh(&format!("{command} --help")), "{command}");
    }
    assert!(!world.mailbox().exists(), "help asks nothing");
    // The word is still a question and a workflow's id.
    world.sh("ask-post help -w w && ask-post How? -w help && ask-answer help yes && ask-post -- help");
    assert_eq!(world.json("m/pending/w.json")["question"], json!("help"));
    assert_eq!(world.json("m/answered/help.json")["answer"]["value"], json!("yes"));
}

#[test]
fn a_mailbox_that_does_not_exist_yet_is_empty() {
    let mut world = World::new();
    for script in [
        "ask-answer list",
        "ask-answer list --json",
        "relaunch status",
        "askbox tree",
        "askbox history",
        "checkpoint list",
        "checkpoint list --json",
        "relaunch approve --list",
        "relaunch approve --list --json",
        "relaunch status w",
        "relaunch approve --list w",
        "ASKBOX_RUN=/run ask-answer list",
        "ask-answer list --mailbox /",
    ] {
        world.see(script);
    }
    assert!(!world.mailbox().exists());
    assert_data_eq!(world.transcript(), file!["snapshots/wrong_words/no_mailbox.txt"].raw());
}

#[test]
fn leaving_one_of_several_questions_keeps_earlier_answers() {
    needs!("tmux");
    let world = World::new();
    world.sh(r#"echo '{"questions":[{"id":"a","question":"First?","type":"number"},{"id":"b","question":"Second?","type":"number"}]}' | ask-post -w w --file -"#);
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
    terminal.see("? help");
    terminal.press(&["Enter"]);
    terminal.see("1 of 2: First?");
    terminal.press(&["1", "Enter"]);
    terminal.see("2 of 2: Second?");
    terminal.press(&["Escape"]);
    terminal.see("1 question is waiting");
    terminal.press(&["Enter"]);
    terminal.see("2 of 2: Second?");
    terminal.press(&["2", "Enter"]);
    terminal.see("All are answered");
    terminal.enter_again();
    terminal.confirm();
    terminal.see("No question is waiting");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], json!({"a": "1", "b": "2"}));
}

#[test]
fn an_error_about_a_flag_names_the_flag() {
    let world = World::new();
    for (flags, flag) in [
        ("-o a=A --default aa --timeout 1h", "--default: "),
        ("-t number --min 5 --max 2", "--min: "),
        ("-t number --step 0", "--step: "),
        ("-t text -o a=A", "options (-o): "),
        ("-o =x", "options (-o): "),
        ("--on-expiry default --timeout 1h", "--default: "),
    ] {
        let said = world.refused(5, &format!("ask-post How? -w w {flags}"));
        assert!(said.contains(&format!("error: {flag}")), "{flags}: {said}");
    }
    assert!(world.refused(5, "ask-post How? -w a/b").contains("error: --workflow: "));
    // A file has fields.
    let said = world.refused(5, r#"echo '{"question": "?", "type": "text", "options": ["a"]}' | ask-post -w w --file -"#);
    assert!(said.contains("error: options: "), "{said}");
}

mod promises {
    use snapbox::file;

    use super::*;

    #[test]
    fn a_misspelt_command_leads_to_the_command_that_was_meant() {
        let mut world = World::new().with_scripted_agent();
        for script in
            ["ask-answer lst", "relaunch staus", "relaunch stauts a1", "checkpoint svae w", "askbox docter", "checkpoint frobnicate"]
        {
            world.see(script);
        }
        world.sh("ask-post How? -w w && ask-post List? -w lst");
        for script in ["ask-answer shwo w", "relaunch staus", "relaunch logs w", "relaunch unknown", "ask-answer lst"] {
            world.see(script);
        }
        world.see("ask-answer w --by ann list");
        world.see("ask-answer list --round 01890000-0000-7000-8000-000000000000");
        world.see("ask-answer w --by ann -- list");
        assert_data_eq!(world.transcript(), file!["snapshots/wrong_words/commands.txt"].raw());
    }

    #[test]
    fn a_command_of_the_other_program_is_named_as_it_is_typed() {
        let world = World::new();
        world.sh("ask-post Which? -w w -o a=A; ask-answer w a");
        assert!(
            world
                .refused(2, "relaunch cancel w --why 'too late'")
                .contains("it is one of ask-answer: ask-answer cancel w --why 'too late'")
        );
        assert!(world.refused(2, "relaunch decline w").contains("ask-answer decline w"));
        // What it then says can be typed as well.
        assert!(world.refused(4, "ask-answer cancel w").contains("take its answer back first: ask-answer undo w"));
        world.sh("ask-answer undo w; ask-answer cancel w");
        assert!(world.refused(4, "ask-answer cancel w").contains("look at it: ask-answer show w"));
    }

    #[test]
    fn the_examples_of_several_questions_fit_each_other() {
        let world = World::new();
        let example = |program: &str, from: &str, to: &str| {
            let help = world.ok(program, &["--help"]);
            let begin = help.find(from).unwrap_or_else(|| panic!("no {from:?} in {help}"));
            let example = &help[begin..];
            example[..example.find(to).expect("its end") + to.len()].to_owned()
        };
        world.sh(&example("ask-post", "echo '{\"questions\"", "--file -"));
        world.sh(&example("ask-answer", "ask-answer db-7", "has it'"));
        assert_eq!(world.document("answered/db-7.json")["answer"]["value"], json!({"which": "pg", "why": "Staging has it"}));
    }

    #[test]
    fn a_missing_or_wrong_argument_is_named_with_what_to_type() {
        let mut world = World::new();
        for script in [
            "relaunch spawn",
            "relaunch spawn a.md --prompt b",
            "relaunch retry",
            "relaunch watch --poll",
            "relaunch events w --since z",
            "relaunch a b",
            "relaunch --mailbox somewhere stauts a1",
            "ask-post How? --tyep text",
            "ask-post How? -t txt",
            "askbox gc --kep 3d",
            "relaunch pause 'api down'",
            "relaunch pause --wyh 'api down'",
            "relaunch wait rc1 rc2",
            "ask-post How many",
            "ask-answer w -merge",
        ] {
            world.see(script);
        }
        assert_data_eq!(world.transcript(), file!["snapshots/wrong_words/arguments.txt"].raw());
    }

    #[test]
    fn an_error_is_json_too_where_json_was_asked_for() {
        let world = World::new();
        world.sh("ask-post How? -w w -o a=A");
        for (status, kind, command) in [
            (3, "not_found", "ask-answer show nobody --json"),
            (3, "not_found", "relaunch status nobody --json"),
            (4, "conflict", "ask-answer cancel w --json --round 019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44"),
            (2, "usage", "ask-answer w --json a b"),
            (5, "invalid", "ask-post --json -t choice How? -w v"),
            (2, "usage", "checkpoint get --json"),
            (2, "usage", "askbox tree --json --nonsense"),
        ] {
            let ran = world.shell(command);
            let error: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{command}: {e}: {}", ran.words()));
            assert_eq!((ran.code(), &error["state"], &error["exit_code"]), (status, &json!("failed"), &json!(status)), "{command}");
            assert_eq!(error["kind"], kind, "{command}");
            assert!(ran.stderr.contains(&format!("error: {}\n", error["error"].as_str().unwrap())), "{command}: {}", ran.words());
            assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{command}: {error}");
        }
        // An answer that is the text is no flag.
        let plain = world.refused(4, "ask-answer nobody -- --json; ask-answer w a; ask-answer w -- --json");
        assert!(!plain.contains("exit_code"), "{plain}");
    }
}
