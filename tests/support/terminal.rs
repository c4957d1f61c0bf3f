//! A real terminal: tmux types and reads the screen.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::cli::Scene;

/// A terminal of its own, 100 by 40.
pub struct Terminal<'a> {
    pub scene: &'a Scene,
}

impl<'a> Terminal<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        let terminal = Self { scene };
        let programs = std::path::Path::new(env!("CARGO_BIN_EXE_ask-answer")).parent().unwrap().display().to_string();
        let path = format!("PATH={programs}:{}", std::env::var("PATH").unwrap_or_default());
        let (mailbox, home) = (format!("ASKBOX_DIR={}", scene.mailbox().display()), format!("HOME={}", scene.root().display()));
        let words = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "40",
            "env",
            "-i",
            &path,
            &mailbox,
            &home,
            "USER=ann",
            "TERM=screen",
            "PS1=$ ",
            "EDITOR=./ed",
            "LANG=C.UTF-8",
            "sh",
        ];
        terminal.tmux(&words);
        terminal.see("$");
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output =
            Command::new("tmux").arg("-S").arg(self.scene.file("tmux")).arg("-u").args(words).current_dir(self.scene.root()).output();
        let output = output.expect("this test drives a real terminal and needs tmux: apt-get install tmux");
        assert!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys, by tmux's names.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows a text, and gives the whole screen.
    #[track_caller]
    pub fn see(&self, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < deadline, "the screen never showed {text:?}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(self.scene.file("tmux")).arg("kill-server").output();
    }
}
