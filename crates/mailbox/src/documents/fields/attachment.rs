//! The field `attachments`: the files that a person is shown beside a question. The document holds their names, sizes and hashes. The
//! bytes lie beside it in the mailbox: see `mailbox::attachments`.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Result, text};

/// The most files beside one question.
pub const MOST: usize = 8;
/// The largest text or diff, in bytes.
pub const LARGEST_TEXT: u64 = 1 << 20;
/// The largest image, in bytes.
pub const LARGEST_IMAGE: u64 = 4 << 20;
/// The largest size of all files beside one question together, in bytes.
pub const LARGEST_TOGETHER: u64 = 8 << 20;
/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// A file that a person is shown beside a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Attachment {
    /// The file's name, without a folder. Each file beside a question has a name of its own.
    pub name: String,
    /// What the file holds.
    #[serde(rename = "type")]
    pub kind: MediaType,
    /// The file's size, in bytes.
    pub size: u64,
    /// The SHA-256 of the file: 64 digits in lower-case hexadecimal.
    pub sha256: String,
}

/// What an attached file holds. The content decides, not the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum MediaType {
    /// Text in UTF-8.
    #[serde(rename = "text/plain")]
    Text,
    /// Text that is a unified diff, as `git diff` and `diff -u` write it.
    #[serde(rename = "text/x-diff")]
    Diff,
    /// A PNG image.
    #[serde(rename = "image/png")]
    Png,
    /// A JPEG image.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// A GIF image.
    #[serde(rename = "image/gif")]
    Gif,
    /// A WebP image.
    #[serde(rename = "image/webp")]
    Webp,
}

impl MediaType {
    /// Returns what these bytes are; `None` if they are neither text nor an image.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(Self::of_text),
        }
    }

    fn of_text(text: &str) -> Self {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("--- "));
        let is_diff = lines.next().is_some()
            && lines.next().is_some_and(|line| line.starts_with("+++ "))
            && lines.next().is_some_and(|line| line.starts_with("@@ -"));
        if is_diff { Self::Diff } else { Self::Text }
    }

    /// True for an image.
    pub fn is_image(self) -> bool {
        !matches!(self, Self::Text | Self::Diff)
    }

    /// The media type, as in a header of HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Diff => "text/x-diff",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The word for people: `text`, `diff` or `PNG image`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Diff => "diff",
            Self::Png => "PNG image",
            Self::Jpeg => "JPEG image",
            Self::Gif => "GIF image",
            Self::Webp => "WebP image",
        }
    }

    /// The largest file of this type, in bytes.
    pub fn largest(self) -> u64 {
        if self.is_image() { LARGEST_IMAGE } else { LARGEST_TEXT }
    }
}

impl Attachment {
    /// Describes a file.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `attachments` if the file is empty, too long, neither text nor an image, or has a name that
    /// cannot be shown.
    pub fn of(name: &str, bytes: &[u8]) -> Result<Self> {
        let shown = || text::excerpt(&text::visible(name), 80);
        if bytes.is_empty() {
            return wrong(format!("`{}` is empty", shown()), "attach a file with something in it");
        }
        let Some(kind) = MediaType::of(bytes) else {
            let fix = "attach text in UTF-8, or an image: PNG, JPEG, GIF or WebP";
            return wrong(format!("`{}` is neither text nor an image", shown()), fix);
        };
        let attachment = Self { name: name.to_owned(), kind, size: bytes.len() as u64, sha256: text::hex(&Sha256::digest(bytes)) };
        attachment.check().map(|()| attachment)
    }

    /// True if these are the bytes of the file, and of its type. A diff may be called a text, because it is one.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let fits = match MediaType::of(bytes) {
            Some(kind) if self.kind.is_image() => kind == self.kind,
            Some(kind) => !kind.is_image(),
            None => false,
        };
        fits && self.size == bytes.len() as u64 && self.sha256 == text::hex(&Sha256::digest(bytes))
    }

    /// Returns the name and the kind in one line: `fix.diff (diff, 1204 bytes)`. Invisible characters of the name are escaped.
    pub fn words(&self) -> String {
        format!("{} ({}, {} bytes)", text::file_name(&self.name), self.kind.word(), self.size)
    }

    fn check(&self) -> Result<()> {
        let shown = text::excerpt(&text::visible(&self.name), 80);
        let is_name = !self.name.is_empty() && self.name.len() <= LONGEST_NAME && !matches!(self.name.as_str(), "." | "..");
        if !is_name || self.name.chars().any(|c| c == '/' || c.is_control()) {
            let fix = "rename the file: a name has 1 to 255 bytes, and neither `/` nor control characters";
            return wrong(format!("`{shown}` is not the name of a file"), fix);
        }
        let (size, largest) = (self.size, self.kind.largest());
        if size == 0 || size > largest {
            let problem = format!("`{shown}` is {size} bytes long, the limit of a {} is {largest}", self.kind.word());
            return wrong(problem, "attach the part that matters for the decision");
        }
        if self.sha256.len() != 64 || !self.sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return wrong(format!("`{shown}` has no SHA-256 of 64 lowercase hexadecimal digits"), "give the file itself");
        }
        Ok(())
    }
}

