//! What is known about each agent that speaks ACP: how it is started, and what it needs.
//!
//! The abilities of an agent are not in this table, because the agent is asked each time. Everything here was measured with the version that
//! `docs/agents.md` names.

/// What is known about one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name in the configuration.
    pub name: &'static str,
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// The mode that makes the agent ask for permissions. Empty if its own default does, or if it has no modes.
    pub mode: &'static str,
    /// Variables of its environment.
    pub env: &'static [(&'static str, &'static str)],
    /// The beginning of a text that is an error of the API. Empty if the agent reports errors in another way.
    pub error_text: &'static str,
    /// Remarks for the operator.
    pub warnings: &'static [&'static str],
    /// True if a session that is loaded in the clock minute of its creation is lost.
    pub loads_after_a_minute: bool,
    /// True if the content of a call that has not begun is its input as JSON, and the input itself comes only after the permission.
    pub tells_input_as_text: bool,
    /// True if the title of a request about a shell call is the whole command, and the text of its content says where the command runs.
    pub tells_command_as_title: bool,
    /// True if it starts MCP servers that are named with a session.
    pub takes_servers: bool,
    /// The name of askbox's tool `ask_user`, if the agent leaves out tools by that name. Empty otherwise.
    pub asks_as: &'static str,
    /// The place where it tells the name of an MCP tool.
    pub mcp_names: McpNames,
    /// True if it tells what a turn cost in US dollars. Without that, no limit on money ends or holds its runs.
    pub tells_cost: bool,
    /// True if its shell is a login shell, so that the system's profile may set another PATH than the run's.
    pub has_login_shell: bool,
}

/// The place where an agent tells the name of an MCP tool, in a call that it asks about. Titles and inputs may be words of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpNames {
    /// It is not known.
    NotKnown,
    /// The name of the call, as the agent program gives it.
    NameOfCall,
    /// The fields `server` and `tool` of the input of a call that the agent program marks as one of an MCP tool.
    MarkedInput,
    /// The title of the request for a permission, if the kind of the call is `other`. This agent program puts nothing else there.
    TitleOfRequest,
}

/// An agent about which nothing is known.
pub const PLAIN: Preset = Preset {
    name: "",
    program: "",
    args: &[],
    mode: "",
    env: &[],
    error_text: "",
    warnings: &[],
    loads_after_a_minute: false,
    tells_input_as_text: false,
    tells_command_as_title: false,
    takes_servers: true,
    asks_as: "",
    mcp_names: McpNames::NotKnown,
    tells_cost: false,
    has_login_shell: false,
};

/// All of them, by name.
pub const PRESETS: [Preset; 8] = [
    Preset { name: "claude-acp", program: "claude-agent-acp", mode: "default", mcp_names: McpNames::NameOfCall, tells_cost: true, ..PLAIN },
    Preset {
        name: "codex",
        program: "codex-acp",
        mode: "workspace-write",
        env: &[("INITIAL_AGENT_MODE", "workspace-write"), ("NO_BROWSER", "1")],
        mcp_names: McpNames::MarkedInput,
        has_login_shell: true,
        ..PLAIN
    },
    Preset {
        name: "copilot",
        program: "copilot",
        args: &["--acp"],
        env: &[("COPILOT_AUTO_UPDATE", "false")],
        error_text: "Error:",
        takes_servers: false,
        warnings: &["it repeats the arguments of tool calls in another spelling after a resume, so its prompt cache is lost"],
        ..PLAIN
    },
    Preset {
        name: "gemini",
        program: "gemini",
        args: &["--acp"],
        mode: "default",
        loads_after_a_minute: true,
        tells_command_as_title: true,
        asks_as: "ask_person",
        warnings: &[
            "set general.sessionRetention.enabled to false in ~/.gemini/settings.json: otherwise it deletes a session that was loaded",
            "it asks about some calls without telling their input, and askbox refuses these: allow them in its own settings",
        ],
        ..PLAIN
    },
    Preset {
        name: "kimi",
        program: "kimi",
        args: &["acp"],
        mode: "default",
        env: &[("KIMI_CODE_NO_AUTO_UPDATE", "1")],
        tells_input_as_text: true,
        mcp_names: McpNames::TitleOfRequest,
        warnings: &["an error of the API in the middle of a text looks like the end of that text"],
        ..PLAIN
    },
    Preset {
        name: "opencode",
        program: "opencode",
        args: &["acp"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        tells_cost: true,
        warnings: &["its subagents cannot ask for a permission: a rule `ask` for their tools makes the turn hang"],
        ..PLAIN
    },
    Preset {
        name: "pi",
        program: "pi-acp",
        takes_servers: false,
        warnings: &["it never asks for a permission: whatever it wants to do, it does"],
        ..PLAIN
    },
    Preset { name: "qwen", program: "qwen", args: &["--acp"], mode: "default", mcp_names: McpNames::NameOfCall, ..PLAIN },
];

/// The agent with this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_sorted_and_have_a_program() {
        assert!(PRESETS.is_sorted_by_key(|preset| preset.name));
        assert!(PRESETS.iter().all(|preset| !preset.program.is_empty()));
        assert_eq!(find("codex").map(|preset| preset.mode), Some("workspace-write"));
        let without_servers = PRESETS.iter().filter(|preset| !preset.takes_servers).map(|preset| preset.name);
        assert_eq!(without_servers.collect::<Vec<_>>(), ["copilot", "pi"]);
        assert_eq!(find("claude"), None, "that runner speaks stream-json");
    }
}
