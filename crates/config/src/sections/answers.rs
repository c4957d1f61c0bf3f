//! `[answers]`: whose answers count, and how answers are signed.

use std::path::PathBuf;

use derive_more::Display;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::section::section;
use askbox_mailbox::trust::signer::With;
use askbox_mailbox::{Error, Policy, PublicKey, Result, SecretKey, Signer, Through, text};

/// The most keys.
const MOST: usize = 64;

section! {
    /// `[answers]`: whose answers count, and how answers are signed.
    "answers" Answers {
        /// The ways in which an answer may come: `"web"` is the page, `"message"` a button, `"file"` made by hand. Any other answer goes to
        /// `quarantine/`, and the question waits again. Example: `["terminal", "web"]`.
        accept: Vec<Way> = Through::ALL.into_iter().map(Way).collect(),
        /// True if an answer by `"file"` may also decide a tool call, a dialog, or a question of an MCP server. With `require_signed`, the
        /// signature decides instead.
        permits_by_file: bool = false,
        /// True if an answer counts only with a signature of one of `trusted_keys`. A default of the asker then decides nothing. Waits for
        /// events, and tasks, need no signature.
        require_signed: bool = false,
        /// The public keys of the people who answer, as `askbox keygen` prints them, or lines of SSH keys (`ssh-ed25519`,
        /// `sk-ssh-ed25519@openssh.com`). Example: `["ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= ann"]`.
        trusted_keys: Vec<PublicKey> = Vec::new(),
        /// The absolute path of the secret key that signs answers. Keep it where no agent can read it. Example:
        /// `"/home/ann/.config/askbox/answer.key"`.
        sign_key: PathBuf = PathBuf::new(),
        /// A program that signs instead of `sign_key`, within two minutes: bytes on standard input, an Ed25519 signature in base64 or an
        /// SSH signature on standard output. Example: `["ssh-keygen", "-Y", "sign", "-n", "askbox-answer", "-f",
        /// "/home/ann/.ssh/id_ed25519_sk.pub"]`.
        sign_command: Vec<String> = Vec::new(),
    }
}

impl Answers {
    /// The conditions for an answer to count.
    pub fn policy(&self) -> Policy {
        let accept = self.accept.iter().map(|way| way.0.clone()).collect();
        let signed_by = self.require_signed.then(|| self.trusted_keys.clone());
        Policy { accept, signed_by, permits_by_file: self.permits_by_file }
    }

    /// Decides how answers that come in this way are signed here. `None`: they are not signed. Only what a person does at a terminal or
    /// on the page is signed. An agent's command, tool call or hook would sign in the person's name what the person never saw, and the
    /// key of a notification's buttons lies in the mailbox.
    ///
    /// # Errors
    /// If the key cannot be read, or if the answer would not count: the way is not accepted, or the answer needs a signature and gets
    /// none.
    pub fn signer(&self, through: &Through) -> Result<Option<Signer>> {
        let hint = "answer in another way; what counts says [answers] in the configuration";
        self.policy().accepts(through).map_err(|why| Error::failed(format!("this answer would not count: {}", why.0), hint))?;
        let signs = matches!(through, Through::Terminal | Through::Web);
        let with = match if signs { self.own_key()? } else { None } {
            Some(key) => Some(With::Key(key)),
            None => (signs && !self.sign_command.is_empty()).then(|| With::Command(self.sign_command.clone())),
        };
        let trusted = if self.require_signed { self.trusted_keys.clone() } else { Vec::new() };
        match with.map(|with| Signer { with, trusted }) {
            None if self.require_signed => Err(Error::failed(
                "this answer would not count: it must be signed, and is not signed here",
                match through {
                    Through::Terminal | Through::Web => {
                        "set answers.sign_key or answers.sign_command in the configuration; or answer where one is set"
                    }
                    Through::Message => NO_BUTTON,
                    Through::File => UNKNOWN,
                    _ => NO_AGENT,
                },
            )),
            None => Ok(None),
            Some(signer) => signer.check_key().map(|()| Some(signer)),
        }
    }

    /// The key in `sign_key`. `None` if none is set.
    ///
    /// # Errors
    /// If the key cannot be read.
    pub fn own_key(&self) -> Result<Option<SecretKey>> {
        let path = Some(&self.sign_key).filter(|path| !path.as_os_str().is_empty());
        path.map(|path| SecretKey::read(path).map_err(|e| unreadable(&e))).transpose()
    }

