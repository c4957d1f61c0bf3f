//! The doctor's view of things outside of the mailbox: programs, configuration, folders, targets.

use std::net::TcpListener;

use super::*;

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
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = server.local_addr().unwrap();
    configure(&world, &format!("[target.phone]\nntfy = 'http://{place}/secret-topic'\n"));
    let out = world.sh("askbox doctor --config");
    assert!(out.contains("target.phone.ntfy_replies") && out.contains("Target phone (ntfy): never told, never confirmed."), "{out}");
    assert!(!out.contains("secret-topic"), "{out}");
    configure(&world, "[target.phone]\nperson = 'ann'\n");
    finds(&world, "no_notifier", "target.phone");
    configure(&world, &format!("[target.phone]\nwebhook = 'http://{place}/'\nsecret_file = '/no/such/file'\n"));
    assert!(finds(&world, "no_secret", "target.phone.secret_file").ends_with(".config/askbox/config.toml"));
    let told = world.shell("askbox notify test </dev/null");
    assert_eq!(told.code(), 1, "{told:?}");
    let problem = "the secret in /no/such/file, the file that secret_file in the section of the target names, cannot be read: ";
    assert!(told.stderr.contains(problem) && told.stderr.contains("hint: correct target.phone.webhook"), "{told:?}");
}

#[test]
fn doctor_names_a_webhook_that_nobody_answers() {
    let world = well();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = |place: &str| configure(&world, &format!("[target.phone]\nwebhook = 'http://{place}/hook'\n"));
    at(&server.local_addr().unwrap().to_string());
    assert!(!world.sh("askbox doctor").contains("unreachable"), "a server is there");
    // A port that was given back may be another test's.
    at("127.0.0.1:1");
    assert!(finds(&world, "unreachable", "target phone").ends_with(".config/askbox/config.toml"));
}

#[test]
fn doctor_reports_a_missing_notifier_and_a_missing_folder() {
    let world = well();
    configure(&world, "[target.command]\nexec = ['/no/such/program']\n");
    finds(&world, "no_notifier", "target.command");
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
    // How they are installed again depends on how this one was.
    assert!(ran.stdout.contains("$ tar -xzf askbox-") && !ran.stdout.contains("cargo install"), "{}", ran.stdout);
    for (folder, command) in
        [(".cargo/bin", "cargo install"), ("lib/node_modules/askbox/bin", "npm install -g npm-askbox-*.tgz npm-linux-")]
    {
        world.sh(&format!("mkdir -p {folder} && cp alone/askbox {folder}"));
        let ran = world.shell(&format!("PATH=/nowhere {folder}/askbox doctor"));
        assert!(ran.stdout.contains(&format!("$ {command}")), "{}", ran.stdout);
    }
}

#[test]
fn doctor_names_the_programs_that_a_core_alone_lacks() {
    let world = well();
    configure(
        &world,
        "[target.desk]\nexec = ['true']\n[traces]\nurl = 'http://127.0.0.1:9/'\n[live]\ncodex = true\n[runner.x]\nkind = 'acp'\nprogram = 'true'\nworkflows = ['x']\n",
    );
    world.sh("mkdir core; for p in askbox relaunch ask-post ask-answer checkpoint; do cp \"$(command -v $p)\" core; done");
    let ran = world.shell("PATH=$PWD/core:/usr/bin:/bin core/askbox doctor");
    for said in [
        "no_notifier: target.desk: there is no program `askbox-outgoing`, so nobody is told of questions there",
        "no_traces: traces.url: there is no program `askbox-outgoing`, so no spans are sent",
        "live_daemon: live.codex: there is no program `askbox-live`",
        "no_runner: runner.x.program: there is no program `askbox-acp`, which talks with agents of the kind `acp`; the release has it; from a checkout: cargo install --path . --features release",
    ] {
        let (_, next) = ran.stdout.split_once(said).unwrap_or_else(|| panic!("{said}: {}", ran.stdout));
        assert!(next.starts_with("\n  $ cargo install --path . --features release"), "{}", ran.stdout);
    }
    let tested = world.shell("PATH=$PWD/core:/usr/bin:/bin core/askbox notify test --send-only");
    assert!(tested.code() == 1 && tested.stderr.contains("target desk: there is no program `askbox-outgoing`"), "{tested:?}");
}

#[test]
fn doctor_names_the_missing_program_beside_a_running_watcher() {
    let world = well();
    world.sh("mkdir own && cp \"$(command -v relaunch)\" own && cp own/relaunch kept");
    let watcher = world.start_as_watcher(&mut world.shell_command("exec own/relaunch watch"));
    watcher.says("watching ");
    assert_eq!(findings(&world), [] as [Value; 0]);
    world.sh("rm own/relaunch");
    assert!(finds(&world, "no_program", "/own/relaunch").starts_with("tar -xzf askbox-"));
    answered(&world, "w");
    watcher.says("cannot start a supervisor");
    assert_eq!((findings(&world)[0]["kind"].as_str(), report(&world)["watcher"].as_bool()), (Some("no_program"), Some(true)));
    world.sh("mv kept own/relaunch");
    assert_eq!(world.closed("w", "delivered", 1).len(), 1);
}

