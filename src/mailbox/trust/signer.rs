//! Makes a signature: with a secret key that this process can read, or by a command that has the key elsewhere.

use std::io::{Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, IoContext, Result};
use crate::mailbox::documents::answer::Answer;
use crate::mailbox::documents::question::Question;
use crate::mailbox::trust::key::{self, SecretKey};
use crate::mailbox::trust::signed_bytes;
use crate::time;

/// How long a command may take: somebody may have to touch a token.
const LIMIT: Duration = Duration::from_secs(120);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of what it prints is read, in bytes.
const PRINTED: u64 = 4096;

/// How answers are signed here.
#[derive(Debug, Clone)]
pub enum Signer {
    /// With this key.
    Key(SecretKey),
    /// By this program, with these arguments: it reads the bytes and prints the signature.
    Command(Vec<String>),
}

impl Signer {
    /// The answer with its signature. The answer is complete, and the question has its id.
    ///
    /// # Errors
    /// If the command fails, takes too long or prints no signature.
    pub fn sign(&self, question: &Question, answer: Answer) -> Result<Answer> {
        let bytes = signed_bytes::of(question, &answer)?;
        let signature = match self {
            Self::Key(key) => key.sign(&bytes),
            Self::Command(words) => by_command(words, &bytes)?,
        };
        Ok(Answer { signature: Some(signature), ..answer })
    }
}

fn by_command(words: &[String], bytes: &[u8]) -> Result<String> {
    let (program, args) = words.split_first().ok_or_else(|| failed("answers.sign_command", "is empty"))?;
    let (mut input, mut printed) = (tempfile::tempfile().io("hold", "what is signed")?, tempfile::tempfile().io("hold", "the signature")?);
    input.write_all(bytes).and_then(|()| input.rewind()).io("hold", "what is signed")?;
    let output = printed.try_clone().io("hold", "the signature")?;
    let mut child = Command::new(program).args(args).stdin(input).stdout(Stdio::from(output)).spawn().io("run", program)?;
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait().io("wait for", program)? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(failed(program, &format!("did not end within {}", time::human(LIMIT))));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    if !status.success() {
        return Err(failed(program, &format!("failed: {status}")));
    }
    let mut text = String::new();
    printed.rewind().and_then(|()| printed.take(PRINTED).read_to_string(&mut text)).io("read", "the signature")?;
    key::signature_in(&text).ok_or_else(|| failed(program, "printed no Ed25519 signature in base64"))
}

fn failed(program: &str, problem: &str) -> Error {
    Error::failed(
        format!("the answer is not signed, and was not given: {program} {problem}"),
        "see answers.sign_command in the configuration",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_signs_the_bytes_that_it_reads_or_says_why_not() {
        let sh = |script: &str| Signer::Command(["sh", "-c", script].map(String::from).to_vec());
        let question: Question = serde_json::from_str(
            r#"{"workflow_id":"w","question":"?","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","answer":{"value":"a","at":"2026-11-24T08:00:00Z",
                "question_hash":"20f2cba4-940b-5b05-aa8f-e8f823ba86c7"}}"#,
        )
        .unwrap();
        let answer = question.answer.clone().unwrap();
        let any = SecretKey::generate().sign(b"?");
        let signed = sh(&format!("test $(wc -c) = {} && echo {any}", signed_bytes::of(&question, &answer).unwrap().len()));
        assert_eq!(signed.sign(&question, answer.clone()).unwrap().signature, Some(any));
        for (script, problem) in [("exit 3", "exit status: 3"), ("echo nothing", "printed no Ed25519 signature"), ("yes", "printed no")] {
            let script = if script == "yes" { "yes | head -c 100000" } else { script };
            let error = sh(script).sign(&question, answer.clone()).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
