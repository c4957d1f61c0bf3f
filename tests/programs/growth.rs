//! Three thousand rounds of one workflow cost what ten do: the system calls of each program are counted, not the time.

use crate::support::{Terminal, World, needs, strace, until};

/// What people and agents look at.
const LOOKS: [&str; 7] =
    ["relaunch status w", "ask-answer show w", "relaunch logs w", "askbox tree w", "askbox doctor w", "askbox doctor", "ask-answer list"];

/// The shell waits until the clock of file times has gone on. A list is not written before that.
const SETTLE: &str = "sleep 0.1";

/// A workflow with so many rounds, the last of which the programs made.
fn world(rounds: usize) -> World {
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    world.past_rounds("w", 0..rounds);
    world.ask_and_answer("w");
    world.sh(&format!("relaunch w; {SETTLE}"));
    world
}

fn forget_lists(world: &World) {
    world.sh(&format!("rm -rf m/recent m/costs/workflows; {SETTLE}"));
}

/// The number of system calls of a command.
fn calls(world: &World, script: &str) -> usize {
    world.sh(&format!("strace -f -qq -e signal=none -o trace {script} >/dev/null 2>said; [ $? -le 1 ] || {{ cat said; exit 1; }}"));
    std::fs::read_to_string(world.path("trace")).unwrap().lines().count()
}

#[track_caller]
fn assert_flat(what: &str, few: usize, many: usize) {
    assert!(few > 50 && many * 2 <= few * 3 + 80, "{what}: {few} calls beside ten rounds, {many} beside three thousand");
}

#[test]
fn three_thousand_rounds_cost_a_look_what_ten_do() {
    needs!("strace");
    let (ten, long) = (world(10), world(3_000));
    let few = LOOKS.map(|script| calls(&ten, script));
    for (script, few) in LOOKS.iter().zip(few) {
        forget_lists(&long);
        // The doctor writes nothing, so another look makes the lists.
        let makes_lists = if script.starts_with("askbox doctor") { "askbox tree w; askbox history --limit 1" } else { script };
        long.sh(&format!("{{ {makes_lists}; }} >/dev/null"));
        assert_flat(&format!("{script}, the second one without a list"), few, calls(&long, script));
        // The programs keep the lists while they make rounds.
        long.ask_and_answer("w");
        long.sh("relaunch w");
        assert_flat(script, few, calls(&long, script));
    }
}

#[test]
fn logs_find_the_last_run_behind_rounds_without_one() {
    needs!("strace");
    let world = |rounds| {
        let world = world(rounds);
        world.sh("for n in 1 2 3 4 5 6 7 8 9 10; do ask-post -w w \"Not now $n?\" -o a=A; ask-answer cancel w; done");
        world
    };
    let (ten, long) = (world(10), world(3_000));
    let last = |world: &World| world.sh("relaunch logs w | grep -c 'session .* fake'");
    assert_eq!((last(&ten).as_str(), last(&long).as_str()), ("1", "1"));
    assert_flat("logs", calls(&ten, "relaunch logs w"), calls(&long, "relaunch logs w"));
    forget_lists(&long);
    assert_eq!(last(&long), "1");
    assert_flat("logs, the second one without a list", calls(&ten, "relaunch logs w"), calls(&long, "relaunch logs w"));
}

#[test]
fn a_page_of_history_costs_the_same_behind_3000_rounds() {
    needs!("strace");
    let (few, many) = (world(20), world(3_000));
    for page in ["askbox history", "askbox history w", "askbox history --limit 5", "askbox history w --limit 5"] {
        many.sh("askbox history >/dev/null");
        assert_flat(page, calls(&few, page), calls(&many, page));
    }
}

/// A mailbox with workflows that are over and five that wait for a person.
fn world_of_workflows(past: usize) -> World {
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    world.past_workflows(0..past);
    world.sh(&format!("for n in 1 2 3 4 5; do ask-post -w open-$n 'Merge?' -o a=A; done; {SETTLE}; askbox history --limit 1 >/dev/null"));
    world
}

#[test]
fn a_thousand_workflows_that_are_over_cost_a_look_what_ten_do() {
    needs!("strace");
    let (ten, thousand) = (world_of_workflows(10), world_of_workflows(1_000));
    for look in ["askbox doctor", "askbox history --limit 5", "relaunch status", "ask-answer list", "askbox tree"] {
        assert_flat(look, calls(&ten, look), calls(&thousand, look));
    }
}

