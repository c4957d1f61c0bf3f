//! A server in Python that a test talks to, such as the scripted ntfy server.

use std::process::Stdio;

use serde_json::Value;

use crate::{Running, World, root, until};

/// A server at work; it is killed when this is dropped.
pub struct Server {
    _process: Running,
    pub port: u16,
}

impl Server {
    /// Starts a script of `tests/watch/news`, which writes its port to the file `port` and what it hears to other files of its folder.
    pub fn start(world: &World, script: &str, args: &[&str]) -> Self {
        let path = root().join("tests/watch/news").join(script);
        let folder = world.path("server");
        std::fs::create_dir_all(&folder).expect("the server's folder");
        let _ = std::fs::remove_file(folder.join("port"));
        let mut command = world.any_command("python3");
        let process = Running::start(command.arg(path).arg(&folder).args(args).stdin(Stdio::null()));
        let port = until("the server listens", || std::fs::read_to_string(folder.join("port")).ok()?.trim().parse().ok());
        Self { _process: process, port }
    }

    /// The objects that it has written to a file, one a line.
    pub fn lines(world: &World, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(world.path("server").join(file)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}