#[test]
fn the_doctor_tells_of_devices_and_of_their_file_if_it_is_open() {
    let world = well();
    assert!(!world.shell("askbox doctor").stdout.contains("The page:"));
    let now = chrono::Utc::now();
    let device = |name: &str, hours: i64| {
        let at = (now - chrono::TimeDelta::hours(hours)).to_rfc3339();
        format!(r#"{{"sha256":"00","name":"{name}","since":"{at}","seen_at":"{at}","browser":"00"}}"#)
    };
    let file = world.path(".config/askbox/web-devices.json");
    let write = |text: &str, mode: &str| {
        std::fs::write(&file, text).unwrap();
        world.sh(&format!("chmod {mode} .config/askbox/web-devices.json"));
    };
    let two = format!(r#"{{"links":[],"devices":[{},{}]}}"#, device("desk", 50), device("ann's phone", 5));
    write(&two, "600");
    let said = world.shell("askbox doctor").stdout;
    assert!(said.contains("The page: 2 devices are signed in, last seen 5h ago: ann's phone.\n"), "{said}");
    assert_eq!(report(&world)["page"]["devices"][0]["name"], "desk");
    for (mode, words) in [("640", "may read which devices there are"), ("606", "may write it, and so sign devices in")] {
        write(&two, mode);
        let mend = finds(&world, "page_mode", &file.display().to_string());
        assert!(world.shell("askbox doctor").stdout.contains(words));
        world.sh(&mend);
        assert_eq!(findings(&world), [] as [Value; 0]);
    }
    write("{", "600");
    let mend = finds(&world, "page_devices", &file.display().to_string());
    world.sh(&mend);
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_names_a_rule_that_forbids_agents_to_ask() {
    let world = well();
    let deny = |rule: &str| {
        world
            .sh(&format!(r#"mkdir -p .claude && echo '{{"permissions": {{"deny": ["Read(./.env)", "{rule}"]}}}}' > .claude/settings.json"#))
    };
    deny("Bash(rm:*)");
    assert_eq!(findings(&world), [] as [Value; 0]);
    deny("Bash(ask-post:*)");
    assert!(finds(&world, "denied", ".claude/settings.json").starts_with("${EDITOR:-vi} "));
}

#[test]
fn doctor_names_a_runner_whose_interpreter_is_missing() {
    let world = well();
    write_program(&world.path("agent"), "#!/usr/bin/env node-that-is-not-there\n");
    let report = report(&world);
    let found = &report["findings"][0];
    assert!(found["kind"] == "no_runner" && found["problem"].as_str().unwrap().contains("names `node-that-is-not-there`"), "{found:#}");
}

#[test]
fn doctor_names_a_secret_that_others_may_read() {
    let world = well();
    world.sh("echo s3cret > token; chmod 644 token");
    let token = world.path("token").display().to_string();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = server.local_addr().unwrap();
    configure(&world, &format!("[target.hook]\nwebhook = 'http://{place}/x'\nsecret_file = '{token}'\n"));
    finds_and_mends(&world, "open_secret", "target.hook.secret_file");
}

mod promises {
    use super::*;

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
    fn doctor_names_a_time_zone_that_the_system_does_not_know() {
        let world = well();
        configure(&world, "[notify]\nquiet = '22:00-07:00'\n");
        let ran = world.shell("TZ=Europe/Berln askbox doctor");
        assert!(
            ran.stdout.contains("time_zone") && ran.stdout.contains("`Europe/Berln`") && ran.stdout.contains("notify.quiet"),
            "{ran:?}"
        );
        assert!(!world.shell("TZ=UTC askbox doctor").stdout.contains("time_zone"));
    }

    #[test]
    fn doctor_as_root_leaves_the_mailbox_of_another_user_alone() {
        needs!("root");
        let world = well();
        world.sh("ask-post How? -w w && chown -R 65534 m");
        let said = world.refused(2, "askbox doctor");
        assert!(said.contains("this runs as root, and the mailbox") && said.contains("belongs to user 65534"), "{said}");
        assert!(said.contains("hint: run it as that user, without sudo; as root: sudo -u '#65534' askbox doctor"), "{said}");
        world.refused(2, "askbox doctor --json w");
        world.sh("chown -R 0 m");
        assert!(!world.shell("askbox doctor").stderr.contains("runs as root"));
    }
}
