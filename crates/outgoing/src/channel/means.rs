//! The means to notify each kind of target: the program to run, and its input.
//!
//! - The operator's program: the event is its last argument and its standard input.
//! - A notification on this desktop. A later message about the same round replaces the earlier one, if the desktop knows one of the two
//!   hints that ask for that.
//! - A request with the event as JSON. It is signed as <https://www.standardwebhooks.com> describes: it has the headers `webhook-id`,
//!   `webhook-timestamp` and `webhook-signature`. The signature is `v1,` with the base64 of the HMAC-SHA256 over `ID.TIMESTAMP.BODY`.
//! - A message to a topic of an ntfy server (<https://docs.ntfy.sh/publish/>). All messages of a round have one sequence id, so that a later
//!   one replaces an earlier one on the phone (servers from version 2.16 on; older ones show both). Up to three buttons answer by a message
//!   to the topic for replies.
//!
//! The last two are requests by `curl`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::call::{Errors, ProgramCall};
use crate::curl;
use askbox_config::{Means, Target, topic};
use askbox_mailbox::platform::means::{DESKTOP, Desktop};
use askbox_mailbox::{Error, Result, document};
use askbox_watch::news::lines::{About, Message, Notice, Urgency};

/// The program that tells a target's people. `replies` are the texts that buttons answer with.
pub(super) fn call(target: &Target, notice: &Notice, replies: &[String]) -> Result<ProgramCall> {
    match target.means() {
        Some(Means::Exec(command)) => exec_call(command, &notice.message),
        Some(Means::Desktop) => Ok(desktop_call(notice)),
        Some(Means::Webhook(url)) => webhook_call(url, target, &notice.message),
        Some(Means::Ntfy(url)) => ntfy_call(url, target, notice, replies),
        Some(Means::Channel(_)) | None => Err(Error::failed("the target has a channel of its own", "report this as a bug")),
    }
}

fn exec_call(command: &[String], message: &Message) -> Result<ProgramCall> {
    let (program, args) = command.split_first().map_or((String::new(), Vec::new()), |(program, args)| (program.clone(), args.to_vec()));
    let about = if let About::Round(round) = &message.about { Some(round) } else { None };
    Ok(ProgramCall {
        program: program.into(),
        args: args.into_iter().chain([message.event.clone()]).map(Into::into).collect(),
        env: vec![
            ("ASKBOX_EVENT", message.event.clone()),
            ("ASKBOX_NEWS_ID", message.id.to_string()),
            ("ASKBOX_WORKFLOW_ID", about.map(|about| about.workflow_id.to_string()).unwrap_or_default()),
            ("ASKBOX_QUESTION", about.map_or_else(|| message.title.clone(), |about| about.question.clone())),
        ],
        input: document::to_json(message)?,
        errors: Errors::LastLine,
        // The operator's own program ends by itself.
        is_tied: false,
    })
}

fn desktop_call(notice: &Notice) -> ProgramCall {
    let args = match DESKTOP {
        Desktop::NotifySend => notify_send(notice),
        Desktop::AppleScript => osascript(&notice.message),
    };
    ProgramCall {
        program: Means::Desktop.program().into(),
        args: args.into_iter().map(Into::into).collect(),
        errors: Errors::OneLine,
        is_tied: true,
        ..ProgramCall::default()
    }
}

fn notify_send(notice: &Notice) -> Vec<String> {
    let message = &notice.message;
    let urgency = match notice.urgency {
        Urgency::Low => "low",
        Urgency::Normal => "normal",
        Urgency::High => "critical",
    };
    // The text is markup, the title is not.
    let text = message.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let card = notice.card;
    vec![
        "--app-name=askbox".into(),
        format!("--urgency={urgency}"),
        format!("--hint=string:x-dunst-stack-tag:{card}"),
        format!("--hint=string:x-canonical-private-synchronous:{card}"),
        "--".into(),
        message.title.clone(),
        text,
    ]
}

