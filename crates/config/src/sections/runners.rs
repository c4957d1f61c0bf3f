//! `[runner]` and `[runner.NAME]`: the agent programs, and the workflows that each of them runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::section::section;
use crate::shell_commands::surely;
use crate::workflow_pattern::WorkflowPattern;
use askbox_agent::claude;
use askbox_agent::presets::{self, Preset};
use askbox_mailbox::{Error, Result, WorkflowId};

section! {
    /// `[runner]`: the agent programs.
    "runner" Runners {
        /// The NAME of the `[runner.NAME]` for workflows that no other section names. `"claude"` needs no section.
        default: String = "claude".into(),
    }
    and {
        /// The sections `[runner.NAME]` by name.
        #[serde(flatten)]
        named: BTreeMap<String, Runner>
    }
}

section! {
    /// `[runner.NAME]`: one agent program.
    "runner.*" Runner {
        /// How askbox and the program talk. `"claude"`: Claude Code's stream-json. `"program"`: the answered round on standard input, and
        /// an exit status. `"acp"`: the Agent Client Protocol, as Codex, opencode, Kimi, Copilot, Qwen and Gemini speak it.
        kind: RunnerKind = RunnerKind::Claude,
        /// The agent program: a path, or a name on the watcher's `PATH`. The kind `"program"` must name one, and for `"acp"` the preset has
        /// the default.
        program: String = CLAUDE.into(),
        /// The ids of the workflows that this runner runs; `*` stands for any characters. No id may fit two runners. Example:
        /// `["billing-*"]`.
        workflows: Vec<WorkflowPattern> = Vec::new(),
        /// More arguments, after askbox's own. The kind `"program"` has no others, and `{workflow_id}` is replaced there. Example:
        /// `["--model", "opus"]`.
        args: Vec<String> = Vec::new(),
        /// More environment variables, which override the others. Example: `{ LANG = "C.UTF-8" }`.
        env: BTreeMap<String, String> = BTreeMap::new(),
        /// The preset of the kind `"acp"`: `"codex"`, `"copilot"`, `"gemini"`, `"kimi"`, `"opencode"`, `"pi"`, `"qwen"` or `"claude-acp"`.
        /// `""`: the one with the NAME of the runner.
        preset: String = String::new(),
        /// The mode of the sessions of the kind `"acp"`, in the agent's own word. Use one that asks for permissions. `""`: the preset's,
        /// else the agent's. Example: `"read-only"`.
        mode: String = String::new(),
        /// True if the kind `"acp"` offers its agent the tools of `askbox mcp`. `"copilot"` and `"pi"` start none.
        mcp: bool = true,
        /// For the kind `"acp"`: US dollars for a million tokens in and out, if the agent tells no cost. Example: `[1.25, 10]`.
        prices: Vec<f64> = Vec::new(),
        /// The value of `--permission-mode`. `"default"` asks about a call that no rule permits: see `approvals.ask_stopped`. `""`: the
        /// option is not given. Example: `"acceptEdits"`.
        permission_mode: String = "default".into(),
        /// The tools that need no permission, one `--allowedTools` rule each. The list replaces the default, so repeat that. With the kind
        /// `"acp"`, askbox itself allows such calls: `Tool`, `Bash(WORDS:*)` and `Bash(COMMAND)`.
        allowed_tools: Vec<String> = claude::DEFAULT_ALLOWED_TOOLS.map(String::from).to_vec(),
        /// True if the agent has the Task tool (Agent), which starts subagents inside its session.
        task_tool: bool = true,
        /// True to start the agent with `--dangerously-skip-permissions`, without any permission check.
        dangerously_skip_permissions: bool = false,
    }
}

/// The program of a runner that names none.
const CLAUDE: &str = "claude";

/// How askbox and an agent program talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerKind {
    /// In Claude Code's stream-json.
    #[default]
    Claude,
    /// By the round on standard input, and by the exit status.
    Program,
    /// In the Agent Client Protocol.
    Acp,
}

/// The name of the only runner in [`Runners::only`].
pub const EXEC: &str = "relaunch exec";

