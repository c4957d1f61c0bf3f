//! A message to a topic of an ntfy server (<https://docs.ntfy.sh/publish/>). All messages of a round have one sequence id, so that a later
//! one replaces an earlier one on the phone (servers from version 2.16 on; older ones show both). Up to three buttons answer by a message
//! to the topic for replies.

use serde_json::{Value, json};

use crate::config::{Target, topic};
use crate::error::{Error, Result};
use crate::news::call::{Call, Errors};
use crate::news::means::curl;
use crate::news::message::{Message, Urgency};

/// The longest label of a button, in characters.
const LONGEST_LABEL: usize = 40;

pub(super) fn call(url: &str, target: &Target, message: &Message, replies: &[String]) -> Result<Call> {
    let (server, topic) = topic(url).ok_or_else(|| Error::invalid("ntfy", "names no topic", "write SERVER/TOPIC"))?;
    let (priority, tags) = match message.urgency {
        Urgency::Low => (2, "white_check_mark"),
        Urgency::Normal => (3, "question"),
        Urgency::High => (4, "warning"),
    };
    let mut body = json!({
        "topic": topic,
        "title": message.title,
        "message": message.text,
        "priority": priority,
        "tags": [tags],
        "sequence_id": message.card.simple().to_string(),
    });
    if let Some(open) = &message.open {
        body["click"] = open.as_str().into();
    }
    let labels = message.buttons.iter().map(|label| crate::text::excerpt(label, LONGEST_LABEL));
    let buttons: Vec<Value> = labels
        .zip(replies)
        .map(|(label, reply)| {
            json!({ "action": "http", "label": label, "url": target.ntfy_replies, "method": "POST", "body": reply, "clear": true })
        })
        .collect();
    if !buttons.is_empty() {
        body["actions"] = buttons.into();
    }
    Ok(curl::post(server, &headers(target)?, &body.to_string()))
}

/// A request that follows the topic for replies from a message on, or from a time in seconds since 1970 on. It goes on until it is
/// killed or the connection breaks.
pub(in crate::news) fn follow(target: &Target, since: &str) -> Result<Call> {
    let url = format!("{}/json?since={since}", target.ntfy_replies.trim_end_matches('/'));
    let mut input = curl::options(&url, &headers(target)?);
    // ntfy sends a line every 45 seconds: without one for two minutes, the connection is dead.
    input.push_str("no-buffer\nspeed-limit = 1\nspeed-time = 120\n");
    Ok(Call {
        program: curl::PROGRAM.into(),
        args: ["--disable", "--config", "-"].map(Into::into).into(),
        input: input.into_bytes(),
        errors: Errors::OneLine,
        ..Call::default()
    })
}

fn headers(target: &Target) -> Result<Vec<(&'static str, String)>> {
    let token = curl::secret("token_file", &target.token_file)?;
    Ok(token.map(|token| ("authorization", format!("Bearer {token}"))).into_iter().collect())
}
