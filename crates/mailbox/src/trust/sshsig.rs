//! Keys and signatures of OpenSSH, as `ssh-keygen -Y sign` makes them: PROTOCOL.sshsig, and PROTOCOL.u2f for security keys. So a key
//! may lie in an SSH agent or in a security key that must be touched.
//!
//! Only Ed25519 is verified. A security key must have been touched for each signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256, Sha512};

/// The namespace of an answer's signature: `ssh-keygen -Y sign -n askbox-answer`. A signature of another namespace, such as of a file
/// or a commit, is not one of an answer.
pub const NAMESPACE: &str = "askbox-answer";

/// The kind of a key in a file or an agent.
const ED25519: &str = "ssh-ed25519";
/// The kind of a key in a security key.
const SECURITY_KEY: &str = "sk-ssh-ed25519@openssh.com";

const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// The flag of a security key: its owner touched it.
const TOUCHED: u8 = 1;

/// A public key of OpenSSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshKey {
    key: VerifyingKey,
    /// The application of a security key; `None` for a key in a file.
    application: Option<Vec<u8>>,
    /// The key as OpenSSH writes it.
    blob: Vec<u8>,
}

/// The reason why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The bytes have another form.
    #[error("its signature has a form that askbox does not read")]
    Form,
    /// The key has another kind.
    #[error("its signature is by a key of the kind `{0}`; askbox verifies ssh-ed25519 and sk-ssh-ed25519@openssh.com")]
    Kind(String),
    /// The signature was made for another purpose.
    #[error("its signature is for the namespace `{0}`, not for `askbox-answer`")]
    Namespace(String),
    /// The key is not trusted.
    #[error("its signature is by an SSH key that answers.trusted_keys does not name")]
    UnknownKey,
    /// The security key was not touched.
    #[error("its signature was made without a touch of the security key")]
    NotTouched,
    /// The signature is for other bytes.
    #[error("its signature is not for this question and this answer")]
    OtherBytes,
}

impl SshKey {
    /// True if the first word of a public key is that of an SSH key of any kind.
    pub(super) fn is_kind(word: &str) -> bool {
        ["ssh-", "sk-ssh-", "ecdsa-sha2-", "sk-ecdsa-sha2-"].iter().any(|prefix| word.starts_with(prefix))
    }

    /// Reads the kind and the base64 of a line such as those in `~/.ssh/id_ed25519.pub`.
    ///
    /// # Errors
    /// [`Wrong::Kind`] for another kind of key, [`Wrong::Form`] if it is not a key, or is a weak one.
    pub(super) fn parse(kind: &str, base64: &str) -> Result<Self, Wrong> {
        if ![ED25519, SECURITY_KEY].contains(&kind) {
            return Err(Wrong::Kind(shown(kind.as_bytes())));
        }
        let key = Self::from_blob(&STANDARD.decode(base64).map_err(|_| Wrong::Form)?)?;
        if key.kind() == kind { Ok(key) } else { Err(Wrong::Form) }
    }

    fn from_blob(blob: &[u8]) -> Result<Self, Wrong> {
        let mut wire = Wire(blob);
        let kind = wire.string()?;
        if kind != ED25519.as_bytes() && kind != SECURITY_KEY.as_bytes() {
            return Err(Wrong::Kind(shown(kind)));
        }
        let bytes = wire.string()?.try_into().map_err(|_| Wrong::Form)?;
        let key = VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).ok_or(Wrong::Form)?;
        let application = if kind == SECURITY_KEY.as_bytes() { Some(wire.string()?.to_vec()) } else { None };
        wire.end()?;
        Ok(Self { key, application, blob: blob.to_vec() })
    }

    fn kind(&self) -> &'static str {
        if self.application.is_some() { SECURITY_KEY } else { ED25519 }
    }

    /// Returns the kind and the base64, as OpenSSH writes them.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.kind(), STANDARD.encode(&self.blob))
    }
}

