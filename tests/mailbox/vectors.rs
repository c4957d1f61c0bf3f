//! The test vectors of `docs/dev/protocol.md`, one file for each case in `docs/vectors/`. The library computes every file anew.
//! `SNAPSHOTS=overwrite` writes them. `docs/vectors/verify.py` checks the same files without askbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use askbox::mailbox::documents::checks::check_question;
use askbox::mailbox::documents::fields::shown_hash::Shown;
use askbox::mailbox::documents::shown;
use askbox::mailbox::trust::{Policy, PublicKey, SecretKey, signed_bytes};
use askbox::mailbox::{Answer, Question};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sha2::Digest;

use crate::support::{approval_question, needs};

/// The key of the vectors. Its seed is the bytes 00 to 1f.
const SECRET: &str = "askbox-secret-ed25519:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// Another key. Its seed is 32 times the byte ff.
const OTHER: &str = "askbox-secret-ed25519://////////////////////////////////////////8=";

/// A question, the answer that a person gave to it, and a change that was made afterwards.
struct Case {
    name: &'static str,
    about: &'static str,
    question: Value,
    /// The answer without its hashes and its signature.
    answer: Value,
    tamper: fn(&mut Value),
}

fn key(secret: &str) -> SecretKey {
    SecretKey::parse(secret.as_bytes()).expect("a secret key")
}

fn by_ann(more: &Value) -> Value {
    let mut answer = json!({"by": "ann", "channel": "ask-answer", "through": "terminal", "at": "2026-11-24T07:00:00.000Z"});
    answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    answer
}

fn merge() -> Value {
    json!({
        "schema_version": 1, "workflow_id": "docs-42", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44",
        "question": "The sections overlap. How should we proceed?", "options": {"merge": "One section", "keep": "Keep both"},
        "timestamp": "2026-11-24T06:00:00.000Z", "expires_at": "2026-11-25T06:00:00.000Z", "context": "The draft repeats the section *Errors*.", "cwd": "/home/ann/work",
    })
}

fn with_files() -> Value {
    let mut question = merge();
    // The order of the fields of an attachment does not matter for its hash.
    question["attachments"] = json!([
        {"name": "before é.png", "type": "image/png", "size": 68, "sha256": "1f".repeat(32)},
        {"sha256": "a0".repeat(32), "size": 1204, "type": "text/x-diff", "name": "sections.diff"},
    ]);
    question
}

fn every_field() -> Value {
    json!({
        "schema_version": 1, "workflow_id": "all-1", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e45", "question": "",
        "questions": [
            {"question": "Which database? \"both\" \\ /\t\u{1}\u{7f} é 🙂", "header": "DB", "multiSelect": true,
             "options": ["pg", {"label": "sqlite", "description": "one file", "preview": "db.sqlite"}], "free_text": false},
            {"id": "n", "question": "How many?", "type": "number", "range": {"min": 1, "max": 9.5, "unit": "GB"}, "options": []},
        ],
        "timestamp": "yesterday", "asked_by": "", "context": "why", "range": {}, "expires_at": "2026-11-25T08:00:00.500+01:00", "on_expiry": "keep",
        "remind_every": "1h 30m", "priority": 0, "checkpoint": "/home/ann/cp.json", "cwd": "/home/ann", "config_dir": null,
        "session_id": "15c96f27-091a-4dc1-bcce-0d2e49721bc0", "parent": "root",
        "asked_in": {"run": "root/15c96f27-091a-5dc1-bcce-0d2e49721bc0/1", "proof": "e511ba45-b926-5b2e-9f27-0453aed1a811"},
        "in_reply_to": "019AB3C277AA7C319B0E5D2F6A1C8E40", "tool_call": {"name": "ask_user", "id": "toolu_1"}, "elicited_by": null,
        "to_session": false, "reads": [], "field_of_a_later_version": 1,
    })
}

