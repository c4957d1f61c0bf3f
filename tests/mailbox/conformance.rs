//! The same promises from `ask-post` and `checkpoint save` and from their twin for a bare POSIX shell, `examples/ask.sh`, under
//! every shell there is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::home::Home;
use serde_json::{Value, json};

/// Who posts and saves.
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
            let Some(program) = find(program) else {
                eprintln!("{name} is missing: not tested");
                continue;
            };
            let path = (name == "busybox").then(|| applets(&program));
            let call = std::iter::once(program).chain(args.into_iter().map(PathBuf::from)).collect();
            clients.push(Self::Shell { name, call, path });
        }
        assert!(clients.len() > 1, "there is no shell at all");
        clients
    }

    fn name(&self) -> &str {
        match self {
            Self::Programs => "ask-post",
            Self::Shell { name, .. } => name,
        }
    }

    fn command(&self, home: &Home, what: &str) -> Command {
        match self {
            Self::Programs if what == "post" => home.command(env!("CARGO_BIN_EXE_ask-post")),
            Self::Programs => {
                let mut command = home.command(env!("CARGO_BIN_EXE_checkpoint"));
                command.arg("save");
                command
            }
            Self::Shell { call, path, .. } => {
                let mut command = home.command(&call[0]);
                command.args(&call[1..]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ask.sh")).arg(what);
                if let Some(path) = path {
                    command.env("PATH", path.path());
                }
                command
            }
        }
    }

    fn post(&self, home: &Home, args: &[&str]) -> Output {
        self.command(home, "post").args(args).output().unwrap()
    }

    fn save(&self, home: &Home, args: &[&str], json: &[u8]) -> Output {
        feed(self.command(home, "save").args(args), json)
    }
}

fn feed(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|p| p.is_file())
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

/// Runs a test for every client, each in a home of its own.
fn for_each(test: impl Fn(&Client, &Home)) {
    for client in Client::all() {
        let home = Home::bare();
        eprintln!("with {}", client.name());
        test(&client, &home);
    }
}

