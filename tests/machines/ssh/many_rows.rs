//! Five thousand questions of two machines, on the page and in the inbox of a person: what they take.

use std::os::unix::fs::PermissionsExt;

use crate::support::process::{command_line, pids, processor_time};
use crate::support::{Machine, Terminal, World, needs, until};

/// How many questions each machine has.
const MANY: u64 = 2_500;
/// The most memory for each question. Its document has 770 bytes.
const OF_EACH: u64 = 3_400;

/// Anonymous memory of a process in bytes.
fn memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kib: u64 = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim_end_matches("kB").trim().parse().ok()).unwrap();
    kib << 10
}

/// A machine that lists its questions, and says that they are over when a line comes through the FIFO.
fn with_many(here: &World, name: &str) -> Machine {
    let machine = Machine::new(here, name);
    let (program, fifo) = (machine.world.path("played"), machine.world.path("over"));
    machine.world.sh("mkfifo over");
    let id = r#"sprintf("\"workflow_id\":\"flow-%05d\",\"question_id\":\"01a20a0d-0000-7000-8000-%012d\"", n, n)"#;
    let text = "\\\"question\\\":\\\"Which of the two layouts is to be kept?\\\",\\\"options\\\":{\\\"a\\\":\\\"The first\\\",\\\"b\\\":\\\"The second\\\"}";
    let more = "\\\"asked_by\\\":\\\"reviewer\\\",\\\"cwd\\\":\\\"/work/project\\\",\\\"timestamp\\\":\\\"2026-11-20T10:00:00.000Z\\\"";
    let script = format!(
        r#"#!/bin/sh
alive() {{ while sleep 5; do echo '{{"line":"alive"}}'; done; }}
echo '{{"line":"hello","protocol":1,"schema_version":1,"version":"1"}}'
awk 'BEGIN {{ while (length(context) < 480) context = context "Background. "
  for (n = 0; n < {MANY}; n++) print "{{\"line\":\"question\"," {id} ",\"document\":{{\"schema_version\":1," {id} ",{text},{more},\"context\":\"" context "\"}}}}" }}'
echo '{{"line":"listed"}}'
alive &
alive=$!
read _ < {fifo}
# Two writers would mix their lines.
kill $alive
wait $alive
awk 'BEGIN {{ for (n = 0; n < {MANY}; n++) print "{{\"line\":\"gone\"," {id} ",\"fate\":\"answered\"}}" }}'
alive
"#,
        fifo = fifo.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    machine
}

fn section(machine: &Machine) -> String {
    format!("{}program = '{}'\n", machine.section(), machine.world.path("played").display())
}

/// All questions of these machines are over.
fn end(machines: &[Machine]) {
    // One line for each reader: the page, or the inbox.
    machines.iter().for_each(|machine| std::fs::write(machine.world.path("over"), "over\n").unwrap());
}

#[test]
fn thousands_of_rows_of_others_take_little_on_the_page() {
    needs!("sshd", "ssh");
    let here = World::new();
    here.make_mailbox();
    let before = {
        let page = here.serve_page();
        page.signed_in(&here, "desk").see("/");
        memory(page.process.pid())
    };
    let machines = [with_many(&here, "build"), with_many(&here, "tower")];
    here.configure(&machines.each_ref().map(section).concat());
    let page = here.serve_page();
    let browser = page.signed_in(&here, "desk");
    until("all rows are there", || browser.see("/").body.contains("(5000)"));
    let pid = page.process.pid();
    let full = memory(pid);
    let of_each = full.saturating_sub(before) / (2 * MANY);
    let spent = processor_time(pid);
    (0..10).for_each(|_| drop(browser.see("/")));
    let spent = (processor_time(pid) - spent) / 10;
    assert!(browser.see("/q/build:flow-00042/01a20a0d-0000-7000-8000-000000000042").text().contains("Background."), "all of it is known");
    end(&machines);
    until("no row is left", || !browser.see("/").body.contains(":flow-"));
    let after = memory(pid);
    println!("page: {before} bytes alone, {full} with all rows, {of_each} for each, {after} afterwards; {spent:?} a look");
    assert!(of_each < OF_EACH, "{of_each} bytes for each row");
    // The allocator keeps what was freed in pieces. It does not need more for the next questions.
    assert!(after < full + full / 4, "{before} bytes alone, {full} with all rows, {after} afterwards");
}

#[test]
fn thousands_of_rows_of_others_take_little_in_the_inbox() {
    needs!("sshd", "ssh", "tmux");
    let here = World::new();
    here.make_mailbox();
    let machines = [with_many(&here, "build"), with_many(&here, "tower")];
    let mailbox = here.mailbox().display().to_string();
    let inbox = |screen: &str| {
        let terminal = Terminal::running(&here, (100, 30), &[], &["askbox", "inbox", "--mailbox", &mailbox]);
        terminal.see(screen);
        let is_inbox = |pid: &i32| command_line(*pid).starts_with("askbox inbox") && command_line(*pid).contains(&mailbox);
        let pid = until("its process is found", || pids().find(is_inbox));
        (terminal, pid)
    };
    let before = {
        let (terminal, pid) = inbox("No question");
        let before = memory(pid);
        terminal.press(&["q"]);
        until("it has ended", || !crate::support::process::is_alive(pid));
        before
    };
    here.configure(&machines.each_ref().map(section).concat());
    let (terminal, pid) = inbox("5000 questions are waiting");
    let full = memory(pid);
    let of_each = full.saturating_sub(before) / (2 * MANY);
    end(&machines);
    terminal.see("No question");
    let after = memory(pid);
    println!("inbox: {before} bytes alone, {full} with all rows, {of_each} for each, {after} afterwards");
    assert!(of_each < OF_EACH, "{of_each} bytes for each row");
}
