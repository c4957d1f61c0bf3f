//! The watcher as a service: the unit that `askbox init` writes, and what the watcher reports to its service manager.

use crate::support::{LIMIT, Signal, World, needs, output, program, signal, until};
use std::os::unix::net::UnixDatagram;

#[test]
fn systemd_finds_nothing_wrong_with_the_units_of_the_guides() {
    needs!("systemd-analyze");
    let world = World::new();
    std::fs::create_dir_all(world.path(".local/bin")).expect("a folder");
    std::os::unix::fs::symlink(program("askbox"), world.path(".local/bin/askbox")).expect("a link");
    for (guide, name) in
        [(include_str!("../../docs/guide-web.md"), "askbox-web.service"), (include_str!("../../docs/guide-sync.md"), "askbox-sync.service")]
    {
        let behind = guide.split_once(name).unwrap_or_else(|| panic!("no {name}")).1;
        let lines = behind.lines().skip_while(|line| !line.starts_with("    ")).map_while(|line| line.strip_prefix("    "));
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        let command = text.lines().find_map(|line| line.strip_prefix("ExecStart=%h/.local/bin/askbox ")).expect("a command");
        assert!(world.run("askbox", &[&command.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).status.success(), "{command}");
        let unit = world.path(name);
        std::fs::write(&unit, &text).expect("the unit");
        let mut verify = world.any_command("systemd-analyze");
        verify.args(["--user", "--man=no", "--recursive-errors=no", "verify"]).arg(&unit).env("XDG_RUNTIME_DIR", world.root());
        let out = output(&mut verify);
        assert!(out.status.success() && out.words().trim().is_empty(), "{}\n{text}", out.words());
    }
}

#[test]
fn the_property_list_for_launchd_parses_and_says_what_it_should() {
    needs!("python3");
    let world = askbox::commands::service::Service {
        relaunch: "/opt/a & b/<relaunch>".into(),
        path: "/usr/bin:/o'p\"t/bin".into(),
        mailbox: Some("/q & <a>".into()),
        config: None,
        variables: None,
    };
    let list = world.launchd(std::path::Path::new("/log & <file>")).expect("a property list");
    let mut parse = std::process::Command::new("python3");
    parse.args(["-c", "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.argv[1].encode())))", &list]);
    let parsed = output(&mut parse).ok().json();
    let expected = serde_json::json!({
        "Label": "askbox.watch",
        "ProgramArguments": ["/opt/a & b/<relaunch>", "watch"],
        "EnvironmentVariables": {"PATH": "/usr/bin:/o'p\"t/bin", "ASKBOX_DIR": "/q & <a>"},
        "RunAtLoad": true,
        "KeepAlive": {"SuccessfulExit": false},
        "ThrottleInterval": 10,
        "AbandonProcessGroup": true,
        "StandardErrorPath": "/log & <file>",
    });
    assert_eq!(parsed, expected, "{list}");
}

#[test]
fn a_unit_that_was_changed_by_hand_is_left_as_it_is() {
    let world = World::stepping("work");
    assert!(world.run("askbox", &["init", "--service"]).status.success());
    assert!(world.run("askbox", &["init", "--service"]).status.success(), "the same again is no conflict");
    let unit = world.path(".config/systemd/user/askbox.service");
    std::fs::write(&unit, "[Service]\nExecStart=/bin/mine\n").expect("a file");
    let out = world.run("askbox", &["init", "--service"]);
    assert_eq!(out.status.code(), Some(4), "{}", out.words());
    assert!(out.words().contains("--force") && std::fs::read_to_string(&unit).expect("it is there").contains("mine"));
    assert!(world.run("askbox", &["init", "--service", "--force"]).status.success());
    assert!(!std::fs::read_to_string(&unit).expect("it is there").contains("mine"));
}

#[test]
fn the_service_manager_is_told_ready_status_and_stopping() {
    let world = World::stepping("work");
    world.make_mailbox();
    let socket = world.path("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(LIMIT)).expect("a limit");
    let mut watcher = world.start_as_watcher(world.command("relaunch").arg("watch").env("NOTIFY_SOCKET", &socket));
    let told = |words: &str| {
        let mut all = String::new();
        while !all.contains(words) {
            let mut buffer = [0; 4096];
            let n = manager.recv(&mut buffer).unwrap_or_else(|e| panic!("{words} was not told ({e}), but: {all}"));
            all.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    };
    told("READY=1");
    world.hold("tool");
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    world.ok("ask-answer", &["docs", "yes"]);
    told("STATUS=1 running, 0 waiting to be launched");
    until("the agent is at work", || world.is_held("tool"));
    signal(watcher.process.pid(), Signal::TERM);
    told("STOPPING=1");
    let status = watcher.process.wait();
    assert!(status.success(), "{status}");
    // Its run goes on without it.
    assert!(!world.of_runs().is_empty());
    world.let_go("tool");
    until("the run is delivered", || world.state("docs") == "delivered");
}

#[test]
fn the_shells_credentials_are_not_in_the_unit() {
    let mut world = World::stepping("work");
    let quiet = world.run("askbox", &["init", "--service"]).ok();
    assert!(!quiet.words().contains("warning"), "{}", quiet.words());
    world.set_env(&[("ANTHROPIC_API_KEY", "sk-secret"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"), ("AWS_PROFILE", "unused")]);
    let out = world.run("askbox", &["init", "--service"]).ok();
    assert!(out.words().contains("does not get these variables of this shell: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL\n"), "{}", out.words());
    let unit = std::fs::read_to_string(world.path(".config/systemd/user/askbox.service")).expect("the unit");
    assert!(!unit.contains("sk-secret") && !out.words().contains("sk-secret"), "{unit}");
    let file = unit.lines().find_map(|l| l.strip_prefix("EnvironmentFile=-")).expect("a file of variables").to_owned();
    // The command of the hint writes exactly these, for this user alone; then nothing is left to be said.
    let command = out.words().lines().find_map(|l| l.split_once("with: (").map(|(_, c)| format!("({c}"))).expect("a command");
    world.sh(&command);
    let written = std::fs::read_to_string(&file).expect("the file of variables");
    let mut lines: Vec<&str> = written.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["ANTHROPIC_API_KEY=sk-secret", "ANTHROPIC_BASE_URL=http://127.0.0.1:9"]);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("it is there").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let again = world.run("askbox", &["init", "--service"]).ok();
    assert!(!again.words().contains("warning"), "{}", again.words());
}

mod promises {
    use super::*;

    #[test]
    fn systemd_finds_nothing_wrong_with_the_unit() {
        needs!("systemd-analyze");
        let world = World::stepping("work");
        let out = world.run("askbox", &["init", "--service"]);
        assert!(out.status.success(), "{}", out.words());
        let unit = world.path(".config/systemd/user/askbox.service");
        assert_eq!(out.stdout.trim(), unit.to_str().expect("UTF-8"));
        assert!(out.words().contains("systemctl --user enable --now askbox.service"), "{}", out.words());
        let text = std::fs::read_to_string(&unit).expect("the unit");
        assert!(text.contains(&format!("ExecStart=\"{}\" watch", program("relaunch"))), "{text}");
        assert!(text.contains(&format!("Environment=\"ASKBOX_DIR={}\"", world.mailbox().display())), "{text}");
        let mut verify = world.any_command("systemd-analyze");
        verify.args(["--user", "--man=no", "--recursive-errors=no", "verify"]).arg(&unit).env("XDG_RUNTIME_DIR", world.root());
        let out = output(&mut verify);
        assert!(out.status.success() && out.words().trim().is_empty(), "{}\n{text}", out.words());
    }
}
