//! Dotted paths into a checkpoint, such as `files.backup` or `completed_steps.0`.

use serde_json::{Map, Value};

use crate::document::{MAX_DEPTH, check_depth};
use crate::documents::checkpoint::CheckpointDocument;
use crate::{Error, Result, WorkflowId, text};

/// Returns the value at a dotted path of a workflow's checkpoint. A number is an index of a list, from 0.
///
/// # Errors
/// [`Error::NotFound`] if the checkpoint has no such value.
pub fn get(document: &CheckpointDocument, workflow: &WorkflowId, field: &str) -> Result<Value> {
    let mut pieces = field.split('.');
    let absent = || {
        let problem = format!("the checkpoint has no field `{}`", text::excerpt(field, 80));
        Error::not_found(problem, ("look what it has", format!("checkpoint show {workflow}")))
    };
    let first = pieces.next().and_then(|f| document.field(f)).ok_or_else(absent)?;
    let mut value: Value = serde_json::from_str(first).map_err(|_| absent())?;
    for piece in pieces {
        value = match value {
            Value::Object(mut map) => map.remove(piece).ok_or_else(absent)?,
            Value::Array(mut items) => match piece.parse::<usize>() {
                Ok(n) if n < items.len() => items.swap_remove(n),
                _ => return Err(absent()),
            },
            _ => return Err(absent()),
        };
    }
    Ok(value)
}

/// Sets the value at a dotted path. Creates missing objects on the way. A number must be an existing index of a list: lists do not grow.
///
/// # Errors
/// [`Error::Usage`] if the path leads through a plain value, names a missing index, or is too deep. [`Error::Invalid`] if the
/// document would nest too deep to be read again.
pub fn set(document: &mut CheckpointDocument, field: &str, value: Value) -> Result<()> {
    let (first, root) = changed(document, field, value)?;
    check_depth(&serde_json::json!({ first: &root }).to_string())?;
    document.set_field(first, &root)
}

/// Returns the name of the path's first field, and that field's value after the change.
fn changed<'a>(document: &CheckpointDocument, field: &'a str, value: Value) -> Result<(&'a str, Value)> {
    let Some((first, rest)) = field.split_once('.') else { return Ok((field, value)) };
    if rest.matches('.').count() > MAX_DEPTH {
        let problem = format!("`{}` nests deeper than {MAX_DEPTH} levels", text::excerpt(field, 80));
        return Err(Error::usage(problem, "set a field that is nearer"));
    }
    let mut root = document.field(first).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null);
    let mut place = &mut root;
    for piece in rest.split('.') {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Object(map) => map.entry(piece).or_insert(Value::Null),
            Value::Array(items) => {
                let index = piece.parse::<usize>().ok().filter(|n| *n < items.len());
                index.and_then(|n| items.get_mut(n)).ok_or_else(|| {
                    Error::usage(format!("`{}` is not an index of that list", text::excerpt(piece, 40)), "indices begin at 0")
                })?
            }
            _ => {
                let hint = "set the whole field instead";
                return Err(Error::usage(format!("`{}` lies below a plain value", text::excerpt(field, 80)), hint));
            }
        };
    }
    *place = value;
    Ok((first, root))
}
