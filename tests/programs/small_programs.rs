//! The promises of ask-post, ask-answer and checkpoint to a shell, one promise a test.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::World;
use askbox::mailbox::listing::list;
use askbox::mailbox::transitions::expire::{self, Expiry};
use askbox::mailbox::trust::Policy;
use askbox::mailbox::{Folder, Mailbox, round};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Quotes, line ends, substitutions, ANSI, bidirectional marks, wide and combining characters: 200 KB of them.
fn nasty() -> String {
    let piece = "it's \"quoted\" $(touch pwned) `touch pwned` \\ \\n %s ! * ~ \r\n\t\u{1b}[31mred\u{1b}[0m \u{202e}rtl\u{202c} 漢字 e\u{301} 👩‍👩‍👧 ';\n";
    piece.repeat(200 * 1024 / piece.len() + 1)
}

#[test]
fn many_questions_posted_at_the_same_time_are_all_posted() {
    let world = World::new();
    let mut items: Vec<Value> = (0..300).map(|n| json!({"workflow_id": format!("w{n}"), "question": "How?"})).collect();
    items[1] = json!({"workflow_id": "w1", "question": " "});
    items[2] = json!({"workflow_id": "w0", "question": "Other?"});
    std::fs::write(world.path("all.json"), json!(items).to_string()).unwrap();
    let ran = world.shell("ulimit -n 100; ask-post --batch --file all.json --json");
    assert_eq!(ran.code(), 5, "{}", ran.stderr);
    let lines: Vec<Value> = ran.stdout.lines().map(parsed).collect();
    assert_eq!(lines.len(), 300);
    assert_eq!((&lines[0]["state"], &lines[1]["exit_code"], &lines[2]["exit_code"]), (&json!("posted"), &json!(5), &json!(4)));
    assert_eq!(std::fs::read_dir(world.path("m/pending")).unwrap().count(), 298);
    assert_eq!(std::fs::read_to_string(world.path("m/audit.jsonl")).unwrap().lines().count(), 298);
}

#[test]
fn a_long_answer_is_written_in_the_users_editor() {
    let world = World::new();
    world.sh("ask-post 'Why so?' -w w -o a=A; printf '#!/bin/sh\\ngrep -q \"Why so\" \"$2\" && { echo \"# Because\"; echo $1; cat \"$2\"; } > t && cp t \"$2\"\\n' > ed; chmod +x ed");
    world.sh("EDITOR='./ed second-line' ask-answer edit w");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], "# Because\nsecond-line");
    world.sh("ask-post Again? -w v");
    assert_eq!(world.shell("EDITOR=true ask-answer edit v").code(), 1, "an empty answer is none");
    let ran = world.shell("EDITOR=false ask-answer edit v");
    assert!(ran.code() == 1 && !ran.stderr.contains("kept"), "{ran:?}");
    // The text is kept if the editor fails, and if words stand below the line.
    for editor in ["EDITOR='echo a long essay >> \"$1\"; false #'", "EDITOR='echo a long essay >>'"] {
        let ran = world.shell(&format!("{editor} ask-answer edit v"));
        let path = ran.stderr.lines().find_map(|line| line.strip_prefix("what you wrote is kept in ")).unwrap_or_else(|| panic!("{ran:?}"));
        assert!(ran.code() == 1 && std::fs::read_to_string(path).unwrap().contains("a long essay"), "{ran:?}");
        std::fs::remove_file(path).unwrap();
    }
    let ran = world.shell("EDITOR='ask-answer v first >/dev/null; echo mine >' ask-answer edit v");
    assert_eq!(ran.code(), 4);
    let kept = ran.stderr.lines().find_map(|l| l.strip_prefix("your text is kept in ")).unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine\n");
    std::fs::remove_file(kept).unwrap();
    // A question that is over opens no editor.
    for (end, state) in [("true", "answered; no run has claimed it yet"), ("relaunch prompt v", "delivered by ")] {
        world.sh(end);
        let ran = world.shell("EDITOR='touch opened;' ask-answer edit v");
        assert!(ran.code() == 4 && ran.stderr.contains(&format!("v waits for no answer: {state}")), "{ran:?}");
    }
    assert!(!world.path("opened").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::new();
    world.sh("echo '{}' | checkpoint save w && ask-post How? -w w");
    for script in ["ask-answer list", "ask-post How? -w w", "checkpoint env w", "ask-post --help"] {
        let ran = world.shell(&format!("{{ {script}; echo $? >&2; }} | true"));
        assert_eq!(ran.stderr.trim(), "0", "{script}");
    }
    assert_eq!(world.shell("ask-answer list > /dev/full").code(), 1, "a full disk is one");
}

