//! Text from other programs and machines: lines and offers of peers, the settings of `claude`, the files of keys.

use askbox::address::HostName;
use askbox::commands::setup::change as settings;
use askbox::mailbox::documents::offer::Offer;
use askbox::mailbox::trust::key::{self, PublicKey, SecretKey};
use askbox::peers::lines::{Line, WaitingLine};
use askbox::peers::remote_question::RemoteQuestion;
use serde_json::Value;

use super::promises;

/// The lines of another machine: the words of a peer over ssh, and offers and questions in a database.
pub fn peer(bytes: &[u8]) {
    let host: HostName = "laptop".parse().expect("a name");
    for line in bytes.split(|b| *b == b'\n') {
        if let Ok(offer) = serde_json::from_slice::<Offer>(line) {
            if let Err(e) = offer.check() {
                promises::is_a_usable_error(&e);
            }
            let json = serde_json::to_vec(&offer).expect("an offer is JSON");
            assert_eq!(serde_json::from_slice::<Offer>(&json).expect("what was written can be read"), offer);
        }
        let Some(read) = Line::read(line) else { continue };
        let shown = format!("{read:?}");
        if let Line::Question(WaitingLine { workflow_id, question_id, document }) = &read {
            let remote = RemoteQuestion::read(host.clone(), workflow_id.clone(), *question_id, document.get().as_bytes());
            match &remote.asked {
                // A question of another machine is as valid as a local one, and belongs to the round that its machine names.
                Ok(asked) => {
                    let document = asked.document().expect("what was read once can be read again").typed;
                    assert_eq!(document.workflow_id, *workflow_id);
                    assert!(document.question_id.is_none_or(|id| id == *question_id));
                    assert_eq!(asked.hash, document.hash().expect("JSON"));
                }
                Err(why) => promises::is_one_safe_line(&why.one_line()),
            }
            assert_eq!(remote.address().to_string(), format!("laptop:{workflow_id}"));
        }
        let json = read.to_json().expect("a line is JSON");
        assert!(!json.contains('\n'), "{json}");
        let again = Line::read(json.as_bytes()).unwrap_or_else(|| panic!("what was written cannot be read: {json}"));
        // Blanks between the fields of a document do not belong to it.
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&format!("{again:?}")), bare(&shown));
    }
}

const RULES: [&str; 2] = ["Bash(ask-post:*)", "mcp__askbox__ask_user"];

/// The text with the rules that it lacks.
fn with_rules(text: &str) -> Result<String, &'static str> {
    let missing = settings::missing(text, &RULES)?;
    if missing.is_empty() { Ok(text.to_owned()) } else { settings::with(text, &missing) }
}

/// The text of a settings.json. Adding our rules changes only these rules. After their removal, none of them is left.
pub fn settings(bytes: &[u8]) {
    let Ok(before) = std::str::from_utf8(bytes) else { return };
    // Half a character and a huge number are valid JSON, but cannot be compared here.
    let Ok(mut old) = serde_json::from_str::<Value>(before) else { return };
    let after = match with_rules(before) {
        Ok(after) => after,
        Err(why) => return assert!(!why.is_empty() && !why.contains('\n'), "{why}"),
    };
    assert_eq!(settings::missing(&after, &RULES), Ok(Vec::new()), "{after}");
    assert_eq!(with_rules(&after).as_deref(), Ok(&*after), "once is enough");
    let mut new: Value = serde_json::from_str(&after).unwrap_or_else(|e| panic!("{e}: {after}"));
    let there = settings::missing(before, &RULES).expect("it was read before").len();
    let list = new["permissions"]["allow"].as_array_mut().expect("a list");
    list.truncate(list.len() - there);
    if old["permissions"]["allow"].is_null() {
        old["permissions"]["allow"] = Value::Array(Vec::new());
    }
    assert_eq!(new, old, "something else changed");
    let bare = settings::without(&after, &RULES.map(str::to_owned), false, false).expect("they are in it");
    assert_eq!(settings::missing(&bare, &RULES).map(|missing| missing.len()), Ok(2), "{bare}");
    let mut taken: Value = serde_json::from_str(&bare).unwrap_or_else(|e| panic!("{e}: {bare}"));
    let ours = |rule: &Value| rule.as_str().is_some_and(|rule| RULES.contains(&rule));
    old["permissions"]["allow"].as_array_mut().expect("a list").retain(|rule| !ours(rule));
    assert_eq!(taken["permissions"]["allow"].take(), old["permissions"]["allow"].take(), "a rule of the person's own");
}

/// The first line is a public key, the second a signature, the rest the file of a secret key.
pub fn keys(bytes: &[u8]) {
    let mut lines = bytes.splitn(3, |b| *b == b'\n');
    let mut text = || lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let (public, signature) = (text(), text());
    let public = match PublicKey::try_from(public.to_owned()) {
        Ok(key) => {
            let written = String::from(key.clone());
            assert_eq!(PublicKey::try_from(written.clone()).as_ref(), Ok(&key), "{written}");
            Some(key)
        }
        Err(why) => {
            assert!(!why.is_empty() && why.len() < 1024, "{why}");
            None
        }
    };
    if let Some(read) = key::signature_in(signature) {
        assert_eq!(key::signature_in(&read).as_ref(), Some(&read), "a signature is written as it was read");
        // These bytes were never signed with a key of the corpus.
        assert!(public.is_none_or(|key| !key.has_signed(b"nobody signed this", &read)), "forged: {read}");
    }
    let Some(secret) = lines.next().and_then(SecretKey::parse) else { return };
    let (own, signed) = (secret.public("ann\nbob"), secret.sign(b"yes"));
    assert!(own.has_signed(b"yes", &signed) && !own.has_signed(b"no", &signed));
    promises::is_one_safe_line(own.name());
    assert_eq!(PublicKey::try_from(String::from(own.clone())), Ok(own));
}
