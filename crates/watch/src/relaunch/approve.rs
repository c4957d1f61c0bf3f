//! `relaunch approve`: the tool calls that a person has allowed or refused to workflows for good.

use serde_json::{Value, json};

use askbox_cli::{Context, program};
use askbox_mailbox::documents::awaited::Grant;
use askbox_mailbox::{Error, Folder, Mailbox, Result, WorkflowId, list, text, time, workflows};
use askbox_run::approval::standing::{self, Kind};

/// The number of characters of a hash that are shown.
const DIGITS: usize = 12;

/// `relaunch approve --list`. Without a mailbox, nothing is allowed or refused.
pub fn list(mailbox: Option<&Mailbox>, context: &Context, only: Option<&WorkflowId>, json: bool) -> Result<u8> {
    let Some(mailbox) = mailbox else { return Ok(0) };
    let ids = if let Some(id) = only { vec![id.clone()] } else { list::workflows(mailbox, Folder::Workflows)? };
    let mut found = Vec::new();
    for id in ids {
        match standing::of_workflow(mailbox, &id) {
            Ok(of_it) => found.extend(of_it.into_iter().map(|(kind, grant)| (id.clone(), kind, grant))),
            Err(e) if only.is_none() => program::warn(&program::message(&e)),
            Err(e) => return Err(e),
        }
    }
    let policy = context.config()?.answers.policy();
    for (id, kind, grant) in &found {
        let counts = standing::counts(mailbox, &policy, id, *kind, grant);
        let remark = if counts { "" } else { "    does not count: the answer that decided is not there, or is not trusted\n" };
        program::print_result(json, &as_json(id, *kind, grant, Some(counts)), &(line(id, *kind, grant) + remark))?;
    }
    if !json && found.is_empty() {
        program::print("no call is allowed or refused to a workflow beyond the one that was asked about\n")?;
    }
    Ok(0)
}

/// `relaunch approve --revoke`.
pub fn revoke(mailbox: &Mailbox, context: &Context, id: &WorkflowId, call: Option<&str>, json: bool) -> Result<u8> {
    let caller = context.caller(None, "relaunch")?;
    if workflows::read(mailbox, id)?.is_none() {
        return Err(Error::not_found(format!("there is no workflow {id} that has run"), "see: relaunch approve --list"));
    }
    let only = call.map(|beginning| the_one(mailbox, id, beginning)).transpose()?;
    let revoked = standing::revoke(mailbox, id, only.as_ref().map(|grant| &grant.sha256), &caller)?;
    if json {
        return revoked.iter().try_for_each(|(kind, grant)| program::print_json(&as_json(id, *kind, grant, None))).map(|()| 0);
    }
    for (kind, grant) in &revoked {
        program::print(&format!("revoked    {}", line(id, *kind, grant)))?;
    }
    if revoked.is_empty() {
        program::print(&format!("nothing was allowed or refused to {id}\n"))?;
    }
    Ok(0)
}

/// The only call whose hash begins with `beginning`.
fn the_one(mailbox: &Mailbox, id: &WorkflowId, beginning: &str) -> Result<Grant> {
    let all = standing::of_workflow(mailbox, id)?.into_iter().map(|(_, grant)| grant);
    let mut fitting = all.filter(|grant| grant.sha256.to_string().starts_with(beginning));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => {
            let shown = text::excerpt(beginning, 64);
            let hint = format!("see: relaunch approve --list {id}");
            Err(Error::not_found(format!("no call that is allowed or refused to {id} has the hash {shown}"), hint))
        }
        (Some(_), Some(_)) => Err(Error::usage(format!("the hashes of several calls of {id} begin so"), "write more of the hash")),
    }
}

fn line(id: &WorkflowId, kind: Kind, grant: &Grant) -> String {
    let (hash, age) = (grant.sha256.to_string(), time::human(time::since(grant.at)));
    let hash = hash.get(..DIGITS).unwrap_or(&hash);
    let call = visible(grant.rule.as_ref().unwrap_or(&grant.tool), 120);
    let (shown, by) = (text::excerpt(&text::still_visible(&grant.shown), 200), visible(&grant.by, 60));
    format!("{id}  {hash}  {:6}  {call}  {shown}  (by {by}, {age} ago)\n", kind.word())
}

/// The beginning of a text on one line, with its invisible characters written out.
fn visible(words: &str, most: usize) -> String {
    text::excerpt(&text::visible(words), most)
}

fn as_json(id: &WorkflowId, kind: Kind, grant: &Grant, counts: Option<bool>) -> Value {
    let mut value = json!(grant);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("workflow_id".into(), json!(id));
        fields.insert("always".into(), json!(kind.word()));
        counts.into_iter().for_each(|counts| drop(fields.insert("counts".into(), json!(counts))));
    }
    value
}
