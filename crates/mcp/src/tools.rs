//! The tools of this server. `tools.json` has their names, descriptions and arguments. Each word of it costs tokens in every session that
//! loads it.

use rmcp::model::Tool;

pub(super) const ASK_USER: &str = "ask_user";
pub(super) const CHECK_ANSWER: &str = "check_answer";
pub(super) const SAVE_CHECKPOINT: &str = "save_checkpoint";
pub(super) const LOAD_CHECKPOINT: &str = "load_checkpoint";
pub(super) const LIST_QUESTIONS: &str = "list_questions";
pub(super) const RUN_STATUS: &str = "run_status";
pub(super) const STOP_RUN: &str = "stop_run";
pub(super) const ANSWER_QUESTION: &str = "answer_question";

/// All tools that this server offers. `ask_as` is the name of the tool that asks, in place of [`ASK_USER`].
pub(super) fn all(may_answer: bool, ask_as: Option<&str>) -> Vec<Tool> {
    let mut tools: Vec<Tool> = serde_json::from_str(include_str!("tools.json")).unwrap_or_default();
    tools.retain(|tool| may_answer || tool.name != ANSWER_QUESTION);
    for (tool, name) in tools.iter_mut().filter(|tool| tool.name == ASK_USER).zip(ask_as) {
        tool.name = name.to_owned().into();
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_stands_in_the_file_once() {
        let names: Vec<_> = all(true, None).into_iter().map(|tool| tool.name).collect();
        let known = [ASK_USER, CHECK_ANSWER, SAVE_CHECKPOINT, LOAD_CHECKPOINT, LIST_QUESTIONS, RUN_STATUS, STOP_RUN, ANSWER_QUESTION];
        assert_eq!(names, known);
        assert_eq!(all(false, Some("ask"))[0].name, "ask");
    }
}
