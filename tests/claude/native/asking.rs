//! A run asks with AskUserQuestion, ends, and goes on with the answer as the call's own result.

use crate::support::ClaudeWorld;
use crate::support::claude::{bash, version::needs_claude};
use serde_json::{Value, json};

/// A script step: the agent asks with its own tool.
pub fn ask(questions: &Value) -> Value {
    json!({"tool": "AskUserQuestion", "input": {"questions": questions}})
}

pub fn question(text: &str, multiple: bool, labels: &[&str]) -> Value {
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label, "description": format!("{label} it is")})).collect();
    json!({"question": text, "header": "Choice", "multiSelect": multiple, "options": options})
}

pub fn which_database() -> Value {
    json!([question("Which database?", false, &["SQLite", "Postgres"])])
}

/// A run of `w` that goes through these steps, until it has ended and `w` asks.
#[track_caller]
pub fn run_that_asks(steps: &Value) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", steps.clone());
    world.answer("w", "begin");
    wait_until_it_asks(&world);
    world
}

#[track_caller]
pub fn wait_until_it_asks(world: &ClaudeWorld) -> Value {
    world.wait_status("w", "asking", |s| s["state"] == "pending" && world.names("running").is_empty())
}

/// The results of the model's latest calls, as it was told them.
pub fn told(world: &ClaudeWorld) -> Vec<String> {
    world.api.turns().pop().expect("a turn").tool_results()
}

#[test]
fn an_answer_behind_a_slower_call_reaches_the_model() {
    answers_behind("echo built");
}

#[test]
fn an_answer_behind_a_call_that_fails_reaches_the_model() {
    answers_behind("echo built; exit 3");
}

fn answers_behind(end: &str) {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash']\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    // The command ends once the question is deferred. Claude Code then loses the result of the suspended call.
    // Behind the fence, `pending` is seen beside the requests.
    let slow = format!(
        "until [ -e ../home/.claude/questions/pending/w.json ] || [ -e $ASKBOX_FENCE/mailbox-pending/w.json ]; do sleep 0.1; done; sleep 1; {end}"
    );
    let calls = json!({"tools": [ask(&which_database()), bash(&slow)]});
    world.api.on("User chose: begin", json!([calls, {"text": "done"}]));
    world.answer("w", "begin");
    wait_until_it_asks(&world);
    world.answer("w", "SQLite");
    world.wait_state("w", "delivered");
    let turn = world.api.turns().pop().expect("a turn");
    let read = format!("{}\n{}", turn.tool_results().join("\n"), turn.model_text());
    assert!(read.contains("built") && (read.contains("User chose: SQLite") || read.contains("\"Which database?\"=\"SQLite\"")), "{read}");
}

#[test]
fn an_agent_that_asks_twice_gets_each_answer_once() {
    let world = run_that_asks(&json!([ask(&which_database()), ask(&which_database()), {"text": "done"}]));
    world.answer("w", "SQLite");
    world.wait_status("w", "asking again", |s| s["state"] == "pending" && world.rounds("closed", "w").len() == 2);
    assert_eq!(told(&world).len(), 1);
    world.answer("w", "Postgres");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    let told = told(&world).concat();
    assert!(told.contains("\"Which database?\"=\"SQLite\"") && told.contains("\"Which database?\"=\"Postgres\""), "{told}");
    assert_eq!(world.api.turns().len(), 3, "three requests, as with answers at once");
}

#[test]
fn an_answer_to_a_changed_question_is_not_the_calls_result() {
    let world = run_that_asks(&json!([ask(&which_database()), {"text": "built"}]));
    let first = world.document("pending/w.json")["question_id"].clone();
    world.edit_pending("w", "Which database?", "Which file format?");
    world.answer("w", "SQLite");
    world.wait_status("w", "the question again", |s| {
        s["state"] == "pending" && world.names("running").is_empty() && world.document("pending/w.json")["question_id"] != first
    });
    assert_eq!(world.document("pending/w.json")["question"], "Which database?");
    world.answer("w", "Postgres");
    assert_eq!(world.wait_state("w", "delivered")["result"], "built");
    let told = told(&world).concat();
    assert!(told.contains("\"Which database?\"=\"Postgres\"") && !told.contains("=\"SQLite\""), "{told}");
}

#[test]
fn of_two_questions_in_one_message_the_second_is_refused() {
    needs_claude!(DeferBesideRefusal);
    let other = json!([question("Which name?", false, &["Ask", "Box"])]);
    let both = json!({"tools": [ask(&which_database()), ask(&other)]});
    let world = run_that_asks(&json!([both, ask(&other), {"text": "done"}]));
    let first = world.document("pending/w.json");
    world.answer("w", first["options"][0]["label"].as_str().expect("a label"));
    world.wait_status("w", "asking again", |s| s["state"] == "pending" && world.rounds("closed", "w").len() == 2);
    let refused = told(&world).concat();
    assert!(refused.contains("Your user has not answered an earlier question yet"), "{refused}");
    let second = world.document("pending/w.json");
    world.answer("w", second["options"][0]["label"].as_str().expect("a label"));
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
}