/// The arguments for `osascript`. The texts are arguments of the script, never a part of it.
fn osascript(message: &Message) -> Vec<String> {
    let script = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
    let script = script.into_iter().flat_map(|line| ["-e".to_owned(), line.to_owned()]);
    script.chain([message.title.clone(), message.text.clone()]).collect()
}

fn webhook_call(url: &str, target: &Target, message: &Message) -> Result<ProgramCall> {
    let body = String::from_utf8(document::to_json(message)?).map_err(|e| Error::failed(e.to_string(), "report this as a bug"))?;
    let (id, at) = (message.id.to_string(), message.at.timestamp().to_string());
    let mut headers = vec![("content-type", "application/json".to_owned()), ("webhook-id", id.clone()), ("webhook-timestamp", at.clone())];
    if let Some(secret) = curl::secret("secret_file", &target.secret_file)? {
        headers.push(("webhook-signature", format!("v1,{}", sign(&secret, &format!("{id}.{at}.{body}"))?)));
    }
    Ok(curl::post(url, &headers, &body))
}

/// Signs a text. A secret that begins with `whsec_` is base64, as in the standard. Any other is used as it is.
fn sign(secret: &str, text: &str) -> Result<String> {
    let key = match secret.strip_prefix("whsec_") {
        Some(encoded) => {
            STANDARD.decode(encoded).map_err(|_| Error::invalid("secret_file", "is no base64 after whsec_", "write it anew"))?
        }
        None => secret.as_bytes().to_vec(),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|e| Error::failed(e.to_string(), "write another secret"))?;
    mac.update(text.as_bytes());
    Ok(STANDARD.encode(mac.finalize().into_bytes()))
}

/// The longest label of a button, in characters.
const LONGEST_LABEL: usize = 40;

fn ntfy_call(url: &str, target: &Target, notice: &Notice, replies: &[String]) -> Result<ProgramCall> {
    let (server, topic) = topic(url).ok_or_else(|| Error::invalid("ntfy", "names no topic", "write SERVER/TOPIC"))?;
    let message = &notice.message;
    let (priority, tags) = match notice.urgency {
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
        "sequence_id": notice.card.simple().to_string(),
    });
    if let Some(open) = &message.open {
        body["click"] = open.as_str().into();
    }
    let labels = notice.buttons.iter().map(|label| askbox_mailbox::text::excerpt(label, LONGEST_LABEL));
    let buttons: Vec<Value> = labels
        .zip(replies)
        .map(|(label, reply)| {
            json!({ "action": "http", "label": label, "url": target.ntfy_replies, "method": "POST", "body": reply, "clear": true })
        })
        .collect();
    if !buttons.is_empty() {
        body["actions"] = buttons.into();
    }
    Ok(curl::post(server, &ntfy_headers(target)?, &body.to_string()))
}

/// A request that follows the topic for replies, beginning after a message or at a time in seconds since 1970. It goes on until it is
/// killed or the connection breaks.
pub(super) fn follow_topic(target: &Target, since: &str) -> Result<ProgramCall> {
    let url = format!("{}/json?since={since}", target.ntfy_replies.trim_end_matches('/'));
    let mut input = curl::options(&url, &ntfy_headers(target)?);
    // ntfy sends a line every 45 seconds. If none comes for two minutes, the connection is dead. If the watcher was killed, curl cannot
    // write the next line, and ends as well.
    input.push_str("no-buffer\nspeed-limit = 1\nspeed-time = 120\n");
    Ok(curl::call(input))
}

fn ntfy_headers(target: &Target) -> Result<Vec<(&'static str, String)>> {
    let token = curl::secret("token_file", &target.token_file)?;
    Ok(token.map(|token| ("authorization", format!("Bearer {token}"))).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_standards_own_example() {
        // From the specification and the tests of its reference libraries.
        let text = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
        let signature = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", text).unwrap();
        assert_eq!(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
