//! A home for chains of scripted agents.

use crate::support::{World, until};
use serde_json::Value;

/// Passes on what it starts: the work of every level but the last. `$0`: the next level's id.
pub fn passes_on(next: &str) -> String {
    format!("if [ $n = 1 ]; then relaunch spawn -w {next} --prompt go; else echo \"passed on: $(news)\"; fi")
}

/// Asks, and then ends with the answer.
pub const ASKS: &str = "if [ $n = 1 ]; then ask-post 'When?'; else echo \"it is $n\"; fi";

pub struct Tree {
    pub world: World,
}

impl Tree {
    pub fn new() -> Self {
        Self::with("")
    }

    /// Its runs may set what their calls find in the environment, and end questions and workflows.
    pub fn unfenced() -> Self {
        Self::with("[fence]\nmode = \"off\"\n")
    }

    pub fn with(config: &str) -> Self {
        let tree = Self { world: World::at_home() };
        tree.world.configure(config);
        tree
    }

    pub fn does(&self, id: &str, work: &str) {
        self.world.agent_does(id, work);
    }

    /// Starts a root; what it printed, without the line's end.
    #[track_caller]
    pub fn spawn(&self, id: &str) -> String {
        self.world.ok("relaunch", &["spawn", "-w", id, "--prompt", "go"]).trim_end().to_owned()
    }

    pub fn resume(&self, id: &str) -> (i32, String) {
        let output = self.world.run("relaunch", &["resume", id]);
        (output.status.code().unwrap(), output.stdout.trim_end().to_owned())
    }

    #[track_caller]
    pub fn answer(&self, id: &str) {
        self.world.ok("ask-answer", &[id, "soon"]);
    }

    #[track_caller]
    pub fn status(&self, id: &str) -> Value {
        serde_json::from_str(&self.world.ok("relaunch", &["status", "--json", id])).unwrap()
    }

    /// Waits for the final text of a workflow.
    #[track_caller]
    pub fn result(&self, id: &str) -> String {
        let status = until(&format!("the result of {id}"), || Some(self.status(id)).filter(|s| s["state"] == "delivered"));
        status["result"].as_str().unwrap().to_owned()
    }

    pub fn launches(&self, id: &str) -> usize {
        self.world.launches_of(id).len()
    }

    /// Nothing is left of anybody's waiting.
    #[track_caller]
    pub fn nobody_waits(&self) {
        until("the end of all waits", || {
            let left = std::fs::read_dir(self.world.in_mailbox("awaits")).unwrap().count();
            (left == 0).then_some(())
        });
    }
}
