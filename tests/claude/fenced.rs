//! The real `claude` behind the fence.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use serde_json::json;

use crate::support::claude::bash;
use crate::support::process::Running;
use crate::support::{ClaudeWorld, needs, until, ways};

#[test]
fn every_way_to_ask_works_behind_the_fence() {
    let mut world = ClaudeWorld::new();
    let server = json!({"mcpServers": {"askbox": {"command": crate::support::program("askbox"), "args": ["mcp"]}}}).to_string();
    world.configure(&format!("[fence]\nmode = \"on\"\n[runner.claude]\nargs = ['--mcp-config', '{server}']\n"));
    world.keep_watching_from_the_start();
    let asks = |question: &str| {
        json!({"questions": [{"question": question, "header": "H", "multiSelect": false,
        "options": [{"label": "left", "description": "L"}, {"label": "right", "description": "R"}]}]})
    };
    let native = json!({"tool": "AskUserQuestion", "input": asks("Native?")});
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__askbox__ask_user"}});
    let tool = json!({"tool": "mcp__askbox__ask_user", "input": {"question": "By tool?", "options": [{"label": "up"}, {"label": "down"}]}});
    let call = bash("touch ~/touched");
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([native, find, tool, call, {"text": "done"}]));
    world.answer("w", "begin");
    for (title, answer) in [("Native?", "left"), ("By tool?", "up"), ("Bash", "once")] {
        let asks = || world.in_mailbox("pending/w.json").exists() && world.document("pending/w.json").to_string().contains(title);
        until(title, asks);
        match answer {
            "once" => drop(world.ok("ask-answer", &["w", "once", "--round", &world.seen("w")])),
            other => world.answer("w", other),
        }
    }
    world.wait_state("w", "delivered");
    assert!(world.home().join("touched").exists());
}

#[test]
fn a_fenced_claude_reaches_nothing_that_decides() {
    needs!("tmux", "strace");
    let mut world = ClaudeWorld::new();
    world.configure("[fence]\nmode = \"on\"\n[runner.claude]\nallowed_tools = [\"Bash\"]\n");
    world.keep_watching_from_the_start();
    let outside = Running::start(Command::new("sleep").arg("600"));
    let socket = format!("askbox-claude-{}", outside.pid());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).expect("a name")).expect("a socket");
    ways::prepare(&world);
    std::fs::write(world.home().join("ways"), ways::script(&world, &outside, &socket)).expect("the script");
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([bash("sh ~/ways"), bash("ask-post -w w-part 'Which?' -o a=A"), {"text": "All gone."}]));
    world.answer("w", "begin");
    world.wait_state("w", "delivered");
    world.sh(&format!("tmux -S {} kill-server", world.path("outside.tmux").display()));
    let expected: Vec<_> = ways::WAYS.iter().filter(|way| way.is_open[1]).map(|way| way.name).collect();
    assert_eq!(ways::open_ways(&world), expected);
    assert_eq!(world.document("pending/w-part.json")["parent"], "w");
}

#[test]
fn claudes_own_sandbox_works_behind_the_fence() {
    needs!("bwrap", "socat");
    let mut world = ClaudeWorld::new();
    world.configure("[fence]\nmode = \"on\"\n[runner.claude]\nallowed_tools = [\"Bash\"]\n");
    let settings = json!({"enabled": true, "failIfUnavailable": true, "allowUnsandboxedCommands": false, "filesystem": {"allowWrite": [world.mailbox()]}});
    let sandbox = json!({"sandbox": settings});
    std::fs::write(world.claude_config().join("settings.json"), sandbox.to_string()).expect("the settings");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let probe = "touch inside; touch ~/outside; ask-post -w w-part 'Which?' -o a=A";
    world.api.on("User chose: begin", json!([bash(probe), {"text": "done"}]));
    world.answer("w", "begin");
    world.wait_state("w", "delivered");
    let said = world.api.turns().pop().expect("a turn").tool_results().pop().expect("a result");
    assert!(world.work().join("inside").exists() && !world.home().join("outside").exists(), "{said}");
    assert_eq!(world.document("pending/w-part.json")["parent"], "w", "{said}");
}
