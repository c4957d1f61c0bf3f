//! The configuration file that `askbox init` writes.

use crate::settings::{SECTIONS, default_of};

/// A configuration file with every key, its meaning and its default, all commented out.
pub fn template() -> String {
    let mut out = String::from(
        "# The configuration of askbox. Every key is optional; each line shows a key and its default.\n\
         # Durations are text such as \"90s\", \"15m\", \"2h\" or \"1h 30m\".\n",
    );
    for section in SECTIONS {
        // Keep the example targets and peers commented out: an enabled one without an address would be reported as unreachable.
        let (mark, name) = match section.name {
            "runner.*" => ("", "runner.claude"),
            "target.*" => ("#", "target.phone"),
            "peers.*" => ("#", "peers.build"),
            name => ("", name),
        };
        out.push_str(&format!("\n{mark}[{name}]\n"));
        for (n, key) in section.keys.iter().enumerate() {
            if n > 0 {
                out.push('\n');
            }
            for line in wrap(&key.meaning(), 100) {
                out.push_str(&format!("# {line}\n"));
            }
            let name = key.path.rsplit('.').next().unwrap_or_default();
            out.push_str(&format!("#{name} = {}\n", default_of(key)));
        }
    }
    out
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + word.len() < width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::parse::{Loaded, parse};
    use crate::sections::notify::Target;
    use crate::sections::peers::PeerConfig;
    use crate::sections::runners::Runner;
    use crate::settings::{Config, keys};

    fn read(text: &str) -> Loaded {
        parse(text.as_bytes(), Path::new("config.toml")).unwrap()
    }

    #[test]
    fn the_template_with_every_key_uncommented_is_the_default() {
        assert!(read(&template()).set.is_empty());
        let uncommented: String =
            template().lines().map(|l| if l.starts_with("# ") { String::new() } else { l.replacen('#', "", 1) + "\n" }).collect();
        let mut loaded = read(&uncommented);
        assert_eq!(loaded.set.len(), keys().count());
        let claude = loaded.config.runner.named.remove("claude");
        assert_eq!(claude, Some(Runner::default()));
        assert_eq!(loaded.config.target.remove("phone"), Some(Target::default()));
        assert_eq!(loaded.config.peers.remove("build"), Some(PeerConfig::default()));
        assert_eq!(loaded.config, Config::default());
    }

    #[test]
    fn every_key_is_described_in_a_sentence_and_has_a_default() {
        for key in keys() {
            assert!(key.meaning().ends_with('.') && !default_of(key).is_empty(), "{key:?}");
        }
    }
}
