//! The watcher as a service: the unit that `askbox init` writes, and what the watcher tells its service manager.

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use crate::support::faults::{self, LIMIT, Place, output, words};

fn askbox(place: &Place, args: &[&str]) -> std::process::Output {
    let mut command = place.command("relaunch");
    let mut askbox = Command::new(env!("CARGO_BIN_EXE_askbox"));
    askbox.env_clear().envs(command.get_envs().filter_map(|(k, v)| Some((k, v?)))).current_dir(&place.root).args(args);
    command = askbox;
    output(&mut command)
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let place = Place::new();
    let out = askbox(&place, &["init", "--service"]);
    assert!(out.status.success(), "{}", words(&out));
    let unit = place.root.join(".config/systemd/user/askbox.service");
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), unit.to_str().expect("UTF-8"));
    assert!(words(&out).contains("systemctl --user enable --now askbox.service"), "{}", words(&out));
    let text = std::fs::read_to_string(&unit).expect("the unit");
    assert!(text.contains(&format!("ExecStart=\"{}\" watch", env!("CARGO_BIN_EXE_relaunch"))), "{text}");
    assert!(text.contains(&format!("Environment=\"ASKBOX_DIR={}\"", place.mailbox().display())), "{text}");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["--user", "--man=no", "--recursive-errors=no", "verify"]).arg(&unit).env("XDG_RUNTIME_DIR", &place.root);
    match verify.output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("note: there is no systemd-analyze here: the unit was not verified")
        }
        other => {
            let out = other.expect("systemd-analyze runs");
            assert!(out.status.success() && words(&out).trim().is_empty(), "{}\n{text}", words(&out));
        }
    }
}

#[test]
fn launchds_property_list_parses_and_says_what_it_should() {
    let service = askbox::surface::askbox::service_files::Service {
        relaunch: "/opt/a & b/<relaunch>".into(),
        path: "/usr/bin:/o'p\"t/bin".into(),
        mailbox: Some("/q & <a>".into()),
        config: None,
    };
    let list = service.launchd(std::path::Path::new("/log & <file>")).expect("a property list");
    let mut parse = Command::new("python3");
    parse.args(["-c", "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.argv[1].encode())))", &list]);
    let out = match parse.output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return eprintln!("note: there is no python3 here: the property list was not parsed");
        }
        other => other.expect("python3 runs"),
    };
    assert!(out.status.success(), "{}\n{list}", words(&out));
    let parsed: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
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
    let place = Place::new();
    assert!(askbox(&place, &["init", "--service"]).status.success());
    assert!(askbox(&place, &["init", "--service"]).status.success(), "the same again is no conflict");
    let unit = place.root.join(".config/systemd/user/askbox.service");
    std::fs::write(&unit, "[Service]\nExecStart=/bin/mine\n").expect("a file");
    let out = askbox(&place, &["init", "--service"]);
    assert_eq!(out.status.code(), Some(4), "{}", words(&out));
    assert!(words(&out).contains("--force") && std::fs::read_to_string(&unit).expect("it is there").contains("mine"));
    assert!(askbox(&place, &["init", "--service", "--force"]).status.success());
    assert!(!std::fs::read_to_string(&unit).expect("it is there").contains("mine"));
}

#[test]
fn the_service_manager_is_told_when_it_is_ready_what_it_does_and_that_it_stops() {
    let place = Place::new();
    place.make_mailbox();
    let socket = place.root.join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(LIMIT)).expect("a limit");
    let log = std::fs::File::create(place.root.join("watcher.log")).expect("a log");
    let mut watcher =
        faults::Running(place.command("relaunch").arg("watch").env("NOTIFY_SOCKET", &socket).stderr(log).spawn().expect("relaunch starts"));
    let told = |words: &str| {
        let mut all = String::new();
        while !all.contains(words) {
            let mut buffer = [0; 4096];
            let n = manager.recv(&mut buffer).unwrap_or_else(|e| panic!("{words} was not told ({e}), but: {all}"));
            all.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    };
    told("READY=1");
    std::fs::write(place.agent("pause.tool"), "").expect("a file");
    place.ok("ask-post", &["-w", "docs", "Merge?"]);
    place.ok("ask-answer", &["docs", "yes"]);
    told("STATUS=1 running, 0 waiting to be launched");
    faults::until("the agent is at work", || place.agent("at.tool").exists());
    let pid = rustix::process::Pid::from_raw(watcher.pid()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
    told("STOPPING=1");
    let status = watcher.0.wait().expect("its status");
    assert!(status.success(), "{status}");
    // Its run goes on without it.
    assert!(!place.orphans().is_empty());
    std::fs::remove_file(place.agent("pause.tool")).expect("a file");
    faults::until("the run is delivered", || place.state("docs") == "delivered");
}
