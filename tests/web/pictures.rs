//! The pictures of docs/guide-web.md: `ASKBOX_WRITE_DOCS=1 tests/run web pictures::` draws them.

use serde_json::{Value, json};

use crate::browsers;
use crate::support::{World, needs};

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
pub fn working_day(world: &World) {
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

#[test]
fn the_pictures_of_the_guide_can_be_drawn() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    working_day(&world);
    let _watcher = world.watch();
    let page = world.serve_page();
    let place = format!("/q/release-2.4/{}", world.round("release-2.4"));
    let folder = match std::env::var_os("ASKBOX_WRITE_DOCS") {
        Some(_) => std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"),
        None => world.path("pictures"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    let pictures = [
        ("web-inbox-light", "phone", 740, "light", "/", None),
        ("web-inbox-dark", "phone", 740, "dark", "/", None),
        ("web-question-light", "phone", 1100, "light", &place, Some("split")),
        ("web-question-dark", "phone", 1100, "dark", &place, Some("split")),
    ];
    let links: Vec<_> = pictures.iter().map(|_| world.link_to_page(Some("ann's phone"))).collect();
    let given = json!({"base": page.browser().origin(), "links": links, "pictures": pictures, "folder": folder});
    browsers::run(&world, "screenshots.js", &given);
    for (name, ..) in pictures {
        let length = folder.join(format!("{name}.png")).metadata().unwrap().len();
        assert!((4_000..100_000).contains(&length), "{name}: {length} bytes");
    }
}
