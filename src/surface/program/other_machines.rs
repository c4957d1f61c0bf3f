//! Whether the configuration names other machines.

/// Whether the configuration names other machines, as far as a look at its text tells: `askbox` reads it.
#[cfg(feature = "relaunch")]
pub fn has_peers() -> bool {
    use crate::config;
    let text = config::location().and_then(|path| crate::disk::read(&path, config::MAX_CONFIG).ok());
    let is_section = |line: &str| line.trim_start().trim_start_matches(['[', ' ', '"']).starts_with("peers");
    text.is_some_and(|text| String::from_utf8_lossy(&text).lines().any(is_section))
}

/// Without the `relaunch` feature there is no configuration, and so no other machine.
#[cfg(not(feature = "relaunch"))]
pub fn has_peers() -> bool {
    false
}
