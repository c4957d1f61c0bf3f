//! What the model is told about the tools. `definitions.json` has the tools in a fixed order: the order is part of what the API caches.

use serde_json::Value;

use crate::tool_names::{GENERAL, TASK};
use askbox_definitions::agent_file::Agent;

/// The definitions of these tools.
pub(crate) fn definitions(has: impl Fn(&str) -> bool, agents: &[Agent]) -> Vec<Value> {
    let all: Vec<Value> = serde_json::from_str(include_str!("definitions.json")).unwrap_or_default();
    let mut tools: Vec<Value> = all.into_iter().filter(|tool| tool["name"].as_str().is_some_and(&has)).collect();
    for tool in tools.iter_mut().filter(|tool| tool["name"] == TASK) {
        tool["description"] = (tool["description"].as_str().unwrap_or_default().to_owned() + &about_agents(agents)).into();
    }
    tools
}

/// The model learns of the agents from the description of the tool that starts them.
fn about_agents(agents: &[Agent]) -> String {
    let mut text: String = agents.iter().map(|agent| format!("\n- {}: {}\n", agent.name, agent.description.trim())).collect();
    if !agents.iter().any(|agent| agent.name == GENERAL) {
        text.push_str(&format!("\n- {GENERAL}: Use this agent for any task that needs many steps whose details you do not have to see\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_json_and_each_tool_has_a_schema() {
        let tools = definitions(|_| true, &[]);
        assert_eq!(tools.len(), 9);
        for tool in &tools {
            let schema = &tool["input_schema"];
            let is_there = |name: &Value| schema["properties"][name.as_str().unwrap()]["description"].is_string();
            assert!(schema["required"].as_array().unwrap().iter().all(is_there), "{tool}");
        }
    }
}
