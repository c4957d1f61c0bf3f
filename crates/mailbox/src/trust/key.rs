//! Keys of Ed25519: the text forms of public keys and signatures, and the file of a secret key. [`sshsig`] has those of OpenSSH.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::text;
use crate::trust::sshsig::{self, SshKey, Wrong};

/// The first word of a public key and of a signature.
const PUBLIC: &str = "ed25519";
/// The first word of a signature of OpenSSH.
const SSH: &str = "sshsig";
/// The first word of a secret key.
const SECRET: &str = "askbox-secret-ed25519";
/// The longest file of a secret key, in bytes.
const LONGEST: u64 = 4096;

/// A public key, with the name that the operator gives it: `ed25519:BASE64 ann`, or a public key of OpenSSH: `ssh-ed25519 BASE64 ann`
/// or `sk-ssh-ed25519@openssh.com BASE64 ann`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(with = "String")]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey {
    key: Kind,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A key of `askbox keygen`.
    Plain(VerifyingKey),
    /// A key of OpenSSH.
    Ssh(SshKey),
}

impl PublicKey {
    /// True if `signature` (`ed25519:BASE64` or `sshsig:BASE64`) is the signature of these bytes by this key. Weak keys are never
    /// accepted.
    pub fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
        check(std::slice::from_ref(self), bytes, signature).is_ok()
    }

    /// True if this is the public half of the secret key.
    pub fn is_of(&self, secret: &SecretKey) -> bool {
        self.key == Kind::Plain(secret.0.verifying_key())
    }

    /// The name that the operator gave to the key.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl TryFrom<String> for PublicKey {
    type Error = String;

    /// Reads `ed25519:BASE64 NAME`, or the line of a public key of OpenSSH; the name may be missing.
    ///
    /// # Errors
    /// A message, if it is not a public key, or is a weak key.
    fn try_from(written: String) -> Result<Self, String> {
        let (first, rest) = written.trim().split_once(char::is_whitespace).unwrap_or((written.trim(), ""));
        if SshKey::is_kind(first) {
            let (base64, name) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            let key = SshKey::parse(first, base64).map_err(|wrong| match wrong {
                Wrong::Kind(kind) => format!("keys of the kind `{kind}` are not verified: use ssh-ed25519 or sk-ssh-ed25519@openssh.com"),
                _ => format!(
                    "`{}` is not a public key of OpenSSH: copy the line from a file such as ~/.ssh/id_ed25519.pub",
                    text::excerpt(&written, 60)
                ),
            })?;
            return Ok(Self { key: Kind::Ssh(key), name: name.trim().to_owned() });
        }
        let (key, name) = written.trim().split_once(char::is_whitespace).unwrap_or((written.trim(), ""));
        let form = || format!("`{}` is no public key: write `{PUBLIC}:BASE64 NAME`", text::excerpt(key, 60));
        let key = VerifyingKey::from_bytes(&decoded::<32>(key).ok_or_else(form)?).map_err(|_| form())?;
        if key.is_weak() {
            return Err(format!("{}: anybody can sign for this key", form()));
        }
        Ok(Self { key: Kind::Plain(key), name: name.trim().to_owned() })
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        let written = match &key.key {
            Kind::Plain(key) => encoded(key.as_bytes()),
            Kind::Ssh(key) => key.line(),
        };
        format!("{written} {}", key.name).trim_end().to_owned()
    }
}

/// A secret key. Its text form is never printed.
#[derive(Debug, Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// Returns a new key, made from random numbers of the system.
    pub fn generate() -> Self {
        // Each UUIDv4 has 122 random bits. Four of them have more than the 256 bits that a key needs.
        use sha2::Digest;
        let mut seed = sha2::Sha256::new();
        (0..4).for_each(|_| seed.update(uuid::Uuid::new_v4().as_bytes()));
        Self(SigningKey::from_bytes(&seed.finalize().into()))
    }

    /// Reads a key from its file. No other user may be able to read the file.
    ///
    /// # Errors
    /// [`Error::Failed`] if other users may read the file. [`Error::Invalid`] if it holds no key. [`Error::Io`] if the file does
    /// not exist or the system refuses.
    pub fn read(path: &Path) -> Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let others = disk::metadata(path).is_ok_and(|about| about.mode() & 0o077 != 0);
        if others {
            let quoted = text::shell_quote(&path.display().to_string());
            let hint = format!("chmod 600 {quoted}; or make another");
            return Err(Error::failed(format!("others may read the key {}", path.display()), hint));
        }
        let bytes = disk::read(path, LONGEST)?;
        Self::parse(&bytes).ok_or_else(|| Error::invalid("key", "is no secret key of askbox", ("make one", "askbox keygen")).in_file(path))
    }

    /// Returns the key in the content of its file. `None` if the content is not a key.
    pub fn parse(file: &[u8]) -> Option<Self> {
        let key = std::str::from_utf8(file).ok()?.trim().strip_prefix(SECRET)?.strip_prefix(':')?;
        let seed = <[u8; 32]>::try_from(STANDARD.decode(key).ok()?).ok()?;
        Some(Self(SigningKey::from_bytes(&seed)))
    }

    /// Writes the key to a new file, with mode 0600.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the file exists. [`Error::Io`] if the system refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{SECRET}:{}\n", STANDARD.encode(self.0.to_bytes()));
        match disk::create(path, text.as_bytes())? {
            Placed::Done => Ok(()),
            Placed::NameExists => Err(Error::conflict(
                format!("{} exists already and was not changed", path.display()),
                ("name another file, or print that key's public half", "askbox keygen --public FILE"),
            )),
        }
    }

    /// Returns the public half, with this name.
    pub fn public(&self, name: &str) -> PublicKey {
        PublicKey { key: Kind::Plain(self.0.verifying_key()), name: text::one_line(name) }
    }

    /// Returns the signature of these bytes: `ed25519:BASE64`.
    pub fn sign(&self, bytes: &[u8]) -> String {
        encoded(&self.0.sign(bytes).to_bytes())
    }
}

