//! `askbox doctor`: each test makes one kind of damage, which doctor must report, and runs the command that doctor suggests for it.

mod agent_version;
mod cannot_run;
mod history;
mod settings;
mod waits;

use serde_json::Value;

use crate::support::{Running, World, needs, until};

/// An agent that says that all went well.
const AGENT: &str = r#"#!/bin/sh
for word; do case $word in --session-id=*) session=${word#*=} ;; --resume=*) session=${session:-${word#*=}} ;; esac; done
read -r message
echo '{"type":"system","subtype":"init","session_id":"'$session'"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"completed","session_id":"'$session'"}'
cat > /dev/null
"#;

/// A machine on which all is well.
fn well() -> World {
    let world = World::new();
    std::fs::write(world.path("agent"), AGENT).unwrap();
    world.sh("chmod +x agent && mkdir -p .config/askbox");
    configure(&world, "");
    world.sh("ask-post -w seed 'Make the mailbox' && ask-answer cancel seed");
    assert_eq!(findings(&world), [] as [Value; 0]);
    world
}

fn configure(world: &World, more: &str) {
    let agent = world.path("agent");
    let config = format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\n{more}", agent.display());
    std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
}

fn report(world: &World) -> Value {
    let ran = world.shell("askbox doctor --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    let ok = report["findings"].as_array().unwrap().is_empty();
    assert_eq!((report["ok"].as_bool().unwrap(), ran.code()), (ok, i32::from(!ok)), "{report}");
    report
}

fn findings(world: &World) -> Vec<Value> {
    report(world)["findings"].as_array().unwrap().clone()
}

/// The only thing that was found, which must be of this kind and about this subject.
#[track_caller]
fn finds(world: &World, kind: &str, subject: &str) -> String {
    let found = findings(world);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["kind"], kind, "{found:#?}");
    assert!(found[0]["subject"].as_str().unwrap().contains(subject), "{found:#?}");
    found[0]["mend"].as_str().unwrap().to_owned()
}

/// [`finds`], then runs the command that mends it, after which all is well.
#[track_caller]
fn finds_and_mends(world: &World, kind: &str, subject: &str) {
    let mend = finds(world, kind, subject);
    let ran = world.shell(&mend);
    assert_eq!(findings(world), [] as [Value; 0], "{mend}: {}{}", ran.stdout, ran.stderr);
}

/// An editor that writes this.
fn editor(world: &World, text: &str) -> String {
    std::fs::write(world.path("right"), text).unwrap();
    std::fs::write(world.path("ed"), format!("#!/bin/sh\ncp {} \"$1\"\n", world.path("right").display())).unwrap();
    world.sh("chmod +x ed");
    format!("export EDITOR={}; ", world.path("ed").display())
}

fn answered(world: &World, id: &str) {
    world.sh(&format!("ask-post -w {id} 'Go?' -t yes_no && ask-answer {id} yes"));
}

/// Makes an answer's age: its own time, and its file's.
fn backdate(world: &World, path: &str) {
    let file = world.path(path);
    let text = std::fs::read_to_string(&file).unwrap();
    let year = text.find(r#""at":""#).unwrap() + 6;
    std::fs::write(&file, format!("{}2020{}", &text[..year], &text[year + 4..])).unwrap();
}

#[test]
fn doctor_reports_nothing_where_no_mailbox_exists() {
    let world = World::new();
    std::fs::write(world.path("agent"), AGENT).unwrap();
    world.sh("chmod +x agent && mkdir -p .config/askbox");
    configure(&world, "");
    let out = world.sh("askbox doctor");
    assert!(out.contains("There is no mailbox yet") && out.contains("No problems found"), "{out}");
    assert!(!world.mailbox().exists(), "the doctor made a mailbox");
}

#[test]
fn doctor_shows_each_setting_in_force_with_its_source() {
    needs!("jq");
    let world = well();
    configure(&world, "env = { KEY = 'secret' }\n");
    let values = report(&world)["in_force"].clone();
    let of = |key: &str| values.as_array().unwrap().iter().find(|v| v["key"] == key).unwrap_or_else(|| panic!("no {key}")).clone();
    assert_eq!((of("relaunch.attempts")["value"].as_u64(), of("relaunch.attempts")["from"].as_str()), (Some(1), Some("file")));
    assert_eq!((of("limits.grace")["value"].as_str(), of("limits.grace")["from"].as_str()), (Some("30s"), Some("default")));
    assert_eq!(of("mailbox")["from"], "$ASKBOX_DIR");
    assert_eq!(of("runner.claude.program")["value"], world.path("agent").to_str().unwrap());
    assert_eq!(of("runner.claude.env")["value"]["KEY"], "(set)");
    for key in askbox::config::keys().filter(|key| !key.path.starts_with("target.") && !key.path.starts_with("peers.")) {
        of(&key.path.replace('*', "claude"));
    }
    let by_flag = world.sh(&format!("askbox doctor --json --mailbox {} | jq -r '.in_force[0].from'", world.mailbox().display()));
    assert_eq!(by_flag, "--mailbox");
}

#[test]
fn doctor_reports_an_unreadable_configuration() {
    let world = well();
    configure(&world, "[limit]\ngrace = '3s'\n");
    // Without it the default agent is looked for as well.
    world.sh("mkdir -p on && cp agent on/claude");
    let found: Vec<Value> = findings(&world).into_iter().filter(|f| f["kind"] == "config").collect();
    assert_eq!(found.len(), 1);
    assert!(found[0]["problem"].as_str().unwrap().contains("did you mean `limits.grace`"), "{found:#?}");
    assert!(found[0]["mend"].as_str().unwrap().starts_with("${EDITOR:-vi} "));
    world.sh("rm .config/askbox/config.toml");
    let ran = world.shell("ASKBOX_CONFIG=$PWD/none.toml PATH=$PWD/on:$PATH askbox doctor");
    assert!(ran.stdout.contains("which does not exist") && ran.stdout.contains("$ askbox init\n"), "{}", ran.stdout);
}

#[test]
fn doctor_reports_a_configuration_that_others_may_write() {
    let world = well();
    world.sh("chmod 666 .config/askbox/config.toml");
    finds_and_mends(&world, "config_mode", "config.toml");
}

#[test]
fn doctor_reports_a_missing_agent_program() {
    let world = well();
    world.sh("mv agent away");
    assert!(finds(&world, "no_runner", "runner.claude.program").contains("config.toml"));
}

#[test]
fn doctor_says_how_to_install_a_missing_claude() {
    let world = World::new();
    let ran = world.shell("askbox=$(command -v askbox); PATH=/nowhere; $askbox doctor");
    assert!(ran.stdout.contains("no_runner") && ran.stdout.contains("$ npm install -g @anthropic-ai/claude-code"), "{}", ran.stdout);
}

#[test]
fn doctor_shows_a_target_and_keeps_its_address_to_itself() {
    let world = well();
    configure(&world, "[target.phone]\nntfy = 'https://ntfy.sh/secret-topic'\n");
    let out = world.sh("askbox doctor --config");
    assert!(out.contains("target.phone.ntfy_replies") && out.contains("Target phone (ntfy): never told, never confirmed."), "{out}");
    assert!(!out.contains("secret-topic"), "{out}");
    configure(&world, "[target.phone]\nperson = 'ann'\n");
    finds(&world, "no_notifier", "target.phone");
    configure(&world, "[target.phone]\nwebhook = 'https://example.org/'\nsecret_file = '/no/such/file'\n");
    finds(&world, "no_secret", "target.phone.secret_file");
}

#[test]
fn doctor_reports_a_missing_notifier_and_a_missing_folder() {
    let world = well();
    configure(&world, "[notify]\ncommand = ['/no/such/program']\n");
    finds(&world, "no_notifier", "notify.command");
    let agent = world.path("agent");
    let roots = world.path("work");
    let config = format!("[relaunch]\ncwd_roots = ['{}']\n[runner.claude]\nprogram = '{}'\n", roots.display(), agent.display());
    std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
    finds_and_mends(&world, "no_folder", "relaunch.cwd_roots");
}

#[test]
fn doctor_reports_missing_programs_of_askbox() {
    let world = well();
    world.sh("mkdir alone && cp \"$(command -v askbox)\" alone");
    let ran = world.shell("PATH=/nowhere alone/askbox doctor");
    for name in ["ask-post", "ask-answer", "checkpoint", "relaunch"] {
        assert!(ran.stdout.contains(&format!("no_program: {name}: ")), "{}", ran.stdout);
    }
}

#[test]
fn doctor_reports_folders_and_files_that_others_may_write_or_read() {
    let world = well();
    for (make, subject) in [
        ("chmod 777 m", "/m"),
        ("chmod 755 m", "/m"),
        ("chmod 775 m/pending", "pending"),
        ("chmod 500 m/running", "running"),
        ("chmod 666 m/closed/*", "closed/seed."),
        ("chmod 622 m/audit.jsonl", "audit.jsonl"),
        ("chmod 200 m/closed/*", "closed/seed."),
    ] {
        world.sh(make);
        finds_and_mends(&world, "mode", subject);
    }
}

#[test]
fn doctor_reports_files_of_another_user() {
    needs!("root");
    let world = well();
    world.sh("chown 4242 m/closed/*");
    let mend = finds(&world, "owner", "closed/seed.");
    world.sh(mend.strip_prefix("sudo ").unwrap());
    world.sh("chown 4242 m/pending");
    let mend = finds(&world, "owner", "pending");
    world.sh(mend.strip_prefix("sudo ").unwrap());
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_links_in_the_mailbox() {
    let world = well();
    world.sh("mv m/pending elsewhere && ln -s ../elsewhere m/pending");
    finds_and_mends(&world, "link", "pending");
    world.sh("ask-post -w other 'Really?' && mv m/pending/other.json file && ln -s ../../file m/pending/other.json");
    finds_and_mends(&world, "link", "pending/other.json");
    world.sh("mkdir outside; ln -s ../outside m/costs || { rmdir m/costs && ln -s ../outside m/costs; }");
    finds_and_mends(&world, "link", "costs");
    world.sh("ln -s ../../outside m/runs/linked");
    finds_and_mends(&world, "link", "runs/linked");
    world.sh("mv m real && ln -s real m");
    let mend = finds(&world, "link", "/m");
    world.sh(&format!("{mend}; askbox doctor"));
}

#[test]
fn doctor_reports_entries_that_are_not_files_or_that_no_program_would_name_so() {
    let world = well();
    world.sh("mkfifo m/answered/x.json");
    finds(&world, "no_file", "answered/x.json");
    world.sh("rm m/answered/x.json && echo '{}' > m/closed/x.json && touch -d '1 hour ago' m/closed/x.json");
    finds(&world, "stray", "closed/x.json");
    world.sh("rm m/closed/x.json && touch m/pending/x.json.tmp m/timers/x");
    // Young: somebody may be about to move it.
    assert_eq!(findings(&world), [] as [Value; 0]);
    world.sh("touch -d '2 hours ago' m/timers/x");
    finds_and_mends(&world, "stray", "timers/x");
    world.sh("touch -d '2 hours ago' m/pending/x.json.tmp");
    let mend = finds(&world, "stray", "pending/x.json.tmp");
    world.sh(&mend);
    finds(&world, "quarantined", "x.json.tmp");
}

#[test]
fn doctor_reports_temporary_files_of_dead_programs() {
    let world = well();
    world.sh("mkdir -p m/runs/w/q/1; for f in m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC; do touch $f; done");
    assert_eq!(findings(&world), [] as [Value; 0], "they are young");
    world.sh("touch -d '2 hours ago' m/.tmpA m/pending/.tmpB m/runs/w/q/1/.tmpC");
    let found = findings(&world);
    assert_eq!(found.len(), 3, "{found:#?}");
    for finding in found {
        assert_eq!(finding["kind"], "leftover");
        world.sh(finding["mend"].as_str().unwrap());
    }
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_question_that_was_moved_aside_and_never_put_back() {
    let world = well();
    world.sh(
        "ask-post -w lost 'Where am I?' >/dev/null; mv m/pending/lost.json m/pending/.tmpretired.lost.01a1ff87-0000-7000-8000-000000000000",
    );
    world.sh("touch -d '2 hours ago' m/pending/.tmpretired.*");
    finds_and_mends(&world, "half_done", ".tmpretired.lost");
    assert!(world.sh("ask-answer show lost").contains("Where am I?"));
}

#[test]
fn doctor_reports_stale_and_overdue_questions() {
    let world = well();
    world.sh(r#"echo '{"question":"Old?","workflow_id":"old","timestamp":"2020-01-01T00:00:00Z"}' > m/pending/old.json"#);
    assert!(finds(&world, "stale", "old").starts_with("ask-answer show old"));
    world.sh("ask-answer old 'at last' && rm m/answered/old.json && ask-post -w kept 'In time?' --timeout 1ms && sleep 0.01");
    assert!(finds(&world, "overdue", "kept").starts_with("ask-answer show kept"));
    world.sh("ask-answer cancel kept && ask-post -w silent 'In time?' -t yes_no --timeout 1ms --default no && sleep 0.01");
    assert_eq!(finds(&world, "overdue", "silent"), "relaunch watch");
    world.sh("ask-answer cancel silent && ask-post -w young 'Just now?'");
    assert_eq!(findings(&world), [] as [Value; 0]);
    assert_eq!(world.shell("sleep 0.01; askbox doctor --stale 1ms").code(), 1);
    assert_eq!(world.shell("askbox doctor --stale soon").code(), 2);
}

#[test]
fn doctor_reports_a_question_that_cannot_be_read_or_has_the_wrong_name() {
    let world = well();
    world.sh("echo '{' > m/pending/torn.json");
    assert_eq!(findings(&world), [] as [Value; 0], "it may still be written");
    world.sh("touch -d '1 minute ago' m/pending/torn.json");
    let mend = finds(&world, "unreadable", "pending/torn.json");
    let editor = editor(&world, r#"{"question":"Whole?","workflow_id":"torn"}"#);
    world.sh(&(editor + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
    world.sh("mv m/pending/torn.json m/pending/wrong.json");
    finds_and_mends(&world, "misnamed", "pending/wrong.json");
    assert!(world.sh("ask-answer show torn").contains("Whole?"));
}

#[test]
fn doctor_reports_a_question_whose_checkpoint_is_gone() {
    let world = well();
    world.sh("checkpoint save w --step one && ask-post -w w 'Go?' && rm m/checkpoints/w.json");
    let mend = finds(&world, "checkpoint", "w");
    world.sh(&format!("echo '{{}}' > FILE; {mend}"));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_checkpoint_that_cannot_be_resumed_from() {
    let world = well();
    world.sh("echo '{\"workflow_id\":\"other\"}' > m/checkpoints/w.json");
    let mend = finds(&world, "checkpoint", "w");
    let editor = editor(&world, "{\"workflow_id\":\"w\"}");
    assert!(world.sh(&(editor + &mend)).starts_with("valid: "));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_an_answer_that_no_watcher_takes_up() {
    let world = well();
    answered(&world, "w");
    assert_eq!(findings(&world), [] as [Value; 0], "it is young");
    backdate(&world, "m/answered/w.json");
    assert_eq!(finds(&world, "unclaimed", "w"), "relaunch watch");
    let _watcher = world.watch();
    until("nothing is left to be mended", || findings(&world).is_empty());
}

#[test]
fn doctor_reports_an_answer_that_the_watcher_has_passed_over() {
    let world = well();
    let watcher = world.watch();
    // A watcher that is stopped is there, and does nothing.
    let pid = watcher.process.pid();
    world.sh(&format!("kill -STOP {pid}"));
    answered(&world, "w");
    backdate(&world, "m/answered/w.json");
    finds_and_mends(&world, "stuck", "w");
    world.sh(&format!("kill -CONT {pid}"));
}

#[test]
fn while_the_queue_is_paused_the_doctor_calls_no_answer_stuck_and_says_what_ends_the_pause() {
    let world = well();
    let watcher = world.watch();
    let pid = watcher.process.pid();
    world.sh(&format!("kill -STOP {pid}"));
    answered(&world, "w");
    backdate(&world, "m/answered/w.json");
    world.sh("relaunch pause");
    assert_eq!(finds(&world, "paused", "the queue"), "relaunch go");
    world.sh("relaunch go");
    finds_and_mends(&world, "stuck", "w");
    world.sh(&format!("kill -CONT {pid}"));
}

#[test]
fn doctor_completes_half_done_transitions() {
    needs!("jq");
    let world = well();
    // Answered, and a crash before the pending copy was removed.
    world.sh("ask-post -w one 'Go?' -t yes_no && cp m/pending/one.json kept && ask-answer one yes && cp kept m/pending/one.json");
    finds_and_mends(&world, "half_done", "one");
    // Withdrawn, and a crash before the rename.
    world.sh("ask-post -w two 'Go?' && ask-answer cancel two && mv m/closed/two.*.json m/pending/two.json");
    finds_and_mends(&world, "half_done", "two");
    // Delivered, and a crash before the rename.
    answered(&world, "three");
    world.sh("relaunch three && f=$(ls m/closed/three.*) && mv $f m/running/");
    let run = world.sh("ls m/runs/three/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    let old = record.replace("\"started_at\": \"2", "\"started_at\": \"1");
    assert_ne!(record, old);
    std::fs::write(world.path(&run), old).unwrap();
    finds_and_mends(&world, "half_done", "three");
    assert_eq!(world.sh("relaunch status three --json | jq -r .state"), "delivered");
}

#[test]
fn doctor_reports_a_round_whose_claimer_died() {
    needs!("jq");
    let world = well();
    answered(&world, "w");
    world.sh("q=$(jq -r .question_id m/answered/w.json) && mv m/answered/w.json m/running/w.$q.json && touch -d '1 hour ago' m/running/*");
    finds_and_mends(&world, "orphaned", "w");
    assert_eq!(world.sh("relaunch status w --json | jq -r .state"), "delivered");
}

#[test]
fn doctor_reports_an_attempt_that_is_due_and_not_made() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    std::fs::write(world.path("agent"), "#!/bin/sh\nexit 1\n").unwrap();
    world.sh("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
    answered(&world, "w");
    let running = Running::start(&mut world.shell_command("exec relaunch w >/dev/null 2>&1"));
    until("its back-off", || world.shell("relaunch status w").stdout.contains("retrying"));
    running.kill();
    // It waits for its time, and nobody is there to see to it then.
    assert_eq!(finds(&world, "unclaimed", "w"), "relaunch watch");
    let run = world.sh("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    std::fs::write(world.path(&run), record.replace("\"retry_at\": \"2", "\"retry_at\": \"1")).unwrap();
    std::fs::write(world.path("agent"), agent).unwrap();
    finds_and_mends(&world, "stuck", "w");
}

#[test]
fn doctor_reports_parked_and_interrupted_runs() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    std::fs::write(world.path("agent"), "#!/bin/sh\nexit 1\n").unwrap();
    answered(&world, "w");
    assert_eq!(world.shell("relaunch w").code(), 1);
    std::fs::write(world.path("agent"), agent).unwrap();
    assert_eq!(finds(&world, "parked", "w"), "relaunch retry w");
    let run = world.sh("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    std::fs::write(world.path(&run), record.replace("\"parked\"", "\"interrupted\"")).unwrap();
    finds_and_mends(&world, "interrupted", "w");
}

#[test]
fn doctor_reports_a_run_record_that_cannot_be_read() {
    let world = well();
    answered(&world, "w");
    world.sh(
        "relaunch w && f=$(ls m/closed/w.*) && mv $f m/parked/ && cp m/runs/w/*/1/run.json kept && echo '{' > $(ls m/runs/w/*/1/run.json)",
    );
    let mend = finds(&world, "unreadable", "runs/w/");
    let record = std::fs::read_to_string(world.path("kept")).unwrap();
    let editor = editor(&world, &record);
    world.sh(&(editor + &mend));
    finds(&world, "parked", "w");
}

#[test]
fn doctor_reports_a_workflow_record_that_cannot_be_read() {
    let world = well();
    world.sh("echo 'no json' > m/workflows/w.json");
    let mend = finds(&world, "unreadable", "workflows/w.json");
    let editor = editor(&world, "{\"workflow_id\":\"w\"}");
    world.sh(&(editor + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn a_quarantined_file_can_be_edited_and_put_back() {
    let world = well();
    let mailbox = askbox::mailbox::Mailbox::open(world.mailbox()).unwrap();
    world.sh("echo '{' > m/pending/w.json && sleep 3.2");
    askbox::mailbox::transitions::intake::take_in(&mailbox, "w.json".as_ref()).unwrap();
    let mend = finds(&world, "quarantined", "quarantine/w.json");
    let problem = findings(&world)[0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("ends in the middle of the JSON") && problem.contains("to discard it: rm -f"), "{problem}");
    let editor = editor(&world, r#"{"question":"Whole?","workflow_id":"w"}"#);
    world.sh(&(editor + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
    assert!(world.sh("ask-answer show w").contains("Whole?"));
    world.sh("echo why > m/quarantine/x.json.reason && touch -d '1 hour ago' m/quarantine/*");
    finds_and_mends(&world, "leftover", "x.json.reason");
}

#[test]
fn doctor_names_the_mailbox_of_its_flag_in_the_commands_that_it_suggests() {
    let world = well();
    world.sh("ask-post -w kept 'In time?' --timeout 1ms --mailbox other && chmod 700 other && sleep 0.01");
    let out = world.shell("askbox doctor --mailbox other").stdout;
    assert!(out.contains(&format!("$ ask-answer show kept --mailbox {}\n", world.path("other").display())), "{out}");
}
