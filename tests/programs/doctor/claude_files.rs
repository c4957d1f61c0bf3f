//! What the files of an agent tell: its folder, its hooks, how long it keeps a session, and whether it has a login.

use super::{configure, editor, findings, finds, finds_and_mends, well};
use crate::support::World;
use crate::support::files::write_program;

/// Runs the command with an editor that writes this. After that, all is well.
#[track_caller]
fn edited(world: &World, mend: &str, text: &str) {
    world.sh(&(editor(world, text) + mend));
    is_well(world, mend);
}

#[track_caller]
fn is_well(world: &World, about: &str) {
    assert_eq!(findings(world), [] as [serde_json::Value; 0], "{about}");
}

#[test]
fn doctor_names_a_relative_folder_of_claude() {
    let world = well();
    for dir in ["~/.claude-work", "work/claude"] {
        configure(&world, &format!("env = {{ CLAUDE_CONFIG_DIR = '{dir}' }}\n"));
        let config = std::fs::read_to_string(world.path(".config/askbox/config.toml")).unwrap();
        let mend = finds(&world, "config_dir", "runner.claude.env");
        edited(&world, &mend, &config.replace(dir, "/somewhere"));
    }
    let ran = world.shell("export CLAUDE_CONFIG_DIR=claude; askbox doctor");
    assert!(ran.stdout.contains("config_dir: $CLAUDE_CONFIG_DIR: CLAUDE_CONFIG_DIR is `claude`: it is relative"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  $ export CLAUDE_CONFIG_DIR=\"$HOME/.claude\"\n"), "{}", ran.stdout);
    world.sh("export CLAUDE_CONFIG_DIR=\"$HOME/.claude\"; askbox doctor");
}

#[test]
fn doctor_names_a_session_that_is_removed_before_its_answer() {
    let world = well();
    let ask = |id: &str, days: u32| {
        let at = askbox::time::rfc3339(askbox::time::now() - chrono::TimeDelta::days(i64::from(days)));
        let cwd = world.path("project").display().to_string();
        let question = format!(
            r#"{{"question":"Merge?","workflow_id":"{id}","timestamp":"{at}","cwd":"{cwd}","session_id":"01a1ff87-0000-7000-8000-000000000000"}}"#
        );
        std::fs::write(world.in_mailbox(format!("pending/{id}.json")), question).unwrap();
    };
    world.sh("mkdir -p project/.claude .claude; echo '{\"cleanupPeriodDays\": 3}' > .claude/settings.json");
    ask("old", 4);
    ask("young", 2);
    world.sh("chmod 600 m/pending/*");
    let mend = finds(&world, "transcripts", "old");
    assert!(mend.contains("/.claude/settings.json"), "{mend}");
    edited(&world, &mend, r#"{"cleanupPeriodDays": 99}"#);
    world.sh("echo '{\"cleanupPeriodDays\": 1}' > project/.claude/settings.json");
    assert_eq!(findings(&world).len(), 2, "the settings of the folder win");
    world.sh("rm project/.claude/settings.json .claude/settings.json");
    ask("older", 31);
    world.sh("chmod 600 m/pending/*");
    let found: Vec<_> = findings(&world).into_iter().filter(|found| found["kind"] == "transcripts").collect();
    assert!(found.len() == 1 && found[0]["subject"] == "older", "{found:#?}");
}

#[test]
fn doctor_names_a_stop_hook_that_keeps_an_agent_at_work() {
    let world = well();
    let hook = |event: &str, command: &str| {
        let settings = serde_json::json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}});
        world.sh("mkdir -p .claude");
        std::fs::write(world.path(".claude/settings.json"), settings.to_string()).unwrap();
    };
    world.sh("mkdir hooks");
    for harmless in ["notify-send done", "hooks/say.sh"] {
        write_program(&world.path("hooks/say.sh"), "#!/bin/sh\necho done >&2\n");
        hook("Stop", harmless);
        is_well(&world, harmless);
    }
    for refuses in [r#"echo '{"decision": "block", "reason": "go on"}'"#, "\"$CLAUDE_PROJECT_DIR\"/hooks/on.sh", "make test || exit 2"] {
        write_program(&world.path("hooks/on.sh"), "#!/bin/sh\necho 'go on' >&2\nexit 2\n");
        hook("Stop", refuses);
        let mend = finds(&world, "stop_hook", ".claude/settings.json");
        edited(&world, &mend, "{}");
    }
    hook("SubagentStop", "exit 2");
    finds(&world, "stop_hook", ".claude/settings.json");
    // In the folder of a question.
    world.sh("mkdir -p away/.claude && mv .claude/settings.json away/.claude/ && cd away && ask-post -w w 'Go?'");
    finds(&world, "stop_hook", "away/.claude/settings.json");
}

#[test]
fn doctor_names_an_agent_without_a_login() {
    let world = well();
    world.sh("rm .claude/.credentials.json && mkdir on bin-of-test && cp agent on/claude");
    let program = world.path("on/claude").display().to_string();
    let with = |more: &str| {
        std::fs::write(world.path(".config/askbox/config.toml"), format!("[runner.claude]\nprogram = '{program}'\n{more}")).unwrap();
    };
    with("");
    let mend = finds(&world, "no_login", "runner.claude");
    write_program(
        &world.path("bin-of-test/claude"),
        "#!/bin/sh\nmkdir -p \"$CLAUDE_CONFIG_DIR\" && : > \"$CLAUDE_CONFIG_DIR/.credentials.json\"\n",
    );
    world.sh(&format!("export PATH=$PWD/bin-of-test:$PATH; {mend}"));
    is_well(&world, &mend);
    with("env = { HOME = '/nowhere' }\n");
    let mend = finds(&world, "no_login", "runner.claude");
    assert_eq!(mend, "CLAUDE_CONFIG_DIR=/nowhere/.claude claude auth login");
    for way in ["HOME = '/nowhere', ANTHROPIC_API_KEY = 'x'", "HOME = '/nowhere', CLAUDE_CODE_USE_BEDROCK = '1'"] {
        with(&format!("env = {{ {way} }}\n"));
        is_well(&world, way);
    }
    // The content is nobody's business: a file that cannot be read is a login too.
    with("");
    world.sh("echo not-json > .claude/.credentials.json; chmod 000 .claude/.credentials.json");
    is_well(&world, "mended");
}

#[test]
fn doctor_names_a_working_folder_that_cannot_be_entered() {
    let world = well();
    world.sh("mkdir work && cd work && ask-post -w w 'Go?' && cd .. && mv work kept && echo > work");
    let mend = finds(&world, "folder", "w");
    assert!(mend.starts_with("ls -ld "), "{mend}");
    world.sh("rm work && mv kept work");
    is_well(&world, "mended");
    if rustix::process::geteuid().is_root() {
        world.sh("chmod 755 . && chmod 000 work && chown -R 65534 m work .config agent");
        let said = world.shell_as(65_534, "askbox doctor").stdout;
        assert!(said.contains("folder: w: ") && said.contains("cannot be entered (Permission denied"), "{said}");
        let mend = said.lines().skip_while(|line| !line.starts_with("folder")).nth(1).unwrap().trim_start_matches("  $ ").to_owned();
        assert!(mend.starts_with("chmod u+rx "), "{mend}");
        world.shell_as(65_534, &mend).ok();
        assert!(!world.shell_as(65_534, "askbox doctor").stdout.contains("folder: w: "));
    } else {
        world.sh("chmod 000 work");
        finds_and_mends(&world, "folder", "w");
    }
}
