//! Replies that are not enough: cut, refused, empty, paused, too long for the context. None of them is a success.

use crate::agent::scene::{SESSION, Scene};
use crate::support::{Outcome, output};
use serde_json::{Value, json};

fn refusal(message: &str) -> Value {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    json!({"status": 400, "body": body.to_string()})
}

/// Runs a script to its end, with settings of the environment.
#[track_caller]
fn run(scene: &Scene, steps: &Value, env: &[(&str, &str)]) -> Outcome {
    let mut command = scene.agent(&["--output-format", "stream-json", "--session-id", SESSION]);
    output(command.envs(env.iter().copied()).arg(format!("x @@{steps}")))
}

/// The limits on tokens that the requests name.
fn limits(scene: &Scene) -> Vec<u64> {
    scene.turns().iter().map(|turn| turn.body["max_tokens"].as_u64().unwrap()).collect()
}

#[test]
fn a_reply_that_is_not_enough_is_told_once_and_the_turn_goes_on() {
    for (step, words) in [
        (json!({"text": "half a", "stop": "max_tokens"}), "was cut"),
        (json!({"text": "I would rather not", "refuses": true}), "refusal"),
        (json!({"tools": []}), "is empty"),
    ] {
        let scene = Scene::new();
        // An empty reply is not sent back, so the script would not count it.
        scene.api.on("the reply is empty", json!([{"text": "done"}]));
        let result = run(&scene, &json!([step, {"text": "done"}]), &[]).ok().result();
        assert_eq!((&result["result"], &result["is_error"]), (&json!("done"), &json!(false)), "{step}");
        assert!(scene.turns()[1].model_text().contains(words), "{}", scene.turns()[1].model_text());
    }
}

#[test]
fn a_pause_of_the_model_goes_on_by_itself() {
    let scene = Scene::new();
    assert_eq!(run(&scene, &json!([{"text": "wait", "stop": "pause_turn"}, {"text": "done"}]), &[]).ok().result()["result"], "done");
    assert_eq!(scene.turns()[1].messages().last().unwrap()["role"], "assistant");
}

#[test]
fn a_call_that_was_cut_is_not_made_and_costs_one_request() {
    let scene = Scene::new();
    let call = json!({"tool": "Bash", "input": {"command": "touch made; touch made-too"}, "half": true, "stop": "max_tokens"});
    assert_eq!(run(&scene, &json!([call, {"text": "done"}]), &[]).ok().result()["result"], "done");
    assert_eq!(scene.turns().len(), 2);
    assert!(scene.turns()[1].tool_results()[0].contains("send less at once") && !scene.path("made").exists());
}

#[test]
fn calls_that_are_cut_again_and_again_end_the_turn() {
    let scene = Scene::new();
    let call = json!({"tool": "Bash", "input": {"command": "touch made; touch made-too"}, "half": true, "stop": "max_tokens"});
    let result = run(&scene, &json!([call, call, call, {"text": "done"}]), &[]).result();
    assert_eq!((&result["is_error"], scene.turns().len()), (&json!(true), 2));
}

#[test]
fn the_limit_on_tokens_is_the_models_or_the_operators() {
    let scene = Scene::new();
    let steps = json!([
        refusal("max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"),
        {"tool": "TodoWrite", "input": {"todos": []}},
        refusal("input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length or `max_tokens` and try again"),
        {"text": "done"},
    ]);
    assert_eq!(run(&scene, &steps, &[]).ok().result()["result"], "done");
    assert_eq!(limits(&scene), [128_000, 64_000, 64_000, 25_833]);
    let scene = Scene::new();
    run(&scene, &json!([{"text": "done"}]), &[("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "9000")]).ok();
    assert_eq!(limits(&scene), [9000]);
}

#[test]
fn an_error_within_a_stream_has_its_own_class() {
    let scene = Scene::new();
    let result = run(&scene, &json!([{"cut": true, "error": "invalid_request_error"}, {"text": "done"}]), &[]).result();
    assert_eq!((&result["api_error_type"], scene.turns().len()), (&json!("invalid_request_error"), 1));
    let scene = Scene::new();
    let steps = json!([{"cut": true, "error": "overloaded_error"}, {"text": "done"}]);
    assert_eq!(run(&scene, &steps, &[]).ok().result()["result"], "done");
}

#[test]
fn a_subagent_that_gives_no_result_is_an_error_for_its_caller() {
    let scene = Scene::new();
    let no = json!({"text": "no", "refuses": true});
    let task = json!({"tool": "Task", "input": {"prompt": format!("child @@{}", json!([no, no]))}});
    run(&scene, &json!([task, {"text": "done"}]), &[]).ok();
    assert!(scene.turns()[3].tool_results()[0].contains("stopped as a refusal"), "{:?}", scene.turns()[3].tool_results());
}

mod promises {
    use super::*;

    #[test]
    fn no_turn_is_a_success_with_half_a_result() {
        let no = json!({"text": "no", "refuses": true});
        let half = json!({"text": "half a", "stop": "max_tokens"});
        let full = refusal("prompt is too long: 208310 tokens > 200000 maximum");
        for (steps, reason, stop) in [
            (json!([no, no, {"text": "done"}]), "api_error", "refusal"),
            (json!([half, half, {"text": "done"}]), "completed", "max_tokens"),
            (json!(vec![full; 9]), "blocking_limit", ""),
        ] {
            let scene = Scene::new();
            let outcome = run(&scene, &steps, &[]);
            let result = outcome.result();
            assert_eq!((outcome.code(), &result["is_error"], &result["terminal_reason"]), (1, &json!(true), &json!(reason)));
            assert_eq!(result["stop_reason"].as_str().unwrap_or_default(), stop);
        }
    }
}
