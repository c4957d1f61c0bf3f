//! The article on chains. `agent-cli` is a link to `relaunch`; everything else is as the article has it.

use crate::claude::first_design::seed;
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::json;

const FILES: [&str; 4] = ["ins1-a.md", "ins2-sa.md", "ins3-ssa.md", "ins4-sssa.md"];

const OLD_ROW: &str = "| _ask_ \"{q}\" | Create question.md, then terminate with signal |";

/// The article's folder: its CLAUDE.md, its instructions, and `agent-cli`. Each agent reads its instructions and does the one action that
/// its instructions and CLAUDE.md's table say. Past its last step the scripted model ends with what the tool said: the article's
/// "_terminate_ with the sub-agent's reply".
///
/// `ask` are the last agent's steps, and `above` the further steps of the agent that started it.
fn project(claude_md: &str, ask: &[serde_json::Value], above: &[serde_json::Value]) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash', 'Write']\n");
    std::fs::write(world.work().join("CLAUDE.md"), claude_md).expect("a file");
    world.sh("ln -s \"$(command -v relaunch)\" agent-cli");
    for (n, file) in FILES.iter().enumerate() {
        std::fs::write(world.work().join(file), seed(file)).expect("a file");
        let mut steps = vec![json!({"tool": "Read", "input": {"file_path": world.work().join(file)}})];
        match FILES.get(n + 1) {
            Some(next) => steps.push(bash(&format!("$PWD/agent-cli spawn $PWD/{next}"))),
            None => steps.extend(ask.iter().cloned()),
        }
        if n + 2 == FILES.len() {
            steps.extend(above.iter().cloned());
        }
        // "Read ${instructionFile} and follow its instructions."
        let prompt = format!("Read {} and follow its instructions.", world.work().join(file).display());
        world.api.on(&prompt, json!(steps));
    }
    world.keep_watching_from_the_start();
    world
}

#[test]
fn with_its_claude_md_the_agent_that_writes_a_file_is_parked() {
    let claude_md = seed("CLAUDE.md");
    let mut world = project(&claude_md, &[], &[]);
    let question = world.work().join("question.md");
    let read = json!({"tool": "Read", "input": {"file_path": world.work().join(FILES[3])}});
    let write = json!({"tool": "Write", "input": {"file_path": question, "content": "Q: When is your birthday?\nA:"}});
    let last = format!("Read {} and follow its instructions.", world.work().join(FILES[3]).display());
    world.configure("[runner.claude]\nallowed_tools = ['Bash', 'Write', 'Edit']\npermission_mode = 'acceptEdits'\n");
    world.stop_watching();
    world.keep_watching();
    world.api.on(&last, json!([read, write, {"text": "SGN_PEND_STARTED"}]));
    let said = world.sh("$PWD/agent-cli spawn $PWD/ins1-a.md");
    // Each level ended with the words of the tool, that the leaf is parked. So each waits for the leaf.
    assert!(said.starts_with("SGN_PEND_STARTED (w-"), "{said}");
    assert!(question.exists());
    let parked = world.names("parked");
    assert_eq!(parked.len(), 1, "the leaf alone: {parked:?}");
    let leaf = parked[0].split_once('.').expect("a round").0;
    let status = world.status(leaf);
    assert_eq!((&status["state"], &status["failure"]), (&json!("parked"), &json!("no_result")), "{status}");
    let told = world.api.turns();
    assert_eq!(
        told.iter().filter(|t| t.tool_results().last().is_some_and(|r| r.contains("but it waits for nothing"))).count(),
        1,
        "its parent; those above are told that it waits"
    );
    let doctor = world.run("askbox", &["doctor"]).stdout;
    assert!(doctor.contains(leaf) && doctor.contains("but it waits for nothing"), "{doctor}");

    // The way out: the row is changed, and the agent goes on in its session. It reads the new CLAUDE.md.
    let row = "| _ask_ \"{q}\" | Run `ask-post '{q}'`, then end your turn |";
    std::fs::write(world.work().join("CLAUDE.md"), claude_md.replace(OLD_ROW, row)).expect("a file");
    world.api.on("Your process was interrupted", json!([bash("ask-post 'When is your birthday?'")]));
    world.run("relaunch", &["retry", leaf]).ok();
    let turn = world.api.turns().pop().expect("a turn");
    assert!(turn.model_text().contains(row) && turn.model_text().contains("Your process was interrupted"), "{}", turn.model_text());
    assert_eq!((world.status(leaf)["state"].as_str(), world.names("pending")), (Some("pending"), vec![format!("{leaf}.json")]));
}

