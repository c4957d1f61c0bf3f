//! The blocks of TOML and JSON.

use base64::prelude::{BASE64_STANDARD as STANDARD, Engine as _};

use super::super::setup::home;
use super::{Kind, kind, pages};

/// The second word of the public key of a security key.
fn a_security_key() -> String {
    // The base point of the curve.
    let mut point = [0x66; 32];
    point[0] = 0x58;
    let fields: [&[u8]; 3] = [b"sk-ssh-ed25519@openssh.com", &point, b"ssh:"];
    let length = |field: &[u8]| u32::try_from(field.len()).expect("short").to_be_bytes();
    STANDARD.encode(fields.iter().flat_map(|field| [&length(field)[..], field].concat()).collect::<Vec<_>>())
}

/// A file with the keys of a block put below the headers that it has. The other headers come at its end.
fn below_headers(file: &str, block: &str) -> String {
    let mut file = file.to_owned();
    let sections = format!("\n{block}");
    for section in sections.split("\n[").skip(1) {
        let (header, keys) = section.split_once("]\n").expect("a header and its keys");
        match file.find(&format!("\n[{header}]\n")) {
            Some(at) => file.insert_str(at + header.len() + 4, &format!("{keys}\n")),
            None => file.push_str(&format!("\n[{section}\n")),
        }
    }
    file
}

mod promises {
    use super::*;

    #[test]
    fn each_toml_block_of_a_page_fits_alone_and_below_headers() {
        let written = home().ok("askbox", &["init", "--print"]);
        let mut read = 0;
        for (name, blocks) in pages() {
            for block in blocks.iter().filter(|block| kind(block) == Kind::Toml) {
                read += 1;
                // A key alone stands in the section that the words above it name.
                let is_whole = block.text.starts_with(['[', '#']);
                let header = if is_whole { "" } else { "[target.phone]\nntfy = \"https://ntfy.sh/topic\"\n" };
                let alone = format!("{header}{}", block.text).replace("AAAA…", &a_security_key());
                for toml in [below_headers(&written, &alone), alone] {
                    if let Err(error) = askbox::config::parse(toml.as_bytes(), "config.toml".as_ref()) {
                        panic!("{name}: {error:?}\n{}", block.text);
                    }
                }
            }
        }
        assert!(read > 15, "{read}");
    }

    #[test]
    fn each_json_block_of_a_page_parses() {
        let mut read = 0;
        for (name, blocks) in pages() {
            for block in blocks.iter().filter(|block| kind(block) == Kind::Json) {
                read += 1;
                // Members alone stand in a file that has others.
                let json = if block.text.starts_with('{') { block.text.clone() } else { format!("{{{}}}", block.text) };
                let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
                assert!(parsed.is_ok(), "{name}: {parsed:?}\n{json}");
            }
        }
        assert!(read > 2, "{read}");
    }
}
