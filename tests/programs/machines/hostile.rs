//! A machine may be of another version, or an enemy: what it says is bounded, filtered and never executed.

use std::time::{Duration, Instant};

use crate::support::files::write_program;
use crate::support::machine::configure;
use crate::support::{Machine, Outcome, Running, World, needs, until};

/// A machine whose `ask-answer` is this script.
fn played(script: &str) -> (World, Machine) {
    let here = World::new();
    let build = Machine::new(&here, "build");
    let program = build.world.path("played");
    write_program(&program, &format!("#!/bin/sh\n{script}\n"));
    here.configure(&format!("{}program = '{}'\n", build.section(), program.display()));
    (here, build)
}

/// How an answer to the machine ends, once the machine is heard: on a busy one ssh itself may take longer than anybody waits.
#[track_caller]
fn heard(here: &World) -> Outcome {
    let answer = || Some(here.run("ask-answer", &["build:w", "x"]));
    until("the machine is heard", || answer().filter(|told| !told.stderr.contains("has not answered in time")))
}

/// The words for a person who answers a question of the machine.
#[track_caller]
fn complaint(script: &str) -> String {
    let (here, _build) = played(script);
    let refused = heard(&here);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(!refused.words().contains('\x1b'), "{refused:?}");
    refused.stderr
}

#[test]
fn a_machine_of_another_version_is_named_with_what_to_do() {
    needs!("sshd", "ssh");
    let newer = complaint(r#"echo '{"line":"hello","protocol":9,"schema_version":1,"version":"7.0.0"}'; sleep 100"#);
    assert!(newer.contains("askbox 7.0.0 on build speaks version 9") && newer.contains("hint: update askbox here"), "{newer}");
    let older = complaint("echo 'error: there is no flag --watch' >&2; echo 'hint: see --help' >&2; exit 2");
    assert!(
        older.contains("older version") && older.contains("there is no flag --watch") && older.contains("update askbox on build"),
        "{older}"
    );
    let here = World::new();
    let build = Machine::new(&here, "build");
    here.configure(&format!("{}program = '/nowhere/ask-answer'\n", build.section()));
    let missing = heard(&here);
    assert!(missing.stderr.contains("ask-answer is not found on build") && missing.stderr.contains("peers.build.program"), "{missing:?}");
    let ends = complaint("exit 7");
    assert!(ends.contains("status 7"), "{ends}");
}

#[test]
fn what_an_enemy_sends_is_bounded_and_filtered() {
    needs!("sshd", "ssh");
    let hello = r#"printf '%s\n' '{"line":"hello","protocol":1,"schema_version":1,"version":"1\u001b[31m"}'"#;
    let endless = complaint(&format!("{hello}; exec tr '\\0' 'a' < /dev/zero"));
    assert!(endless.contains("a line that is too long"), "{endless}");
    let garbage = complaint(&format!("{hello}; printf 'what\\033[2J\\n'; sleep 100"));
    assert!(garbage.contains("a line that cannot be read"), "{garbage}");
    let fails = complaint(&format!(
        r#"{hello}; printf '%s\n' '{{"line":"failed","error":"no \u001b]0;x\u0007 way","hint":"run: rm -rf /"}}'; sleep 100"#
    ));
    assert!(fails.contains("build: no ") && fails.contains("way"), "{fails}");
    let noise = complaint("yes 'welcome to build'");
    assert!(noise.contains("prints other text"), "{noise}");
    let (here, _build) = played("yes \"$(printf '\\033[2J go away')\" >&2");
    let silent = here.run("ask-answer", &["build:w", "x"]);
    assert!(silent.code() == 1 && silent.stderr.contains("error: ") && !silent.words().contains('\x1b'), "{silent:?}");
}

/// Lists while the machine floods; returns what was said, how long it took, and the most memory that it took, in MiB.
fn listed_in_the_flood(lines: &str) -> (String, Duration, u64) {
    let hello = r#"printf '%s\n' '{"line":"hello","protocol":1,"schema_version":1,"version":"1"}'"#;
    let (here, _build) = played(&format!("{hello}; exec awk 'BEGIN {{ {lines} }}'"));
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let (out, err) = (here.path("out"), here.path("err"));
    let file = |path| std::fs::File::create(path).expect("a file");
    let begun = Instant::now();
    let mut program = Running::start(here.command("ask-answer").arg("list").stdout(file(&out)).stderr(file(&err)));
    let status = format!("/proc/{}/status", program.pid());
    let mut most = 0;
    until("the list ends", || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0) / 1024);
        program.has_ended()
    });
    let read = |path| std::fs::read_to_string(path).expect("what was said");
    (read(&out) + &read(&err), begun.elapsed(), most)
}

