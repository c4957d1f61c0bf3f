//! kimi, with the Node.js that it needs.

use serde_json::{Value, json};

use crate::acp::scene::{Killed, OVERNIGHT, OWN_TOOL, Scene};
use crate::support::needs;

/// kimi asks before it runs a command. The operator lets it run any.
fn scene() -> Scene {
    scene_with("allowed_tools = [\"Bash\"]")
}

/// `more` are further keys of the runner.
fn scene_with(more: &str) -> Scene {
    scene_with_keys(more, "")
}

/// `others` are keys of other sections. They stand behind the section of the runner.
fn scene_with_keys(more: &str, others: &str) -> Scene {
    Scene::new("kimi", |_, api| {
        format!(
            "{more}\nenv = {{ KIMI_MODEL_NAME = \"scripted\", KIMI_MODEL_API_KEY = \"dummy\", KIMI_MODEL_PROVIDER_TYPE = \"openai\", \
             KIMI_MODEL_BASE_URL = \"{}\" }}\n{others}",
            api.url()
        )
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}

#[test]
fn kimi_whose_supervisor_was_killed_goes_on() {
    needs!("acp-agents");
    scene().is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
fn kimi_killed_at_20_moments_repeats_nothing_unknowing() {
    needs!("acp-agents");
    scene().is_killed_at_20_moments(shell, 3);
}

#[test]
fn kimi_that_has_not_written_its_call_is_told_it() {
    needs!("acp-agents");
    scene().has_written_only_its_message(shell, ".kimi-code", "wire.jsonl");
}

#[test]
fn kimi_that_has_lost_its_last_words_is_told_them() {
    needs!("acp-agents");
    scene().loses_its_last_words(shell, ".kimi-code");
}

#[test]
fn a_question_of_kimi_is_answered_live_and_later() {
    needs!("acp-agents");
    let options = ["merge", "keep"].map(|label| json!({"label": label, "description": format!("take {label}")}));
    let question = json!({"question": "Merge or keep?", "header": "Branch", "multi_select": false, "options": options});
    scene().asks_with_its_own_tool(&json!({"tool": "AskUserQuestion", "input": {"questions": [question]}}));
}

#[test]
fn kimi_asks_with_a_tool_of_askbox() {
    needs!("acp-agents");
    let input = json!({"question": "Merge or keep?", "options": [{"label": "merge"}, {"label": "keep"}]});
    scene_with("allowed_tools = []").asks_with_a_tool_of_askbox(&json!({"tool": "mcp__askbox__ask_user", "input": input}), OWN_TOOL);
}

#[test]
fn a_call_of_kimi_that_its_user_changed_is_made_anew() {
    needs!("acp-agents");
    scene_with("").has_its_call_changed(shell);
}

mod promises {
    use super::*;

    #[test]
    fn kimi_asks_and_comes_back_with_the_answer() {
        needs!("acp-agents");
        scene().asks_and_comes_back(shell);
    }

    #[test]
    fn a_call_of_kimi_waits_overnight_and_runs_once() {
        needs!("acp-agents");
        scene_with_keys("", OVERNIGHT).waits_overnight_for_a_permission(shell);
    }

    #[test]
    fn kimi_that_was_killed_at_work_goes_on() {
        needs!("acp-agents");
        scene().is_killed_at_work(shell, Killed::Agent);
    }
}
