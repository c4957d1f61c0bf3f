//! A session of an agent program in the inbox: it is read, gets its next prompt, and is stopped.

use serde_json::json;

use crate::support::machine::configure;
use crate::support::{LIMIT, Machine, Terminal, World, needs, until};
use crate::web::sessions::{Fake, inbox, inbox_is};

/// The session on a screen of 80×24. Its hostile words are plain text.
const SCREEN: &str = "\
shop-7f
busy · Claude Code · shop · fix/prices
You  06:29:07
  Fix the prices.<script>alert(1)</script>
Claude Code  06:29:07
  I look at prices first. <img src=x onerror=alert(1)>
· Bash cargo test prices -- --nocapture a_price_with_a_long_name_that_do… failed
· Edit /work/shop/src/prices.rs
Claude Code  06:29:07
  The tax was wrong.







────────────────────────────────────────────────────────────────────────────────
Claude Code reads it as another session's message. It approves nothing. A busy
session gets it when it is idle.
It stops before its next tool call, by askbox's plugin. At once: only Esc at its
terminal.

i prompt · x stop · q back · ? help · enter results · pgup older · G the newest";

/// Opens the inbox, and in it the only session.
fn open_session(terminal: &Terminal<'_>) -> String {
    terminal.press(&["clear; askbox inbox; echo left=$?", "Enter"]);
    terminal.see("S sessions");
    terminal.press(&["S"]);
    terminal.see("> shop-7f");
    terminal.press(&["Enter"]);
    terminal.see("The tax was wrong.")
}

#[test]
fn a_session_is_read_and_sent_on_at_the_terminal() {
    needs!("tmux");
    let world = World::at_home();
    let mut session = Fake::new(&world);
    session.hour();
    let told = inbox(&session, &json!({"status": "busy"}));
    let _watcher = world.watch();
    let terminal = Terminal::new(&world);
    terminal.resize(80, 24);
    let screen = open_session(&terminal);
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(screen.trim_end()), lines(SCREEN), "{screen}");
    terminal.press(&["Enter"]);
    terminal.see("+let tax = 7;");
    terminal.press(&["?"]);
    terminal.see("sessions; enter");
    terminal.press(&["q"]);
    terminal.see_no_more("sessions; enter");
    terminal.press(&["q"]);
    terminal.see("> shop-7f");
    terminal.press(&["Enter"]);
    terminal.see("The tax was wrong.");
    // Words that were not sent are there again in the next inbox.
    terminal.press(&["i"]);
    terminal.see("The next prompt");
    terminal.paste("half a thought");
    terminal.see("half a thought");
    terminal.press(&["C-c"]);
    terminal.see("left=130");
    open_session(&terminal);
    terminal.press(&["i"]);
    terminal.see("half a thought");
    terminal.press(&["C-u"]);
    terminal.see_no_more("half a thought");
    terminal.press(&["Escape"]);
    terminal.see_no_more("The next prompt");
    let prompt = |words: &str| {
        terminal.press(&["i"]);
        terminal.see("The next prompt");
        terminal.paste(words);
        terminal.press(&["Enter"]);
        terminal.see("ok, then enter, sends this to shop-7f");
        assert!(told.try_recv().is_err());
        terminal.confirm();
    };
    prompt("Go on.");
    terminal.see("kept until the session is idle: Go on.");
    terminal.press(&["u"]);
    terminal.see("taken back: Go on.");
    prompt("And now the discounts.");
    terminal.see("kept until the session is idle: And now");
    inbox_is(&session, "idle");
    let content = |line: &serde_json::Value| line["message"]["content"].as_str().map(str::to_owned);
    let sent = until("it is sent", || content(&told.recv_timeout(LIMIT).unwrap()));
    assert!(sent.starts_with("And now the discounts.\n"), "{sent}");
    assert!(world.audited().iter().any(|entry| entry["event"] == "prompt_sent" && entry["by"] == "ann"));
    inbox_is(&session, "busy");
    terminal.see("x stop");
    terminal.press(&["x"]);
    terminal.see("Stop its turn");
    terminal.press(&["Enter"]);
    terminal.see("ok, then enter, stops the turn of shop-7f");
    terminal.confirm();
    terminal.see("on its way: Stop");
}

#[test]
fn a_session_of_another_machine_is_sent_on_at_the_terminal() {
    needs!("tmux", "sshd", "ssh");
    let here = World::new();
    here.make_mailbox();
    let build = Machine::of(World::at_home(), &here, "build");
    configure(&here, &[&build]);
    let mut session = Fake::new(&build.world);
    session.hour();
    let told = inbox(&session, &json!({"status": "busy"}));
    let _watcher = build.world.watch();
    let terminal = Terminal::new(&here);
    terminal.resize(80, 24);
    terminal.press(&["clear; askbox inbox; echo left=$?", "Enter"]);
    terminal.see("S sessions");
    terminal.press(&["S"]);
    assert!(terminal.see("> shop-7f").contains("Claude Code · shop on build"));
    terminal.press(&["Enter"]);
    assert!(terminal.see("The tax was wrong.").contains("shop-7f on build"));
    let prompt = |words: &str| {
        terminal.press(&["i"]);
        terminal.see("The next prompt");
        terminal.paste(words);
        terminal.press(&["Enter"]);
        terminal.see("ok, then enter, sends this to shop-7f");
        terminal.confirm();
    };
    prompt("Go on.");
    terminal.see("kept until the session is idle: Go on.");
    terminal.press(&["u"]);
    terminal.see("taken back: Go on.");
    // A machine that is cut off gets nothing, and the words stay.
    build.cut();
    prompt("And the discounts.");
    let is_said = |screen: &String| screen.trim_end().lines().rev().nth(1).is_some_and(|line| line.starts_with("build: "));
    let screen = until("it is said", || Some(terminal.screen()).filter(is_said));
    assert!(screen.contains("│And the discounts."), "{screen}");
    assert!(build.world.names("prompts").len() == 1 && told.try_recv().is_err());
    build.set_down(false);
    // The same words were confirmed before.
    terminal.enter_again();
    terminal.see("kept until the session is idle: And the");
    inbox_is(&session, "idle");
    let content = |line: &serde_json::Value| line["message"]["content"].as_str().map(str::to_owned);
    let sent = until("it is sent", || content(&told.recv_timeout(LIMIT).unwrap()));
    assert!(sent.starts_with("And the discounts.\n"), "{sent}");
    assert!(build.world.audited().iter().any(|entry| entry["event"] == "prompt_sent" && entry["by"] == "ann"));
}

#[test]
fn a_line_for_a_shell_sends_no_session_a_prompt() {
    needs!("tmux");
    let world = World::at_home();
    let mut session = Fake::new(&world);
    session.hour();
    let told = inbox(&session, &json!({"status": "busy"}));
    let terminal = Terminal::new(&world);
    open_session(&terminal);
    for line in ["git status", "exit", "ifconfig", "x", "ls -l"] {
        terminal.burst(&[line, "Enter"]);
        terminal.burst(&[line, "Enter", "Enter"]);
        terminal.press(&["Escape"]);
    }
    assert!(!world.mailbox().join("prompts").exists() && told.try_recv().is_err(), "{}", terminal.screen());
}
