//! Questions, checkpoints and records.

use super::*;

#[test]
fn doctor_reports_a_question_whose_checkpoint_is_gone() {
    let world = well();
    world.sh("checkpoint save w --step one && ask-post -w w 'Go?' && rm m/checkpoints/w.json");
    let mend = finds(&world, "checkpoint", "w");
    world.sh(&format!("echo '{{}}' > FILE; {mend}"));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_checkpoint_that_cannot_be_resumed_from() {
    let world = well();
    world.sh("echo '{\"workflow_id\":\"other\"}' > m/checkpoints/w.json");
    let mend = finds(&world, "checkpoint", "w");
    let editor = editor(&world, "{\"workflow_id\":\"w\"}");
    assert!(world.sh(&(editor + &mend)).starts_with("valid: "));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_reports_a_workflow_record_that_cannot_be_read() {
    let world = well();
    world.sh("echo 'no json' > m/workflows/w.json");
    let mend = finds(&world, "unreadable", "workflows/w.json");
    let editor = editor(&world, "{\"workflow_id\":\"w\"}");
    world.sh(&(editor + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn doctor_completes_half_done_transitions() {
    needs!("jq");
    let world = well();
    // Answered, and a crash before the pending copy was removed.
    world.sh("ask-post -w one 'Go?' -t yes_no && cp m/pending/one.json kept && ask-answer one yes && cp kept m/pending/one.json");
    finds_and_mends(&world, "half_done", "one");
    // Withdrawn, and a crash before the rename.
    world.sh("ask-post -w two 'Go?' && ask-answer cancel two && mv m/closed/two.*.json m/pending/two.json");
    finds_and_mends(&world, "half_done", "two");
    // Delivered, and a crash before the rename.
    answered(&world, "three");
    world.sh("relaunch three && f=$(ls m/closed/three.*) && mv $f m/running/");
    let run = world.sh("ls m/runs/three/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    let old = record.replace("\"started_at\": \"2", "\"started_at\": \"1");
    assert_ne!(record, old);
    std::fs::write(world.path(&run), old).unwrap();
    finds_and_mends(&world, "half_done", "three");
    assert_eq!(world.sh("relaunch status three --json | jq -r .state"), "delivered");
}

#[test]
fn doctor_names_a_question_of_the_future_and_a_lost_folder() {
    let world = well();
    world.sh(r#"echo '{"question": "?", "workflow_id": "later", "timestamp": "2199-01-01T00:00:00Z"}' > m/pending/later.json"#);
    assert!(finds(&world, "ahead", "later").starts_with("${EDITOR:-vi} "));
    world.sh("rm m/pending/later.json; mkdir project; (cd project && ask-post How? -w gone -o a=A); rmdir project");
    finds_and_mends(&world, "folder", "gone");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_stale_and_overdue_questions() {
        let world = well();
        world.sh(r#"echo '{"question":"Old?","workflow_id":"old","timestamp":"2020-01-01T00:00:00Z"}' > m/pending/old.json"#);
        assert!(finds(&world, "stale", "old").starts_with("ask-answer show old"));
        world.sh("ask-answer old 'at last' && rm m/answered/old.json && ask-post -w kept 'In time?' --timeout 1ms && sleep 0.01");
        assert!(finds(&world, "overdue", "kept").starts_with("ask-answer show kept"));
        world.sh("ask-answer cancel kept && ask-post -w silent 'In time?' -t yes_no --timeout 1ms --default no && sleep 0.01");
        assert_eq!(finds(&world, "overdue", "silent"), "relaunch watch");
        world.sh("ask-answer cancel silent && ask-post -w young 'Just now?'");
        assert_eq!(findings(&world), [] as [Value; 0]);
        assert_eq!(world.shell("sleep 0.01; askbox doctor --stale 1ms").code(), 1);
        assert_eq!(world.shell("askbox doctor --stale soon").code(), 2);
    }

    #[test]
    fn doctor_reports_an_unreadable_or_misnamed_question() {
        let world = well();
        world.sh("echo '{' > m/pending/torn.json; touch -d '1 minute' m/pending/torn.json");
        assert_eq!(findings(&world), [] as [Value; 0], "it may still be written");
        world.sh("touch -d '1 minute ago' m/pending/torn.json");
        let mend = finds(&world, "unreadable", "pending/torn.json");
        let editor = editor(&world, r#"{"question":"Whole?","workflow_id":"torn"}"#);
        world.sh(&(editor + &mend));
        assert_eq!(findings(&world), [] as [Value; 0]);
        world.sh("mv m/pending/torn.json m/pending/wrong.json");
        finds_and_mends(&world, "misnamed", "pending/wrong.json");
        assert!(world.sh("ask-answer show torn").contains("Whole?"));
    }
}
