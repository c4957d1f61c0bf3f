//! Every command that the pages, the help, the prompts and the hints tell an agent to type is allowed to an agent that askbox launched
//! with default settings, and prints what the text says. The commands are taken from the texts themselves.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use crate::support::shown::{Shown, fenced, hinted, page, prompted, quoted};
use askbox::cli::args::checkpoint_args::Checkpoint;
use askbox::commands::claude_md;
use clap::CommandFactory;
use serde_json::{Value, json};

const REFUSED: &str = "Not permitted in this unattended run";

/// A watcher launches the real agent, with the default settings of askbox.
fn watched() -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world
}

/// The files that the pages put beside a question: a change that is not committed, and two images.
fn with_files(world: &ClaudeWorld) {
    world.sh(
        "git init -q && echo one >page.html && git add page.html && git -c user.name=ann -c user.email=ann@example.org commit -qm one && \
         echo two >page.html && for name in before after; do printf '\\211PNG\\r\\n\\032\\n' >$name.png; done",
    );
}

/// Answers the question of a workflow with `yes`, and lets the agent that is launched for it type these commands. Returns what its tools said.
fn typed<'a>(world: &ClaudeWorld, workflow: &str, commands: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let round = world.ask(workflow, &["Begin?", "-o", "yes=Yes"]);
    let mut steps: Vec<Value> = commands.into_iter().map(bash).collect();
    let count = steps.len();
    steps.push(json!({"text": "typed"}));
    world.api.on("User chose: yes", Value::Array(steps));
    world.answer(workflow, "yes");
    world.appears(&format!("closed/{workflow}.{round}.json"));
    let results = world.api.turns().pop().expect("a turn").tool_results();
    // A session that is continued brings its earlier results along.
    let new = results.len().checked_sub(count).unwrap_or_else(|| panic!("{count} commands: {results:#?}"));
    results[new..].to_vec()
}

/// Each command was allowed, ended with status 0 and printed the lines that its text shows.
fn assert_as_shown(world: &ClaudeWorld, shown: &[Shown], results: &[String]) {
    assert_eq!(shown.len(), results.len());
    let (mailbox, work) = (world.mailbox().display().to_string(), world.work().display().to_string());
    for (Shown { typed, printed }, result) in shown.iter().zip(results) {
        let is_fine = !result.contains(REFUSED) && !result.contains("Exit code") && !result.contains("error:");
        assert!(is_fine, "{typed}\n{result}");
        for line in printed {
            let line = line.replace("/home/ann/.claude/questions", &mailbox).replace("/home/ann/work", &work);
            assert!(result.lines().any(|l| l == line), "{typed}\nprints no line {line:?}:\n{result}");
        }
    }
}

fn commands(shown: &[Shown]) -> impl Iterator<Item = &str> {
    shown.iter().map(|s| s.typed.as_str())
}

/// The same pages, but nobody is there to answer within five minutes.
fn impatient(mut shown: Vec<Shown>) -> Vec<Shown> {
    for Shown { typed, .. } in &mut shown {
        *typed = typed.replace("--wait 5m", "--wait 1ms");
    }
    shown
}

#[test]
fn the_commands_of_the_claude_md_section_are_allowed() {
    let world = watched();
    let shown = fenced(claude_md::SECTION);
    assert!(shown.len() >= 2, "{shown:#?}");
    let results = typed(&world, "w", commands(&shown));
    assert_as_shown(&world, &shown, &results);
    assert!(results[0].ends_with("QUESTION_POSTED:release-1"), "{results:#?}");
    // As the section says: "leave `release-1` and `-w release-1` out".
    let without_id: Vec<String> =
        shown.iter().map(|s| s.typed.replace(" -w release-1", "").replace(" release-1", "")).chain(["checkpoint path".into()]).collect();
    let results = typed(&world, "own", without_id.iter().map(String::as_str));
    assert!(results[0].ends_with("QUESTION_POSTED:own"), "{results:#?}");
    assert!(results[1].contains("publish or hold back"), "{results:#?}");
    assert!(results[2].ends_with("/checkpoints/own.json"), "{results:#?}");
}