/// Each of the numbers is the upper bound of a question of a batch.
fn every_number() -> Value {
    let numbers = [
        0.0,
        -0.0,
        1.0,
        0.1,
        1234.5,
        9_007_199_254_740_993.0,
        1e15,
        1e16,
        1.5e16,
        123_456_789_012_345_680_000.0,
        1e21,
        1e22,
        1e-4,
        1e-5,
        0.000_012_34,
        1e-6,
        1.25e-7,
        f64::MAX,
        f64::MIN_POSITIVE,
        2.225_073_858_507_201e-308,
        5e-324,
    ];
    let parts = numbers.map(|max| json!({"question": "How many?", "type": "number", "range": {"min": -max, "max": max}}));
    json!({"workflow_id": "numbers", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e47", "questions": parts})
}

fn cases() -> Vec<Case> {
    let untouched = |_: &mut Value| {};
    let case = |name, about, question, answer, tamper| Case { name, about, question, answer: by_ann(&answer), tamper };
    let merged = json!({"value": "merge"});
    let approval = || {
        let mut question = approval_question("ship", "May the agent call Bash?\n    command: git push");
        question["question_id"] = json!("019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e46");
        question
    };
    let editable = || {
        let mut question = approval();
        question["approval"]["editable"] = json!({"field": "command", "text": "git push"});
        question
    };
    vec![
        case(
            "accepted-text",
            "The shortest question, and an answer with a note.",
            json!({"question": "Q8?", "workflow_id": "wf8", "question_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "context": "why"}),
            json!({"value": "yes", "note": "soon"}),
            untouched,
        ),
        case("accepted-attachments", "A question with two files beside it, an image and a diff.", with_files(), merged.clone(), untouched),
        case("accepted-choice", "A choice between two options.", merge(), merged.clone(), untouched),
        case(
            "accepted-batch",
            "A batch with previews, a range, special characters, empty fields, times and ids in other spellings.",
            every_field(),
            json!({"value": {"q1": ["pg", "sqlite"], "n": "5"}}),
            untouched,
        ),
        case(
            "accepted-numbers",
            "Numbers of every size: exponents, zeros, and the smallest and the largest ones. Each has one text.",
            every_number(),
            json!({"value": {"q1": "0"}}),
            untouched,
        ),
        case(
            "accepted-number",
            "A number with an exponent as the default, and one in the range.",
            json!({
                "workflow_id": "wf9", "question": "How many?", "type": "number", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e48",
                "range": {"min": 1e16}, "default": 2.5e16, "expires_at": "2026-11-25T06:00:00.000Z", "on_expiry": "default",
            }),
            json!({"value": "1e17"}),
            untouched,
        ),
        case("accepted-refusal", "The person declines.", merge(), json!({"outcome": "declined", "note": "not today"}), untouched),
        case(
            "accepted-asked-back",
            "The person asks back.",
            merge(),
            json!({"outcome": "declined", "note": "Which draft?", "asks_back": true}),
            untouched,
        ),
        case("accepted-approval", "The person allows a tool call once.", approval(), json!({"value": "once"}), untouched),
        case(
            "accepted-edited-call",
            "The person changes the command of a tool call, and allows it once so.",
            editable(),
            json!({"value": "edited", "edited": "git push --dry-run"}),
            untouched,
        ),
        case(
            "accepted-stopped-turn",
            "The person refuses the question of a live session, and ends its turn.",
            json!({
                "schema_version": 1, "workflow_id": "live-1", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e47", "question": "Which database?",
                "options": {"pg": "PostgreSQL", "sqlite": "One file"}, "timestamp": "2026-11-24T06:00:00.000Z",
                "tool_call": {"name": "AskUserQuestion", "id": "toolu_1"},
                "live": {"session": "15c96f27-091a-4dc1-bcce-0d2e49721bc0", "program": "claude", "project": "shop", "since": "2026-11-24T06:00:00Z"},
            }),
            json!({"outcome": "declined", "stops": true}),
            untouched,
        ),
        case(
            "refused-changed-edit",
            "The text that the person wrote was changed after the answer.",
            editable(),
            json!({"value": "edited", "edited": "git push --dry-run"}),
            |document| document["answer"]["edited"] = json!("git push --force"),
        ),
        case(
            "accepted-refusal-for-good",
            "The person refuses a tool call whenever the workflow makes it.",
            editable(),
            json!({"outcome": "declined", "note": "never on main", "always": true}),
            untouched,
        ),
        case(
            "refused-added-always",
            "A refusal of one call was made a refusal for good after the answer.",
            editable(),
            json!({"outcome": "declined", "note": "never on main"}),
            |document| document["answer"]["always"] = json!(true),
        ),
        case("refused-changed-question", "The text of the question was changed after the answer.", merge(), merged.clone(), |document| {
            document["question"]["question"] = json!("The sections overlap. Delete both?");
        }),
        case(
            "refused-changed-context",
            "Only the context was changed after the answer. The question hash is the same, and `seen` is not.",
            merge(),
            merged.clone(),
            |document| document["question"]["context"] = json!("The draft is empty."),
        ),
        case(
            "refused-changed-checkpoint",
            "A checkpoint was added after the answer. `seen` is the same, and `of_its_machine` is not.",
            merge(),
            merged.clone(),
            |document| document["question"]["checkpoint"] = json!("/tmp/other.json"),
        ),
        case(
            "refused-changed-attachment",
            "A file was exchanged after the answer: its hash in the document is another one.",
            with_files(),
            merged.clone(),
            |document| document["question"]["attachments"][1]["sha256"] = json!("0".repeat(64)),
        ),
        case("refused-changed-value", "The value was changed after the answer.", merge(), merged.clone(), |document| {
            document["answer"]["value"] = json!("keep");
        }),
        case("refused-wrong-round", "The answer was copied to another round of the workflow.", merge(), merged.clone(), |document| {
            document["question"]["question_id"] = json!("019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e4f");
        }),
        case("refused-wrong-key", "A key signed that is not trusted.", merge(), merged.clone(), |document| {
            let signed = document["signed_bytes"].as_str().unwrap();
            document["answer"]["signature"] = json!(key(OTHER).sign(signed.as_bytes()));
        }),
        case("accepted-ssh-key", "An SSH key signed, as `ssh-keygen -Y sign` does.", merge(), merged.clone(), |document| {
            sign_by_ssh(document, "askbox-answer");
        }),
        case("refused-ssh-namespace", "An SSH key signed for another purpose.", merge(), merged.clone(), |document| {
            sign_by_ssh(document, "file");
        }),
        case("refused-unsigned", "There is no signature.", merge(), merged, |document| {
            document["answer"].as_object_mut().unwrap().remove("signature");
        }),
        case(
            "refused-lying-options",
            "The option of an approval says something else than it does. The person saw and signed it.",
            {
                let mut question = approval();
                question["options"]["once"] = json!("refuse this call");
                question
            },
            json!({"value": "once"}),
            untouched,
        ),
    ]
}

/// Signs with the key of the vectors as OpenSSH does (PROTOCOL.sshsig).
fn sign_by_ssh(document: &mut Value, namespace: &str) {
    let texts = |texts: &[&[u8]]| -> Vec<u8> {
        texts.iter().flat_map(|text| [&u32::try_from(text.len()).unwrap().to_be_bytes(), *text].concat()).collect()
    };
    let raw = |text: String| BASE64.decode(text.trim_start_matches("ed25519:")).unwrap();
    let public = texts(&[b"ssh-ed25519", &raw(key(SECRET).public("").into())]);
    let hashed = sha2::Sha512::digest(document["signed_bytes"].as_str().unwrap());
    let wrapped = [b"SSHSIG".as_slice(), &texts(&[namespace.as_bytes(), b"", b"sha512", &hashed])].concat();
    let signature = texts(&[b"ssh-ed25519", &raw(key(SECRET).sign(&wrapped))]);
    let blob = [b"SSHSIG\0\0\0\x01".as_slice(), &texts(&[&public, namespace.as_bytes(), b"", b"sha512", &signature])].concat();
    document["trusted_key"] = json!(format!("ssh-ed25519 {}", BASE64.encode(&public)));
    document["answer"]["signature"] = json!(format!("sshsig:{}", BASE64.encode(blob)));
}

/// The question as the library reads it, with its answer.
fn read(vector: &Value) -> Question {
    let mut document = vector["question"].clone();
    document["answer"] = vector["answer"].clone();
    serde_json::from_value(document).expect("a question document")
}

/// Every hash of the question and the answer, and the bytes that a verifier computes.
fn add_hashes(vector: &mut Value) {
    let question = read(vector);
    let answer: &Answer = question.answer.as_ref().expect("an answer");
    let hash = question.hash().unwrap();
    vector["question_hash"] = json!(hash);
    vector["seen"] = json!(shown::for_everybody(&question).unwrap());
    vector["of_its_machine"] = json!(shown::for_its_machine(&question).unwrap());
    vector["shown"] = json!(Shown::of_question(&question).unwrap().to_string());
    vector["answer_hash"] = json!(answer.hash(&hash).unwrap());
    vector["signed_bytes"] = json!(String::from_utf8(signed_bytes::of_answer(&question, answer).unwrap()).unwrap());
}

/// What somebody who trusts this key says to the answer.
fn judge(question: &Question, trusted: PublicKey) -> Result<(), String> {
    check_question::check(question).map_err(|e| e.to_string().trim_start_matches("-: ").to_owned())?;
    let policy = Policy { signed_by: Some(vec![trusted]), ..Policy::default() };
    policy.judge(question).map_err(|untrusted| untrusted.0)
}

fn vector(case: &Case) -> Value {
    let mut vector = json!({"about": case.about, "question": case.question, "answer": case.answer});
    vector["answer"]["question_hash"] = json!(read(&vector).hash().unwrap());
    vector["answer"]["shown"] = json!(Shown::of_question(&read(&vector)).unwrap().to_string());
    vector["trusted_key"] = json!(key(SECRET).public(""));
    add_hashes(&mut vector);
    vector["answer"]["signature"] = json!(key(SECRET).sign(vector["signed_bytes"].as_str().unwrap().as_bytes()));
    (case.tamper)(&mut vector);
    add_hashes(&mut vector);
    let trusted = PublicKey::try_from(vector["trusted_key"].as_str().unwrap().to_owned()).unwrap();
    match judge(&read(&vector), trusted) {
        Ok(()) => vector["verdict"] = json!("accepted"),
        Err(why) => {
            vector["verdict"] = json!("refused");
            vector["reason"] = json!(why);
        }
    }
    let verdict = vector["verdict"].as_str().unwrap();
    assert!(case.name.starts_with(verdict), "{}: {:#}", case.name, vector);
    vector
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/vectors")
}

fn verify(file: Option<&Path>) -> Output {
    Command::new("python3").arg(folder().join("verify.py")).args(file).output().unwrap()
}

mod promises {
    use super::*;

    #[test]
    fn the_vectors_are_what_the_library_and_the_page_compute() {
        let files: Vec<_> = cases().iter().map(|case| (format!("{}.json", case.name), format!("{:#}\n", vector(case)))).collect();
        if std::env::var_os("SNAPSHOTS").is_some_and(|how| how == "overwrite") {
            files.iter().for_each(|(name, text)| fs::write(folder().join(name), text).unwrap());
        }
        for (name, text) in &files {
            let there = fs::read_to_string(folder().join(name)).unwrap_or_default();
            assert_eq!(&there, text, "SNAPSHOTS=overwrite writes docs/vectors/{name} anew");
        }
        let is_vector = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "json");
        let there = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(there.filter(is_vector).count(), files.len(), "a file in docs/vectors belongs to no case");
        needs!("python3");
        let all = verify(None);
        let said = String::from_utf8_lossy(&all.stdout).into_owned() + &String::from_utf8_lossy(&all.stderr);
        assert!(all.status.success() && said.contains(&format!("{} vectors", files.len())), "{said}");
        // It notices a wrong hash.
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("{:#}", vector(&cases()[0])).replace("\"seen\": \"", "\"seen\": \"0")).unwrap();
        assert!(!verify(Some(file.path())).status.success());
    }
}
