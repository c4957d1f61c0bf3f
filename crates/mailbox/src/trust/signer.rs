//! Makes signatures: with a secret key that this process can read, or by a command that keeps the key in another place.

use std::io::{Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::trust::key::{self, PublicKey, SecretKey};
use crate::trust::sshsig::Wrong;
use crate::{Error, IoContext, Result, status_within, time};

/// How long a command may take. A person may have to touch a token.
const LIMIT: Duration = Duration::from_secs(120);
/// How much of the command's output is read, in bytes.
const PRINTED: u64 = 4096;

/// How this machine signs answers.
#[derive(Debug, Clone)]
pub struct Signer {
    /// The key, or the command that has it.
    pub with: With,
    /// The trusted keys: one of them must have made the signature. If empty, any signature is returned.
    pub trusted: Vec<PublicKey>,
}

/// The means to make a signature.
#[derive(Debug, Clone)]
pub enum With {
    /// A secret key.
    Key(SecretKey),
    /// A program and its arguments. The program reads the bytes from standard input and prints the signature.
    Command(Vec<String>),
}

impl Signer {
    /// Returns the signature of these bytes, `ed25519:BASE64` or `sshsig:BASE64`. A command may take up to two minutes.
    ///
    /// # Errors
    /// [`Error::Failed`] if the command fails, takes too long or prints no signature, or if no trusted key made the signature.
    /// [`Error::Io`] if the system refuses.
    pub fn sign(&self, bytes: &[u8]) -> Result<String> {
        match &self.with {
            With::Key(key) => {
                self.check_key()?;
                Ok(key.sign(bytes))
            }
            With::Command(words) => {
                let signature = by_command(words, bytes)?;
                match key::check(&self.trusted, bytes, &signature) {
                    _ if self.trusted.is_empty() => Ok(signature),
                    Ok(()) => Ok(signature),
                    Err(Wrong::OtherBytes) => Err(untrusted("the key of answers.sign_command is not one of answers.trusted_keys")),
                    Err(wrong) => Err(untrusted(&wrong.to_string())),
                }
            }
        }
    }

    /// Checks beforehand that the signatures of this signer count. For a command this is known only after it has signed.
    ///
    /// # Errors
    /// [`Error::Failed`] if the key is not one of the trusted keys.
    pub fn check_key(&self) -> Result<()> {
        match &self.with {
            With::Key(key) if !self.trusted.is_empty() && !self.trusted.iter().any(|trusted| trusted.is_of(key)) => {
                Err(untrusted("the key in answers.sign_key is not one of answers.trusted_keys"))
            }
            With::Key(_) | With::Command(_) => Ok(()),
        }
    }
}

fn by_command(words: &[String], bytes: &[u8]) -> Result<String> {
    let (program, args) = words.split_first().ok_or_else(|| failed("answers.sign_command", "is empty"))?;
    let (mut input, mut printed) = (tempfile::tempfile().io("hold", "what is signed")?, tempfile::tempfile().io("hold", "the signature")?);
    input.write_all(bytes).and_then(|()| input.rewind()).io("hold", "what is signed")?;
    let output = printed.try_clone().io("hold", "the signature")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(input)
        .stdout(Stdio::from(output))
        .spawn()
        .map_err(|e| failed(program, &format!("cannot be started: {e}")))?;
    let Some(status) = status_within(&mut child, LIMIT).io("wait for", program)? else {
        let _ = child.kill().and_then(|()| child.wait());
        return Err(failed(program, &format!("did not end within {}", time::human(LIMIT))));
    };
    if !status.success() {
        return Err(failed(program, &format!("failed: {status}")));
    }
    let mut text = String::new();
    printed.rewind().and_then(|()| printed.take(PRINTED).read_to_string(&mut text)).io("read", "the signature")?;
    key::signature_in(&text).ok_or_else(|| failed(program, "printed neither an Ed25519 signature in base64 nor an SSH signature"))
}

fn untrusted(why: &str) -> Error {
    Error::failed(
        format!("this answer would not count, and was not given: {why}"),
        (
            "name its public half in answers.trusted_keys (ssh-keygen writes it to a file .pub), or sign with a key that stands there (an SSH \
             key: ssh-keygen -Y sign -n askbox-answer -f FILE); print the public half",
            "askbox keygen --public FILE",
        ),
    )
}

fn failed(program: &str, problem: &str) -> Error {
    let hint = "mend answers.sign_command in the configuration: a program that reads bytes and prints their signature";
    Error::failed(format!("the answer is not signed, and was not given: {program} {problem}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Signer {
        Signer { with: With::Command(["sh", "-c", script].map(String::from).to_vec()), trusted: Vec::new() }
    }

    #[test]
    fn a_command_signs_the_bytes_that_it_reads_or_says_why_not() {
        let any = SecretKey::generate().sign(b"?");
        assert_eq!(sh(&format!("test $(wc -c) = 5 && echo {any}")).sign(b"bytes").unwrap(), any);
        for (script, problem) in
            [("exit 3", "exit status: 3"), ("echo nothing", "printed neither an Ed25519 signature"), ("yes", "printed neither")]
        {
            let script = if script == "yes" { "yes | head -c 100000" } else { script };
            let error = sh(script).sign(b"bytes").unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
        let missing = Signer { with: With::Command(vec!["/no/such/program".into()]), trusted: Vec::new() }.sign(b"bytes").unwrap_err();
        assert!(missing.hint().contains("answers.sign_command"), "{}", missing.hint());
    }

    #[test]
    fn a_signature_that_would_not_count_is_not_given() {
        let key = SecretKey::generate();
        let by = |with: With| Signer { with, trusted: vec![key.public("ann")] }.sign(b"yes");
        assert!(by(With::Key(key.clone())).is_ok());
        assert!(by(With::Key(SecretKey::generate())).unwrap_err().to_string().contains("is not one of answers.trusted_keys"));
        let other = format!("echo {}", key.sign(b"no"));
        assert!(
            by(With::Command(["sh", "-c", &other].map(String::from).to_vec())).unwrap_err().to_string().contains("answers.sign_command")
        );
    }
}
