//! What the model is told about the tools.

use serde_json::{Value, json};

use crate::tool_names::{ALL, BASH, EDIT, GENERAL, GLOB, READ, TASK, TODO, WRITE};
use askbox_agent::definitions::agent_file::Agent;

/// The definitions of these tools, in a fixed order: the order is part of what the API caches.
pub(crate) fn definitions(has: impl Fn(&str) -> bool, agents: &[Agent]) -> Vec<Value> {
    ALL.into_iter().filter(|tool| has(tool)).map(|tool| definition(tool, agents)).collect()
}

fn definition(tool: &str, agents: &[Agent]) -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "description": about });
    let (description, properties, required): (String, Value, &[&str]) = match tool {
        TASK => (
            about_agents(agents),
            json!({
                "subagent_type": text("The type of agent"),
                "description": text("The task in a few words"),
                "prompt": text("The task for the agent. It knows nothing but this"),
            }),
            &["subagent_type", "prompt"],
        ),
        BASH => (
            "Runs a shell command in the working folder and returns its output. Each call begins there anew.".into(),
            json!({
                "command": text("The command"),
                "timeout": number("Milliseconds until it is ended, at most 600000"),
                "description": text("What it does, in a few words"),
            }),
            &["command"],
        ),
        READ => (
            "Reads a text file. Each line has its number in front.".into(),
            json!({ "file_path": text("The file"), "offset": number("The first line, from 1"), "limit": number("The number of lines") }),
            &["file_path"],
        ),
        WRITE => (
            "Writes a file, in place of one that exists.".into(),
            json!({ "file_path": text("The file"), "content": text("Its whole content") }),
            &["file_path", "content"],
        ),
        EDIT => (
            "Replaces a text in a file. The text must stand there exactly once, unless replace_all is true.".into(),
            json!({
                "file_path": text("The file"),
                "old_string": text("The text to replace"),
                "new_string": text("The text in its place"),
                "replace_all": { "type": "boolean", "description": "Replace each of them" },
            }),
            &["file_path", "old_string", "new_string"],
        ),
        GLOB => (
            "Finds files by a pattern such as src/**/*.rs, the newest first.".into(),
            json!({ "pattern": text("The pattern"), "path": text("The folder to search; the working folder without it") }),
            &["pattern"],
        ),
        TODO => (
            "Keeps the list of what is to be done. Each call replaces the whole list.".into(),
            json!({ "todos": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "content": text("What is to be done"),
                    "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                },
                "required": ["content", "status"],
            }}}),
            &["todos"],
        ),
        // The tool that asks the user.
        _ => (
            "Asks the user. The answer may take days: you are stopped, and go on with it.".into(),
            json!({ "questions": { "type": "array", "minItems": 1, "maxItems": 4, "items": {
                "type": "object",
                "properties": {
                    "question": text("The question, complete in itself"),
                    "header": text("One word for it"),
                    "multiSelect": { "type": "boolean", "description": "Several options may be chosen" },
                    "options": { "type": "array", "items": {
                        "type": "object",
                        "properties": { "label": text("What the user chooses"), "description": text("What follows from it") },
                        "required": ["label", "description"],
                    }},
                },
                "required": ["question", "options"],
            }}}),
            &["questions"],
        ),
    };
    json!({ "name": tool, "description": description, "input_schema": { "type": "object", "properties": properties, "required": required } })
}

/// The model learns of the agents from the description of the tool that starts them.
fn about_agents(agents: &[Agent]) -> String {
    let mut text =
        "Launch a new agent to handle complex tasks. It works in a conversation of its own; only its conclusion returns to you.\n\n\
                    Available agent types:\n"
            .to_owned();
    for agent in agents {
        text.push_str(&format!("\n- {}: {}\n", agent.name, agent.description.trim()));
    }
    if !agents.iter().any(|agent| agent.name == GENERAL) {
        text.push_str(&format!("\n- {GENERAL}: Use this agent for any task that needs many steps whose details you do not have to see\n"));
    }
    text
}
