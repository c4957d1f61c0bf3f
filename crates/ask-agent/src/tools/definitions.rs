//! What the model is told about the tools.

use serde_json::{Map, Value, json};

use crate::tool_names::{ALL, ASK_USER, BASH, EDIT, GENERAL, GLOB, READ, TASK, TODO, WRITE};
use askbox_agent::definitions::agent_file::Agent;

/// The definitions of these tools, in a fixed order: the order is part of what the API caches.
pub(crate) fn definitions(has: impl Fn(&str) -> bool, agents: &[Agent]) -> Vec<Value> {
    ALL.into_iter().filter(|tool| has(tool)).map(|tool| definition(tool, agents)).collect()
}

/// A field of an input: its name, its type and its meaning. The name of an optional field ends with `?`.
type Field = (&'static str, &'static str, &'static str);

const FILE: Field = ("file_path", "string", "The file");

fn definition(tool: &str, agents: &[Agent]) -> Value {
    let (about, fields): (&str, &[Field]) = match tool {
        TASK => (
            &about_agents(agents),
            &[
                ("subagent_type", "string", "The type of agent"),
                ("description?", "string", "The task in a few words"),
                ("prompt", "string", "The task for the agent. It knows nothing but this"),
            ],
        ),
        BASH => (
            "Runs a shell command in the working folder and returns its output. Each call begins there anew.",
            &[
                ("command", "string", "The command"),
                ("timeout?", "integer", "Milliseconds until it is ended, at most 600000"),
                ("description?", "string", "What it does, in a few words"),
            ],
        ),
        READ => (
            "Reads a text file. Each line has its number in front.",
            &[FILE, ("offset?", "integer", "The first line, from 1"), ("limit?", "integer", "The number of lines")],
        ),
        WRITE => ("Writes a file, in place of one that exists.", &[FILE, ("content", "string", "Its whole content")]),
        EDIT => (
            "Replaces a text in a file. The text must stand there exactly once, unless replace_all is true.",
            &[
                FILE,
                ("old_string", "string", "The text to replace"),
                ("new_string", "string", "The text in its place"),
                ("replace_all?", "boolean", "Replace each of them"),
            ],
        ),
        GLOB => (
            "Finds files by a pattern such as src/**/*.rs, the newest first.",
            &[("pattern", "string", "The pattern"), ("path?", "string", "The folder to search; the working folder without it")],
        ),
        TODO => ("Keeps the list of what is to be done. Each call replaces the whole list.", &[("todos", "array", "The list")]),
        // The tool that asks the user.
        _ => {
            ("Asks the user. The answer may take days: you are stopped, and go on with it.", &[("questions", "array", "1 to 4 questions")])
        }
    };
    let mut input = object(fields);
    if tool == TODO {
        let mut todo = object(&[("content", "string", "What is to be done"), ("status", "string", "How far it is")]);
        todo["properties"]["status"]["enum"] = json!(["pending", "in_progress", "completed"]);
        input["properties"]["todos"]["items"] = todo;
    } else if tool == ASK_USER {
        let mut question = object(&[
            ("question", "string", "The question, complete in itself"),
            ("header?", "string", "One word for it"),
            ("multiSelect?", "boolean", "Several options may be chosen"),
            ("options", "array", "The options"),
        ]);
        let option = object(&[("label", "string", "What the user chooses"), ("description", "string", "What follows from it")]);
        question["properties"]["options"]["items"] = option;
        let questions = &mut input["properties"]["questions"];
        (questions["items"], questions["minItems"], questions["maxItems"]) = (question, 1.into(), 4.into());
    }
    json!({ "name": tool, "description": about, "input_schema": input })
}

/// The schema of an object with these fields.
fn object(fields: &[Field]) -> Value {
    let properties = fields.iter().map(|(name, kind, about)| (name.replace('?', ""), json!({ "type": kind, "description": about })));
    let needed: Vec<&str> = fields.iter().map(|field| field.0).filter(|name| !name.ends_with('?')).collect();
    json!({ "type": "object", "properties": properties.collect::<Map<_, _>>(), "required": needed })
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