#[test]
fn the_agents_part_of_the_readmes_tour_prints_what_it_says() {
    let world = watched();
    let tour = prompted(&page("README.md")).into_iter().filter(|s| s.typed.starts_with("checkpoint") || s.typed.starts_with("ask-post"));
    let (before, after): (Vec<Shown>, Vec<Shown>) = tour.partition(|s| !s.typed.starts_with("checkpoint get"));
    assert!(before.len() == 2 && after.len() >= 2, "{before:#?} {after:#?}");
    let results = typed(&world, "w", commands(&before));
    assert_as_shown(&world, &before, &results);
    let mut steps: Vec<Value> = commands(&after).map(bash).collect();
    steps.push(json!({"text": "guide.md is ready"}));
    world.api.on("User chose: merge", Value::Array(steps));
    world.answer("docs-42", "merge");
    world.wait_state("docs-42", "delivered");
    assert_as_shown(&world, &after, &world.api.turns().pop().expect("a turn").tool_results());
}

#[test]
fn the_examples_of_ask_post_and_checkpoint_are_allowed() {
    let world = watched();
    with_files(&world);
    world.sh("echo '{\"workflow_id\": \"docs-42\", \"current_step\": \"review\"}' > state.json");
    let top = world.ok("checkpoint", &["--help"]);
    let subcommands = Checkpoint::command();
    let subcommands = subcommands.get_subcommands().map(|sub| world.ok("checkpoint", &[sub.get_name(), "--help"]));
    let pages: Vec<String> = [top.clone()].into_iter().chain(subcommands).chain([world.ok("ask-post", &["--help"])]).collect();
    let mut shown: Vec<Shown> = Vec::new();
    for page in &pages {
        let examples = prompted(page);
        if !examples.is_empty() {
            // Each page begins with the checkpoint that the first page saves.
            shown.extend(prompted(&top).into_iter().take(1));
            shown.extend(examples);
        }
    }
    let shown = impatient(shown);
    assert!(shown.len() >= 20, "{shown:#?}");
    let results = typed(&world, "w", commands(&shown));
    assert_as_shown(&world, &shown, &results);
}

#[test]
fn what_prompts_tell_an_agent_to_type_is_allowed_as_it_is() {
    let world = watched();
    // With settings of the operator's own, AskUserQuestion is refused in words. Behind the fence a run changes no workflow of others.
    world.configure("[fence]\nmode = \"off\"\n[runner.claude]\nargs = [\"--settings\", \"{}\"]\n");
    world.sh("checkpoint save w --step one");
    let question = json!({"questions": [{"question": "Which?", "header": "Q", "multiSelect": false, "options": [{"label": "a", "description": "A"}, {"label": "b", "description": "B"}]}]});
    let mistakes = json!([{"tool": "AskUserQuestion", "input": question}, bash("checkpoint show $WORKFLOW_ID"), {"text": "told"}]);
    world.api.on("User chose: begin", mistakes);
    for workflow in ["w", "none"] {
        world.ask(workflow, &["Begin?", "-o", "begin=Begin"]);
        world.answer(workflow, "begin");
        world.wait_state(workflow, "delivered");
    }
    let prompts: Vec<String> = world.api.turns().iter().map(|turn| turn.messages().iter().map(ToString::to_string).collect()).collect();
    let mut told: Vec<String> = prompts.iter().flat_map(|text| quoted(text)).collect();
    told.sort();
    told.dedup();
    for command in [
        "checkpoint show w",
        "checkpoint save w --step",
        "checkpoint save none --step",
        "ask-post 'QUESTION' -w w",
        "ask-post 'QUESTION' -w none",
    ] {
        assert!(told.iter().any(|t| t.starts_with(command)), "{command} is not in {told:#?}");
    }
    let refusal = world.api.requests_with_text("covers plain and quoted words only");
    assert!(!refusal.is_empty(), "the refusal of a variable does not say how to type it");
    let results = typed(&world, "typist", told.iter().map(String::as_str));
    for (command, result) in told.iter().zip(&results) {
        assert!(!result.contains(REFUSED) && !result.contains("Exit code"), "{command}\n{result}");
    }
}