#[test]
fn a_withdrawn_question_does_not_become_an_answer() {
    let world = run_that_asks(&json!([ask(&which_database()), {"text": "went on without"}]));
    world.ok("ask-answer", &["cancel", "w"]);
    world.api.on("User chose: go", json!([{"text": "told"}]));
    world.ask("w", &["Go on?"]);
    world.configure("[relaunch]\nmode = 'resume'\n");
    world.answer("w", "go");
    let status = world.wait_state("w", "delivered");
    let told: String = world.api.turns().iter().flat_map(|turn| turn.tool_results()).collect();
    assert!(!told.contains("\"Which database?\"="), "{told}\n{}", world.describe("w"));
    // The call is refused with what became of its question, and the answer of the next round comes as well.
    let said = world.api.turns().pop().expect("a turn").model_text();
    assert!(said.contains("Nobody answers this question: it was withdrawn.") && said.contains("User chose: go"), "{said}");
    assert_eq!(status["result"], "told");
}

#[test]
fn a_person_who_asks_back_is_asked_again_in_the_thread() {
    let again = json!([question("Which database, given one user?", false, &["SQLite", "Postgres"])]);
    let world = run_that_asks(&json!([ask(&which_database()), ask(&again), {"text": "done"}]));
    let first = world.document("pending/w.json")["question_id"].clone();
    world.ok("ask-answer", &["ask-back", "w", "How many users?"]);
    world.wait_status("w", "asking again", |s| s["state"] == "pending" && world.rounds("closed", "w").len() == 2);
    let refused = told(&world).concat();
    assert!(refused.contains("The user asks back before they decide: How many users?") && refused.contains("decide nothing"), "{refused}");
    assert_eq!(world.document("pending/w.json")["in_reply_to"], first);
    world.answer("w", "SQLite");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
}

mod promises {
    use super::*;

    #[test]
    fn the_answer_is_the_calls_result_after_every_restart() {
        let mut world = run_that_asks(&json!([ask(&which_database()), {"text": "built with SQLite"}]));
        let asked = world.document("pending/w.json");
        assert_eq!((&asked["question"], &asked["options"][1]["label"]), (&json!("Which database?"), &json!("Postgres")));
        let round = world.rounds("closed", "w")[0]["question_id"].as_str().expect("an id").to_owned();
        let run = world.run_record("w", &round, 1);
        assert_eq!((&run["state"], &run["asks"]), (&json!("asking"), &asked["question_id"]));
        world.stop_watching();
        let requests = world.api.turns().len();
        world.keep_watching();
        assert_eq!((world.api.turns().len(), world.launches().len()), (requests, 1), "nothing is launched or requested while it waits");
        world.answer("w", "sqlite");
        let status = world.wait_state("w", "delivered");
        assert_eq!((&status["result"], world.api.turns().len()), (&json!("built with SQLite"), requests + 1));
        let expected =
            "Your questions have been answered: \"Which database?\"=\"SQLite\". You can now continue with these answers in mind.";
        assert_eq!(told(&world), [expected]);
        assert!(world.launches()[1].args.contains("--fork-session"), "{:#?}", world.launches());
    }

    #[test]
    fn four_questions_of_every_kind_come_back_with_own_words() {
        let questions = json!([
            question("Which database?", false, &["SQLite", "Postgres"]),
            question("Which days?", true, &["Monday", "Tuesday", "Friday"]),
            question("Which name?", false, &["Ask", "Box"]),
            question("Which licence?", false, &["MIT", "Apache"]),
        ]);
        let world = run_that_asks(&json!([ask(&questions), {"text": "done"}]));
        let parts = ["q1=Postgres", "q2=Monday,Friday", "q3=something shorter", "q4=MIT", "--note", "no hurry"];
        world.ok("ask-answer", &[&["w"][..], &parts].concat());
        world.wait_state("w", "delivered");
        let told = told(&world).concat();
        for words in [
            "\"Which database?\"=\"Postgres\"",
            "\"Which days?\"=\"Monday, Friday\"",
            "\"Which name?\"=\"something shorter\"",
            "no hurry",
            "\"Which licence?\"=\"MIT\"",
        ] {
            assert!(told.contains(words), "{words} is missing: {told}");
        }
    }

    #[test]
    fn a_refusal_reaches_the_model_as_a_refusal_with_its_reason() {
        let world = run_that_asks(&json!([ask(&which_database()), {"text": "left it"}]));
        world.ok("ask-answer", &["decline", "w", "--note", "ask the DBA first"]);
        world.wait_state("w", "delivered");
        let told = told(&world).concat();
        assert!(told.contains("The user declined to answer. They say: ask the DBA first") && told.contains("Do not guess"), "{told}");
    }

    #[test]
    fn a_question_beside_another_call_is_not_lost() {
        let both =
            json!({"tools": [{"tool": "Bash", "input": {"command": "ask-post -w other 'And this?'; echo made"}}, ask(&which_database())]});
        let world = run_that_asks(&json!([both, {"text": "done"}]));
        world.answer("w", "SQLite");
        assert_eq!(world.wait_state("w", "delivered")["result"], "done");
        let told = told(&world).concat();
        assert!(told.contains("made") && told.contains("\"Which database?\"=\"SQLite\""), "{told}");
        assert_eq!(world.rounds("closed", "other").len() + world.names("pending").len(), 1);
    }
}