/// Checks that one of these keys has signed these bytes as an answer. `signature` is the SSHSIG in base64, without its first and last
/// line.
///
/// # Errors
/// [`Wrong`] if it does not count.
pub(super) fn check<'a>(mut keys: impl Iterator<Item = &'a SshKey>, bytes: &[u8], signature: &str) -> Result<(), Wrong> {
    let blob = STANDARD.decode(signature).map_err(|_| Wrong::Form)?;
    let mut wire = Wire(&blob);
    if wire.take(MAGIC.len())? != MAGIC || wire.number()? != 1 {
        return Err(Wrong::Form);
    }
    let (key, namespace, reserved, hash, signature) = (wire.string()?, wire.string()?, wire.string()?, wire.string()?, wire.string()?);
    wire.end()?;
    if namespace != NAMESPACE.as_bytes() {
        return Err(Wrong::Namespace(shown(namespace)));
    }
    // The key is read first, so that another kind of key is named.
    SshKey::from_blob(key)?;
    let key = keys.find(|trusted| trusted.blob == key).ok_or(Wrong::UnknownKey)?;
    let hashed = match hash {
        b"sha512" => Sha512::digest(bytes).to_vec(),
        b"sha256" => Sha256::digest(bytes).to_vec(),
        _ => return Err(Wrong::Form),
    };
    let mut message = MAGIC.to_vec();
    [NAMESPACE.as_bytes(), reserved, hash, &hashed].iter().for_each(|text| put(&mut message, text));
    let mut wire = Wire(signature);
    if wire.string()? != key.kind().as_bytes() {
        return Err(Wrong::Form);
    }
    let signature = Signature::from_bytes(wire.string()?.try_into().map_err(|_| Wrong::Form)?);
    if let Some(application) = &key.application {
        // A security key signs hashes, with its flags and its counter between them.
        let state = wire.take(5)?;
        let of_message = Sha256::digest(&message);
        message = [&Sha256::digest(application)[..], state, &of_message].concat();
        if state[0] & TOUCHED == 0 {
            return Err(Wrong::NotTouched);
        }
    }
    wire.end()?;
    key.key.verify_strict(&message, &signature).map_err(|_| Wrong::OtherBytes)
}

/// Returns the base64 of the SSH signature in the output of a command. `None` if there is none.
pub(super) fn in_armor(text: &str) -> Option<String> {
    let base64 = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let base64: String = base64.split_ascii_whitespace().collect();
    STANDARD.decode(&base64).ok().filter(|blob| blob.starts_with(MAGIC))?;
    Some(base64)
}

fn shown(bytes: &[u8]) -> String {
    crate::text::excerpt(&String::from_utf8_lossy(bytes), 60)
}

fn put(message: &mut Vec<u8>, text: &[u8]) {
    // All of these texts are short.
    message.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    message.extend(text);
}