#[test]
fn what_hints_tell_an_agent_to_type_is_allowed_and_helps() {
    let world = watched();
    world.configure("[fence]\nmode = \"off\"\n");
    world.sh("checkpoint save w --step one; ask-post 'First?' -w asked; echo '{}' > FILE");
    let mistakes = [
        "checkpoint show nothing",
        "checkpoint get w nothing",
        "checkpoint save w",
        "ask-post 'A lost checkpoint?' -w lost -c missing.json",
        "ask-post 'Second?' -w asked",
    ];
    let results = typed(&world, "w", mistakes);
    let hints: Vec<String> = results.iter().flat_map(|r| hinted(r)).collect();
    for command in ["checkpoint show w", "checkpoint save nothing --step", "checkpoint list", "checkpoint save lost < FILE"] {
        assert!(hints.iter().any(|h| h.starts_with(command)), "{command} is not in {hints:#?}\n{results:#?}");
    }
    assert!(results[4].contains("--supersede") && !results[4].contains("ask-answer"), "{}", results[4]);
    let again = typed(&world, "typist", hints.iter().map(String::as_str).chain(["ask-post 'Second?' -w asked --supersede"]));
    for (command, result) in hints.iter().zip(&again) {
        assert!(!result.contains(REFUSED) && !result.contains("Exit code"), "{command}\n{result}");
    }
    assert_eq!(again.last().map(String::as_str), Some("QUESTION_POSTED:asked"));
}

/// If one of these is allowed one day, the guide can show it first.
#[test]
fn what_the_guide_calls_refused_is_refused_by_default() {
    let world = watched();
    world.configure("[approvals]\nask_stopped = false\n");
    world.sh("echo '{\"question\": \"Which?\"}' > question.json; echo '{}' > state.json");
    let refused = [
        "eval \"$(checkpoint env w)\"",
        "answer=$(ask-post 'Which port?' -w web -t number --wait 1ms); echo \"$answer\"",
        "WORKFLOW_ID=docs-42 ask-post 'Which port?'",
        "checkpoint show $WORKFLOW_ID",
        "checkpoint show \"$WORKFLOW_ID\"",
        "cat $CHECKPOINT_FILE",
        "checkpoint save docs-42 <<'END'\n{\"current_step\": \"review\"}\nEND",
        "ask-post --file <(cat question.json)",
        "jq -s . *.json | ask-post --batch --file -",
        "checkpoint show docs-42 > FILE",
        "sh ask.sh post -w docs-43 'How?'",
        "relaunch status w",
    ];
    let allowed = [
        "ask-post 'Merge?' -w docs-42 -o a='It costs $5' \\\n  -o b=\"isn't it\"  # a comment",
        "echo '{\"current_step\": \"review\"}' | checkpoint save docs-42",
        "checkpoint save docs-42 <<< '{\"current_step\": \"review\"}' && checkpoint show docs-42 2>&1; checkpoint path",
        "checkpoint save docs-42 < state.json\ncheckpoint show docs-42 --json | jq .files",
        "ask-post --file question.json",
    ];
    let results = typed(&world, "w", refused.into_iter().chain(allowed));
    for (command, result) in refused.iter().zip(&results) {
        assert!(result.contains(REFUSED), "{command}\n{result}");
    }
    for (command, result) in allowed.iter().zip(&results[refused.len()..]) {
        assert!(!result.contains(REFUSED) && !result.contains("Exit code"), "{command}\n{result}");
    }
}

