//! The same promises from `ask-post` and `checkpoint save` and from their twin for a bare POSIX shell, `examples/ask.sh`, under
//! every shell there is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::tools::find;
use crate::support::{Outcome, Running, World, available, feed, needs, output};
use serde_json::{Value, json};

/// The programs that post and save.
enum Client {
    /// Our programs.
    Programs,
    /// `examples/ask.sh` under a shell, with a `$PATH` of its own for busybox.
    Shell { name: &'static str, call: Vec<PathBuf>, path: Option<tempfile::TempDir> },
}

impl Client {
    /// All that this machine has.
    fn all() -> Vec<Self> {
        let mut clients = vec![Self::Programs];
        for (name, program, args) in
            [("sh", "sh", vec![]), ("dash", "dash", vec![]), ("bash", "bash", vec!["--posix"]), ("busybox", "busybox", vec!["sh"])]
        {
            if !available(program) {
                continue;
            }
            let program = find(program).unwrap();
            let path = (name == "busybox").then(|| applets(&program));
            let call = std::iter::once(program).chain(args.into_iter().map(PathBuf::from)).collect();
            clients.push(Self::Shell { name, call, path });
        }
        clients
    }

    fn name(&self) -> &str {
        match self {
            Self::Programs => "ask-post",
            Self::Shell { name, .. } => name,
        }
    }

    fn command(&self, world: &World, what: &str) -> Command {
        match self {
            Self::Programs if what == "post" => world.command("ask-post"),
            Self::Programs => {
                let mut command = world.command("checkpoint");
                command.arg("save");
                command
            }
            Self::Shell { call, path, .. } => {
                let mut command = world.any_command(&call[0]);
                command.args(&call[1..]).arg(script()).arg(what);
                if let Some(path) = path {
                    command.env("PATH", path.path());
                }
                command
            }
        }
    }

    fn post(&self, world: &World, args: &[&str]) -> Outcome {
        output(self.command(world, "post").args(args))
    }