/// The rest of bytes in the encoding of SSH (RFC 4251).
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Wrong> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Wrong::Form)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, Wrong> {
        self.take(4)?.try_into().map(u32::from_be_bytes).map_err(|_| Wrong::Form)
    }

    fn string(&mut self) -> Result<&'a [u8], Wrong> {
        let length = usize::try_from(self.number()?).map_err(|_| Wrong::Form)?;
        self.take(length)
    }

    fn end(&self) -> Result<(), Wrong> {
        if self.0.is_empty() { Ok(()) } else { Err(Wrong::Form) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer as _, SigningKey};

    /// A key, and the signature that OpenSSH 9.2 made of `hello` with it.
    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIAgZlSIllw94yj+QNuuY/9xeE0GUyhKo8jSuuR4HMIDR";
    const SIGNED: &str = "-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgCBmVIiWXD3jKP5A265j/3F4TQZ
TKEqjyNK65HgcwgNEAAAANYXNrYm94LWFuc3dlcgAAAAAAAAAGc2hhNTEyAAAAUwAAAAtz
c2gtZWQyNTUxOQAAAEB6G9dO5dmelQDrkXBMLmSKU/yHntdESy50pcJ5JXD2syfLnSw6Un
MTySn3v92uxzgEaT/vzUkhZik4XBiGua8D
-----END SSH SIGNATURE-----
";

    fn text(parts: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        parts.iter().for_each(|part| put(&mut bytes, part));
        bytes
    }

    /// A signature of `hello` by a security key with these flags.
    fn by_security_key(flags: u8) -> (SshKey, String) {
        let secret = SigningKey::from_bytes(&[7; 32]);
        let key = SshKey::from_blob(&text(&[SECURITY_KEY.as_bytes(), secret.verifying_key().as_bytes(), b"ssh:"])).unwrap();
        let hashed = Sha512::digest(b"hello");
        let message = [MAGIC, &text(&[NAMESPACE.as_bytes(), b"", b"sha512", &hashed])].concat();
        let state = [flags, 0, 0, 0, 9];
        let signed = [&Sha256::digest(b"ssh:")[..], &state, &Sha256::digest(&message)].concat();
        let signature = [text(&[SECURITY_KEY.as_bytes(), &secret.sign(&signed).to_bytes()]), state.to_vec()].concat();
        let blob = [MAGIC, &[0, 0, 0, 1], &text(&[&key.blob, NAMESPACE.as_bytes(), b"", b"sha512", &signature])].concat();
        (key, STANDARD.encode(blob))
    }

    #[test]
    fn a_signature_of_openssh_counts_for_its_key_and_bytes_only() {
        let (key, signature) = (SshKey::parse(ED25519, KEY).unwrap(), in_armor(SIGNED).unwrap());
        let checked = |bytes: &[u8], signature: &str| check([&key].into_iter(), bytes, signature);
        assert_eq!(checked(b"hello", &signature), Ok(()));
        assert_eq!(checked(b"hallo", &signature), Err(Wrong::OtherBytes));
        assert_eq!(check([].into_iter(), b"hello", &signature), Err(Wrong::UnknownKey));
        let changed = |from: &[u8], to: &[u8]| {
            let blob = STANDARD.decode(&signature).unwrap();
            let at = blob.windows(from.len()).position(|window| window == from).unwrap();
            STANDARD.encode([&blob[..at], to, &blob[at + from.len()..]].concat())
        };
        assert_eq!(checked(b"hello", &changed(b"askbox-answer", b"askbox-anybody")), Err(Wrong::Form), "the length is another");
        assert_eq!(checked(b"hello", &changed(b"askbox-answer", b"askbox-others")), Err(Wrong::Namespace("askbox-others".into())));
        assert_eq!(checked(b"hello", &changed(b"ssh-ed25519", b"ssh-ed448xx")), Err(Wrong::Kind("ssh-ed448xx".into())));
        assert_eq!(checked(b"hello", &changed(b"SSHSIG\0\0\0\x01", b"SSHSIG\0\0\0\x02")), Err(Wrong::Form));
        assert_eq!(checked(b"hello", &format!("{signature}AAAA")), Err(Wrong::Form));
        let blob = STANDARD.decode(&signature).unwrap();
        for length in 0..blob.len() {
            assert_eq!(checked(b"hello", &STANDARD.encode(&blob[..length])), Err(Wrong::Form), "{length}");
        }
    }

    #[test]
    fn a_security_key_must_be_touched() {
        let (key, signature) = by_security_key(TOUCHED);
        assert_eq!(check([&key].into_iter(), b"hello", &signature), Ok(()));
        assert_eq!(check([&key].into_iter(), b"hallo", &signature), Err(Wrong::OtherBytes));
        let (key, signature) = by_security_key(4);
        assert_eq!(check([&key].into_iter(), b"hello", &signature), Err(Wrong::NotTouched));
        let line = key.line();
        let (kind, base64) = line.split_once(' ').unwrap();
        assert_eq!(SshKey::parse(kind, base64), Ok(key));
        assert_eq!(SshKey::parse(ED25519, base64), Err(Wrong::Form), "the line says another kind than the key");
    }

    #[test]
    fn only_an_armored_ssh_signature_is_found() {
        for other in ["", "no", &SIGNED.replace("BEGIN SSH", "BEGIN PGP"), &SIGNED.replace("U1NI", "AAAA"), &SIGNED.replace("AAAA", "!!!!")]
        {
            assert_eq!(in_armor(other), None, "{other}");
        }
    }
}
