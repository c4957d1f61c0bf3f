//! The doctor starts each agent that speaks ACP, and asks what it can do.

use super::{configure, finds, report, well};
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
