//! `askbox agents`: lists the agents that are defined for claude, and the files that cannot be read.

use serde_json::json;

use crate::agent_file::{Agent, Finding, Level};
use crate::catalog::Catalog;
use askbox_cli::args::askbox_args::{Agents, WhatOfAgents};
use askbox_cli::{columns, program};
use askbox_mailbox::{Error, IoContext, Result, text};

/// The maximum length of a printed description, in bytes. A longer one is cut. A model pays for a description in every request.
const LONG_DESCRIPTION: usize = 8 << 10;

/// `askbox agents`.
///
/// # Errors
/// If the folder or the agent does not exist, or nobody reads what is printed.
pub fn run(args: &Agents) -> Result<u8> {
    let dir = match &args.dir {
        Some(dir) if !dir.is_dir() => return Err(Error::not_found(format!("there is no folder {}", dir.display()), "check --dir")),
        Some(dir) => dir.clone(),
        None => std::env::current_dir().io("find", ".")?,
    };
    let catalog = Catalog::discover(&dir, |name| std::env::var_os(name));
    match &args.what {
        WhatOfAgents::List => list(&catalog, args.json),
        WhatOfAgents::Show { name } => one(&catalog, name, args.json),
        WhatOfAgents::Describe => describe(&catalog, args.json),
    }
}

fn list(catalog: &Catalog, as_json: bool) -> Result<u8> {
    if as_json {
        program::print_json(catalog)?;
    } else {
        catalog.problems.iter().for_each(complain);
        if catalog.agents.is_empty() {
            program::say("no agents are defined here\n");
        }
        let row = |a: &Agent| {
            [
                text::excerpt(&a.name, 40),
                text::excerpt(a.model.as_deref().unwrap_or("-"), 24),
                text::excerpt(&tools_of(a), 40),
                a.scope.to_string(),
                text::excerpt(a.description.trim(), 60),
            ]
        };
        let rows: Vec<_> = catalog.agents.iter().map(row).collect();
        program::print(&columns::table(["NAME", "MODEL", "TOOLS", "SCOPE", "DESCRIPTION"], &rows))?;
    }
    Ok(status(catalog))
}

/// The exit status. It is the one for an invalid document if a file should define an agent but does not.
fn status(catalog: &Catalog) -> u8 {
    if catalog.problems.iter().any(|problem| problem.level == Level::Error) { 5 } else { 0 }
}

/// Prints the Task tool.
fn describe(catalog: &Catalog, as_json: bool) -> Result<u8> {
    catalog.problems.iter().for_each(complain);
    let words = description(&catalog.agents);
    if as_json {
        let example = catalog.agents.first().map_or("general-purpose", |a| &a.name);
        program::print_json(&json!({
            "name": "Task",
            "description": words,
            "input_schema": {
                "type": "object",
                "properties": {
                    "subagent_type": {"type": "string", "description": format!("The type of agent (e.g., {example})")},
                    "prompt": {"type": "string", "description": "The task for the agent"},
                },
                "required": ["subagent_type", "prompt"],
            },
        }))?;
    } else {
        program::print(&format!("{words}\n"))?;
    }
    Ok(status(catalog))
}

/// The Task tool's description, which tells a model about the agents.
fn description(agents: &[Agent]) -> String {
    let mut words = "Launch a new agent to handle complex tasks...\n\nAvailable agent types:".to_owned();
    for agent in agents {
        let description = agent.description.trim();
        let end = description.floor_char_boundary(LONG_DESCRIPTION);
        let more = if end < description.len() { "…" } else { "" };
        words.push_str(&format!("\n\n- {}: {}{more}", agent.name, &description[..end]));
    }
    words
}

fn one(catalog: &Catalog, name: &str, as_json: bool) -> Result<u8> {
    let Some(agent) = catalog.agents.iter().find(|a| a.name == name) else { return Err(missing(catalog, name)) };
    catalog.problems.iter().filter(|p| p.file == agent.file).for_each(complain);
    if as_json {
        program::print_json(agent)?;
        return Ok(0);
    }
    let mut rows = vec![
        ("name".to_owned(), agent.name.clone()),
        ("file".into(), agent.file.display().to_string()),
        ("scope".into(), agent.scope.to_string()),
    ];
    rows.extend(agent.shadows.iter().map(|s| ("in place of".into(), s.display().to_string())));
    rows.push(("model".into(), agent.model.clone().unwrap_or_else(|| "-".into())));
    rows.push(("tools".into(), tools_of(agent)));
    // All other fields as they are written, even unknown ones.
    for (key, value) in &agent.fields {
        if !["name", "description", "model", "tools"].contains(&key.as_str()) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            rows.push((text::excerpt(key, 40), text::excerpt(&value, 400)));
        }
    }
    let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0) + 2;
    let mut words: String = rows.iter().map(|(key, value)| format!("{key:<width$}{}\n", text::one_line(value))).collect();
    let body = |title: &str, text: &str| format!("\n{title}:\n{}\n", if text.is_empty() { "(none)" } else { text });
    let end = agent.description.floor_char_boundary(LONG_DESCRIPTION);
    let more = if end < agent.description.len() {
        format!("… ({} bytes; all of it with --json)", agent.description.len())
    } else {
        String::new()
    };
    words.push_str(&body("description", &format!("{}{more}", agent.description[..end].trim_end())));
    words.push_str(&body("prompt", &agent.prompt));
    program::print(&words)?;
    Ok(0)
}

/// The error for a name that no agent has. If a file `NAME.md` cannot be read, the error says why.
fn missing(catalog: &Catalog, name: &str) -> Error {
    let is_meant = |p: &&Finding| p.level == Level::Error && p.file.file_stem().is_some_and(|stem| stem == name);
    match catalog.problems.iter().find(is_meant) {
        Some(finding) => Error::invalid("agent", &finding.problem, finding.fix.as_str()).in_file(place(finding)),
        None => Error::not_found(
            format!("no agent `{}` is defined here", text::excerpt(name, 80)),
            "list the defined agents: askbox agents list (built-in agents and those of plugins are not included)",
        ),
    }
}

/// `FILE:LINE`, or only the file if the finding is about the whole file.
fn place(finding: &Finding) -> String {
    let file = finding.file.display();
    if finding.line == 0 { file.to_string() } else { format!("{file}:{}", finding.line) }
}

fn complain(finding: &Finding) {
    let words = text::one_line(&format!("{}: {}: {}", finding.level, place(finding), finding.problem));
    program::say(&format!("{words}\nhint: {}\n", text::one_line(&finding.fix)));
}

/// The tools in the words that claude uses when it describes them to a model.
fn tools_of(agent: &Agent) -> String {
    let not = agent.disallowed_tools.join(", ");
    match &agent.tools {
        None if not.is_empty() => "all".into(),
        None => format!("all but {not}"),
        Some(tools) => {
            let left: Vec<&str> = tools.iter().filter(|t| !agent.disallowed_tools.contains(t)).map(String::as_str).collect();
            if left.is_empty() { "none".into() } else { left.join(", ") }
        }
    }
}
