//! "Subagent User Communication": the subagent's, the main agent's and the relaunched subagent's snippets, each run verbatim, and the
//! main agent's `claude -p` is the real one.

use crate::claude::first_design::seed;
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use crate::support::files::Litter;
use crate::support::output;
use serde_json::json;

#[test]
fn the_whole_snippet_beside_a_watcher_starts_one_agent() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    let id = world.id("workflow");
    let _litter = Litter(format!("/tmp/workflow_{id}_checkpoint.json").into());
    world.sh("mkdir -p ~/.claude/questions/pending ~/.claude/questions/answered");
    let run = |script: &str| {
        let path = world.path_of_a_user();
        output(world.any_command("bash").args(["-c", script]).env("PATH", path).env("WORKFLOW_ID", &id)).ok().stdout
    };
    run(&seed("ask.sh"));
    world.api.on("Continue with next steps.", json!([{"delay_ms": 4000, "text": "restructured"}]));
    assert_eq!(run(&seed("answer.sh")), "restructured\n");
    let closed = world.wait_state(&id, "delivered");
    assert_eq!(world.launches().len(), 1, "{closed}");
    let closed = &world.rounds("closed", &id)[0]["closed"];
    assert!(closed["by"].as_str().is_some_and(|by| by.contains("started by hand")), "{closed}");
}

mod promises {
    use super::*;

    #[test]
    fn the_three_snippets_run_and_claude_reads_the_answer() {
        let world = ClaudeWorld::new();
        let id = world.id("workflow");
        let checkpoint = format!("/tmp/workflow_{id}_checkpoint.json");
        let _litter = Litter(checkpoint.clone().into());
        world.sh("mkdir -p -m 700 ~/.claude/questions; mkdir -p ~/.claude/questions/pending ~/.claude/questions/answered");
        let run = |script: &str| {
            let path = world.path_of_a_user();
            output(world.any_command("bash").args(["-c", script]).env("PATH", path).env("WORKFLOW_ID", &id)).ok().stdout
        };
        // The subagent saves, asks and exits.
        assert_eq!(run(&seed("ask.sh")), format!("QUESTION_POSTED:{id}\n"));
        let shown = world.run("ask-answer", &["show", &id]).ok().stdout;
        assert!(
            shown.contains("Review found content overlap. How should we proceed?") && shown.contains("Restructure both sections"),
            "{shown}"
        );

        // The relaunched subagent goes on with the third snippet; what it echoes is what the snippet has read.
        let resume =
            format!("WORKFLOW_ID={id}\n{}\necho \"$USER_CHOICE|$CURRENT_STEP|$PROPOSED_CHANGES|$BACKUP|$ORIGINAL\"", seed("resume.sh"));
        world.api.on("User chose: restructure. Continue with next steps.", json!([bash(&resume)]));
        // The main agent writes the answer, moves the question and relaunches: the real `claude`, with the document's own arguments.
        let said = run(&seed("answer.sh"));
        assert_eq!(said, "restructure|pre_implementation_review|/tmp/doc_proposed_changes_123.md|/tmp/doc_backup_123.md|/path/to/doc.md\n");
        let turns = world.api.requests_with_text("User chose: restructure. Continue with next steps.");
        assert!(turns[0].model_text().contains(&format!("Resume workflow from checkpoint at {checkpoint}.")), "{}", turns[0].model_text());
        assert_eq!(world.launches().len(), 1, "once");
        assert!(world.launches()[0].args.ends_with("--dangerously-skip-permissions"));
        assert_eq!(world.document(&format!("answered/{id}.json"))["workflow_id"], id.as_str());
        assert_eq!(world.json(std::path::Path::new(&checkpoint))["user_answer"], "restructure");
    }
}
