//! Decides about the askbox commands and tools that a person's session calls. The plugin's tools need no approval to ask and to look. A
//! subagent's question carries the subagent's id. The main agent may hand on its user's answer without an approval.
//!
//! Only this hook knows the caller. A rule in the settings would also let subagents answer, and every agent that askbox launches.

use serde_json::{Map, Value};

use crate::commands::hook::event::{HookReply, PreToolUse};
use askbox_cli::ask_user_call;
use askbox_mailbox::documents::fields::tool_call::NEED_NO_APPROVAL;
use askbox_mailbox::{Address, Error, Mailbox, Matter, WorkflowId, read_question, text};

/// The commands that the main agent may run, as the first words of the command line.
const ALLOWED: [&[&str]; 2] = [&["ask-answer"], &["relaunch", "prompt"]];

/// The prefix that Claude Code gives to the tools of the plugin's MCP server.
const PLUGIN_TOOLS: &str = "mcp__plugin_askbox_askbox__";

/// Decides about a call outside of every run. If `None`, Claude Code's own rules decide.
pub(super) fn decide(event: &PreToolUse) -> Option<HookReply> {
    match event.tool_name.strip_prefix(PLUGIN_TOOLS) {
        Some(tool) => NEED_NO_APPROVAL.contains(&tool).then(|| HookReply::allow(with_asker(event, tool))),
        None if event.tool_name == "Bash" => of_bash(event),
        None => None,
    }
}

/// The input of a call. If a subagent asks, its name is added.
fn with_asker(event: &PreToolUse, tool: &str) -> Map<String, Value> {
    let mut input = event.tool_input.clone();
    if let (Some(id), "ask_user") = (&event.agent_id, tool) {
        input.insert(ask_user_call::ASKED_BY.to_owned(), asker(event.agent_type.as_deref(), id).into());
    }
    input
}

fn of_bash(event: &PreToolUse) -> Option<HookReply> {
    let command = event.tool_input.get("command")?.as_str()?;
    match &event.agent_id {
        Some(id) => named(command, event.agent_type.as_deref(), id).map(|command| {
            let mut input: Map<String, Value> = event.tool_input.clone();
            input.insert("command".to_owned(), command.into());
            HookReply::Change(input)
        }),
        None => (is_allowed(command) && !decides_for_a_person(command)).then(|| HookReply::allow(event.tool_input.clone())),
    }
}

/// The command with the subagent as the asker, if it is a command that asks.
fn named(command: &str, kind: Option<&str>, id: &str) -> Option<String> {
    let rest = command.strip_prefix("ask-post ")?;
    if rest.contains("--asked-by") { None } else { Some(format!("ask-post --asked-by {} {rest}", text::shell_quote(&asker(kind, id)))) }
}

/// The name of a subagent in its questions.
fn asker(kind: Option<&str>, id: &str) -> String {
    text::one_line(&kind.map_or_else(|| id.to_owned(), |kind| format!("{kind} {id}")))
}

fn is_allowed(command: &str) -> bool {
    plain_words(command)
        .is_some_and(|words| ALLOWED.iter().any(|allowed| words.get(..allowed.len()).is_some_and(|begin| begin == *allowed)))
}

/// True if the command may decide something that only a person may decide, so that the person must approve it. This can be a tool call, a
/// request of an MCP server to its user, a question of another machine, an offer, or a question that cannot be read.
fn decides_for_a_person(command: &str) -> bool {
    let words = plain_words(command).unwrap_or_default();
    // A word of an answer may look like an address too. The person then approves the command.
    let is_elsewhere = |word: &String| word.parse::<Address>().is_ok_and(|address| address.host.is_some());
    if words.iter().any(|word| word.starts_with("--m") || word.starts_with("--of") || is_elsewhere(word)) {
        return true;
    }
    let Ok(mailbox) = Mailbox::locate(None).and_then(Mailbox::open) else { return true };
    let ids = words.iter().filter_map(|word| word.parse::<WorkflowId>().ok());
    ids.into_iter().any(|id| match read_question::pending(&mailbox, &id) {
        Ok(question) => Matter::of_question(&question.typed) != Matter::Question,
        Err(e) => !matches!(e, Error::NotFound { .. }) && !e.is_missing_file(),
    })
}

