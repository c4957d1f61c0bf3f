//! Questions as they wait on a working day, for the pictures of the guides.

use serde_json::{Value, json};

use crate::World;

/// A time so many minutes ago.
fn ago(minutes: i64) -> String {
    (chrono::Utc::now() - chrono::TimeDelta::minutes(minutes)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Posts a question as an agent in a project would have done some minutes ago.
fn post(world: &World, project: &str, minutes: i64, mut question: Value) {
    let folder = world.path(project);
    std::fs::create_dir_all(&folder).unwrap();
    question["cwd"] = folder.to_str().into();
    question["timestamp"] = ago(minutes).into();
    world.run_with("ask-post", &["--file", "-"], question.to_string().as_bytes()).ok();
}

/// Questions as they wait on a working day.
pub fn questions(world: &World) {
    post(
        world,
        "shop",
        4,
        json!({
            "workflow_id": "release-2.4", "asked_by": "release manager", "priority": 5,
            "question": "Ship 2.4 tonight, or wait for the payment fix?",
            "context": "All 1,204 tests pass. One customer in **about 900** sees a second *Pay* button; both buttons charge once.\n\n- The fix is written, and needs two reviews.\n- Support is told either way.",
            "options": [
                {"label": "ship", "description": "Tonight; the fix follows as 2.4.1 tomorrow"},
                {"label": "wait", "description": "Until both reviews are done, so Thursday"},
                {"label": "split", "description": "Tonight without the new checkout, which stays behind its flag", "preview": "[flags]\nnew_checkout = false"},
            ],
            "expires_at": (chrono::Utc::now() + chrono::TimeDelta::minutes(118)).to_rfc3339(),
        }),
    );
    post(
        world,
        "docs-site",
        26,
        json!({
            "workflow_id": "docs-42", "asked_by": "docs writer",
            "question": "Two sections explain retries. Merge them, or keep both with a link?",
            "options": {"merge": "One section, 40 lines shorter", "keep": "Keep both; the second gets a link"},
        }),
    );
    post(
        world,
        "infra",
        51,
        json!({
            "workflow_id": "nightly-backup", "asked_by": "planner",
            "questions": [
                {"header": "Keep", "question": "How many nightly backups are to be kept?", "type": "number", "range": {"min": 1, "max": 90}},
                {"header": "Where", "question": "Where to?", "options": [{"label": "nas"}, {"label": "s3"}]},
            ],
        }),
    );
    post(
        world,
        "shop",
        180,
        json!({"workflow_id": "flaky-tests", "asked_by": "test doctor", "question": "May I raise the limit of checkout_spec from 30 to 60 seconds?", "type": "yes_no"}),
    );
}

/// The change that [`question_with_a_diff`] asks about.
const DIFF: &str = "\
--- a/checkout/pay_button.js
+++ b/checkout/pay_button.js
@@ -14,7 +14,8 @@ export function payButton(order) {
   const button = document.createElement('button');
   button.textContent = 'Pay';
-  button.onclick = () => pay(order);
+  // A second press must not pay again.
+  button.onclick = once(() => pay(order));
   return button;
 }
";

/// A question about a change, which stands beside it.
pub fn question_with_a_diff(world: &World) {
    std::fs::write(world.path("pay_button.diff"), DIFF).expect("a file");
    world.sh("mkdir -p shop && cd shop && ask-post -w pay-fix --asked-by developer -t yes_no --attach ../pay_button.diff 'Merge this fix into 2.4?'");
}
