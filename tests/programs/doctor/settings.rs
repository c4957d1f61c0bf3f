//! The doctor and the operator's settings: values that no program can use, and what the doctor could not check.

use serde_json::Value;

use super::{configure, findings, finds, finds_and_mends, report, well};

#[test]
fn doctor_prints_the_configurations_values_only_when_asked() {
    let world = well();
    let plain = world.sh("askbox doctor");
    assert!(plain.contains("mailbox") && !plain.contains("limits.grace"), "{plain}");
    assert!(world.sh("askbox doctor --config").contains("limits.grace"));
}

#[test]
fn a_question_without_a_timestamp_ages_by_its_file() {
    let world = well();
    world
        .sh("echo '{\"question\": \"Merge?\", \"workflow_id\": \"old\"}' > m/pending/old.json && touch -d '9 days ago' m/pending/old.json");
    assert_eq!(finds(&world, "stale", "old"), "ask-answer show old");
}

#[test]
fn doctor_reports_metrics_that_cannot_be_written() {
    use crate::support::needs;
    needs!("mount");
    let world = well();
    world.sh("mkdir collector collector/folder.prom");
    configure(&world, &format!("[metrics]\nfile = '{}'\n", world.path("collector/folder.prom").display()));
    assert!(finds(&world, "no_metrics", "metrics.file").starts_with("${EDITOR:-vi} "));
    configure(&world, &format!("[metrics]\nfile = '{}'\n", world.path("collector/askbox.prom").display()));
    assert_eq!(findings(&world), [] as [Value; 0]);
    let ran = world.shell("unshare -m sh -c 'mount -t tmpfs -o ro none collector && askbox doctor'");
    assert!(ran.code() == 1 && ran.stdout.contains("no_metrics: metrics.file: the folder"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Read-only file system"), "{}", ran.stdout);
}

#[test]
fn doctor_reports_settings_that_hide_ask_post_from_agents() {
    let world = well();
    world.sh("mkdir -p on .claude project/.claude && cp agent on/claude");
    let with = |more: &str| {
        let config = format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\n{more}", world.path("on/claude").display());
        std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
    };
    with("");
    let set = |file: &str, path: &str| {
        std::fs::write(world.path(file), serde_json::json!({"env": {"PATH": path}}).to_string()).unwrap();
    };
    let programs = std::path::Path::new(crate::support::program("ask-post")).parent().unwrap().display().to_string();
    set(".claude/settings.json", &format!("/usr/bin:{programs}"));
    assert_eq!(findings(&world), [] as [Value; 0]);
    set(".claude/settings.json", "/usr/bin:$PATH");
    let mend = finds(&world, "hidden_programs", ".claude/settings.json");
    assert!(mend.starts_with("${EDITOR:-vi} "), "{mend}");
    assert!(findings(&world)[0]["problem"].as_str().unwrap().contains("but in runs of askbox, which add that folder"));
    with("args = ['--settings', '{}']\n");
    assert!(findings(&world)[0]["problem"].as_str().unwrap().contains("also in runs of askbox"));
    // A project in which a question was asked, named once.
    set(".claude/settings.json", &programs);
    set("project/.claude/settings.local.json", "/usr/bin");
    world.sh("cd project; for id in a b; do ask-post -w $id 'Which?'; done");
    finds(&world, "hidden_programs", "project/.claude/settings.local.json");
}

#[test]
fn doctor_reports_what_keeps_claude_from_starting() {
    use crate::support::needs;
    needs!("mount", "root");
    let world = well();
    world.sh("mkdir -p on && cp agent on/claude");
    let with = |more: &str| {
        let config = format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\n{more}", world.path("on/claude").display());
        std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
    };
    with("");
    std::fs::write(world.path(".claude.json"), "{}").unwrap();
    assert_eq!(findings(&world), [] as [Value; 0]);
    std::fs::write(world.path(".claude.json"), "{\"oauthAccount\": \"HUSH").unwrap();
    assert!(finds(&world, "agent_cannot_start", ".claude.json").starts_with("${EDITOR:-vi} "));
    let said = findings(&world)[0]["problem"].as_str().unwrap().to_owned();
    assert!(said.starts_with("claude refuses to start with it: it is not JSON: EOF") && !said.contains("HUSH"), "{said}");
    std::fs::write(world.path(".claude.json"), "{}").unwrap();
    for (key, line) in [
        ("runner.claude.permission_mode", "permission_mode = 'bypassPermissions'\n"),
        ("runner.claude.dangerously_skip_permissions", "dangerously_skip_permissions = true\n"),
    ] {
        with(line);
        finds(&world, "agent_cannot_start", key);
        with(&format!("{line}env = {{ IS_SANDBOX = '1' }}\n"));
        assert_eq!(findings(&world), [] as [Value; 0]);
    }
    // An administrator's settings lie in /etc.
    with("args = ['--plugin-dir=/srv/plugin']\n");
    let doctor = |settings: &str| {
        std::fs::write(world.path("managed"), settings).unwrap();
        world.shell("unshare -m sh -c 'mkdir etc; cp -a /etc/passwd /etc/group etc; mount --bind etc /etc && mkdir -p /etc/claude-code && cp managed /etc/claude-code/managed-settings.json && askbox doctor'")
    };
    for (settings, said) in [
        ("{", "agent_cannot_start: /etc/claude-code/managed-settings.json: claude refuses to start with it: it is not JSON"),
        ("[]", "agent_cannot_start: /etc/claude-code/managed-settings.json: claude refuses to start with it: it is not a JSON object"),
        (r#"{"disableSideloadFlags":true}"#, "disableSideloadFlags forbids `--plugin-dir=/srv/plugin`, which runner.claude.args has"),
        (r#"{"disableSideloadFlags":false}"#, ""),
    ] {
        let ran = doctor(settings);
        assert_eq!(ran.stdout.contains("agent_cannot_start"), !said.is_empty(), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.replace('\n', " ").contains(said), "{said}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn doctor_reports_a_claude_whose_dialogs_nobody_has_tried() {
    let mut world = well();
    configure(&world, "[live]\nenabled = true\n");
    world.sh("mkdir -p .claude/skills/askbox/hooks bin && echo '{\"PermissionRequest\":[]}' > .claude/skills/askbox/hooks/hooks.json");
    world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let claude = |version: &str| {
        crate::support::files::write_program(&world.path("bin/claude"), &format!("#!/bin/sh\necho '{version} (Claude Code)'\n"));
    };
    claude("2.1.300");
    assert_eq!(finds(&world, "live_version", "bin/claude"), "claude update");
    claude("2.1.330");
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_what_keeps_dialogs_out_of_the_mailbox() {
    let world = well();
    configure(&world, "[live]\nenabled = true\n");
    assert_eq!(finds(&world, "live_without_hook", "live.enabled"), "askbox setup");
    world.sh("mkdir -p .claude/skills/askbox/hooks && echo '{\"PermissionRequest\":[]}' > .claude/skills/askbox/hooks/hooks.json");
    assert_eq!(findings(&world), [] as [Value; 0]);
    let settings = world.path(".claude/settings.json");
    for text in [
        r#"{"disableAllHooks": true}"#,
        r#"{"askUserQuestionTimeout": "60s"}"#,
        r#"{"permissions": {"defaultMode": "dontAsk"}}"#,
        r#"{"permissions": {"defaultMode": "auto"}}"#,
    ] {
        std::fs::write(&settings, text).unwrap();
        let mend = finds(&world, "live_settings", &settings.display().to_string());
        assert!(mend.starts_with("${EDITOR:-vi} "), "{text}: {mend}");
    }
    std::fs::write(&settings, r#"{"askUserQuestionTimeout": "never", "permissions": {"defaultMode": "default"}}"#).unwrap();
    assert_eq!(findings(&world), [] as [Value; 0]);
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_a_permission_mode_that_claude_refuses() {
        let world = well();
        world.sh("mkdir -p on && cp agent on/claude");
        let claude = world.path("on/claude");
        let with = |mode: &str| {
            let config =
                format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\npermission_mode = '{mode}'\n", claude.display());
            std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
        };
        with("acceptedits");
        assert!(finds(&world, "permission_mode", "runner.claude.permission_mode").starts_with("${EDITOR:-vi} "));
        with("acceptEdits");
        assert_eq!(findings(&world), [] as [Value; 0]);
    }

    #[test]
    fn doctor_reports_a_folder_for_metrics_that_does_not_exist() {
        let world = well();
        let folder = world.path("collector");
        configure(&world, &format!("[metrics]\nfile = '{}'\n", folder.join("askbox.prom").display()));
        finds_and_mends(&world, "no_folder", "metrics.file");
    }

    #[test]
    fn doctor_says_what_it_could_not_check() {
        let world = well();
        assert!(!world.sh("askbox doctor").contains("not checked"));
        world.sh("chmod 777 m/pending; echo '{' > m/pending/broken.json");
        configure(&world, "[limit]\ngrace = '3s'\n");
        let ran = world.shell("askbox doctor");
        assert!(ran.stdout.contains("not checked: questions, answers, runs, checkpoints, workflows and waits"), "{}", ran.stdout);
        assert!(ran.stdout.contains("not checked: runners, notifier, metrics and folders of the configuration"), "{}", ran.stdout);
        assert_eq!(report(&world)["not_checked"].as_array().unwrap().len(), 2);
    }
}