#[test]
fn the_commands_of_the_guide_to_chains_need_what_it_names() {
    let guide = page("docs/guide-chains.md");
    let permissions: Vec<&str> = guide.lines().skip_while(|l| *l != "    [runner.claude]").take_while(|l| !l.is_empty()).collect();
    assert_eq!(permissions.len(), 2, "{permissions:#?}");
    let mut world = ClaudeWorld::new();
    world.configure(&permissions.join("\n"));
    world.keep_watching_from_the_start();
    world.sh("mkdir -p .claude/agents; printf -- '---\\nname: reviewer\\ndescription: d\\n---\\nYou review.\\n' > .claude/agents/reviewer.md; echo Review. > review.md");
    world.api.on("review.md and follow its instructions", json!([{"text": "The review is done: two findings."}]));
    world.api.on("Review src/main.rs", json!([{"text": "Two findings."}]));
    // A fork's session has the calls of its parent in it, so it has tests of its own (`chains::forked`).
    let is_spawn = |shown: &Shown| shown.typed.starts_with("relaunch spawn") && !shown.typed.contains("--fork");
    let shown: Vec<Shown> = prompted(&guide).into_iter().filter(is_spawn).collect();
    assert_eq!(shown.len(), 2, "{shown:#?}");
    let results = typed(&world, "w", commands(&shown));
    assert_as_shown(&world, &shown, &results);
    assert_eq!(results, ["The review is done: two findings.", "Two findings."]);
    let children = world.names("runs/w/children");
    assert_eq!(children.len(), 2, "{children:?}");
    let resumed = typed(&world, "later", [format!("relaunch resume {}", children[0]).as_str()]);
    assert!(results.contains(&resumed[0]), "{resumed:?}");
}

#[test]
fn the_commands_of_the_main_agents_guide_need_what_it_names() {
    let guide = page("docs/guide-main-agent.md");
    let rules: Vec<String> =
        guide.split('`').filter(|s| s.starts_with("Bash(") && s.ends_with(')')).map(|rule| format!("--allowedTools={rule}")).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let blocks = fenced(&guide);
    let [show, answer, look, take] = &blocks[..] else { panic!("{blocks:#?}") };
    let mut world = ClaudeWorld::new();
    let types = |world: &ClaudeWorld, shown: &[&Shown]| {
        let mut steps: Vec<Value> = shown.iter().map(|s| bash(&s.typed)).collect();
        steps.push(json!({"text": "typed"}));
        world.prompt_stream(&format!("Do the work. @@{}", Value::Array(steps)), &rules).ok();
        let results = world.api.turns().pop().expect("a turn").tool_results();
        for (Shown { typed, printed }, result) in shown.iter().zip(&results) {
            assert!(!result.contains("requires approval") && !result.contains("Exit code"), "{typed}\n{result}");
            assert!(printed.iter().all(|line| result.lines().any(|l| l == line)), "{typed}\n{printed:#?}\n{result}");
        }
        results
    };
    for id in ["db-8", "db-9"] {
        world.ask(id, &["Which database?", "-o", "pg=as in staging", "-o", "sqlite=one file"]);
    }
    types(&world, &[show, answer]);
    assert_eq!(world.document("answered/db-8.json")["answer"]["by"], "ann");
    world.api.on("User chose: pg", json!([{"text": "PostgreSQL it is."}]));
    world.keep_watching();
    world.wait_state("db-8", "delivered");
    assert!(types(&world, &[look])[0].contains("PostgreSQL it is."));
    world.stop_watching();
    world.answer("db-9", "pg");
    types(&world, &[take]);
}

mod promises {
    use super::*;

    #[test]
    fn the_commands_of_the_subagents_guide_print_what_it_says() {
        let world = watched();
        with_files(&world);
        let shown = impatient(fenced(&page("docs/guide-subagent.md")));
        assert!(shown.len() >= 4, "{shown:#?}");
        let results = typed(&world, "w", commands(&shown));
        assert_as_shown(&world, &shown, &results);
        let said = results.join("\n");
        for line in ["QUESTION_POSTED:docs-42", "QUESTION_POSTED:ship", "QUESTION_POSTED:db-7", "QUESTION_POSTED:web", "guide.md.bak"] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert_eq!(world.document("pending/ship.json")["default"], "no");
        assert_eq!(world.document("pending/db-7.json")["questions"].as_array().map(Vec::len), Some(2));
        assert_eq!(world.document("checkpoints/docs-42.json")["current_step"], "apply");
    }
}
