//! A person's steps, in a real browser.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Running, World, approval_question, needs, program, until, working_day};
use crate::web::browsers;

/// A world whose agent ends with the words `did docs`, a watcher at work, and a question.
fn world_with_question() -> World {
    let world = World::without_mailbox();
    world.agent_does("docs", "echo did docs");
    ask(&world);
    world
}

fn ask(world: &World) {
    world.ok("ask-post", &["-w", "docs", "Merge the two sections?", "-o", "merge=One section", "-o", "keep=Keep both"]);
}

fn place(world: &World) -> String {
    format!("/q/docs/{}", world.round("docs"))
}

/// Nothing sticks out, everything is large enough for a finger, and axe-core finds nothing serious.
#[track_caller]
fn assert_good(looks: &Value) {
    for look in looks.as_array().expect("looks") {
        assert!(*look == json!([]) || *look == json!({"wide": false, "small": []}), "{look:#}");
    }
}

#[test]
fn everything_works_with_scripting_off() {
    needs!("chromium", "node");
    let world = world_with_question();
    let page = world.serve_page();
    let _watcher = world.watch();
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "size": "phone", "scripting": false});
    browsers::run(&world, "answer.js", &given);
    assert_eq!(world.closed("docs", "delivered", 1)[0]["answer"]["by"], "ann's phone");
}

#[test]
fn all_of_a_question_stands_above_its_button() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    let lines = |word: &str| (0..60).map(|n| format!("{word} {n}\n")).collect::<String>();
    let command = format!("{}last line of the call", lines("echo"));
    let call = format!("May the agent call Bash?\n    command:\n        {}\nIn the folder /work", command.replace('\n', "\n        "));
    let mut call = approval_question("call", &call);
    call["approval"]["editable"] = json!({"field": "command", "text": command});
    call["question_id"] = "01a213c1-76f0-7272-8998-8d6c8bc01663".into();
    std::fs::write(world.mailbox().join("pending/call.json"), call.to_string()).unwrap();
    let long = json!({
        "question": format!("Which?\n{}last line of the question", lines("Line")),
        "context": format!("```\n{}last line of the context\n```", lines("code")),
        "options": [
            {"label": "a", "description": format!("{}last line of an option", lines("About")), "preview": format!("{}last line of a preview", lines("See"))},
            {"label": "b"},
        ],
    });
    std::fs::write(world.path("long.json"), long.to_string()).unwrap();
    world.ok("ask-post", &["-w", "long", "--file", &world.path("long.json").to_string_lossy()]);
    let page = world.serve_page();
    let at = |id: &str| format!("/q/{id}/{}", world.round(id));
    let links = [(); 4].map(|()| world.link_to_page(None));
    let given = json!({
        "base": page.browser().origin(), "links": links,
        "questions": [
            {"place": at("call"), "button": "Allow", "texts": ["last line of the call"], "isCall": true},
            {"place": at("long"), "button": "Send the answer",
             "texts": ["last line of the question", "last line of the context", "last line of an option", "last line of a preview"]},
        ],
    });
    browsers::run(&world, "whole.js", &given);
}

#[test]
fn of_two_browsers_one_is_first_and_the_other_keeps_its_draft() {
    needs!("chromium", "node");
    let world = world_with_question();
    let page = world.serve_page();
    let links = [world.link_to_page(None), world.link_to_page(None)];
    browsers::run(&world, "race.js", &json!({"base": page.browser().origin(), "links": links, "place": place(&world)}));
    assert_eq!(world.document("answered/docs.json")["answer"]["by"], "ann's phone");
    assert_eq!(world.audit("docs"), ["posted", "answered"]);
}

#[test]
fn open_pages_follow_the_mailbox_through_one_stream() {
    needs!("chromium", "node");
    let world = World::new();
    world.make_mailbox();
    let page = world.serve_page();
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "program": program("ask-post")});
    browsers::run(&world, "follow.js", &given);
}

#[test]
fn an_answer_during_which_the_server_dies_counts_once() {
    needs!("chromium", "node");
    let world = world_with_question();
    let page = world.serve_page();
    let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "place": place(&world)});
    browsers::run_while_the_server_is_replaced(&world, &page, "killed.js", given);
    drop(page);
    let answer = &world.document("answered/docs.json")["answer"];
    assert_eq!((&answer["value"], &answer["note"]), (&json!("merge"), &json!("as we said")));
    assert_eq!(world.audit("docs").iter().filter(|event| *event == "answered").count(), 1);
}

