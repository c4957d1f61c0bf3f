//! Repairs what strict JSON forbids and programs do emit: halves of surrogate pairs, as JavaScript cuts strings in their
//! middle, and raw control characters.

/// A copy of the line, of the same length, with U+FFFD for each half of a surrogate pair and a space for each control character.
/// `None` if the line holds neither.
pub(super) fn repair(line: &str) -> Option<String> {
    let mut bytes = line.as_bytes().to_vec();
    let (mut at, mut changed) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => match unit(&bytes[at..]) {
                Some(0xD800..0xDC00) if matches!(unit(&bytes[at + 6..]), Some(0xDC00..0xE000)) => at += 12,
                Some(0xD800..0xE000) => {
                    bytes[at + 2..at + 6].copy_from_slice(b"fffd");
                    changed = true;
                    at += 6;
                }
                _ => at += 2,
            },
            0..0x20 => {
                bytes[at] = b' ';
                changed = true;
                at += 1;
            }
            _ => at += 1,
        }
    }
    // Only ASCII was replaced by ASCII.
    changed.then(|| String::from_utf8(bytes).ok()).flatten()
}

/// The value of a `\uXXXX` escape at the beginning of `bytes`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_and_control_characters_are_repaired_and_pairs_kept() {
        let line = "{\"a\":\"\\ud83d\\ude00 \\ud83d x \\ude00 \\\\ud83d \u{1}\"}";
        assert!(serde_json::from_str::<serde_json::Value>(line).is_err());
        let repaired = repair(line).unwrap();
        assert_eq!(repaired.len(), line.len());
        let value: serde_json::Value = serde_json::from_str(&repaired).unwrap();
        assert_eq!(value["a"], "😀 \u{fffd} x \u{fffd} \\ud83d  ");
        assert_eq!(repair("{\"a\":\"\\ud83d\\ude00\"}"), None);
    }
}