    fn save(&self, world: &World, args: &[&str], json: &[u8]) -> Outcome {
        feed(self.command(world, "save").args(args), json)
    }
}

/// A folder with nothing but busybox's own commands.
fn applets(busybox: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let list = Command::new(busybox).arg("--list").output().unwrap();
    for applet in String::from_utf8(list.stdout).unwrap().lines() {
        std::os::unix::fs::symlink(busybox, folder.path().join(applet)).unwrap();
    }
    folder
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ask.sh")
}

/// Runs a test for every client, each in a home of its own.
fn for_each(test: impl Fn(&Client, &World)) {
    for client in Client::all() {
        let world = World::without_mailbox();
        eprintln!("with {}", client.name());
        test(&client, &world);
    }
}

#[track_caller]
fn exits(client: &Client, output: &Outcome, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{}: {output:?}", client.name());
    if status != 0 {
        assert!(output.stderr.starts_with("error: ") && output.stderr.contains("\nhint: "), "{}: {}", client.name(), output.stderr);
        assert!(output.stdout.is_empty());
    }
    output.stdout.clone()
}

/// The document of a question as our reader shows it.
fn shown(world: &World, id: &str) -> Value {
    serde_json::from_str::<Value>(&world.ok("ask-answer", &["show", id, "--json"])).unwrap()["document"].clone()
}

/// Texts that break a careless writer of JSON.
fn nasty() -> Vec<String> {
    let controls: String = (1..32).map(|n| char::from_u32(n).unwrap()).collect();
    vec![
        r#"quotes " and ' and `backticks` and $(touch pwned) $HOME %s %d \n \u0041 \\ /"#.into(),
        "lines\nand\ttabs\r\n\n  spaces at both ends  ".into(),
        format!("controls{controls}\u{7f}end"),
        "ä é ß 漢字 😀 \u{202e}bidi\u{2066} \u{200b} \u{feff} e\u{301}".into(),
        "\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}".into(),
        "& \\& | ; * ? [a] ~ !x # {} -n".into(),
        format!("long {}", "\"\\x".repeat(4_000)),
    ]
}

#[test]
fn the_programs_and_the_script_read_each_others_questions() {
    for_each(|client, world| {
        for (first, second) in [(client, &Client::Programs), (&Client::Programs, client)] {
            let args = ["-w", "both", "Go \"on\"?\n\u{1}", "-o", "yes=Sure, \\ and ä", "-o", "no"];
            exits(first, &first.post(world, &args), 0);
            assert_eq!(exits(second, &second.post(world, &args), 0), "QUESTION_POSTED:both\n");
            exits(second, &second.post(world, &["-w", "both", "Go \"on\"?\n\u{1}", "-o", "yes"]), 4);
            world.ok("ask-answer", &["cancel", "both"]);
        }
    });
}

#[test]
fn an_id_that_could_leave_the_mailbox_is_refused_by_all() {
    for_each(|client, world| {
        let long = "a".repeat(129);
        for id in ["", ".", "..", "a..b", "../x", "/etc/passwd", "a/b", "_x", ".x", "a b", "ä", "a\n", "a\tb", "*", "a'b", &long] {
            exits(client, &client.post(world, &[&format!("--workflow={id}"), "Q?"]), 5);
            exits(client, &client.save(world, &["--", id], b"{}"), 5);
            let by_env = output(client.command(world, "post").arg("Q?").env("WORKFLOW_ID", id));
            if !id.is_empty() {
                exits(client, &by_env, 5);
            }
        }
        let longest = "a".repeat(128);
        for id in ["a", "A.b-c_9", "1", &longest] {
            assert_eq!(exits(client, &client.post(world, &["-w", id, "Q?"]), 0), format!("QUESTION_POSTED:{id}\n"));
        }
        let by_env = output(client.command(world, "post").arg("Q?").env("ASKBOX_WORKFLOW_ID", "from-env"));
        assert_eq!(exits(client, &by_env, 0), "QUESTION_POSTED:from-env\n");
        let made = exits(client, &client.post(world, &["Q?"]), 0);
        assert!(made.starts_with("QUESTION_POSTED:w-0"), "{made}");
    });
}

#[test]
fn a_nasty_text_survives_to_the_byte_and_can_be_answered() {
    for_each(|client, world| {
        for (n, text) in nasty().iter().enumerate() {
            let id = format!("nasty{n}");
            let option = format!("k=y={text}");
            exits(client, &client.post(world, &["-w", &id, "--asked-by", text, "-o", &option, "-o", "other", "--", text]), 0);
            let document = shown(world, &id);
            assert_eq!(document["question"].as_str().unwrap(), text, "{}", client.name());
            assert_eq!(document["options"]["k"].as_str().unwrap(), &option[2..], "{}", client.name());
            assert_eq!(document["asked_by"].as_str().unwrap(), text);
            exits(client, &client.post(world, &["-w", &id, "--asked-by", text, "-o", &option, "-o", "other", "--", text]), 0);
            world.ok("ask-answer", &[&id, "k"]);
            assert_eq!(world.json(world.in_mailbox(format!("answered/{id}.json")))["answer"]["value"], "k");
        }
        assert!(!world.path("pwned").exists());
        // The same through standard input, which ends in one newline that is not the question's.
        let output = feed(client.command(world, "post").args(["-w", "piped", "-"]), "two\nlines\n\n".as_bytes());
        exits(client, &output, 0);
        assert_eq!(shown(world, "piped")["question"], "two\nlines\n");
    });
}

#[test]
fn a_checkpoint_survives_with_all_of_its_values() {
    for_each(|client, world| {
        for (n, text) in nasty().iter().enumerate() {
            let id = format!("c{n}");
            let saved = json!({
                "current_step": text, "completed_steps": [text, "b"], "files": {"a b": "/x y/\u{e9}"}, "state_variables": {text.as_str(): [1.5, true, null, {"x": text}]},
                "context": text, "user_answer": null, "mine": {"deep": [[[{}]]], "empty": []},
            });
            for json in [serde_json::to_vec(&saved).unwrap(), serde_json::to_vec_pretty(&saved).unwrap()] {
                let printed = exits(client, &client.save(world, &[&id], &json), 0);
                assert_eq!(printed, format!("{}\n", world.in_mailbox(format!("checkpoints/{id}.json")).display()));
                let mut document: Value = serde_json::from_str(&world.ok("checkpoint", &["show", &id, "--json"])).unwrap();
                let object = document.as_object_mut().unwrap();
                assert_eq!(object.remove("workflow_id"), Some(json!(id)));
                assert_eq!(object.remove("schema_version"), Some(json!(1)));
                assert_eq!(document, saved, "{}", client.name());
            }
        }
        // Numbers keep every digit.
        exits(client, &client.save(world, &["digits"], br#"{"n": 12345678901234567890.10000000000000000000000001E+7}"#), 0);
        assert!(world.ok("checkpoint", &["show", "digits", "--json"]).contains("12345678901234567890.10000000000000000000000001E+7"));
    });
}

#[test]
fn an_invalid_checkpoint_is_refused_and_the_old_one_stays() {
    for_each(|client, world| {
        exits(client, &client.save(world, &["w"], br#"{"current_step": "one"}"#), 0);
        let deep = format!(r#"{{"x": {}{}}}"#, "[".repeat(100), "]".repeat(100));
        let bad: &[&[u8]] = &[
            b"",
            b"{",
            b"[]",
            b"{} x",
            b"null",
            br#"{"a": 1, "a": 2}"#,
            br#"{"a": 1, "\u0061": 2}"#,
            br#"{"x": 01}"#,
            br#"{"x": 1.}"#,
            br#"{"x": tru}"#,
            br#"{"x": [1,]}"#,
            br#"{"x": 1,}"#,
            br#"{"x" 1}"#,
            br#"{x: 1}"#,
            br#"{"x": "\x"}"#,
            b"{\"x\": \"a\nb\"}",
            b"{\"x\": \"\t\"}",
            b"{\"x\": \"\xff\"}",
            b"{\"x\": \"\xed\xa0\x80\"}",
            b"{\"x\": 1}\0",
            br#"{"workflow_id": "other"}"#,
            br#"{"workflow_id": 1}"#,
            br#"{"files": {"x": "relative"}}"#,
            br#"{"files": {"x": 1}}"#,
            br#"{"current_step": 5}"#,
            br#"{"completed_steps": "x"}"#,
            br#"{"pending_steps": [1]}"#,
            br#"{"state_variables": []}"#,
            br#"{"schema_version": "1"}"#,
            br#"{"user_answer_to": "x"}"#,
            deep.as_bytes(),
        ];
        for json in bad {
            exits(client, &client.save(world, &["w"], json), 5);
        }
        assert_eq!(world.ok("checkpoint", &["get", "w", "current_step"]), "one\n");
        let left: Vec<_> = fs::read_dir(world.in_mailbox("checkpoints")).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["w.json"], "something was left behind");
    });
}

#[test]
fn a_question_carries_its_checkpoint_and_the_answer_gets_in() {
    for_each(|client, world| {
        exits(client, &client.save(world, &["own"], br#"{"current_step": "one"}"#), 0);
        exits(client, &client.post(world, &["-w", "own", "Q?"]), 0);
        let own = world.in_mailbox("checkpoints/own.json");
        assert_eq!(shown(world, "own")["checkpoint"], json!(own));
        world.ok("ask-answer", &["own", "go"]);
        assert_eq!(world.ok("checkpoint", &["get", "own", "user_answer"]), "go\n");
        // Under a folder for temporary files, here and by a relative path: its copy is kept.
        fs::write(world.path("cp.json"), r#"{"workflow_id": "temp", "mine": 1}"#).unwrap();
        exits(client, &client.post(world, &["-w", "temp", "Q?", "-c", "./cp.json"]), 0);
        assert_eq!(shown(world, "temp")["checkpoint"], json!(world.path("cp.json")));
        assert_eq!(world.json(world.in_mailbox("checkpoints/temp.json"))["mine"], 1);
        let time = |path: PathBuf| path.metadata().unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let (copy, original) = (time(world.in_mailbox("checkpoints/temp.json")), time(world.path("cp.json")));
        assert!(copy <= original && original - copy < 1000, "{}: {copy} {original}", client.name());
        fs::write(world.path("cp.json"), r#"{"workflow_id": "another"}"#).unwrap();
        exits(client, &client.post(world, &["-w", "wrong", "Q?", "-c", "cp.json"]), 5);
        fs::write(world.path("cp.json"), r#"{"workflow_id": "wr"#).unwrap();
        exits(client, &client.post(world, &["-w", "wrong", "Q?", "-c", "cp.json"]), 5);
    });
}

mod promises {
    use super::*;

    #[test]
    fn a_post_gives_a_receipt_and_the_same_again_gives_the_same() {
        for_each(|client, world| {
            let args = ["-w", "docs-42", "Which one?", "-o", "a=This", "-o", "b", "--asked-by", "review"];
            assert_eq!(exits(client, &client.post(world, &args), 0), "QUESTION_POSTED:docs-42\n");
            let path = world.in_mailbox("pending/docs-42.json");
            let first = fs::read(&path).unwrap();
            assert_eq!(exits(client, &client.post(world, &args), 0), "QUESTION_POSTED:docs-42\n");
            assert_eq!(fs::read(&path).unwrap(), first, "a repeated post wrote something");
            let document = shown(world, "docs-42");
            assert_eq!(document["options"], json!({"a": "This", "b": ""}));
            assert_eq!((&document["asked_by"], &document["schema_version"]), (&json!("review"), &json!(1)));
            assert!(document["question_id"].is_string() && document["timestamp"].is_string());
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(world.in_mailbox("").metadata().unwrap().permissions().mode() & 0o777, 0o700);
            let left: Vec<_> = fs::read_dir(world.in_mailbox("pending")).unwrap().flatten().map(|e| e.file_name()).collect();
            assert_eq!(left, ["docs-42.json"], "something was left behind");
            world.audit_is("docs-42", &["posted"]);
        });
    }

    #[test]
    fn another_question_while_one_is_pending_is_a_conflict() {
        for_each(|client, world| {
            exits(client, &client.post(world, &["-w", "w", "First?"]), 0);
            exits(client, &client.post(world, &["-w", "w", "Second?"]), 4);
            exits(client, &client.post(world, &["-w", "w", "First?", "-o", "a=A"]), 4);
            assert_eq!(shown(world, "w")["question"], "First?");
        });
    }

    #[test]
    fn of_many_posts_for_one_workflow_at_the_same_time_one_wins() {
        for_each(|client, world| {
            let spawn = |n: usize| {
                let mut post = client.command(world, "post");
                Running::start(post.args(["-w", "race", &format!("Question {n}?")]).stdout(Stdio::null()).stderr(Stdio::null()))
            };
            let mut posts: Vec<_> = (0..8).map(spawn).collect();
            let codes: Vec<_> = posts.iter_mut().map(|post| post.wait().code()).collect();
            assert_eq!(codes.iter().filter(|c| **c == Some(0)).count(), 1, "{}: {codes:?}", client.name());
            assert_eq!(codes.iter().filter(|c| **c == Some(4)).count(), 7, "{}: {codes:?}", client.name());
        });
    }

    #[test]
    fn each_kind_of_invalid_call_has_its_exit_status() {
        for_each(|client, world| {
            for (args, status) in [
                (vec![], 2),
                (vec!["-w", "w"], 2),
                (vec!["-w", "w", "two", "words"], 2),
                (vec!["-w", "w", "--nonsense", "Q?"], 2),
                (vec!["-w", "w", "Q?", "-o", "a=1", "-o", "a=2"], 2),
                (vec!["-w", "w", "Q?", "-c", ""], 2),
                (vec!["-w", "w", ""], 5),
                (vec!["-w", "w", " \n\t"], 5),
                (vec!["-w", "w", "Q?", "-o", "=x"], 5),
                (vec!["-w", "w", "Q?", "-c", "/does/not/exist"], 3),
            ] {
                exits(client, &client.post(world, &args), status);
            }
            use std::os::unix::ffi::OsStrExt;
            let latin = output(client.command(world, "post").args(["-w", "w"]).arg(std::ffi::OsStr::from_bytes(b"caf\xe9?")));
            exits(client, &latin, 2);
            exits(client, &client.save(world, &[], b"{}"), 2);
            assert!(!world.in_mailbox("pending/w.json").exists());
        });
    }

    #[test]
    fn all_find_the_same_mailbox_and_refuse_an_open_one() {
        for_each(|client, world| {
            let at = world.path("named/deep");
            exits(client, &client.post(world, &["-w", "w", "Q?", "--mailbox", at.to_str().unwrap()]), 0);
            assert!(at.join("pending/w.json").exists());
            let by_env = output(client.command(world, "post").args(["-w", "w", "Q?"]).env("ASKBOX_DIR", world.path("env")));
            exits(client, &by_env, 0);
            assert!(world.path("env/pending/w.json").exists());
            fs::set_permissions(world.path("env"), fs::Permissions::from_mode(0o777)).unwrap();
            let refused = output(client.command(world, "post").args(["-w", "v", "Q?"]).env("ASKBOX_DIR", world.path("env")));
            exits(client, &refused, 1);
            std::os::unix::fs::symlink(&at, world.path("link")).unwrap();
            exits(client, &client.post(world, &["-w", "v", "Q?", "--mailbox", world.path("link").to_str().unwrap()]), 1);
        });
    }

    #[test]
    fn the_script_has_nothing_that_shellcheck_minds() {
        needs!("shellcheck");
        output(Command::new("shellcheck").args(["-s", "sh"]).arg(script())).ok();
    }
}
