//! `askbox doctor` finds what needs a hand, one test a finding, and the command that it names mends it.

mod waits;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::support::cli::Scene;
use serde_json::Value;

/// An agent that says that all went well.
const AGENT: &str = r#"#!/bin/sh
for word; do case $word in --session-id=*) session=${word#*=} ;; --resume=*) session=${session:-${word#*=}} ;; esac; done
read -r message
echo '{"type":"system","subtype":"init","session_id":"'$session'"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"completed","session_id":"'$session'"}'
cat > /dev/null
"#;

/// A machine on which all is well.
fn well() -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.file("agent"), AGENT).unwrap();
    scene.ok("chmod +x agent && mkdir -p .config/askbox");
    configure(&scene, "");
    scene.ok("ask-post -w seed 'Make the mailbox' && ask-answer cancel seed");
    assert_eq!(findings(&scene), [] as [Value; 0]);
    scene
}

fn configure(scene: &Scene, more: &str) {
    let agent = scene.file("agent");
    let config = format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\n{more}", agent.display());
    std::fs::write(scene.file(".config/askbox/config.toml"), config).unwrap();
}

fn report(scene: &Scene) -> Value {
    let ran = scene.run("askbox doctor --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    let ok = report["findings"].as_array().unwrap().is_empty();
    assert_eq!((report["ok"].as_bool().unwrap(), ran.status), (ok, i32::from(!ok)), "{report}");
    report
}

fn findings(scene: &Scene) -> Vec<Value> {
    report(scene)["findings"].as_array().unwrap().clone()
}

/// The only thing that was found, which must be of this kind and about this subject.
#[track_caller]
fn finds(scene: &Scene, kind: &str, subject: &str) -> String {
    let found = findings(scene);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["kind"], kind, "{found:#?}");
    assert!(found[0]["subject"].as_str().unwrap().contains(subject), "{found:#?}");
    found[0]["mend"].as_str().unwrap().to_owned()
}

/// [`finds`], then runs the command that mends it, after which all is well.
#[track_caller]
fn finds_and_mends(scene: &Scene, kind: &str, subject: &str) {
    let mend = finds(scene, kind, subject);
    let ran = scene.run(&mend);
    assert_eq!(findings(scene), [] as [Value; 0], "{mend}: {}{}", ran.stdout, ran.stderr);
}

/// An editor that writes this.
fn editor(scene: &Scene, text: &str) -> String {
    std::fs::write(scene.file("right"), text).unwrap();
    std::fs::write(scene.file("ed"), format!("#!/bin/sh\ncp {} \"$1\"\n", scene.file("right").display())).unwrap();
    scene.ok("chmod +x ed");
    format!("export EDITOR={}; ", scene.file("ed").display())
}

fn answered(scene: &Scene, id: &str) {
    scene.ok(&format!("ask-post -w {id} 'Go?' -t yes_no && ask-answer {id} yes"));
}

/// A watcher, until it is dropped.
struct Watcher(Child);