#[test]
fn the_article_verbatim_goes_on_to_its_root_once_mended() {
    let claude_md = seed("CLAUDE.md");
    // "Each parent sees this signal and propagates it upward."
    let mut world = project(&claude_md, &[], &[json!({"text": "SGN_PEND_STARTED"})]);
    world.configure("[runner.claude]\nallowed_tools = ['Bash', 'Write', 'Edit']\npermission_mode = 'acceptEdits'\n");
    world.stop_watching();
    world.keep_watching();
    let last = world.work().join(FILES[3]);
    let read = json!({"tool": "Read", "input": {"file_path": last}});
    let content = "Q: When is your birthday?\nA:";
    let write = json!({"tool": "Write", "input": {"file_path": world.work().join("question.md"), "content": content}});
    world.api.on(&format!("Read {} and follow its instructions.", last.display()), json!([read, write, {"text": "SGN_PEND_STARTED"}]));
    let said = world.sh("$PWD/agent-cli spawn $PWD/ins1-a.md");
    let root = said.strip_prefix("SGN_PEND_STARTED (").and_then(|s| s.strip_suffix(')')).unwrap_or_else(|| panic!("{said:?}")).to_owned();
    let tree = world.run("askbox", &["tree", &root, "--json"]).ok().stdout;
    let states: Vec<_> =
        tree.lines().map(|node| serde_json::from_str::<serde_json::Value>(node).expect("a node")["state"].clone()).collect();
    assert_eq!(states, ["awaiting", "awaiting", "awaiting", "parked"], "{tree}");
    let parked = world.names("parked");
    let leaf = parked[0].split_once('.').expect("a round").0;
    // The command at the end of the line is named at its root.
    let status = world.status(&root);
    assert!(status["todo"].as_str().is_some_and(|todo| todo.ends_with(&format!("relaunch retry {leaf}"))), "{status}");

    let row = "| _ask_ \"{q}\" | Run `ask-post '{q}'`, then end your turn |";
    std::fs::write(world.work().join("CLAUDE.md"), claude_md.replace(OLD_ROW, row)).expect("a file");
    world.api.on("Your process was interrupted", json!([bash("ask-post 'When is your birthday?'")]));
    world.api.on("User chose: 1 May", json!([{"text": "1 May"}]));
    world.api.on("finished. Its reply:\n> 1 May", json!([{"text": "1 May"}]));
    world.run("relaunch", &["retry", leaf]).ok();
    let asked = world.api.turns().len();
    assert_eq!(world.sh(&format!("$PWD/agent-cli resume {root}")), "SGN_PEND_ONGOING");
    world.answer(leaf, "1 May");
    world.wait_state(&root, "delivered");
    assert_eq!(world.sh(&format!("$PWD/agent-cli resume {root}")), "1 May");
    assert_eq!(world.api.turns().len() - asked, 4, "one turn a level");
}

mod promises {
    use super::*;

    #[test]
    fn the_chain_of_the_article_waits_unpolled_for_the_birthday() {
        let claude_md = seed("CLAUDE.md").replace(OLD_ROW, "| _ask_ \"{q}\" | Run `ask-post '{q}'`, then end your turn |");
        assert!(claude_md.contains("ask-post"), "the one row that changes");
        let world = project(&claude_md, &[bash("ask-post 'When is your birthday?'")], &[]);
        world.api.on("User chose: 1 May", json!([{"text": "1 May"}]));
        world.api.on("finished. Its reply:\n> 1 May", json!([{"text": "1 May"}]));

        // console.log(formatOutput(output, sessionId)): `SGN_PEND_STARTED (${sessionId})`
        let said = world.sh("$PWD/agent-cli spawn $PWD/ins1-a.md");
        let id = said.strip_prefix("SGN_PEND_STARTED (").and_then(|s| s.strip_suffix(')')).unwrap_or_else(|| panic!("{said:?}")).to_owned();
        let turns = world.api.turns();
        for file in FILES {
            let instructions = seed(file);
            assert!(turns.iter().any(|t| t.tool_results().join("\n").contains(instructions.trim())), "{file} was read");
        }
        assert!(turns.iter().all(|t| t.model_text().contains("| _spawn_ `{f}.md` | Run `$PWD/agent-cli spawn $PWD/{f}.md` |")));
        // "Attempt 1: SGN_RESUME → SGN_PEND_ONGOING", "Attempt 2", "Attempt 3". Here the model is not asked.
        for _ in 0..3 {
            assert_eq!(world.sh(&format!("$PWD/agent-cli resume {id}")), "SGN_PEND_ONGOING");
        }
        assert_eq!(world.api.turns().len(), turns.len());
        // "Actual result, fork kept"
        let leaf = world.names("pending")[0].trim_end_matches(".json").to_owned();
        world.answer(&leaf, "1 May");
        world.wait_state(&id, "delivered");
        assert_eq!(world.sh(&format!("$PWD/agent-cli resume {id}")), "1 May");
        let after = world.api.turns().split_off(turns.len());
        assert_eq!(after.len(), 4, "one turn a level");
        assert!(after[0].model_text().contains("User chose: 1 May"));
    }
}