impl Runner {
    /// What is known about the agent of a runner of the kind [`RunnerKind::Acp`]. `name` is the runner's.
    pub fn agent(&self, name: &str) -> Option<&'static Preset> {
        presets::find(if self.preset.is_empty() { name } else { &self.preset })
    }

    /// Adds what the preset says and the operator does not.
    fn begin_with_preset(&mut self, name: &str) {
        let Some(preset) = self.agent(name) else { return };
        if self.names_no_program() {
            self.program = preset.program.into();
            self.args.splice(0..0, preset.args.iter().map(|arg| (*arg).to_owned()));
        }
        if self.mode.is_empty() {
            self.mode = preset.mode.into();
        }
        self.mcp &= preset.takes_servers;
        for (variable, value) in preset.env {
            self.env.entry((*variable).into()).or_insert_with(|| (*value).into());
        }
    }

    /// True if the operator names no program. `claude` does not speak ACP, so its name is not one.
    pub(super) fn names_no_program(&self) -> bool {
        self.program.is_empty() || self.program == CLAUDE
    }

    /// True if a rule of `allowed_tools` surely names this call.
    pub fn allows(&self, tool: &str, input: &serde_json::Map<String, serde_json::Value>) -> bool {
        self.allowed_tools.iter().any(|rule| surely::allows(rule, tool, input))
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
            None if name == CLAUDE => Runner::default(),
            None => {
                let known: BTreeSet<_> = self.named.keys().map(String::as_str).chain([CLAUDE]).collect();
                let fix = format!("add that section, or use one of: {}", Vec::from_iter(known).join(", "));
                return Err(Error::invalid("runner.default", format!("names `{name}`, which has no [runner.{name}]"), fix));
            }
        };
        if runner.kind == RunnerKind::Acp {
            runner.begin_with_preset(name);
        }
        if runner.program.is_empty() {
            runner.program = Runner::default().program;
        }
        Ok((name.to_owned(), runner))
    }

    /// The runner of a workflow, and its name: the one whose `workflows` name the id, else the default runner.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    pub fn of_workflow(&self, workflow: &WorkflowId) -> Result<(String, Runner)> {
        let fits = |runner: &Runner| runner.workflows.iter().any(|pattern| pattern.fits(workflow.as_str()));
        self.find(self.named.iter().find(|(_, runner)| fits(runner)).map(|(name, _)| name.as_str()))
    }

    /// The runners of `relaunch exec`: every workflow is run by this program, which a person has named on the command line.
    pub fn only(program: String, args: Vec<String>) -> Self {
        let runner = Runner { kind: RunnerKind::Program, program, args, ..Runner::default() };
        Self { default: EXEC.into(), named: BTreeMap::from([(EXEC.into(), runner)]) }
    }

    /// The runners that some workflow may get: the default runner first, then those with `workflows`. Each with its name.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    pub fn in_use(&self) -> Result<Vec<(String, Runner)>> {
        let routed = self.named.iter().filter(|(name, runner)| **name != self.default && !runner.workflows.is_empty());
        [None].into_iter().chain(routed.map(|(name, _)| Some(name.as_str()))).map(|name| self.find(name)).collect()
    }

    /// The first of [`in_use`](Self::in_use) that speaks Claude Code's stream-json; `None` if every runner is a plain program.
    pub fn of_claude(&self) -> Option<(String, Runner)> {
        self.in_use().ok()?.into_iter().find(|(_, runner)| runner.kind == RunnerKind::Claude)
    }

    /// Refuses workflows that fit two runners, and keys that nothing would enforce. `set` are the keys of the file.
    pub(crate) fn check(&self, set: &[String]) -> Result<()> {
        if self.named.contains_key(EXEC) {
            let fix = "give the runner another name";
            return Err(Error::invalid(format!("runner.{EXEC}"), "is the name of the program that `relaunch exec` runs", fix));
        }
        for (name, runner) in &self.named {
            runner.check(name, |key| set.contains(&format!("runner.{name}.{key}")))?;
        }
        let patterns: Vec<_> = self.named.iter().flat_map(|(name, runner)| runner.workflows.iter().map(move |one| (name, one))).collect();
        for (n, (name, one)) in patterns.iter().enumerate() {
            if let Some((other, another)) = patterns[..n].iter().find(|(other, another)| other != name && one.overlaps(another)) {
                return Err(Error::invalid(
                    format!("runner.{name}.workflows"),
                    format!("one workflow can fit both `{one}` and `{another}` of [runner.{other}]"),
                    "let each id fit one runner; what fits none is run by runner.default",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Config;
    use crate::parse::parse;

    fn read(text: &str) -> Result<Config, (String, String)> {
        parse(text.as_bytes(), Path::new("c.toml")).map(|loaded| loaded.config).map_err(|e| (e.to_string(), e.hint().to_owned()))
    }

    #[test]
    fn a_workflow_gets_the_runner_whose_pattern_names_it() {
        let config = read(
            "[runner.billing]\nkind = 'program'\nprogram = '/b'\nworkflows = ['billing-*', 'dunning']\n[runner.opus]\nworkflows = ['big.*']\n\
             [runner.unused]\nprogram = 'x'\n",
        )
        .unwrap();
        let of = |id: &str| config.runner.of_workflow(&id.parse().unwrap()).unwrap().0;
        let ids = ["billing-1", "billing-", "dunning", "dunning-1", "billing", "big.job", "docs"];
        assert_eq!(ids.map(of), ["billing", "billing", "billing", "claude", "claude", "opus", "claude"]);
        let in_use: Vec<_> = config.runner.in_use().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(in_use, ["claude", "billing", "opus"]);
    }

    #[test]
    fn the_runner_of_claude_may_not_be_the_default_one() {
        let program = "[runner]\ndefault = 'b'\n[runner.b]\nkind = 'program'\nprogram = '/b'\n";
        let of = |text: &str| read(text).unwrap().runner.of_claude().map(|(name, _)| name);
        assert_eq!(of(""), Some("claude".into()));
        assert_eq!(of(program), None);
        assert_eq!(of(&format!("{program}[runner.c]\nworkflows = ['c-*']\n")), Some("c".into()));
    }

    #[test]
    fn patterns_that_share_a_workflow_are_refused() {
        let two = |one: &str, other: &str| read(&format!("[runner.a]\nworkflows = ['{one}']\n[runner.b]\nworkflows = ['{other}']\n"));
        for (one, other) in [("x", "x"), ("billing-*", "*-eu"), ("*", "a"), ("a*c", "ab*"), ("a-*-z", "a-*")] {
            let (problem, hint) = two(one, other).unwrap_err();
            assert!(problem.starts_with("c.toml: runner.b.workflows: ") && problem.contains("[runner.a]"), "{problem}");
            assert!(hint.contains("runner.default"), "{hint}");
        }
        for (one, other) in [("x", "y"), ("billing-*", "bill-*"), ("a*c", "a*d"), ("*a", "*b")] {
            assert!(two(one, other).is_ok(), "{one} {other}");
        }
        assert!(two("billing *", "x").unwrap_err().0.contains("(line 2, column 14)"));
    }

    #[test]
    fn a_place_that_nothing_fills_is_refused() {
        let program = |more: &str| read(&format!("[runner.x]\nkind = 'program'\nprogram = 'p'\n{more}\n")).map(drop).map_err(|(e, _)| e);
        for (more, said) in [
            ("args = ['--id', '{workflow}']", "runner.x.args: has `{workflow}`, which nothing replaces"),
            ("env = { ASKBOX_RUN = 'a/b/1' }", "runner.x.env.ASKBOX_RUN: is a variable that each run sets itself"),
            ("env = { WORKFLOW_ID = 'w' }", "runner.x.env.WORKFLOW_ID: is a variable that each run sets itself"),
        ] {
            assert!(program(more).unwrap_err().contains(said), "{more}");
        }
        assert_eq!(program("args = ['{workflow_id}', '{print}', '{\"id\":1}']\nenv = { ASKBOX_CONFIG = '/c' }"), Ok(()));
    }

    #[test]
    fn an_acp_runner_begins_with_its_preset() {
        let acp = |name: &str, more: &str| read(&format!("[runner]\ndefault = '{name}'\n[runner.{name}]\nkind = 'acp'\n{more}\n"));
        let codex = acp("codex", "args = ['-c', 'x']").unwrap().runner.find(None).unwrap().1;
        assert_eq!(
            (codex.program.as_str(), codex.mode.as_str(), codex.args),
            ("codex-acp", "workspace-write", vec!["-c".into(), "x".into()])
        );
        assert_eq!(codex.env.get("NO_BROWSER").map(String::as_str), Some("1"));
        let own = acp("mine", "preset = 'kimi'\nprogram = '/opt/kimi'\nmode = 'plan'\nenv = { KIMI_CODE_NO_AUTO_UPDATE = '0' }").unwrap();
        let own = own.runner.find(None).unwrap().1;
        assert_eq!((own.program.as_str(), own.mode.as_str(), own.args.len()), ("/opt/kimi", "plan", 0));
        assert_eq!(own.env.get("KIMI_CODE_NO_AUTO_UPDATE").map(String::as_str), Some("0"));
        assert_eq!(acp("kimi", "").unwrap().runner.find(None).unwrap().1.args, ["acp"]);
        for (more, problem) in [("", "runner.mine.program: is missing"), ("preset = 'x'", "runner.mine.preset: is not known")] {
            assert!(acp("mine", more).unwrap_err().0.contains(problem), "{more}");
        }
        let offers_tools = |name: &str, more: &str| acp(name, more).map(|config| config.runner.find(None).unwrap().1.mcp);
        assert_eq!((offers_tools("codex", ""), offers_tools("codex", "mcp = false")), (Ok(true), Ok(false)));
        assert_eq!((offers_tools("pi", ""), offers_tools("mine", "program = 'x'")), (Ok(false), Ok(true)));
        assert!(offers_tools("copilot", "mcp = true").unwrap_err().0.contains("runner.copilot.mcp: the agent of the preset `copilot`"));
        assert!(read("[runner.b]\nmcp = false\n").unwrap_err().0.contains("runner.b.mcp"));
        assert_eq!(acp("codex", "prices = [1.25, 10]").unwrap().runner.find(None).unwrap().1.prices, [1.25, 10.0]);
        for wrong in ["[1.25]", "[1, -2]", "[1, 2, 3]"] {
            assert!(acp("codex", &format!("prices = {wrong}")).unwrap_err().0.contains("runner.codex.prices"), "{wrong}");
        }
        assert!(acp("codex", "permission_mode = 'plan'").unwrap_err().0.contains("runner.codex.permission_mode"));
        assert!(read("[runner.b]\nmode = 'plan'\n").unwrap_err().0.contains("runner.b.mode"));
        assert!(acp("codex", "allowed_tools = ['Read']").is_ok());
    }

    #[test]
    fn keys_that_nothing_enforces_are_refused() {
        let program = |more: &str| read(&format!("[runner.b]\nkind = 'program'\nprogram = '/b'\nworkflows = ['b-*']\n{more}\n"));
        for key in ["allowed_tools = []", "permission_mode = 'plan'", "task_tool = true", "dangerously_skip_permissions = true"] {
            let (problem, hint) = program(key).unwrap_err();
            assert!(problem.contains(&format!("runner.b.{}: nothing enforces it", key.split(' ').next().unwrap())), "{problem}");
            assert!(hint.contains("take it out"), "{hint}");
        }
        for key in ["approvals.ask = ['Write']", "model = 'opus'"] {
            let (problem, hint) = program(key).unwrap_err();
            assert!(problem.contains("nothing enforces it") && hint.contains("take it out"), "{problem} {hint}");
        }
        assert!(read("[runner.b]\nmodel = 'opus'\n").unwrap_err().0.contains("unknown key"));
        assert!(read("[runner.b]\nkind = 'program'\n").unwrap_err().0.contains("runner.b.program: is missing"));
        // Where only programs run, no rule of `[approvals]` can hold a call.
        let only = "[runner]\ndefault = 'b'\n[approvals]\nask = ['Write']\n[runner.b]\nkind = 'program'\nprogram = '/b'\n";
        assert!(read(only).unwrap_err().0.contains("approvals.ask: nothing enforces it"));
        assert!(read(&format!("{only}[runner.c]\nworkflows = ['c-*']\n")).is_ok());
    }
}
