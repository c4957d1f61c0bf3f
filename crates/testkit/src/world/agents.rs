//! The two scripted agents. Both speak `claude`'s stream-json, and keep what they are told and what they do in `$AGENT_DIR`.
//!
//! `agents/scripted.sh` does for each workflow what a script of the test says. `agents/stepping.sh` goes through a run step by
//! step, can be held at each, and notices when two agents of one round live at once.

use std::path::PathBuf;

use serde_json::Value;

use crate::{World, names, root, until};

impl World {
    /// Configures the agent that does what [`World::agent_does`] says.
    pub fn with_scripted_agent(mut self) -> Self {
        self.settings = [String::new(), self.runner("scripted.sh")];
        self.configure("");
        self
    }

    /// Configures the agent that goes step by step; see [`World::stepping`].
    pub fn with_stepping_agent(mut self, body: &str) -> Self {
        let relaunch = "[relaunch]\nmax_concurrent = 8\nbackoff = \"50ms\"\nbackoff_max = \"500ms\"\n";
        self.settings = [relaunch.to_owned(), self.runner("stepping.sh")];
        std::fs::create_dir_all(self.home().join(".claude/projects/p")).expect("the folder of its transcripts");
        std::fs::write(self.agent("body.sh"), body).expect("the agent's body");
        self.configure("");
        self
    }

    fn runner(&mut self, script: &str) -> String {
        std::fs::create_dir(self.path("agent")).expect("the agent's folder");
        let folder = self.path("agent").display().to_string();
        self.set_env(&[("AGENT_DIR", &folder)]);
        let script = root().join("crates/testkit/agents").join(script);
        format!("[runner]\ndefault = \"fake\"\n[runner.fake]\nprogram = \"{}\"\n", script.display())
    }

    /// A path in the folder of the agents.
    pub fn agent(&self, name: &str) -> PathBuf {
        self.path("agent").join(name)
    }

    /// Sets the work of the scripted agent for a workflow, in sh. What it prints is the agent's final text.
    pub fn agent_does(&self, workflow: &str, script: &str) {
        std::fs::write(self.agent(&format!("{workflow}.sh")), script).expect("the agent's work");
    }

    /// Every launch of the scripted agent for a workflow, as `WORKFLOW/QUESTION/ATTEMPT`.
    pub fn launches_of(&self, workflow: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.agent("launches")).unwrap_or_default();
        log.lines().filter(|l| l.starts_with(&format!("{workflow}/"))).map(str::to_owned).collect()
    }

    /// Waits for the `n`th launch of a workflow's scripted agent; the message that the agent received.
    #[track_caller]
    pub fn told(&self, workflow: &str, n: usize) -> String {
        let path = self.agent(&format!("told.{workflow}.{n}"));
        let line = until(&format!("launch {n} of {workflow}"), || std::fs::read_to_string(&path).ok());
        let message: Value = serde_json::from_str(&line).expect("JSON");
        message["message"]["content"].as_str().expect("a text").to_owned()
    }

    /// Holds the stepping agent when it comes to this step, until [`World::let_go`].
    pub fn hold(&self, step: &str) {
        std::fs::write(self.agent(&format!("pause.{step}")), "").expect("a file");
    }

    /// Lets a held agent go on.
    pub fn let_go(&self, step: &str) {
        std::fs::remove_file(self.agent(&format!("pause.{step}"))).expect("it is held");
    }

    /// True if an agent has come to a step that holds it.
    pub fn is_held(&self, step: &str) -> bool {
        self.agent(&format!("at.{step}")).exists()
    }

    /// Waits until an agent is held at a step; the process ids of the agent and of its supervisor.
    #[track_caller]
    pub fn held(&self, step: &str) -> [i32; 2] {
        let text = until(&format!("the agent is held at {step}"), || std::fs::read_to_string(self.agent(&format!("at.{step}"))).ok());
        let pids: Vec<i32> = text.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
        pids.try_into().expect("two pids")
    }

    /// The lines of the stepping agents' log.
    pub fn log(&self) -> Vec<String> {
        std::fs::read_to_string(self.agent("log")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// How many lines of that log begin with these words.
    pub fn logged(&self, words: &str) -> usize {
        self.log().iter().filter(|l| l.starts_with(words)).count()
    }

    /// The only message that the stepping agents received.
    #[track_caller]
    pub fn only_told(&self) -> String {
        let told: Vec<_> = names(&self.path("agent")).into_iter().filter(|n| n.starts_with("told.")).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        std::fs::read_to_string(self.agent(&told[0])).expect("it is read")
    }
}