/// The words of one plain command. `None` if a shell would do more than call one program with these words.
fn plain_words(command: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.trim().chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\n' | '\r' | '\0' => return None,
            c if is_quoted => words.last_mut()?.push(c),
            ' ' => words.push(String::new()),
            c if c.is_alphanumeric() || "-_./:@%+,=".contains(c) => words.last_mut()?.push(c),
            _ => return None,
        }
    }
    // Several spaces are one separator.
    (!is_quoted).then(|| words.into_iter().filter(|word| !word.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_run::asking::defer::CallDecision;

    #[test]
    fn only_one_plain_call_is_allowed() {
        for command in [
            "ask-answer w pg",
            "ask-answer w 'it'\\''s'",
            "ask-answer decline w --note 'no; $(x) `y` | z'",
            "relaunch prompt w",
            "ask-answer w --file /tmp/a.json",
        ] {
            assert_eq!(is_allowed(command), !command.contains('\\'), "{command}");
        }
        for command in [
            "ask-answer w pg; rm -rf /",
            "ask-answer w pg && x",
            "ask-answer w $(x)",
            "ask-answer w `x`",
            "ask-answer w \"$X\"",
            "ask-answer w > /etc/passwd",
            "ask-answer w 'a\nb'",
            "ask-answer w\nrm x",
            "ask-answer w &",
            "ask-answer w ~/x",
            "ask-answer w *",
            "ask-answer w #",
            "ask-answer w 'open",
            "PATH=/evil ask-answer w pg",
            "ask-answers w",
            "/evil/ask-answer w",
            "relaunch w",
            "relaunch spawn prompt",
            "",
        ] {
            assert!(!is_allowed(command), "{command}");
        }
    }

    #[test]
    fn what_a_subagent_asks_names_it_and_nothing_else_changes() {
        let named = |command| named(command, Some("reviewer"), "a2ed");
        assert_eq!(named("ask-post -w w 'Which?'; ls").as_deref(), Some("ask-post --asked-by 'reviewer a2ed' -w w 'Which?'; ls"));
        assert_eq!(super::named("ask-post x", Some("it's; rm"), "a").as_deref(), Some("ask-post --asked-by 'it'\\''s; rm a' x"));
        for other in ["ask-post", "ask-poster x", "ls; ask-post x", "ask-post --asked-by me x", "ask-post x --asked-by=me"] {
            assert_eq!(named(other), None, "{other}");
        }
    }
    #[test]
    fn the_plugins_tools_may_ask_and_look_and_name_the_subagent() {
        let call = |tool: &str, agent: Option<&str>, input: serde_json::Value| {
            let event =
                serde_json::json!({"tool_name": tool, "tool_input": input, "agent_id": agent, "agent_type": agent.map(|_| "reviewer")});
            decide(&serde_json::from_value(event).unwrap())
        };
        let name = |tool: &str| format!("mcp__plugin_askbox_askbox__{tool}");
        let asked = |agent, input| match call(&name("ask_user"), agent, input) {
            Some(HookReply::Decided(CallDecision::Allow(allow))) => allow.input.get("asked_by").cloned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked(None, serde_json::json!({"question": "Which?"})), None);
        assert_eq!(asked(Some("a2ed"), serde_json::json!({"question": "Which?"})), Some("reviewer a2ed".into()));
        assert_eq!(asked(Some("a2ed"), serde_json::json!({"asked_by": "me"})), Some("reviewer a2ed".into()), "no agent asks as another");
        for refused in
            [&name("stop_run"), &name("answer_question"), &name("ask_user2"), "mcp__askbox__ask_user", "mcp__other__ask_user", "Write"]
        {
            assert!(call(refused, None, serde_json::json!({})).is_none(), "{refused}");
        }
    }
}