/// The number of system calls of an inbox that is opened, shows a question and then the answered ones.
fn inbox_calls(world: &World) -> usize {
    let terminal = Terminal::new(world);
    terminal.press(&["strace -f -qq -e signal=none -o trace askbox inbox; echo left=$?", "Enter"]);
    terminal.see("? help");
    terminal.press(&["Tab"]);
    // All rows are read before the first one is shown.
    terminal.see("  delivered  ");
    terminal.press(&["q"]);
    terminal.see("left=0");
    std::fs::read_to_string(world.path("trace")).unwrap().lines().count()
}

#[test]
fn an_inbox_costs_the_same_beside_a_long_history() {
    needs!("strace", "tmux");
    let few = inbox_calls(&world_of_workflows(150));
    assert_flat("workflows", few, inbox_calls(&world_of_workflows(1_000)));
    let rounds = |count| {
        let world = world(count);
        world.sh("ask-post -w w 'Merge?' -o a=A; askbox history --limit 1 >/dev/null");
        inbox_calls(&world)
    };
    assert_flat("rounds", rounds(150), rounds(3_000));
}

#[test]
fn a_watcher_makes_the_lists_that_are_missing() {
    needs!("strace");
    let (ten, long) = (world(10), world(3_000));
    let few = LOOKS.map(|script| calls(&ten, script));
    forget_lists(&long);
    let watcher = long.watch();
    let lists = ["recent/w.json", "recent/closed", "costs/workflows/w.json"];
    until("it has made them", || lists.iter().all(|list| long.in_mailbox(list).exists()));
    drop(watcher);
    for (script, few) in LOOKS.iter().zip(few) {
        assert_flat(script, few, calls(&long, script));
    }
}

/// The number of system calls of a watcher until its first look is over. The thread that says so has made it. The other threads make more or fewer
/// until then, by chance.
fn first_look(world: &World) -> usize {
    // A watcher hears of every change in the mailbox's parent.
    let trace = world.agent("trace");
    let watcher = world.start_watcher_behind(&strace(&["-f", "-qq", "-s", "64", "-e", "signal=none", "-o", trace.to_str().unwrap()]));
    watcher.says("watching ");
    drop(watcher);
    let trace = std::fs::read_to_string(trace).unwrap();
    let is_end = |line: &&str| line.contains("write(2") && line.contains("  watching  ");
    let end = trace.lines().find(is_end).expect("the line is in the trace");
    let thread = end.split(' ').next();
    trace.lines().take_while(|line| !is_end(line)).filter(|line| line.split(' ').next() == thread).count()
}

#[test]
fn a_watcher_begins_beside_a_long_history_as_beside_a_short_one() {
    needs!("strace");
    let (few, without_lists) = (first_look(&world(10)), world(3_000));
    assert_flat("the first look", few, first_look(&world(3_000)));
    forget_lists(&without_lists);
    assert_flat("the first look without lists", few, first_look(&without_lists));
}

#[test]
fn a_read_only_mailbox_is_read_without_its_lists() {
    needs!("mount");
    let world = world(60);
    let looks = LOOKS.map(|script| format!("{script} 2>&1 || true")).join("; ");
    let look = |looks: &str| {
        world.sh(&format!(
            "unshare -m sh -c 'mount --bind m m && mount -o remount,bind,ro m; {looks}' | sed -E 's/ *\\b[0-9]+[sm]\\b( ago)?//g'"
        ))
    };
    let with_lists = look(&looks);
    forget_lists(&world);
    assert_eq!(look(&looks), with_lists);
    assert!(!world.in_mailbox("recent").exists());
}

#[test]
fn doctor_checks_the_newest_closed_rounds_or_all() {
    let world = world(600);
    let damage = |round: &str| {
        let file = format!("m/closed/w.01900000-0000-7000-8000-{round}.json");
        world.sh(&format!("touch -r {file} time && echo '{{' >{file} && touch -r time {file}"));
    };
    let kinds = |words: &str| world.sh(&format!("askbox doctor {words} --json | jq -c '[.findings[].kind]'; true"));
    damage("000000000003");
    world.sh("echo '{}' >m/closed/x.json && touch -d '1 hour ago' m/closed/x.json && sleep 0.1");
    assert_eq!((kinds("").as_str(), kinds("w").as_str()), ("[]", "[]"));
    assert_eq!((kinds("--all-rounds").as_str(), kinds("w --all-rounds").as_str()), ("[\"stray\",\"unreadable\"]", "[\"unreadable\"]"));
    let newest = "000000000257";
    damage(newest);
    assert_eq!((kinds("").as_str(), kinds("w").as_str()), ("[\"unreadable\"]", "[\"unreadable\"]"));
}
