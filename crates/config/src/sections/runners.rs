//! `[runner]` and `[runner.NAME]`: the agent programs.

use std::collections::BTreeMap;

use crate::section::section;
use askbox_agent::claude;
use askbox_mailbox::error::{Error, Result};

section! {
    /// `[runner]`: the agent programs.
    "runner" Runners {
        /// The NAME of the `[runner.NAME]` section that is used. `"claude"` needs no section.
        default: String = "claude".into(),
    }
    and {
        /// The sections `[runner.NAME]` by name.
        #[serde(flatten)]
        named: BTreeMap<String, Runner>
    }
}

section! {
    /// `[runner.NAME]`: one agent program. It must speak Claude Code's stream-json on standard input and output.
    "runner.*" Runner {
        /// The agent program: a path, or a name on the watcher's `PATH`.
        program: String = "claude".into(),
        /// More arguments for the agent program, after askbox's own. Example: `["--model", "opus"]`.
        args: Vec<String> = Vec::new(),
        /// More environment variables of the agent program. They override the others. Example: `{ LANG = "C.UTF-8" }`.
        env: BTreeMap<String, String> = BTreeMap::new(),
        /// The value of `--permission-mode`. With `"default"`, a call that no rule permits is refused. `""`: the option is not given,
        /// so the mode of the user's own settings applies, or else the agent program's own, which differs between versions. Example:
        /// `"acceptEdits"`.
        permission_mode: String = "default".into(),
        /// The tools that the agent may use without asking: one `--allowedTools` rule each. Everything else that needs a permission is
        /// refused. The list replaces the default, so repeat the default's rules.
        allowed_tools: Vec<String> = claude::DEFAULT_ALLOWED_TOOLS.map(String::from).to_vec(),
        /// Whether the agent has the Task tool (newer versions call it Agent), which starts subagents inside the agent's session. With
        /// `false`, the agent works alone, and starts other agents only by `relaunch spawn`, if `allowed_tools` permits that.
        task_tool: bool = true,
        /// Whether the agent is started with `--dangerously-skip-permissions`, which bypasses every permission check. `permission_mode` is
        /// then not used.
        dangerously_skip_permissions: bool = false,
    }
}

impl Runners {
    /// The runner with this name, or the default runner, and its name.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration has no such section.
    pub fn find(&self, name: Option<&str>) -> Result<(String, Runner)> {
        let name = name.unwrap_or(&self.default);
        let mut runner = match self.named.get(name) {
            Some(runner) => runner.clone(),
            None if name == "claude" => Runner::default(),
            None => {
                let known: Vec<_> = self.named.keys().map(String::as_str).chain(["claude"]).collect();
                return Err(Error::invalid(
                    "runner.default",
                    format!("names `{name}`, which has no [runner.{name}]"),
                    format!("add that section, or use one of: {}", known.join(", ")),
                ));
            }
        };
        if runner.program.is_empty() {
            runner.program = Runner::default().program;
        }
        Ok((name.to_owned(), runner))
    }
}