#[track_caller]
fn exits(client: &Client, output: &Output, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{}: {output:?}", client.name());
    let stderr = String::from_utf8_lossy(&output.stderr);
    if status != 0 {
        assert!(stderr.starts_with("error: ") && stderr.contains("\nhint: "), "{}: {stderr}", client.name());
        assert!(output.stdout.is_empty());
    }
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The document of a question as our reader shows it.
fn shown(home: &Home, id: &str) -> Value {
    serde_json::from_str::<Value>(&home.ok("ask-answer", &["show", id, "--json"])).unwrap()["document"].clone()
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
fn a_post_gives_a_receipt_and_the_same_again_gives_the_same() {
    for_each(|client, home| {
        let args = ["-w", "docs-42", "Which one?", "-o", "a=This", "-o", "b", "--asked-by", "review"];
        assert_eq!(exits(client, &client.post(home, &args), 0), "QUESTION_POSTED:docs-42\n");
        let path = home.mailbox("pending/docs-42.json");
        let first = fs::read(&path).unwrap();
        assert_eq!(exits(client, &client.post(home, &args), 0), "QUESTION_POSTED:docs-42\n");
        assert_eq!(fs::read(&path).unwrap(), first, "a repeated post wrote something");
        let document = shown(home, "docs-42");
        assert_eq!(document["options"], json!({"a": "This", "b": ""}));
        assert_eq!((&document["asked_by"], &document["schema_version"]), (&json!("review"), &json!(1)));
        assert!(document["question_id"].is_string() && document["timestamp"].is_string());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(home.mailbox("").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let left: Vec<_> = fs::read_dir(home.mailbox("pending")).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["docs-42.json"], "something was left behind");
        home.audit_is("docs-42", &["posted"]);
    });
}

#[test]
fn the_clients_know_each_others_questions() {
    for_each(|client, home| {
        for (first, second) in [(client, &Client::Programs), (&Client::Programs, client)] {
            let args = ["-w", "both", "Go \"on\"?\n\u{1}", "-o", "yes=Sure, \\ and ä", "-o", "no"];
            exits(first, &first.post(home, &args), 0);
            assert_eq!(exits(second, &second.post(home, &args), 0), "QUESTION_POSTED:both\n");
            exits(second, &second.post(home, &["-w", "both", "Go \"on\"?\n\u{1}", "-o", "yes"]), 4);
            home.ok("ask-answer", &["cancel", "both"]);
        }
    });
}

#[test]
fn another_question_while_one_is_pending_is_a_conflict() {
    for_each(|client, home| {
        exits(client, &client.post(home, &["-w", "w", "First?"]), 0);
        exits(client, &client.post(home, &["-w", "w", "Second?"]), 4);
        exits(client, &client.post(home, &["-w", "w", "First?", "-o", "a=A"]), 4);
        assert_eq!(shown(home, "w")["question"], "First?");
    });
}

#[test]
fn of_many_posts_at_once_one_wins() {
    for_each(|client, home| {
        let spawn = |n: usize| {
            client
                .command(home, "post")
                .args(["-w", "race", &format!("Question {n}?")])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let children: Vec<_> = (0..8).map(spawn).collect();
        let codes: Vec<_> = children.into_iter().map(|c| c.wait_with_output().unwrap().status.code()).collect();
        assert_eq!(codes.iter().filter(|c| **c == Some(0)).count(), 1, "{}: {codes:?}", client.name());
        assert_eq!(codes.iter().filter(|c| **c == Some(4)).count(), 7, "{}: {codes:?}", client.name());
    });
}

#[test]
fn an_id_that_could_leave_the_folder_is_refused() {
    for_each(|client, home| {
        let long = "a".repeat(129);
        for id in ["", ".", "..", "a..b", "../x", "/etc/passwd", "a/b", "_x", ".x", "a b", "ä", "a\n", "a\tb", "*", "a'b", &long] {
            exits(client, &client.post(home, &[&format!("--workflow={id}"), "Q?"]), 5);
            exits(client, &client.save(home, &["--", id], b"{}"), 5);
            let by_env = client.command(home, "post").arg("Q?").env("WORKFLOW_ID", id).output().unwrap();
            if !id.is_empty() {
                exits(client, &by_env, 5);
            }
        }
        let longest = "a".repeat(128);
        for id in ["a", "A.b-c_9", "1", &longest] {
            assert_eq!(exits(client, &client.post(home, &["-w", id, "Q?"]), 0), format!("QUESTION_POSTED:{id}\n"));
        }
        let by_env = client.command(home, "post").arg("Q?").env("ASKBOX_WORKFLOW_ID", "from-env").output().unwrap();
        assert_eq!(exits(client, &by_env, 0), "QUESTION_POSTED:from-env\n");
        let made = exits(client, &client.post(home, &["Q?"]), 0);
        assert!(made.starts_with("QUESTION_POSTED:w-0"), "{made}");
    });
}

#[test]
fn what_makes_no_sense_has_its_exit_status() {
    for_each(|client, home| {
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
            exits(client, &client.post(home, &args), status);
        }
        use std::os::unix::ffi::OsStrExt;
        let latin = client.command(home, "post").args(["-w", "w"]).arg(std::ffi::OsStr::from_bytes(b"caf\xe9?")).output().unwrap();
        exits(client, &latin, 2);
        exits(client, &client.save(home, &[], b"{}"), 2);
        assert!(!home.mailbox("pending/w.json").exists());
    });
}

#[test]
fn a_nasty_text_survives_to_the_byte_and_its_question_can_be_answered() {
    for_each(|client, home| {
        for (n, text) in nasty().iter().enumerate() {
            let id = format!("nasty{n}");
            let option = format!("k=y={text}");
            exits(client, &client.post(home, &["-w", &id, "--asked-by", text, "-o", &option, "-o", "other", "--", text]), 0);
            let document = shown(home, &id);
            assert_eq!(document["question"].as_str().unwrap(), text, "{}", client.name());
            assert_eq!(document["options"]["k"].as_str().unwrap(), &option[2..], "{}", client.name());
            assert_eq!(document["asked_by"].as_str().unwrap(), text);
            exits(client, &client.post(home, &["-w", &id, "--asked-by", text, "-o", &option, "-o", "other", "--", text]), 0);
            home.ok("ask-answer", &[&id, "k"]);
            assert_eq!(home.json(home.mailbox(&format!("answered/{id}.json")))["answer"]["value"], "k");
        }
        assert!(!home.path("pwned").exists());
        // The same through standard input, which ends in one newline that is not the question's.
        let output = feed(client.command(home, "post").args(["-w", "piped", "-"]), "two\nlines\n\n".as_bytes());
        exits(client, &output, 0);
        assert_eq!(shown(home, "piped")["question"], "two\nlines\n");
    });
}

#[test]
fn a_checkpoint_survives_with_all_of_its_values() {
    for_each(|client, home| {
        for (n, text) in nasty().iter().enumerate() {
            let id = format!("c{n}");
            let saved = json!({
                "current_step": text, "completed_steps": [text, "b"], "files": {"a b": "/x y/\u{e9}"}, "state_variables": {text.as_str(): [1.5, true, null, {"x": text}]},
                "context": text, "user_answer": null, "mine": {"deep": [[[{}]]], "empty": []},
            });
            for json in [serde_json::to_vec(&saved).unwrap(), serde_json::to_vec_pretty(&saved).unwrap()] {
                let printed = exits(client, &client.save(home, &[&id], &json), 0);
                assert_eq!(printed, format!("{}\n", home.mailbox(&format!("checkpoints/{id}.json")).display()));
                let mut document: Value = serde_json::from_str(&home.ok("checkpoint", &["show", &id, "--json"])).unwrap();
                let object = document.as_object_mut().unwrap();
                assert_eq!(object.remove("workflow_id"), Some(json!(id)));
                assert_eq!(object.remove("schema_version"), Some(json!(1)));
                assert_eq!(document, saved, "{}", client.name());
            }
        }
        // Numbers keep every digit.
        exits(client, &client.save(home, &["digits"], br#"{"n": 12345678901234567890.10000000000000000000000001E+7}"#), 0);
        assert!(home.ok("checkpoint", &["show", "digits", "--json"]).contains("12345678901234567890.10000000000000000000000001E+7"));
    });
}

#[test]
fn what_is_no_checkpoint_is_refused_and_the_old_one_stays() {
    for_each(|client, home| {
        exits(client, &client.save(home, &["w"], br#"{"current_step": "one"}"#), 0);
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
            exits(client, &client.save(home, &["w"], json), 5);
        }
        assert_eq!(home.ok("checkpoint", &["get", "w", "current_step"]), "one\n");
        let left: Vec<_> = fs::read_dir(home.mailbox("checkpoints")).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["w.json"], "something was left behind");
    });
}

#[test]
fn a_question_carries_its_checkpoint_and_gets_its_answer_into_it() {
    for_each(|client, home| {
        exits(client, &client.save(home, &["own"], br#"{"current_step": "one"}"#), 0);
        exits(client, &client.post(home, &["-w", "own", "Q?"]), 0);
        let own = home.mailbox("checkpoints/own.json");
        assert_eq!(shown(home, "own")["checkpoint"], json!(own));
        home.ok("ask-answer", &["own", "go"]);
        assert_eq!(home.ok("checkpoint", &["get", "own", "user_answer"]), "go\n");
        // Under a folder for temporary files, here and by a relative path: its copy is kept.
        fs::write(home.path("cp.json"), r#"{"workflow_id": "temp", "mine": 1}"#).unwrap();
        exits(client, &client.post(home, &["-w", "temp", "Q?", "-c", "./cp.json"]), 0);
        assert_eq!(shown(home, "temp")["checkpoint"], json!(home.path("cp.json")));
        assert_eq!(home.json(home.mailbox("checkpoints/temp.json"))["mine"], 1);
        let time = |path: PathBuf| path.metadata().unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let (copy, original) = (time(home.mailbox("checkpoints/temp.json")), time(home.path("cp.json")));
        assert!(copy <= original && original - copy < 1000, "{}: {copy} {original}", client.name());
        fs::write(home.path("cp.json"), r#"{"workflow_id": "another"}"#).unwrap();
        exits(client, &client.post(home, &["-w", "wrong", "Q?", "-c", "cp.json"]), 5);
        fs::write(home.path("cp.json"), r#"{"workflow_id": "wr"#).unwrap();
        exits(client, &client.post(home, &["-w", "wrong", "Q?", "-c", "cp.json"]), 5);
    });
}

#[test]
fn the_mailbox_is_found_alike_and_one_that_others_may_write_is_refused() {
    for_each(|client, home| {
        let at = home.path("named/deep");
        exits(client, &client.post(home, &["-w", "w", "Q?", "--mailbox", at.to_str().unwrap()]), 0);
        assert!(at.join("pending/w.json").exists());
        let by_env = client.command(home, "post").args(["-w", "w", "Q?"]).env("ASKBOX_DIR", home.path("env")).output().unwrap();
        exits(client, &by_env, 0);
        assert!(home.path("env/pending/w.json").exists());
        fs::set_permissions(home.path("env"), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = client.command(home, "post").args(["-w", "v", "Q?"]).env("ASKBOX_DIR", home.path("env")).output().unwrap();
        exits(client, &refused, 1);
        std::os::unix::fs::symlink(&at, home.path("link")).unwrap();
        exits(client, &client.post(home, &["-w", "v", "Q?", "--mailbox", home.path("link").to_str().unwrap()]), 1);
    });
}

#[test]
fn the_script_has_nothing_that_shellcheck_minds() {
    let Some(shellcheck) = find("shellcheck") else {
        eprintln!("shellcheck is missing: not checked");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ask.sh");
    let output = Command::new(shellcheck).args(["-s", "sh"]).arg(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