    /// True if a reply to a notification counts.
    pub fn takes_replies(&self) -> bool {
        !self.require_signed && self.policy().accepts(&Through::Message).is_ok()
    }

    /// Refuses values that could not work.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |key: &str, problem: &str, fix: &str| Err(Error::invalid(key, problem, fix));
        if self.accept.is_empty() {
            return wrong("answers.accept", "is empty, so no answer would count", "name at least one, such as \"terminal\"");
        }
        if self.require_signed && self.trusted_keys.is_empty() {
            return wrong("answers.require_signed", "needs trusted_keys", "make a key with `askbox keygen` and name its public half there");
        }
        if self.trusted_keys.len() > MOST {
            return wrong("answers.trusted_keys", "has more than 64 keys", "remove those that nobody uses");
        }
        let has_key = self.sign_key.components().next().is_some();
        if has_key && !self.sign_key.is_absolute() {
            return wrong(
                "answers.sign_key",
                "is not an absolute path",
                "write an absolute path such as /home/ann/.config/askbox/answer.key",
            );
        }
        if has_key && !self.sign_command.is_empty() {
            return wrong("answers.sign_command", "stands beside sign_key", "leave one of them out");
        }
        Ok(())
    }
}

/// The hint about other ways to answer than a reply to a notification.
const NO_BUTTON: &str = "replies to notifications are not signed: answer at a terminal (ask-answer) or on the page";
/// The hint for a command that does not know what is above it.
const UNKNOWN: &str =
    "a person answers: at a terminal or on the page; this command cannot see all processes above it (a namespace, an ended parent)";
const NO_AGENT: &str = "a person answers: at a terminal with no agent above it, or on the page";

fn unreadable(error: &Error) -> Error {
    Error::failed(
        format!("the answer is not given, because it cannot be signed: {error}"),
        if error.is_missing_file() {
            "answers.sign_key in the configuration names a file that is not there: correct it, or make the key: askbox keygen".to_owned()
        } else {
            format!("{}; the key is named by answers.sign_key in the configuration", error.hint())
        },
    )
}

/// The way in which an answer may come.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr, Display, derive_more::Into, schemars::JsonSchema)]
#[schemars(with = "Through")]
pub struct Way(Through);

impl std::str::FromStr for Way {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match Through::from(word) {
            Through::Other(word) => {
                let known = Through::ALL.each_ref().map(Through::word).join("`, `");
                Err(format!("unknown way `{}`, expected one of `{known}`", text::excerpt(&word, 40)))
            }
            known => Ok(Self(known)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_count_is_said_before_it_is_given() {
        let key = SecretKey::generate();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer.key");
        let answers = Answers { require_signed: true, trusted_keys: vec![key.public("ann")], sign_key: path.clone(), ..Answers::default() };
        let refused = |answers: &Answers, through| answers.signer(&through).unwrap_err().to_string();
        assert!(refused(&answers, Through::Terminal).contains("cannot be signed"));
        key.write(&path).unwrap();
        assert!(matches!(answers.signer(&Through::Terminal), Ok(Some(Signer { with: With::Key(_), .. }))));
        let others = Answers { trusted_keys: vec![SecretKey::generate().public("bob")], ..answers.clone() };
        assert!(refused(&others, Through::Terminal).contains("the key in answers.sign_key is not one of answers.trusted_keys"));
        assert!(Answers { require_signed: false, ..others }.signer(&Through::Terminal).is_ok());
        for through in [Through::Message, Through::Agent, Through::Mcp, Through::Hook] {
            assert!(refused(&answers, through).contains("must be signed"));
        }
        let unsigned = Answers { require_signed: false, ..answers.clone() };
        assert!(matches!(unsigned.signer(&Through::Agent), Ok(None)), "nothing of an agent is signed, whatever counts here");
        let answers = Answers { accept: vec![Way(Through::Web)], ..answers };
        assert!(refused(&answers, Through::Agent).contains("`agent`, which answers.accept does not name"));
        assert!(matches!(Answers::default().signer(&Through::Agent), Ok(None)));
        assert!(Answers::default().policy().takes_everything() && !answers.policy().takes_everything());
    }
}