impl Watcher {
    fn start(scene: &Scene) -> Self {
        let programs = std::path::Path::new(env!("CARGO_BIN_EXE_relaunch"));
        let child = Command::new(programs)
            .args(["watch", "--mailbox"])
            .arg(scene.mailbox())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", scene.root())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let watcher = Self(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while report(scene)["watcher"] != true {
            assert!(Instant::now() < deadline, "the watcher never showed");
            std::thread::sleep(Duration::from_millis(20));
        }
        watcher
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes an answer's age: its own time, and its file's.
fn backdate(scene: &Scene, path: &str) {
    let file = scene.file(path);
    let text = std::fs::read_to_string(&file).unwrap();
    let year = text.find(r#""at":""#).unwrap() + 6;
    std::fs::write(&file, format!("{}2020{}", &text[..year], &text[year + 4..])).unwrap();
}

#[test]
fn a_machine_without_a_mailbox_is_well() {
    let scene = Scene::new();
    std::fs::write(scene.file("agent"), AGENT).unwrap();
    scene.ok("chmod +x agent && mkdir -p .config/askbox");
    configure(&scene, "");
    let out = scene.ok("askbox doctor");
    assert!(out.contains("There is no mailbox yet") && out.contains("Nothing is to be mended"), "{out}");
    assert!(!scene.mailbox().exists(), "the doctor made a mailbox");
}

#[test]
fn what_is_in_force_is_told_with_its_source() {
    let scene = well();
    configure(&scene, "env = { KEY = 'secret' }\n");
    let values = report(&scene)["in_force"].clone();
    let of = |key: &str| values.as_array().unwrap().iter().find(|v| v["key"] == key).unwrap_or_else(|| panic!("no {key}")).clone();
    assert_eq!((of("relaunch.attempts")["value"].as_u64(), of("relaunch.attempts")["from"].as_str()), (Some(1), Some("file")));
    assert_eq!((of("limits.grace")["value"].as_str(), of("limits.grace")["from"].as_str()), (Some("30s"), Some("default")));
    assert_eq!(of("mailbox")["from"], "$ASKBOX_DIR");
    assert_eq!(of("runner.claude.program")["value"], scene.file("agent").to_str().unwrap());
    assert_eq!(of("runner.claude.env")["value"]["KEY"], "(set)");
    for key in askbox::config::keys() {
        of(&key.path.replace('*', "claude"));
    }
    let by_flag = scene.ok(&format!("askbox doctor --json --mailbox {} | jq -r '.in_force[0].from'", scene.mailbox().display()));
    assert_eq!(by_flag, "--mailbox");
}

#[test]
fn an_unreadable_configuration() {
    let scene = well();
    configure(&scene, "[limit]\ngrace = '3s'\n");
    // Without it the default agent is looked for as well.
    scene.ok("mkdir -p on && cp agent on/claude");
    let found: Vec<Value> = findings(&scene).into_iter().filter(|f| f["kind"] == "config").collect();
    assert_eq!(found.len(), 1);
    assert!(found[0]["problem"].as_str().unwrap().contains("did you mean `limits.grace`"), "{found:#?}");
    assert!(found[0]["mend"].as_str().unwrap().starts_with("${EDITOR:-vi} "));
    scene.ok("rm .config/askbox/config.toml");
    let ran = scene.run("ASKBOX_CONFIG=$PWD/none.toml PATH=$PWD/on:$PATH askbox doctor");
    assert!(ran.stdout.contains("which does not exist") && ran.stdout.contains("$ askbox init\n"), "{}", ran.stdout);
}

#[test]
fn a_configuration_that_others_may_write() {
    let scene = well();
    scene.ok("chmod 666 .config/askbox/config.toml");
    finds_and_mends(&scene, "config_mode", "config.toml");
}

#[test]
fn a_missing_agent_program() {
    let scene = well();
    scene.ok("mv agent away");
    assert!(finds(&scene, "no_runner", "runner.claude.program").contains("config.toml"));
}

#[test]
fn a_missing_claude_is_told_with_how_to_install_it() {
    let scene = Scene::new();
    let ran = scene.run("askbox=$(command -v askbox); PATH=/nowhere; $askbox doctor");
    assert!(ran.stdout.contains("no_runner") && ran.stdout.contains("$ npm install -g @anthropic-ai/claude-code"), "{}", ran.stdout);
}

#[test]
fn a_missing_notifier_and_a_missing_folder() {
    let scene = well();
    configure(&scene, "[notify]\ncommand = ['/no/such/program']\n");
    finds(&scene, "no_notifier", "notify.command");
    let agent = scene.file("agent");
    let roots = scene.file("work");
    let config = format!("[relaunch]\ncwd_roots = ['{}']\n[runner.claude]\nprogram = '{}'\n", roots.display(), agent.display());
    std::fs::write(scene.file(".config/askbox/config.toml"), config).unwrap();
    finds_and_mends(&scene, "no_folder", "relaunch.cwd_roots");
}

#[test]
fn a_missing_program_beside_this_one() {
    let scene = well();
    scene.ok("mkdir alone && cp \"$(command -v askbox)\" alone");
    let ran = scene.run("PATH=/nowhere alone/askbox doctor");
    for name in ["ask-post", "ask-answer", "checkpoint", "relaunch"] {
        assert!(ran.stdout.contains(&format!("no_program: {name}: ")), "{}", ran.stdout);
    }
}

#[test]
fn folders_and_files_that_others_may_write_or_look_into() {
    let scene = well();
    for (make, subject) in [
        ("chmod 777 m", "/m"),
        ("chmod 755 m", "/m"),
        ("chmod 775 m/pending", "pending"),
        ("chmod 500 m/running", "running"),
        ("chmod 666 m/closed/*", "closed/seed."),
        ("chmod 622 m/audit.jsonl", "audit.jsonl"),
        ("chmod 200 m/closed/*", "closed/seed."),
    ] {
        scene.ok(make);
        finds_and_mends(&scene, "mode", subject);
    }
}

#[test]
fn what_belongs_to_somebody_else() {
    let scene = well();
    if scene.run("chown 4242 m/closed/*").status != 0 {
        eprintln!("only root can give files away");
        return;
    }
    let mend = finds(&scene, "owner", "closed/seed.");
    scene.ok(mend.strip_prefix("sudo ").unwrap());
    scene.ok("chown 4242 m/pending");
    let mend = finds(&scene, "owner", "pending");
    scene.ok(mend.strip_prefix("sudo ").unwrap());
    assert_eq!(findings(&scene), [] as [Value; 0]);
}

#[test]
fn links() {
    let scene = well();
    scene.ok("mv m/pending elsewhere && ln -s ../elsewhere m/pending");
    finds_and_mends(&scene, "link", "pending");
    scene.ok("ask-post -w other 'Really?' && mv m/pending/other.json file && ln -s ../../file m/pending/other.json");
    finds_and_mends(&scene, "link", "pending/other.json");
    scene.ok("mv m real && ln -s real m");
    let mend = finds(&scene, "link", "/m");
    scene.ok(&format!("{mend}; askbox doctor"));
}

#[test]
fn what_is_no_file_and_what_has_no_programs_name() {
    let scene = well();
    scene.ok("mkfifo m/answered/x.json");
    finds(&scene, "no_file", "answered/x.json");
    scene.ok("rm m/answered/x.json && echo '{}' > m/closed/x.json && touch -d '1 hour ago' m/closed/x.json");
    finds(&scene, "stray", "closed/x.json");
    scene.ok("rm m/closed/x.json && touch m/pending/x.json.tmp m/timers/x");
    // Young: somebody may be about to move it.
    assert_eq!(findings(&scene), [] as [Value; 0]);
    scene.ok("touch -d '2 hours ago' m/timers/x");
    finds_and_mends(&scene, "stray", "timers/x");
    scene.ok("touch -d '2 hours ago' m/pending/x.json.tmp");
    let mend = finds(&scene, "stray", "pending/x.json.tmp");
    scene.ok(&mend);
    finds(&scene, "quarantined", "x.json.tmp");
}

#[test]
fn temporary_files_of_dead_programs() {
    let scene = well();
    scene.ok("mkdir -p m/runs/w/q/1; for f in m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC; do touch $f; done");
    assert_eq!(findings(&scene), [] as [Value; 0], "they are young");
    scene.ok("touch -d '2 hours ago' m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC");
    let found = findings(&scene);
    assert_eq!(found.len(), 3, "{found:#?}");
    for finding in found {
        assert_eq!(finding["kind"], "leftover");
        scene.ok(finding["mend"].as_str().unwrap());
    }
    assert_eq!(findings(&scene), [] as [Value; 0]);
}

#[test]
fn a_question_that_was_moved_aside_and_never_put_back() {
    let scene = well();
    scene.ok(
        "ask-post -w lost 'Where am I?' >/dev/null; mv m/pending/lost.json m/pending/.tmpretired.lost.01a1ff87-0000-7000-8000-000000000000",
    );
    scene.ok("touch -d '2 hours ago' m/pending/.tmpretired.*");
    finds_and_mends(&scene, "half_done", ".tmpretired.lost");
    assert!(scene.ok("ask-answer show lost").contains("Where am I?"));
}

#[test]
fn stale_and_overdue_questions() {
    let scene = well();
    scene.ok(r#"echo '{"question":"Old?","workflow_id":"old","timestamp":"2020-01-01T00:00:00Z"}' > m/pending/old.json"#);
    assert!(finds(&scene, "stale", "old").starts_with("ask-answer show old"));
    scene.ok("ask-answer old 'at last' && rm m/answered/old.json && ask-post -w kept 'In time?' --timeout 1ms && sleep 0.01");
    assert!(finds(&scene, "overdue", "kept").starts_with("ask-answer show kept"));
    scene.ok("ask-answer cancel kept && ask-post -w silent 'In time?' -t yes_no --timeout 1ms --default no && sleep 0.01");
    assert_eq!(finds(&scene, "overdue", "silent"), "relaunch watch");
    scene.ok("ask-answer cancel silent && ask-post -w young 'Just now?'");
    assert_eq!(findings(&scene), [] as [Value; 0]);
    assert_eq!(scene.run("sleep 0.01; askbox doctor --stale 1ms").status, 1);
    assert_eq!(scene.run("askbox doctor --stale soon").status, 2);
}

#[test]
fn a_question_that_cannot_be_read_or_has_the_wrong_name() {
    let scene = well();
    scene.ok("echo '{' > m/pending/torn.json");
    assert_eq!(findings(&scene), [] as [Value; 0], "it may still be written");
    scene.ok("touch -d '1 minute ago' m/pending/torn.json");
    let mend = finds(&scene, "unreadable", "pending/torn.json");
    let editor = editor(&scene, r#"{"question":"Whole?","workflow_id":"torn"}"#);
    scene.ok(&(editor + &mend));
    assert_eq!(findings(&scene), [] as [Value; 0]);
    scene.ok("mv m/pending/torn.json m/pending/wrong.json");
    finds_and_mends(&scene, "misnamed", "pending/wrong.json");
    assert!(scene.ok("ask-answer show torn").contains("Whole?"));
}

#[test]
fn a_question_whose_checkpoint_is_gone() {
    let scene = well();
    scene.ok("checkpoint save w --step one && ask-post -w w 'Go?' && rm m/checkpoints/w.json");
    let mend = finds(&scene, "checkpoint", "w");
    scene.ok(&format!("echo '{{}}' > FILE; {mend}"));
    assert_eq!(findings(&scene), [] as [Value; 0]);
}

#[test]
fn a_checkpoint_that_cannot_be_resumed_from() {
    let scene = well();
    scene.ok("echo '{\"workflow_id\":\"other\"}' > m/checkpoints/w.json");
    let mend = finds(&scene, "checkpoint", "w");
    let editor = editor(&scene, "{\"workflow_id\":\"w\"}");
    assert!(scene.ok(&(editor + &mend)).starts_with("valid: "));
    assert_eq!(findings(&scene), [] as [Value; 0]);
}

#[test]
fn an_answer_that_no_watcher_takes_up() {
    let scene = well();
    answered(&scene, "w");
    assert_eq!(findings(&scene), [] as [Value; 0], "it is young");
    backdate(&scene, "m/answered/w.json");
    assert_eq!(finds(&scene, "unclaimed", "w"), "relaunch watch");
    let _watcher = Watcher::start(&scene);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !findings(&scene).is_empty() {
        assert!(Instant::now() < deadline, "{:#?}", findings(&scene));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_answer_that_the_watcher_has_passed_over() {
    let scene = well();
    let watcher = Watcher::start(&scene);
    // A watcher that is stopped is there, and does nothing.
    let pid = watcher.0.id();
    scene.ok(&format!("kill -STOP {pid}"));
    answered(&scene, "w");
    backdate(&scene, "m/answered/w.json");
    finds_and_mends(&scene, "stuck", "w");
    scene.ok(&format!("kill -CONT {pid}"));
}

#[test]
fn half_done_transitions_are_completed() {
    let scene = well();
    // Answered, and a crash before the pending copy was removed.
    scene.ok("ask-post -w one 'Go?' -t yes_no && cp m/pending/one.json kept && ask-answer one yes && cp kept m/pending/one.json");
    finds_and_mends(&scene, "half_done", "one");
    // Withdrawn, and a crash before the rename.
    scene.ok("ask-post -w two 'Go?' && ask-answer cancel two && mv m/closed/two.*.json m/pending/two.json");
    finds_and_mends(&scene, "half_done", "two");
    // Delivered, and a crash before the rename.
    answered(&scene, "three");
    scene.ok("relaunch three && f=$(ls m/closed/three.*) && mv $f m/running/");
    let run = scene.ok("ls m/runs/three/*/1/run.json");
    let record = std::fs::read_to_string(scene.file(&run)).unwrap();
    let old = record.replace("\"started_at\": \"2", "\"started_at\": \"1");
    assert_ne!(record, old);
    std::fs::write(scene.file(&run), old).unwrap();
    finds_and_mends(&scene, "half_done", "three");
    assert_eq!(scene.ok("relaunch status three --json | jq -r .state"), "delivered");
}

#[test]
fn a_round_of_which_the_claimer_died() {
    let scene = well();
    answered(&scene, "w");
    scene.ok("q=$(jq -r .question_id m/answered/w.json) && mv m/answered/w.json m/running/w.$q.json && touch -d '1 hour ago' m/running/*");
    finds_and_mends(&scene, "orphaned", "w");
    assert_eq!(scene.ok("relaunch status w --json | jq -r .state"), "delivered");
}

#[test]
fn an_attempt_that_is_due_and_that_nobody_makes() {
    let scene = well();
    let agent = std::fs::read_to_string(scene.file("agent")).unwrap();
    std::fs::write(scene.file("agent"), "#!/bin/sh\nexit 1\n").unwrap();
    scene.ok("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
    answered(&scene, "w");
    assert_eq!(scene.run("relaunch w").status, 1);
    // It waits for its time, and nobody is there to see to it then.
    assert_eq!(finds(&scene, "unclaimed", "w"), "relaunch watch");
    let run = scene.ok("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(scene.file(&run)).unwrap();
    std::fs::write(scene.file(&run), record.replace("\"retry_at\": \"2", "\"retry_at\": \"1")).unwrap();
    std::fs::write(scene.file("agent"), agent).unwrap();
    finds_and_mends(&scene, "stuck", "w");
}

#[test]
fn parked_and_interrupted_runs() {
    let scene = well();
    let agent = std::fs::read_to_string(scene.file("agent")).unwrap();
    std::fs::write(scene.file("agent"), "#!/bin/sh\nexit 1\n").unwrap();
    answered(&scene, "w");
    assert_eq!(scene.run("relaunch w").status, 1);
    std::fs::write(scene.file("agent"), agent).unwrap();
    assert_eq!(finds(&scene, "parked", "w"), "relaunch retry w");
    let run = scene.ok("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(scene.file(&run)).unwrap();
    std::fs::write(scene.file(&run), record.replace("\"parked\"", "\"interrupted\"")).unwrap();
    finds_and_mends(&scene, "interrupted", "w");
}

#[test]
fn a_run_whose_record_cannot_be_read() {
    let scene = well();
    answered(&scene, "w");
    scene.ok(
        "relaunch w && f=$(ls m/closed/w.*) && mv $f m/parked/ && cp m/runs/w/*/1/run.json kept && echo '{' > $(ls m/runs/w/*/1/run.json)",
    );
    let mend = finds(&scene, "unreadable", "runs/w/");
    let record = std::fs::read_to_string(scene.file("kept")).unwrap();
    let editor = editor(&scene, &record);
    scene.ok(&(editor + &mend));
    finds(&scene, "parked", "w");
}

#[test]
fn a_record_of_a_workflow_that_cannot_be_read() {
    let scene = well();
    scene.ok("echo 'no json' > m/workflows/w.json");
    let mend = finds(&scene, "unreadable", "workflows/w.json");
    let editor = editor(&scene, "{\"workflow_id\":\"w\"}");
    scene.ok(&(editor + &mend));
    assert_eq!(findings(&scene), [] as [Value; 0]);
}

#[test]
fn what_lies_in_quarantine_can_be_edited_and_goes_back_where_it_was() {
    let scene = well();
    let mailbox = askbox::mailbox::Mailbox::open(scene.mailbox()).unwrap();
    scene.ok("echo '{' > m/pending/w.json && sleep 3.2");
    askbox::mailbox::intake::take_in(&mailbox, "w.json").unwrap();
    let mend = finds(&scene, "quarantined", "quarantine/w.json");
    let problem = findings(&scene)[0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("ends in the middle of the JSON") && problem.contains("to give it up: rm -f"), "{problem}");
    let editor = editor(&scene, r#"{"question":"Whole?","workflow_id":"w"}"#);
    scene.ok(&(editor + &mend));
    assert_eq!(findings(&scene), [] as [Value; 0]);
    assert!(scene.ok("ask-answer show w").contains("Whole?"));
    scene.ok("echo why > m/quarantine/x.json.reason && touch -d '1 hour ago' m/quarantine/*");
    finds_and_mends(&scene, "leftover", "x.json.reason");
}

#[test]
fn a_mailbox_named_by_a_flag_is_named_in_the_commands_too() {
    let scene = well();
    scene.ok("ask-post -w kept 'In time?' --timeout 1ms --mailbox other && chmod 700 other && sleep 0.01");
    let out = scene.run("askbox doctor --mailbox other").stdout;
    assert!(out.contains(&format!("$ ask-answer show kept --mailbox {}\n", scene.file("other").display())), "{out}");
}