/// Checks that one of these keys has signed these bytes.
///
/// # Errors
/// The reason why the signature does not count.
pub fn check(keys: &[PublicKey], bytes: &[u8], signature: &str) -> Result<(), Wrong> {
    if let Some(ssh) = signature.strip_prefix(SSH).and_then(|rest| rest.strip_prefix(':')) {
        let keys = keys.iter().filter_map(|key| if let Kind::Ssh(key) = &key.key { Some(key) } else { None });
        return sshsig::check(keys, bytes, ssh);
    }
    let signature = decoded::<64>(signature).map(|bytes| ed25519_dalek::Signature::from_bytes(&bytes)).ok_or(Wrong::OtherBytes)?;
    let has_signed = |key: &PublicKey| matches!(&key.key, Kind::Plain(key) if key.verify_strict(bytes, &signature).is_ok());
    if keys.iter().any(has_signed) { Ok(()) } else { Err(Wrong::OtherBytes) }
}

fn encoded(bytes: &[u8]) -> String {
    format!("{PUBLIC}:{}", STANDARD.encode(bytes))
}

/// Returns the bytes of `ed25519:BASE64`.
fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    let base64 = text.strip_prefix(PUBLIC)?.strip_prefix(':')?;
    STANDARD.decode(base64).ok()?.try_into().ok()
}

/// Returns the signature in the output of a command, as `ed25519:BASE64` or `sshsig:BASE64`. The command may print the former, its
/// base64 alone, or what `ssh-keygen -Y sign` prints. `None` if it is none of these.
pub fn signature_in(text: &str) -> Option<String> {
    if let Some(base64) = sshsig::in_armor(text) {
        return Some(format!("{SSH}:{base64}"));
    }
    let text = text.trim();
    let signature = text.strip_prefix(PUBLIC).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text);
    let bytes: [u8; 64] = STANDARD.decode(signature).ok()?.try_into().ok()?;
    Some(encoded(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_file_and_no_other_file_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer.key");
        let key = SecretKey::generate();
        key.write(&path).unwrap();
        assert_eq!(key.write(&path).unwrap_err().exit_code(), 4);
        let signature = SecretKey::read(&path).unwrap().sign(b"yes");
        assert!(key.public("ann").has_signed(b"yes", &signature) && !key.public("ann").has_signed(b"no", &signature));
        assert!(!SecretKey::generate().public("ann").has_signed(b"yes", &signature));
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(SecretKey::read(&path).unwrap_err().to_string().contains("others may read the key"));
        for text in ["", "askbox-secret-ed25519:", "askbox-secret-ed25519:AAAA", "ed25519:AAAA"] {
            let other = folder.path().join("other");
            std::fs::write(&other, text).unwrap();
            std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(SecretKey::read(&other).unwrap_err().exit_code(), 5, "{text}");
        }
    }

    #[test]
    fn a_public_key_reads_back_the_same_and_a_weak_one_is_none() {
        let written: String = SecretKey::generate().public("ann at work").into();
        assert!(written.starts_with("ed25519:") && written.ends_with(" ann at work"), "{written}");
        let read = PublicKey::try_from(written.clone()).unwrap();
        assert_eq!((read.name(), String::from(read.clone())), ("ann at work", written));
        for ssh in ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAgZlSIllw94yj+QNuuY/9xeE0GUyhKo8jSuuR4HMIDR", "rsa"] {
            let read = PublicKey::try_from(format!("{ssh} ann at work"));
            assert_eq!(read.map(String::from).ok(), ssh.starts_with("ssh-").then(|| format!("{ssh} ann at work")));
        }
        let rsa = PublicKey::try_from("ssh-rsa AAAAB3NzaC1yc2E= ann".to_owned()).unwrap_err();
        assert!(rsa.contains("keys of the kind `ssh-rsa` are not verified"), "{rsa}");
        for wrong in [
            "ssh-ed25519",
            "ssh-ed25519 AAAA ann",
            "",
            "ed25519:",
            "ed25519:AAAA ann",
            "rsa:AAAA",
            "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= weak",
        ] {
            assert!(PublicKey::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_command_may_print_a_signature_with_or_without_its_kind() {
        let signature = SecretKey::generate().sign(b"yes");
        assert_eq!(signature_in(&format!(" {signature}\n")), Some(signature.clone()));
        assert_eq!(signature_in(signature.strip_prefix("ed25519:").unwrap()), Some(signature));
        assert!(["", "ed25519:", "AAAA", "no key"].iter().all(|text| signature_in(text).is_none()));
    }
}