#[test]
fn a_flood_of_questions_takes_little_memory_and_no_time() {
    needs!("sshd", "ssh");
    let line = r#""{\"line\":\"question\",\"workflow_id\":\"w" n "\",\"question_id\":\"00000000-0000-0000-0000-" sprintf("%012d", n) "\",\"document\":{\"workflow_id\":\"w" n "\",\"question\":\"" text "\"}}""#;
    for (what, bytes) in [("many", 1_000), ("huge", 250_000), ("too huge", 2_000_000)] {
        let text = format!("text = \"x\"; while (length(text) < {bytes}) text = text text;");
        let (said, took, most) = listed_in_the_flood(&format!("{text} for (n = 0; ; n++) print {line}"));
        assert!(said.contains("local-1") && said.contains("note: build "), "{what}: {}", &said[said.len().saturating_sub(2000)..]);
        assert!(took < Duration::from_secs(60), "{what}: {took:?}");
        assert!(most > 0 && most < 600, "{what}: {most} MiB");
        eprintln!("{what}: {took:.1?}, {most} MiB");
    }
}

#[test]
fn the_words_of_an_enemy_neither_run_nor_control_the_terminal() {
    needs!("sshd", "ssh");
    let lines = [
        r#"{"line":"hello","protocol":1,"schema_version":1,"version":"1"}"#,
        r#"{"line":"question","workflow_id":"w","question_id":"00000000-0000-0000-0000-000000000001","document":{"workflow_id":"w","question":"Run \u001b[2J$(touch pwned)`touch pwned`?\u202e","options":{"a":"A"},"checkpoint":"/etc/passwd","asked_by":"\u001b]0;root\u0007","cwd":"/$(touch pwned)"}}"#,
        r#"{"line":"question","workflow_id":"x","question_id":"00000000-0000-0000-0000-000000000002","document":{"workflow_id":"other","question":"Whose?"}}"#,
        r#"{"line":"question","workflow_id":"y","question_id":"00000000-0000-0000-0000-000000000003","document":{"workflow_id":"y","question":""}}"#,
        r#"{"line":"question","workflow_id":"z","question_id":"00000000-0000-0000-0000-000000000004","document":{"workflow_id":"z","question":"New?","schema_version":9}}"#,
        r#"{"line":"unreadable","workflow_id":"u","error":"torn \u001b[31m"}"#,
        r#"{"line":"mood","happy":true}"#,
        r#"{"line":"listed"}"#,
    ];
    let told: String = lines.iter().map(|line| format!("printf '%s\\n' '{}'\n", line.replace('\'', ""))).collect();
    let (here, _build) =
        played(&format!("case \"$*\" in *--offer*) printf '%s\\n' '{}'; cat >/dev/null; exit 0;; esac\n{told}sleep 100", lines[0]));
    let listed =
        until("the machine is seen", || Some(here.run("ask-answer", &["list"]).ok()).filter(|listed| listed.stdout.contains("build:w")));
    assert!(!listed.words().contains(['\x1b', '\x07', '\u{202e}']), "{listed:?}");
    let rows: Vec<&str> = listed.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 5, "{listed:?}");
    assert!(
        rows.iter().all(|row| row.starts_with("build:")) && rows.iter().filter(|row| row.contains("unreadable: ")).count() == 4,
        "{rows:#?}"
    );
    let shown = here.run("ask-answer", &["show", "build:w"]).ok();
    assert!(!shown.words().contains(['\x1b', '\x07', '\u{202e}']) && shown.stdout.contains("checkpoint /etc/passwd"), "{shown:?}");
    // The machine takes the answer and says nothing about it: the person is not told that it counts.
    let sent = || Some(here.run("ask-answer", &["build:w", "a"])).filter(|told| !told.stderr.contains("nothing was sent"));
    let answered = until("the answer is sent", sent);
    assert!(answered.code() == 6 && answered.stderr.contains("may have it or not"), "{answered:?}");
    assert!(here.names("..").iter().all(|name| name != "pwned"), "a word of the enemy was executed");
}

mod promises {
    use super::*;

    #[test]
    fn a_name_in_the_configuration_is_never_an_option_of_ssh() {
        let world = World::new();
        for (section, problem) in [
            ("[peers.build]\nssh = '-oProxyCommand=touch pwned'", "peers.build.ssh: is no host"),
            ("[peers.build]\nssh = 'a b'", "peers.build.ssh: is no host"),
            ("[peers.Build]\nssh = 'a'", "peers.Build: is no name of a machine"),
            ("[peers.all]\nssh = 'a'", "peers.all: is no name of a machine"),
            ("[peers.build]\nssh = 'a'\nprogram = 'ask-answer; touch pwned'", "peers.build.program: is no plain path"),
            ("[peers.build]\nssh = 'a'\nmailbox = '~/m'", "peers.build.mailbox: is not an absolute path"),
            ("[peers.build]\nssh = 'a'\nssh_options = ['otherhost']", "peers.build.ssh_options: `otherhost` is no option of ssh"),
            ("[peers.build]\nssh = 'a'\nssh_options = ['-p', '1', 'b']", "peers.build.ssh_options: `b` is no option of ssh"),
            ("[peers.build]\nhost = 'a'", "did you mean `peers.build."),
        ] {
            world.configure(section);
            let refused = world.run("ask-answer", &["list", "--host", "build"]);
            assert!(refused.code() == 5 && refused.words().contains(problem), "{section}: {refused:?}");
        }
        configure(&world, &[]);
    }
}