#[test]
fn a_closed_stream_is_never_replaced_by_a_file_of_the_mailbox() {
    let world = World::new();
    // The next file to be opened would be the stream, and the words for it would go into a document.
    world.sh("ask-post How? -w w -o a=A <&- >&- 2>&-");
    assert_eq!(world.shell("ask-post Why? -w w <&- >&- 2>&-").code(), 4);
    world.sh("ask-answer w a --by ann <&- >&- 2>&-");
    assert_eq!(world.json("m/answered/w.json")["answer"]["value"], "a");
    let audit = std::fs::read_to_string(world.path("m/audit.jsonl")).unwrap();
    let events: Vec<_> = audit.lines().map(|line| parsed(line)["event"].clone()).collect();
    assert_eq!(events, ["posted", "answered"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_nothing_is_lost() {
    let world = World::new();
    world.sh("{ sleep 0.3; ask-post How? -w w; echo $? > status; } | true");
    assert_eq!(std::fs::read_to_string(world.path("status")).unwrap(), "0\n");
    assert_eq!(world.json("m/pending/w.json")["question"], "How?");
}

#[test]
fn an_argument_that_is_not_valid_utf8_is_a_usage_error() {
    let world = World::new();
    let ran = world.shell("ask-post \"$(printf 'H\\377w?')\" -w w");
    assert_eq!(ran.code(), 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && !world.path("m/pending/w.json").exists(), "{}", ran.stderr);
}

mod promises {
    use super::*;

    #[test]
    fn the_same_question_again_is_a_no_op_with_the_same_receipt() {
        let world = World::new();
        assert_eq!(world.sh("ask-post How? -w w -o a=A"), "QUESTION_POSTED:w");
        let before = std::fs::read(world.path("m/pending/w.json")).unwrap();
        assert_eq!(world.sh("ask-post How? -w w -o a=A"), "QUESTION_POSTED:w");
        assert_eq!(std::fs::read(world.path("m/pending/w.json")).unwrap(), before);
        let again = parsed(&world.sh("ask-post How? -w w -o a=A --json"));
        assert_eq!((&again["repeated"], &again["question_id"]), (&json!(true), &world.json("m/pending/w.json")["question_id"]));
    }

    #[test]
    fn another_question_is_a_conflict_unless_it_supersedes() {
        let world = World::new();
        world.sh("ask-post First? -w w");
        let ran = world.shell("ask-post Second? -w w");
        assert_eq!(ran.code(), 4);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("First?") && ran.stderr.contains("--supersede"));
        world.sh("ask-post Second? -w w --supersede --asked-by reviewer");
        assert_eq!(world.json("m/pending/w.json")["question"], "Second?");
        let closed = world.json(world.only("closed", "").unwrap());
        assert_eq!((&closed["question"], &closed["closed"]["state"]), (&json!("First?"), &json!("superseded")));
    }

    #[test]
    fn the_environment_says_who_asks_and_for_which_workflow() {
        let world = World::new();
        let session = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11";
        assert_eq!(world.sh("ASKBOX_WORKFLOW_ID=b ask-post How?"), "QUESTION_POSTED:b");
        assert_eq!(world.json("m/pending/b.json").get("parent"), None);
        let env = format!("WORKFLOW_ID=a ASKBOX_WORKFLOW_ID=b CLAUDE_CODE_SESSION_ID={session} CLAUDE_CONFIG_DIR=/c ASKBOX_ASKED_BY=me");
        assert_eq!(world.sh(&format!("{env} ask-post How?")), "QUESTION_POSTED:a");
        let posted = world.json("m/pending/a.json");
        let root = world.root().canonicalize().unwrap();
        let expected = json!({"parent": "b", "session_id": session, "cwd": root, "config_dir": "/c", "asked_by": "me"});
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&posted[field], value, "{field}");
        }
        world.sh("ASKBOX_SESSION_ID=none ask-post How? -w c");
        assert_eq!(world.json("m/pending/c.json").get("session_id"), None, "what is no session id is passed over");
        let new = world.sh("ask-post How?");
        assert!(world.path(format!("m/pending/{}.json", new.strip_prefix("QUESTION_POSTED:").unwrap())).exists());
    }

    #[test]
    fn a_saved_checkpoint_comes_along_by_itself() {
        let world = World::new();
        let path = world.sh("checkpoint save w --step review --completed draft,backup --file-ref backup=doc.bak --state tries=3");
        world.sh("ask-post How? -w w");
        assert_eq!(world.json("m/pending/w.json")["checkpoint"], json!(path));
        let checkpoint = world.json("m/checkpoints/w.json");
        assert_eq!(checkpoint["completed_steps"], json!(["draft", "backup"]));
        assert_eq!(checkpoint["files"]["backup"], json!(world.root().canonicalize().unwrap().join("doc.bak")));
        assert_eq!(world.sh("checkpoint get w state_variables.tries"), "3");
        world.sh("checkpoint step w ship && checkpoint set w state_variables.tries 4 --as-json && checkpoint set w context -- --x");
        assert_eq!(world.sh("checkpoint get w completed_steps"), r#"["draft","backup","review"]"#);
        let shown = parsed(&world.sh("WORKFLOW_ID=w checkpoint show --json"));
        assert_eq!(
            (&shown["current_step"], &shown["state_variables"]["tries"], &shown["context"]),
            (&json!("ship"), &json!(4), &json!("--x"))
        );
        world.sh("checkpoint validate w && checkpoint list && checkpoint rm w");
        assert_eq!(world.shell("checkpoint rm w").code(), 3);
        assert_eq!(world.sh("ASKBOX_WORKFLOW_ID=w checkpoint path"), path);
    }

    #[test]
    fn the_mailbox_and_all_in_it_are_the_owners_alone() {
        let world = World::new();
        world.sh("umask 000; ask-post How? -w w; ask-post How? -w v; echo '{}' | checkpoint save w; ask-answer w yes");
        let mut stack = vec![world.mailbox().to_owned()];
        while let Some(path) = stack.pop() {
            let meta = path.symlink_metadata().unwrap();
            let expected = if meta.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(meta.permissions().mode() & 0o777, expected, "{}", path.display());
            if meta.is_dir() {
                stack.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            }
        }
    }

    #[test]
    fn a_batch_is_answered_by_parts_and_through_ask_user_question() {
        let world = World::new();
        let document = json!({"questions": [
            {"question": "Which DB?", "header": "DB", "options": [{"label": "pg", "description": "P"}, {"label": "sqlite", "description": "S"}]},
            {"id": "tests", "question": "Which tests?", "multiSelect": true, "options": ["unit", "e2e"]},
        ]});
        std::fs::write(world.path("q.json"), document.to_string()).unwrap();
        world.sh("ask-post -w a --file q.json && ask-post -w b --file - < q.json");
        assert_eq!(world.shell("ask-answer a q1=pg").code(), 5);
        world.sh("ask-answer a q1=pg tests=unit tests=e2e");
        assert_eq!(world.json("m/answered/a.json")["answer"]["value"], json!({"q1": "pg", "tests": ["unit", "e2e"]}));
        let input = parsed(&world.sh("ask-answer show b --format ask-user-question"));
        assert_eq!(input["questions"][0]["options"][1], json!({"label": "sqlite", "description": "S"}));
        assert_eq!(input["questions"][1]["multiSelect"], true);
        let mut result = input;
        result["answers"] = json!({"Which DB?": "sqlite", "Which tests?": "unit, e2e"});
        result["annotations"] = json!({"Which DB?": {"notes": "for now"}});
        std::fs::write(world.path("result.json"), result.to_string()).unwrap();
        world.sh("ask-answer b --file result.json");
        let answer = &world.json("m/answered/b.json")["answer"];
        assert_eq!((&answer["value"], &answer["note"]), (&json!({"q1": "sqlite", "tests": ["unit", "e2e"]}), &json!("q1: for now")));
    }

    #[test]
    fn eval_of_checkpoint_env_makes_values_and_nothing_else() {
        let world = World::new();
        let nasty = &nasty()[..2000];
        let state = json!({"user_answer": nasty, "context": "-n", "files": {"a b;touch pwned": "/x y"}, "state_variables": {"PATH": "/evil", "$(touch pwned)": "v", "é": "accent"}});
        std::fs::write(world.path("state.json"), state.to_string()).unwrap();
        world.sh("checkpoint save w < state.json");
        for shell in ["sh", "bash"] {
            let script = format!(
                "{shell} -c 'before=$PATH; eval \"$(checkpoint env w)\"; [ \"$PATH\" = \"$before\" ] && printf %s \"$USER_ANSWER|$FILE_A_B_TOUCH_PWNED|$STATE_PATH\"'"
            );
            assert_eq!(world.shell(&script).stdout, format!("{nasty}|/x y|/evil"), "{shell}");
        }
        assert_eq!(world.sh("eval \"$(checkpoint env w --prefix CP_)\"; printf %s \"$CP_WORKFLOW_ID$WORKFLOW_ID\""), "w");
        assert!(!world.path("pwned").exists());
    }

    #[test]
    fn a_large_answer_full_of_special_characters_arrives_unchanged() {
        let world = World::new();
        let nasty = nasty();
        world.sh("echo '{}' | checkpoint save w; ask-post Essay? -w w");
        let ran = world.run_with("ask-answer", &["w", "-"], format!("{nasty}\n").as_bytes());
        assert_eq!(ran.code(), 0, "{}", ran.stderr);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "what people see drives no terminal");
        assert_eq!(world.json("m/answered/w.json")["answer"]["value"], json!(nasty));
        assert_eq!(world.shell("checkpoint get w user_answer").stdout, format!("{nasty}\n"));
        assert_eq!(world.shell("eval \"$(checkpoint env w)\"; printf %s \"$USER_ANSWER\"").stdout, nasty);
        let shown = world.shell("ask-answer show w --json").stdout;
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
        assert_eq!(parsed(&shown)["document"]["answer"]["value"], json!(nasty));
        world.sh("ask-post Again? -w v");
        std::fs::write(world.path("answer.json"), json!(nasty).to_string()).unwrap();
        world.sh("ask-answer v --file answer.json");
        assert_eq!(world.json("m/answered/v.json")["answer"]["value"], json!(nasty));
        assert!(!world.path("pwned").exists());
    }

    #[test]
    fn of_many_answers_at_once_one_wins_and_the_others_are_refused() {
        let world = World::new();
        world.sh("echo '{}' | checkpoint save w; ask-post How? -w w");
        let script = "for n in 1 2 3 4 5 6 7 8; do (ask-answer w \"$n\" --by \"user$n\" 2>\"err$n\"; echo $? >\"rc$n\") & done; wait";
        world.shell(script);
        let read = |name: String| std::fs::read_to_string(world.path(&name)).unwrap();
        let winners: Vec<_> = (1..=8).filter(|n| read(format!("rc{n}")).trim() == "0").collect();
        assert_eq!(winners.len(), 1);
        assert_eq!(world.json("m/answered/w.json")["answer"]["value"], json!(winners[0].to_string()));
        assert_eq!(world.sh("checkpoint get w user_answer"), winners[0].to_string());
        for n in (1..=8).filter(|n| !winners.contains(n)) {
            assert_eq!(read(format!("rc{n}")).trim(), "4");
            assert!(read(format!("err{n}")).contains(&format!("already answered by user{}", winners[0])));
        }
    }

    #[test]
    fn a_late_answer_is_kept_with_its_question_and_nothing_is_run() {
        let world = World::new();
        world.sh("ask-post How? -w gone --timeout 1s --on-expiry cancel; ask-post How? -w auto --timeout 1s --default no; ask-post How? -w stays --timeout 1s");
        let mailbox = Mailbox::open(world.mailbox()).unwrap();
        let later = askbox::time::now() + std::time::Duration::from_secs(60);
        for (id, expiry) in [("gone", Expiry::Cancelled), ("auto", Expiry::Defaulted), ("stays", Expiry::Kept)] {
            let round = round::latest(&mailbox, &id.parse().unwrap()).unwrap().id;
            assert_eq!(expire::expire(&mailbox, &Policy::default(), &round, later).unwrap(), expiry);
        }
        for id in ["gone", "auto"] {
            let ran = world.shell(&format!("ask-answer {id} yes"));
            assert_eq!(ran.code(), 4);
            assert!(ran.stderr.contains("your answer is kept with it and nothing is run"), "{}", ran.stderr);
            assert!(world.sh(&format!("ask-answer show {id}")).contains("late: answered by ann"));
        }
        let closed = world.json(world.only("closed", "").unwrap());
        assert_eq!((&closed["closed"]["state"], &closed["late_answers"][0]["value"]), (&json!("expired"), &json!("yes")));
        assert_eq!(world.json("m/answered/auto.json")["answer"]["by"], "default");
        world.sh("ask-answer stays yes");
        assert!(list::workflows(&mailbox, Folder::Pending).unwrap().is_empty());
    }

    #[test]
    fn a_refusal_goes_to_the_agent_and_a_withdrawal_does_not() {
        let world = World::new();
        world.sh("echo '{\"user_answer\": \"old\"}' | checkpoint save no; ask-post How? -w no; ask-post How? -w back");
        world.sh("ask-answer decline no --note 'not mine to say'");
        let answer = &world.json("m/answered/no.json")["answer"];
        assert_eq!((&answer["outcome"], &answer["note"], answer.get("value")), (&json!("declined"), &json!("not mine to say"), None));
        assert_eq!(world.json("m/checkpoints/no.json")["user_answer"], Value::Null, "an older answer is not taken for this one");
        let round = world.sh("ask-post How? -w early --json | jq -r .question_id");
        world.sh(&format!("ask-answer --note 'not mine to say' --round {round} decline early"));
        assert_eq!(world.json("m/answered/early.json")["answer"]["note"], "not mine to say");
        world.sh("ask-answer cancel back --why 'found it'");
        let closed = world.json(world.only("closed", "").unwrap());
        assert_eq!((&closed["closed"]["state"], &closed["closed"]["why"]), (&json!("withdrawn"), &json!("found it")));
        assert!(!world.path("m/answered/back.json").exists());
        world.sh("ask-post How? -w back");
        assert!(world.path("m/pending/back.json").exists(), "the workflow may ask again");
    }

    #[test]
    fn unknown_fields_survive_every_program() {
        let world = World::new();
        let question = r#"{"question":"How?","mine":{"n":1.50},"questions":[{"question":"A?","options":["x"],"mine":[1.0]}]}"#;
        std::fs::write(world.path("q.json"), question).unwrap();
        world.sh("echo '{\"mine\":{\"n\":1.50},\"current_step\":\"a\"}' | checkpoint save w; ask-post -w w --file q.json --priority 3");
        world.sh("ask-answer w q1=x; checkpoint step w b; checkpoint set w context c");
        let answered = std::fs::read_to_string(world.path("m/answered/w.json")).unwrap();
        assert!(answered.contains(r#"{"n":1.50}"#) && answered.contains(r#""mine":[1.0]"#), "{answered}");
        let checkpoint = std::fs::read_to_string(world.path("m/checkpoints/w.json")).unwrap();
        assert!(checkpoint.contains(r#"{"n":1.50}"#), "{checkpoint}");
    }

    #[test]
    fn an_id_that_is_also_a_command_follows_two_dashes() {
        let world = World::new();
        world.sh("ask-post How? -w list; ask-post How? -w w; ask-post 'How many?' -w n -t number");
        world.sh("ask-answer -- list yes");
        world.sh("ask-answer w --by bob -- list");
        world.sh("ask-answer n -1.5");
        assert_eq!(world.json("m/answered/list.json")["answer"]["value"], "yes");
        assert_eq!(world.json("m/answered/w.json")["answer"]["value"], "list");
        assert_eq!(world.json("m/answered/n.json")["answer"]["value"], "-1.5");
        world.sh("cp -r m other && ask-answer --mailbox other list");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let world = World::new();
        let evil = json!({"question": "How\u{1b}]0;x\u{7}?\u{202e}", "options": {"k\u{9b}": "d\r\u{1b}[2J"}, "context": "c\u{1b}[1m", "asked_by": "me\u{1b}c"});
        std::fs::write(world.path("q.json"), evil.to_string()).unwrap();
        world.sh("ask-post -w w --file q.json");
        for script in [
            "ask-answer list",
            "ask-answer show w",
            "ask-answer list --json",
            "ask-answer show w --json",
            "ask-answer w",
            "ask-post Other? -w w",
        ] {
            let ran = world.shell(script);
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!all.chars().any(|c| matches!(c, '\u{1b}' | '\u{7}' | '\u{9b}' | '\u{202e}' | '\r')), "{script}: {all:?}");
        }
    }

    #[test]
    fn help_names_every_exit_status_and_shows_examples() {
        let world = World::new();
        for program in ["ask-post", "ask-answer", "checkpoint"] {
            let help = world.sh(&format!("{program} --help"));
            assert!(help.contains("$ ") && (0..=6).all(|n| help.contains(&format!("\n  {n}  "))), "{help}");
            assert_eq!(world.sh(&format!("{program} --version")), format!("{program} {}", env!("CARGO_PKG_VERSION")));
        }
    }
}
