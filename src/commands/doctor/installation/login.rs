//! Agents without a login. Only the names of files and variables are looked at, never what they hold. So a login that has expired is not
//! found, and neither is one in a keychain.

use std::path::{Path, PathBuf};

use crate::commands::doctor::checkup::{Checkup, of_run, word};
use crate::commands::doctor::installation::claude_files;
use askbox_agent::claude::CONFIG_DIR;
use askbox_config::Runner;
use askbox_mailbox::disk;
use askbox_run::{programs, run_processes};

/// Where an agent keeps its login.
struct Login {
    programs: &'static [&'static str],
    /// The variable that names the folder, and the folder below the home folder without it.
    folder: (&'static str, &'static str),
    file: &'static str,
    /// Any of these variables is a login too.
    variables: &'static [&'static str],
    /// A settings file in the folder, and words in it that name another way to log in.
    settings: (&'static str, &'static [&'static str]),
    command: &'static str,
}

const LOGINS: [Login; 4] = [
    Login {
        programs: &["claude", "claude-agent-acp"],
        folder: (CONFIG_DIR, ".claude"),
        file: ".credentials.json",
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_USE_FOUNDRY",
        ],
        settings: ("settings.json", &["apiKeyHelper", "ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_TOKEN"]),
        command: "claude auth login",
    },
    Login {
        programs: &["codex", "codex-acp"],
        folder: ("CODEX_HOME", ".codex"),
        file: "auth.json",
        variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        settings: ("config.toml", &["model_provider", "cli_auth_credentials_store"]),
        command: "codex login",
    },
    Login {
        programs: &["gemini"],
        folder: ("", ".gemini"),
        file: "oauth_creds.json",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_APPLICATION_CREDENTIALS"],
        settings: ("settings.json", &["gemini-api-key", "vertex-ai", "gateway"]),
        command: "gemini",
    },
    Login {
        programs: &["qwen"],
        folder: ("", ".qwen"),
        file: "oauth_creds.json",
        variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        settings: ("settings.json", &["apiKey", "modelProviders"]),
        command: "qwen",
    },
];

/// Reports the runners whose agents have no login, as far as their files tell.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    // Where there is a keychain, claude keeps its login in it.
    if Path::new("/usr/bin/security").exists() {
        return;
    }
    for (name, runner) in checkup.runners() {
        let program = Path::new(&runner.program).file_name().unwrap_or_default();
        let Some(login) = LOGINS.iter().find(|login| login.programs.iter().any(|one| program == *one)) else { continue };
        if programs::of_runner(&runner).is_err() || login.variables.iter().any(|variable| is_set(checkup, &runner, variable)) {
            continue;
        }
        let own = folder(&runner, login).map(|folder| (format!("runner.{name}"), folder));
        let others: &[PathBuf] = if login.folder.0 == CONFIG_DIR && name == "claude" { &checkup.config.relaunch.config_dirs } else { &[] };
        let others = others.iter().filter(|folder| folder.is_dir()).map(|folder| ("relaunch.config_dirs".to_owned(), folder.clone()));
        for (subject, folder) in own.into_iter().chain(others).collect::<Vec<_>>() {
            without_login(checkup, login, subject, &folder);
        }
    }
}

fn without_login(checkup: &mut Checkup, login: &Login, subject: String, folder: &Path) {
    let (file, (settings, words)) = (folder.join(login.file), login.settings);
    let text = claude_files::text_of(&folder.join(settings));
    if disk::exists(&file) || words.iter().any(|word| text.contains(word)) {
        return;
    }
    let (file, variables) = (file.display(), login.variables.join(" or $"));
    let said = format!("its agent has no login, as far as its files tell: {file} does not exist, and ${variables} is not set");
    let there = match login.folder.0 {
        "" => String::new(),
        variable => format!("{variable}={} ", word(folder)),
    };
    checkup.report("no_login", subject, said, there + login.command);
}

/// The folder of the agent's login, as a run will have it.
fn folder(runner: &Runner, login: &Login) -> Option<PathBuf> {
    let (variable, below_home) = login.folder;
    let named = of_run(runner, variable).map(PathBuf::from);
    named.or_else(|| of_run(runner, "HOME").map(|home| Path::new(&home).join(below_home)))
}

/// True if the variable has a value for the runner, here or in the running watcher.
fn is_set(checkup: &Checkup, runner: &Runner, name: &str) -> bool {
    let of_watcher = || checkup.watcher_process().and_then(|watcher| run_processes::started_with(watcher.pid, name));
    runner.env.contains_key(name) || of_run(runner, name).is_some() || of_watcher().is_some_and(|value| !value.is_empty())
}
