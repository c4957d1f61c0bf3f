//! `TodoWrite`: the list of what is to be done. The call itself keeps it: it stands in the transcript.

use serde_json::{Map, Value};

pub(super) fn write(input: &Map<String, Value>) -> Result<String, String> {
    let todos = input.get("todos").and_then(Value::as_array).ok_or("`todos` is not a list")?;
    let mut open = 0;
    for todo in todos {
        match (todo["content"].as_str(), todo["status"].as_str()) {
            (Some(_), Some("completed")) => {}
            (Some(_), Some("pending" | "in_progress")) => open += 1,
            _ => return Err("each item needs `content`, and a `status`: pending, in_progress or completed".into()),
        }
    }
    Ok(format!("The list is kept: {} of {} are done.", todos.len() - open, todos.len()))
}
