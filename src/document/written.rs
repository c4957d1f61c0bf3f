//! Taking apart an object that serde_json has just written: nothing needs to be checked, and there is no space in it.

use std::borrow::Cow;

/// Each field's name, and its value as it is spelled.
pub(super) fn written_fields(json: &str) -> Vec<(Cow<'_, str>, &str)> {
    let mut fields = Vec::with_capacity(24);
    let mut start = 1;
    while json[start..].starts_with('"') {
        let colon = string_end(json.as_bytes(), start);
        let end = value_end(json.as_bytes(), colon + 1);
        fields.push((unquoted(&json[start..colon]), &json[colon + 1..end]));
        start = end + 1;
    }
    fields
}

/// What comes behind the string that begins there.
fn string_end(json: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(ahead) = json[at..].iter().position(|b| matches!(b, b'"' | b'\\')) {
        at += ahead + 1;
        if json[at - 1] == b'"' {
            break;
        }
        at += 1;
    }
    at
}

/// What comes behind the value of a field.
fn value_end(json: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    loop {
        match json[at] {
            b'"' => at = string_end(json, at) - 1,
            b'{' | b'[' => depth += 1,
            b',' | b'}' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

fn unquoted(key: &str) -> Cow<'_, str> {
    match key.contains('\\') {
        true => Cow::Owned(serde_json::from_str(key).unwrap_or_default()),
        false => Cow::Borrowed(key.trim_matches('"')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_json_wrote_falls_into_its_fields() {
        let value = serde_json::json!({"a": "}],:\\\"{", "b\"c": {"x": [1, {"y": "]"}], "z": {}}, "": [], "e": null, "ü": 1.5});
        let text = value.to_string();
        let fields = written_fields(&text);
        let expected: Vec<_> = value.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
        assert_eq!(fields.iter().map(|(k, v)| (k.to_string(), (*v).to_owned())).collect::<Vec<_>>(), expected);
        assert!(written_fields("{}").is_empty());
    }
}
