//! The other agents that speak ACP. `tests/run agents` installs them, as `package-lock.json` pins them, and runs these tests. They are not
//! part of the usual suite: the packages take 1.5 GB.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::acp::scene::Scene;
use crate::support::World;
use crate::support::openai::OpenAi;

mod claude_acp;
mod copilot;
mod gemini;
mod opencode;
mod pi;
mod qwen;

/// The key that lets the agent run any command.
const ANY_COMMAND: &str = "allowed_tools = [\"Bash\"]";

/// The folder of their packages.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("ASKBOX_TEST_MORE_AGENTS").expect("tests/run agents installs the agents and names their folder"))
}

/// A world whose workflows are run by the agent with this preset. `configure` returns the keys of its runner.
fn scene(name: &str, configure: impl FnOnce(&World, &OpenAi) -> String) -> Scene {
    Scene::with_agents_in(&folder(), name, configure)
}

/// Writes a file of settings below the home.
pub(crate) fn settings(world: &World, path: &str, settings: &Value) {
    let path = world.home().join(path);
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
    std::fs::write(path, settings.to_string()).expect("its settings");
}

/// The call of the tool `ask_user`, which the agent knows by this name.
fn ask_user(name: &str) -> Value {
    let options = json!([{"label": "merge"}, {"label": "keep"}]);
    json!({"tool": name, "input": {"question": "Merge or keep?", "options": options}})
}
