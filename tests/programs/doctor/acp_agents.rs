//! The doctor starts each agent that speaks ACP, and asks what it can do.

use super::{configure, editor, findings, finds, report, well};
use crate::support::files::write_program;
use crate::support::root;

#[test]
fn doctor_names_a_login_shell_that_hides_ask_post() {
    let world = well();
    let program = root().join("crates/testkit/agents/acp.py").display().to_string();
    world.sh("mkdir acp; printf '#!/bin/sh\\nPATH=/nowhere; eval \"$2\"\\n' > hides; printf '#!/bin/sh\\neval \"$2\"\\n' > keeps; chmod +x hides keeps");
    let with_shell = |shell: &str| {
        let (folder, shell) = (world.path("acp"), world.path(shell));
        configure(
            &world,
            &format!(
                "[runner.codex]\nkind = 'acp'\nprogram = '{program}'\nargs = []\nworkflows = ['g-*']\n\
                 env = {{ AGENT_DIR = '{}', SHELL = '{}' }}",
                folder.display(),
                shell.display()
            ),
        );
    };
    with_shell("hides");
    assert!(finds(&world, "hidden_programs", "runner.codex").contains("/usr/local/bin/"));
    with_shell("keeps");
    assert!(!report(&world).to_string().contains("hidden_programs"));
}

#[test]
fn doctor_repeats_the_last_words_of_an_agent_that_died_at_once() {
    let world = well();
    write_program(&world.path("broken"), "#!/bin/sh\nyes | head -c 200000 >&2\necho 'Cannot find module acp' >&2\necho >&2\nexit 1\n");
    let program = world.path("broken").display().to_string();
    configure(&world, &format!("[runner.mine]\nkind = 'acp'\nprogram = '{program}'\nworkflows = ['g-*']\n"));
    assert!(finds(&world, "acp_agent", "runner.mine").contains(&program));
    let problem = report(&world)["findings"][0]["problem"].as_str().unwrap().to_owned();
    assert_eq!(problem, "its agent ended without an answer to `initialize` of ACP: Cannot find module acp");
}

#[test]
fn doctor_repeats_the_last_words_of_claude() {
    let world = well();
    world.sh("mkdir on");
    write_program(&world.path("on/claude"), "#!/bin/sh\necho 'cannot execute: required file not found' >&2\nexit 126\n");
    let program = world.path("on/claude").display().to_string();
    std::fs::write(world.path(".config/askbox/config.toml"), format!("[runner.claude]\nprogram = '{program}'\n")).unwrap();
    let mend = finds(&world, "agent_cannot_start", "runner.claude.program");
    assert_eq!(mend, format!("{program} --version"));
    assert!(world.shell(&mend).stderr.contains("required file not found"));
    let problem = report(&world)["findings"][0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.ends_with("named no version: cannot execute: required file not found"), "{problem}");
}

#[test]
fn doctor_names_limits_on_money_that_nothing_enforces() {
    let world = well();
    let program = root().join("crates/testkit/agents/acp.py").display().to_string();
    world.sh("mkdir acp");
    let runner = |name: &str, limit: &str| {
        let folder = world.path("acp").display().to_string();
        configure(
            &world,
            &format!(
                "[runner.{name}]\nkind = 'acp'\nprogram = '{program}'\nargs = []\nworkflows = ['g-*']\nenv = {{ AGENT_DIR = '{folder}' }}\n[limits]\n{limit}\n"
            ),
        );
    };
    runner("gemini", "run_cost = 2.5\nday_cost = 10.0");
    let config = std::fs::read_to_string(world.path(".config/askbox/config.toml")).unwrap();
    let mend = finds(&world, "no_cost", "runner.gemini");
    let problem = report(&world)["findings"][0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.starts_with("limits.run_cost, limits.day_cost cannot be enforced: gemini tells no cost"), "{problem}");
    world.sh(&(editor(&world, &config.replace("run_cost = 2.5\nday_cost = 10.0", "run_time = '1h'")) + &mend));
    assert_eq!(findings(&world), [] as [serde_json::Value; 0]);
    runner("opencode", "run_cost = 2.5");
    assert_eq!(findings(&world), [] as [serde_json::Value; 0], "opencode tells its cost");
    world.sh("ask-post -w other 'Go?' && ask-post -w g-1 'Go?'");
    runner("gemini", "run_cost = 2.5");
    let of = |id: &str| world.shell(&format!("askbox doctor {id}")).stdout.contains("no_cost");
    assert!(of("g-1") && !of("other"));
}

mod promises {
    use super::*;

    #[test]
    fn doctor_asks_acp_agents_what_they_can_do() {
        let world = well();
        let runner = |program: &str, more: &str| {
            configure(&world, &format!("[runner.gemini]\nkind = 'acp'\nprogram = '{program}'\nargs = []\nworkflows = ['g-*']\n{more}"));
        };
        let program = root().join("crates/testkit/agents/acp.py").display().to_string();
        let folder = format!("AGENT_DIR = '{}'", world.path("acp").display());
        world.sh("mkdir acp");
        runner(&program, &format!("env = {{ {folder}, ACP_CAN = 'load' }}"));
        let agent = report(&world)["acp_agents"][0].clone();
        assert_eq!(
            (agent["runner"].as_str(), agent["name"].as_str(), agent["continues_by"].as_str()),
            (Some("gemini"), Some("fake"), Some("load"))
        );
        let words = world.sh("askbox doctor");
        assert!(
            words.contains("The agent of runner.gemini is fake 1.0. It continues a session by session/load.\n  Note: set general."),
            "{words}"
        );
        runner(&program, &format!("env = {{ {folder}, ACP_VERSION = '2' }}"));
        assert!(finds(&world, "acp_agent", "runner.gemini").contains(&program));
        // An agent that ends without an answer holds the doctor up for no time.
        runner("/bin/true", "");
        finds(&world, "acp_agent", "runner.gemini");
    }
}