/// Checks the files beside a question: each by itself, their number, their sizes together, and that their names differ.
///
/// # Errors
/// [`Error::Invalid`] with the field `attachments`.
pub fn check(attachments: &[Attachment]) -> Result<()> {
    if attachments.len() > MOST {
        return wrong(format!("{} files, the limit is {MOST}", attachments.len()), "attach those that matter for the decision");
    }
    attachments.iter().try_for_each(Attachment::check)?;
    for (n, attachment) in attachments.iter().enumerate() {
        if attachments[..n].iter().any(|earlier| earlier.name == attachment.name) {
            let shown = text::excerpt(&text::visible(&attachment.name), 80);
            return wrong(format!("two files are called `{shown}`"), "give each file a name of its own");
        }
    }
    let together: u64 = attachments.iter().map(|attachment| attachment.size).sum();
    if together > LARGEST_TOGETHER {
        return wrong(format!("{together} bytes together, the limit is {LARGEST_TOGETHER}"), "attach less");
    }
    Ok(())
}

fn wrong<T>(problem: String, fix: &str) -> Result<T> {
    Err(Error::invalid("attachments", problem, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn the_content_says_what_a_file_holds() {
        for (bytes, kind) in [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some(MediaType::Png)),
            (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
            (b"GIF89a..", Some(MediaType::Gif)),
            (b"RIFF....WEBPVP8 ", Some(MediaType::Webp)),
            (b"<svg onload='x()'/>", Some(MediaType::Text)),
            (b"--- Title ---\n+++ not\n", Some(MediaType::Text)),
            (DIFF.as_bytes(), Some(MediaType::Diff)),
            (b"a\0b", None),
            (b"\xff\xfe", None),
        ] {
            assert_eq!(MediaType::of(bytes), kind, "{bytes:?}");
        }
    }

    #[test]
    fn a_file_has_a_plain_name_and_a_bounded_size() {
        for name in ["", ".", "..", "a/b", "../x", "a\nb", &"x".repeat(256)] {
            assert!(Attachment::of(name, b"x").is_err(), "{name:?}");
        }
        let (largest, longer) = (vec![b'x'; 1 << 20], vec![b'x'; (1 << 20) + 1]);
        assert!(Attachment::of("x", &largest).is_ok() && Attachment::of("x", &longer).is_err() && Attachment::of("x", b"").is_err());
        let image = [b"\x89PNG\r\n\x1a\n".as_slice(), &longer].concat();
        assert!(Attachment::of("x.txt", &image).is_ok_and(|image| image.kind == MediaType::Png));
    }

    #[test]
    fn several_files_are_few_and_have_different_names() {
        let file = |n: usize, size: u64| Attachment { name: format!("{n}"), kind: MediaType::Png, size, sha256: "0".repeat(64) };
        let files = |n: usize, size: u64| (0..n).map(|n| file(n, size)).collect::<Vec<_>>();
        assert!(check(&files(8, 1 << 20)).is_ok() && check(&files(2, 4 << 20)).is_ok());
        assert!(check(&files(9, 1)).is_err() && check(&files(3, 3 << 20)).is_err() && check(&[file(1, 1), file(1, 1)]).is_err());
        assert!(check(&[Attachment { sha256: "../../x".into(), ..file(1, 1) }]).is_err());
    }

    #[test]
    fn only_its_own_bytes_are_those_of_a_file() {
        let file = Attachment::of("x", DIFF.as_bytes()).unwrap();
        assert!(file.is_of(DIFF.as_bytes()) && !file.is_of(b"other") && !file.is_of(b""));
        assert!(Attachment { kind: MediaType::Text, ..file.clone() }.is_of(DIFF.as_bytes()));
        assert!(!Attachment { kind: MediaType::Png, ..file }.is_of(DIFF.as_bytes()), "a text that is called an image");
    }
}
