//! What the pages tell an agent to type is allowed to an agent that askbox launched with default settings, and does what the pages say.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use askbox::surface::askbox::claude_md;
use serde_json::{Value, json};

const REFUSED: &str = "Not permitted in this unattended run";

/// The blocks of a page that are fenced as `bash`, as an agent would type them. Blocks for scripts are fenced as `sh`.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```bash" => {
                inside = true;
                blocks.push(String::new());
            }
            "```" => inside = false,
            _ if inside => {
                let block = blocks.last_mut().expect("a block");
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

/// Lets an agent that askbox launched under default settings type these commands; returns what its tools said.
fn typed(world: &mut ClaudeWorld, commands: &[String]) -> Vec<String> {
    world.make_mailbox();
    world.keep_watching();
    world.ask("w", &["Begin?", "-o", "yes=Yes"]);
    let mut steps: Vec<Value> = commands.iter().map(|command| bash(command)).collect();
    steps.push(json!({"text": "typed"}));
    world.api.on("User chose: yes", Value::Array(steps));
    world.answer("w", "yes");
    world.wait_status("w", "over", |_| world.names("running").is_empty() && world.names("closed").iter().any(|n| n.starts_with("w.")));
    world.api.turns().pop().expect("a turn").tool_results()
}

#[test]
fn every_command_of_the_subagents_guide_and_of_the_section_for_a_claude_md_is_allowed_under_default_settings() {
    let mut world = ClaudeWorld::new();
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide-subagent.md");
    let mut commands = blocks(&std::fs::read_to_string(guide).expect("the guide"));
    assert!(commands.len() >= 4, "{commands:#?}");
    commands.extend(blocks(claude_md::SECTION));
    assert!(commands.len() >= 6, "{commands:#?}");
    // Nobody answers here.
    let shorter: Vec<String> = commands.iter().map(|c| c.replace("--wait 5m", "--wait 1s")).collect();
    let results = typed(&mut world, &shorter);
    assert_eq!(results.len(), commands.len(), "{results:#?}");
    for (command, result) in commands.iter().zip(&results) {
        let is_fine = !result.contains(REFUSED) && !result.contains("Exit code") && !result.contains("error:");
        assert!(is_fine, "{command}\n{result}");
    }
    let said = results.join("\n");
    for line in ["QUESTION_POSTED:docs-42", "QUESTION_POSTED:ship", "QUESTION_POSTED:db-7", "QUESTION_POSTED:web", "guide.md.bak"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(world.document("pending/ship.json")["default"], "no");
    assert_eq!(world.document("pending/db-7.json")["questions"].as_array().map(Vec::len), Some(2));
}

/// If one of these is allowed one day, the guide can show it first.
#[test]
fn what_the_guide_calls_refused_is_refused_under_default_settings() {
    let mut world = ClaudeWorld::new();
    let commands = [
        "eval \"$(checkpoint env w)\"",
        "answer=$(ask-post 'Which port?' -w web -t number --wait 1s); echo \"$answer\"",
        "checkpoint show $WORKFLOW_ID",
        "cat $CHECKPOINT_FILE",
        "checkpoint save w <<'END'\n{}\nEND",
        "ask-post --file <(cat question.json)",
    ];
    let results = typed(&mut world, &commands.map(String::from));
    for (command, result) in commands.iter().zip(&results) {
        assert!(result.contains(REFUSED), "{command}\n{result}");
    }
    assert_eq!(results.len(), commands.len());
}
