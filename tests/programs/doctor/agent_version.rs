//! The doctor names the version of `claude`, and whether askbox was tested with it.

use super::{report, well};

#[test]
fn doctor_names_the_version_of_claude_and_what_it_lacks() {
    let world = well();
    assert!(report(&world)["agent"].is_null(), "only claude says its version in this way");
    world.sh("mkdir on; printf '#!/bin/sh\\ncat %s\\n' \"$PWD/said\" >on/claude; chmod +x on/claude");
    let config = format!("[runner.claude]\nprogram = '{}'\n", world.path("on/claude").display());
    std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
    let says = |said: &str| {
        std::fs::write(world.path("said"), said).unwrap();
        (report(&world)["agent"].clone(), world.sh("askbox doctor"))
    };
    let (agent, words) = says("2.1.332 (Claude Code)\n");
    assert_eq!((agent["version"].as_str(), agent["tested"].as_bool()), (Some("2.1.332"), Some(true)));
    assert!(words.contains("The agent program is claude 2.1.332 (") && words.contains("tested with.\n"), "{words}");
    let (agent, words) = says("2.1.260 (Claude Code)\n");
    assert!(agent["tested"] == true && !agent["lacks"].as_array().unwrap().is_empty(), "{agent}");
    assert!(words.contains("  With this version, "), "{words}");
    let (agent, words) = says("3.0.0 (Claude Code)\n");
    assert!(agent["tested"] == false && words.contains("which askbox was not tested with"), "{words}");
    let (agent, words) = says("hello\n");
    assert!(agent["version"].is_null() && words.contains("does not say its version"), "{words}");
    // A silent program holds the doctor up for seconds only, and a wrong one is not a problem of the mailbox.
    world.sh("mkfifo never; printf '#!/bin/sh\\nread x <%s\\n' \"$PWD/never\" >on/claude");
    assert!(report(&world)["agent"]["version"].is_null());
}
