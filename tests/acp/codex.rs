//! codex by its adapter `codex-acp`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use serde_json::{Value, json};

use crate::acp::scene::{Killed, OVERNIGHT, OWN_TOOL, Scene};
use crate::support::process::Running;
use crate::support::{needs, programs, ways};

/// codex without its sandbox, because containers do not always permit one. Its shell is a login shell, whose profile names the folder of
/// askbox's programs, as the profile of a person does who has installed them in their home.
fn scene() -> Scene {
    scene_with("", "agent-full-access")
}

/// `features` are codex's own.
fn scene_with(features: &str, mode: &str) -> Scene {
    scene_with_keys(features, mode, "")
}

/// `more` are further keys of the configuration.
fn scene_with_keys(features: &str, mode: &str, more: &str) -> Scene {
    Scene::new("codex", |world, api| {
        let settings = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nsupports_websockets = false\n\
             [analytics]\nenabled = false\n{features}",
            api.url()
        );
        std::fs::create_dir_all(world.home().join(".codex")).expect("a folder");
        std::fs::write(world.home().join(".codex/config.toml"), settings).expect("its settings");
        let profile = format!("PATH=\"$PATH:{}\"\n", programs().display());
        std::fs::write(world.home().join(".profile"), profile).expect("a profile");
        format!("mode = \"{mode}\"\nenv = {{ SCRIPTED_KEY = \"dummy\", CODEX_API_KEY = \"dummy\" }}\n{more}")
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "exec_command", "input": {"cmd": command}})
}

/// A call that codex asks about, because it is to run outside of its sandbox.
fn outside_the_sandbox(command: &str) -> Value {
    json!({"tool": "exec_command", "input": {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "needs it"}})
}

#[test]
fn codex_whose_supervisor_was_killed_goes_on() {
    needs!("acp-agents");
    scene().is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
fn codex_killed_at_20_moments_repeats_nothing_unknowing() {
    needs!("acp-agents");
    scene().is_killed_at_20_moments(shell, 6);
}

#[test]
fn a_question_of_codex_is_answered_live_and_later() {
    needs!("acp-agents");
    let options = ["merge", "keep"].map(|label| json!({"label": label, "description": format!("take {label}")}));
    let question = json!({"id": "q1", "header": "Branch", "question": "Merge or keep?", "options": options});
    // Outside of its plan mode, codex asks only with a feature that is under development.
    let scene = scene_with("[features]\ndefault_mode_request_user_input = true\n", "agent-full-access");
    scene.asks_with_its_own_tool(&json!({"tool": "request_user_input", "input": {"questions": [question]}}));
}

#[test]
fn codex_asks_with_a_tool_of_askbox() {
    needs!("acp-agents");
    let input = json!({"question": "Merge or keep?", "options": [{"label": "merge"}, {"label": "keep"}]});
    let ask = json!({"tool": "ask_user", "namespace": "mcp__askbox", "input": input});
    // In this mode, codex asks before each call of an MCP tool.
    scene_with("", "workspace-write").asks_with_a_tool_of_askbox(&ask, OWN_TOOL);
}

#[test]
fn a_call_of_codex_that_its_user_changed_is_made_anew() {
    needs!("acp-agents");
    scene_with("", "workspace-write").has_its_call_changed(outside_the_sandbox);
}

#[test]
fn a_fenced_codex_reaches_nothing_that_decides() {
    needs!("acp-agents", "tmux", "strace");
    let Scene { world, api } = scene_with_keys("", "agent-full-access", "[fence]\nmode = \"on\"");
    let outside = Running::start(Command::new("sleep").arg("600"));
    let socket = format!("askbox-codex-{}", outside.pid());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).unwrap()).unwrap();
    ways::prepare(&world);
    std::fs::write(world.home().join("ways"), ways::script(&world, &outside, &socket)).unwrap();
    let all = json!({"tool": "exec_command", "input": {"cmd": "sh ~/ways", "yield_time_ms": 30000}});
    api.on("go all ways", json!([all, {"text": "All gone."}]));
    world.ok("relaunch", &["spawn", "-w", "job", "--prompt", "go all ways", "--timeout", "2m"]);
    world.sh(&format!("tmux -S {} kill-server", world.path("outside.tmux").display()));
    let expected: Vec<_> = ways::WAYS.iter().filter(|way| way.is_open[1]).map(|way| way.name).collect();
    assert_eq!(ways::open_ways(&world), expected);
}

#[test]
fn the_sandbox_of_codex_works_behind_the_fence() {
    needs!("acp-agents", "bwrap");
    let Scene { mut world, api } = scene_with_keys("", "workspace-write", "[fence]\nmode = \"on\"");
    // Codex has no sandbox if its home lies in the temporary folder.
    let tmp = world.path("tmp").display().to_string();
    world.set_env(&[("TMPDIR", &tmp)]);
    let tcp = api.url().replace("http://", "/dev/tcp/").replace(':', "/").replace("/v1", "");
    let probe = shell(&format!("touch inside; (: <> {tcp}) && touch reached; ask-post -w w-part 'Which?' -o a=A"));
    api.on("try the sandbox", json!([probe, {"text": "Tried."}]));
    world.ok("relaunch", &["spawn", "-w", "job", "--prompt", "try the sandbox", "--timeout", "2m"]);
    assert!(world.work().join("inside").exists() && !world.work().join("reached").exists(), "{:?}", api.told().last());
    assert_eq!(world.document("pending/w-part.json")["parent"], "job");
}

#[test]
fn a_child_of_codex_is_started_by_the_watcher_and_replies() {
    needs!("acp-agents");
    let scene = scene();
    let Scene { world, api } = &scene;
    api.on("bake it", json!([shell("echo \"from ${FROM-the watcher}\" >> $HOME/effects"), {"text": "It is baked."}]));
    api.on("have it baked", json!([shell("FROM=parent relaunch spawn -w leaf --prompt 'bake it'"), {"text": "The leaf has replied."}]));
    let _watcher = world.watch();
    scene.spawns("have it baked");
    world.closed("job", "delivered", 1);
    assert_eq!(std::fs::read_to_string(world.home().join("effects")).unwrap(), "from the watcher\n");
    assert_eq!(world.ok("relaunch", &["resume", "leaf"]), "It is baked.\n");
    assert_eq!(world.ok("relaunch", &["resume", "job"]), "The leaf has replied.\n");
}

mod promises {
    use super::*;

    #[test]
    fn codex_asks_and_comes_back_with_the_answer() {
        needs!("acp-agents");
        scene().asks_and_comes_back(shell);
    }

    #[test]
    fn a_call_of_codex_waits_overnight_and_runs_once() {
        needs!("acp-agents");
        scene_with_keys("", "workspace-write", OVERNIGHT).waits_overnight_for_a_permission(outside_the_sandbox);
    }

    #[test]
    fn codex_that_was_killed_at_work_goes_on() {
        needs!("acp-agents");
        scene().is_killed_at_work(shell, Killed::Agent);
    }
}
