//! The keys of `[runner.NAME]` that have an effect for each kind of runner.

use crate::sections::runners::{Runner, RunnerKind};
use askbox_agent::presets::{self, PRESETS};
use askbox_mailbox::{Error, Result};

/// The keys of `[runner.NAME]` that only a runner of the kind [`RunnerKind::Claude`] obeys.
const ONLY_OF_CLAUDE: [&str; 3] = ["permission_mode", "task_tool", "dangerously_skip_permissions"];
/// The key that a runner of the kind [`RunnerKind::Acp`] obeys as well.
const OF_AGENTS: &str = "allowed_tools";
/// The keys that only a runner of the kind [`RunnerKind::Acp`] obeys.
const ONLY_OF_ACP: [&str; 4] = ["preset", "mode", "mcp", "prices"];

/// The variables that each run sets itself. With another value, a run would not be found, or would ask in the name of another.
const OF_THE_RUN: [&str; 8] =
    ["ASKBOX_DIR", "ASKBOX_WORKFLOW_ID", "WORKFLOW_ID", "ASKBOX_SESSION_ID", "ASKBOX_RUN", "ASKBOX_NONCE", "ASKBOX_ROUND", "ASKBOX_FENCE"];
/// Near words for the only place in the arguments of a program.
const NEAR_WORKFLOW_ID: [&str; 3] = ["{workflow}", "{id}", "{WORKFLOW_ID}"];

/// Names that are not keys, but that people may write in the section of a program.
pub(crate) const MEANT_FOR_AN_AGENT: [&str; 3] = ["approvals", "model", "agent"];

/// The error about a key that nothing would enforce for a program.
pub(crate) fn not_enforced(name: &str, key: &str) -> Error {
    let fix = "take it out, and let the program itself ask before what it does (ask-post, then exit status 6)";
    Error::invalid(format!("runner.{name}.{key}"), "nothing enforces it for a runner of the kind \"program\"", fix)
}

impl Runner {
    /// Refuses keys that have no effect for this kind, values that break a run, and a runner without a program. `is_set` says which keys the
    /// file has.
    pub(super) fn check(&self, name: &str, is_set: impl Fn(&str) -> bool) -> Result<()> {
        if let Some(variable) = OF_THE_RUN.iter().find(|variable| self.env.contains_key(**variable)) {
            return Err(Error::invalid(format!("runner.{name}.env.{variable}"), "is a variable that each run sets itself", "take it out"));
        }
        let is_near = |word: &&&str| self.kind == RunnerKind::Program && self.args.iter().any(|arg| arg.contains(**word));
        if let Some(word) = NEAR_WORKFLOW_ID.iter().find(is_near) {
            let problem = format!("has `{word}`, which nothing replaces");
            return Err(Error::invalid(format!("runner.{name}.args"), problem, "write {workflow_id}"));
        }
        let not_obeyed: Vec<&str> = match self.kind {
            RunnerKind::Claude => ONLY_OF_ACP.to_vec(),
            RunnerKind::Acp => ONLY_OF_CLAUDE.to_vec(),
            RunnerKind::Program => [&ONLY_OF_CLAUDE[..], &[OF_AGENTS], &ONLY_OF_ACP].concat(),
        };
        // With their defaults, these say nothing.
        let says_nothing = |key: &str| match key {
            "preset" => self.preset.is_empty(),
            "mode" => self.mode.is_empty(),
            "mcp" => self.mcp,
            "prices" => self.prices.is_empty(),
            _ => false,
        };
        let wrong = not_obeyed.into_iter().find(|key| is_set(key) && !says_nothing(key));
        match (self.kind, wrong) {
            (RunnerKind::Program, _) if !is_set("program") || self.program.is_empty() => {
                let fix = format!("name it: program = \"/path/to/program\" in [runner.{name}]");
                Err(Error::invalid(format!("runner.{name}.program"), "is missing: of the kind \"program\" there is no default", fix))
            }
            (RunnerKind::Program, Some(key)) => Err(not_enforced(name, key)),
            (kind, Some(key)) => {
                let (kind, fix) = match kind {
                    RunnerKind::Acp => ("acp", "take it out, and set `mode` and `allowed_tools`"),
                    _ => ("claude", "take it out, or set kind = \"acp\""),
                };
                Err(Error::invalid(format!("runner.{name}.{key}"), format!("a runner of the kind \"{kind}\" does not obey it"), fix))
            }
            (RunnerKind::Acp, None) => {
                let known = || PRESETS.map(|preset| preset.name).join(", ");
                if !self.preset.is_empty() && presets::find(&self.preset).is_none() {
                    return Err(Error::invalid(format!("runner.{name}.preset"), "is not known", format!("use one of: {}", known())));
                }
                if self.names_no_program() && self.agent(name).is_none() {
                    let fix = format!("name the agent's program, or a preset: {}", known());
                    return Err(Error::invalid(format!("runner.{name}.program"), "is missing: `claude` itself does not speak ACP", fix));
                }
                if !self.prices.is_empty() && (self.prices.len() != 2 || self.prices.iter().any(|price| !(0.0..=1e6).contains(price))) {
                    let problem = "is not two prices in US dollars, for a million tokens of input and of output";
                    return Err(Error::invalid(format!("runner.{name}.prices"), problem, "write them as: prices = [1.25, 10]"));
                }
                match self.agent(name).filter(|preset| is_set("mcp") && self.mcp && !preset.takes_servers) {
                    Some(preset) => {
                        let problem = format!("the agent of the preset `{}` starts no MCP servers", preset.name);
                        Err(Error::invalid(format!("runner.{name}.mcp"), problem, "take it out: the agent asks with `ask-post`"))
                    }
                    None => Ok(()),
                }
            }
            (_, None) => Ok(()),
        }
    }
}