#[test]
fn no_page_has_a_serious_barrier_and_each_fits_a_phone() {
    needs!("chromium", "node");
    let world = World::stepping("work");
    world.make_mailbox();
    let watcher = world.watch();
    working_day::questions(&world);
    for workflow in ["answered", "given-up"] {
        world.ok("ask-post", &["-w", workflow, "Which of both?", "-o", "a=The first"]);
    }
    let rounds = ["answered", "given-up"].map(|workflow| world.round(workflow));
    world.ok("ask-answer", &["answered", "a"]);
    world.ok("ask-answer", &["cancel", "given-up"]);
    watcher.says("delivered  answered");
    let question = |workflow: &str| format!("/q/{workflow}/{}", world.round(workflow));
    let paths = [
        "/".into(),
        "/?find=nothing-has-this".into(),
        question("release-2.4"),
        question("nightly-backup"),
        question("flaky-tests"),
        format!("/q/answered/{}", rounds[0]),
        format!("/q/given-up/{}", rounds[1]),
        "/done".into(),
        "/tree".into(),
        "/run/answered".into(),
        "/nowhere".to_owned(),
    ];
    let page = world.serve_page();
    let links = [(); 2].map(|()| world.link_to_page(None));
    let folder = std::env::var("ASKBOX_TEST_PICTURES").ok();
    let given = json!({
        "base": page.browser().origin(), "links": links, "unused": world.link_to_page(None), "paths": paths, "near": question("docs-42"), "folder": folder,
    });
    assert_eq!(browsers::run(&world, "barriers.js", &given), json!({}));
}

/// A server of Debian's at work in front of the page.
struct Caddy {
    _process: Running,
    port: u16,
}

impl Caddy {
    /// `https://box.example:PORT` with a certificate of its own and with this directive, before a socket.
    fn start(world: &World, port: u16, socket: &Path, directive: &str) -> Self {
        let config = world.path("Caddyfile");
        let text = format!(
            "{{\n admin off\n skip_install_trust\n auto_https disable_redirects\n http_port {}\n https_port {port}\n}}\nbox.example:{port} {{\n tls internal\n {directive}\n reverse_proxy unix/{}\n}}\n",
            port - 1,
            socket.display()
        );
        std::fs::write(&config, text).unwrap();
        let log = std::fs::File::create(world.path("caddy.log")).unwrap();
        let mut command = world.any_command("caddy");
        let command =
            command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&config).stdout(std::process::Stdio::null()).stderr(log);
        let process = Running::start(command);
        until("caddy listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { _process: process, port }
    }
}

/// A port that is free now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn behind_caddy_the_page_works_over_tls_only() {
    answers_behind_caddy("");
}

#[test]
fn a_proxy_may_leave_out_the_metadata_of_a_fetch() {
    answers_behind_caddy("request_header -Sec-Fetch-*");
}

#[track_caller]
fn answers_behind_caddy(directive: &str) {
    needs!("chromium", "node", "caddy");
    let world = world_with_question();
    let (port, socket) = (free_port(), world.path("page.sock"));
    let more = format!("[web]\nlisten = \"unix:{}\"\nhosts = [\"box.example:{port}\"]\ntls_in_front = true\n", socket.display());
    world.configure(&more);
    let mut command = world.command("askbox");
    let _page = Running::start(command.arg("web").stderr(std::process::Stdio::null()));
    until("the page listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let caddy = Caddy::start(&world, port, &socket, directive);
    let _watcher = world.watch();
    let link = world.ok("askbox", &["web", "link"]);
    assert!(link.starts_with(&format!("https://box.example:{port}/in/")), "{link}");
    let given = json!({
        "base": format!("https://box.example:{}", caddy.port), "link": world.link_to_page(None), "size": "phone", "scripting": true,
        "hostRules": "MAP box.example 127.0.0.1", "secure": true,
    });
    assert_good(&browsers::run(&world, "answer.js", &given));
    assert_eq!(world.closed("docs", "delivered", 1)[0]["answer"]["by"], "ann's phone");
}

mod promises {
    use super::*;

    #[test]
    fn a_person_answers_in_two_taps_on_phone_and_desk() {
        needs!("chromium", "node");
        for size in ["phone", "desk"] {
            let world = world_with_question();
            let page = world.serve_page();
            let _watcher = world.watch();
            let given = json!({"base": page.browser().origin(), "link": world.link_to_page(None), "size": size, "scripting": true});
            assert_good(&browsers::run(&world, "answer.js", &given));
            let answer = &world.closed("docs", "delivered", 1)[0]["answer"];
            assert_eq!((&answer["value"], &answer["by"], &answer["channel"]), (&json!("merge"), &json!("ann's phone"), &json!("web")));
        }
    }

    #[test]
    fn pages_of_strangers_get_nothing_through_a_signed_in_browser() {
        needs!("chromium", "node");
        let world = world_with_question();
        let page = world.serve_page();
        let desk = page.signed_in(&world, "other");
        let shown = desk.see(&place(&world)).hidden("shown");
        let given = json!({"port": page.port, "link": world.link_to_page(None), "place": place(&world), "shown": shown});
        let statuses = browsers::run(&world, "strangers.js", &given);
        // The cookie goes to another port of the same name, and there the origin refuses.
        assert_eq!(statuses, json!({"rebound": 421, "elsewhere": 401, "another port": 403, "link": 401}));
        assert_eq!(world.names("pending"), ["docs.json"]);
    }
}
