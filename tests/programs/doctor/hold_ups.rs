//! Why an answer starts no agent: each view says the same cause, and the command that changes it.

use super::{answered, configure, well};
use crate::support::{Outcome, Running, Signal, Terminal, World, needs, signal, until};

/// One thing that keeps answers from starting agents.
struct Fault {
    name: &'static str,
    /// Puts it in the way of a world with an answered question. Returns what has to live on.
    plant: fn(&World) -> Option<Running>,
    /// The shell in which a view is asked for; `VIEW` stands for the view.
    shell: &'static str,
    /// Words of the cause, and of its command.
    says: [&'static str; 2],
    /// Words of the corner of the inbox.
    corner: &'static str,
}

fn watch(world: &World) -> Running {
    let log = std::fs::File::create(world.path("watch.log")).unwrap();
    let watcher = Running::start(world.command("relaunch").arg("watch").stderr(log));
    until("the watcher watches", || std::fs::read_to_string(world.path("watch.log")).unwrap().contains("watching").then_some(()));
    watcher
}

/// The faults. Each world has an answered question, which was answered while the queue was held.
const FAULTS: [Fault; 7] = [
    Fault {
        name: "no watcher",
        plant: |world| {
            world.sh("relaunch go");
            None
        },
        shell: "VIEW",
        says: ["o watcher", "relaunch watch"],
        corner: "no watcher runs",
    },
    Fault {
        name: "a stopped watcher",
        plant: |world| {
            let watcher = watch(world);
            signal(watcher.pid(), Signal::STOP);
            world.sh("relaunch go");
            Some(watcher)
        },
        shell: "VIEW",
        says: ["which a signal has stopped", "kill -CONT "],
        corner: "the watcher is stopped",
    },
    Fault {
        name: "a pause by a person",
        plant: |world| Some(watch(world)),
        shell: "VIEW",
        says: ["paused by ", "relaunch go"],
        corner: "the queue is paused",
    },
    Fault {
        name: "a program that is gone",
        plant: |world| {
            let watcher = watch(world);
            world.sh("rm agent; relaunch go");
            until("the watcher has noticed", || world.shell("relaunch status --summary").stdout.contains("paused").then_some(()));
            Some(watcher)
        },
        shell: "VIEW",
        says: ["there is no program", "${EDITOR:-vi} "],
        corner: "no agent can be started",
    },
    Fault {
        name: "a spent day",
        plant: |world| {
            configure(world, "[limits]\nday_cost = 1.0\n");
            let booking = r#"{"at":"'$(date -u +%FT%TZ)'","workflow_id":"other","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","attempt":1,"turn":1,"cost_usd":2.0}"#;
            world.sh(&format!("relaunch go; mkdir -p -m 700 m/costs; echo '{booking}' > m/costs/$(date -u +%F).jsonl"));
            None
        },
        shell: "VIEW",
        says: ["limits.day_cost = 1 USD is used up", "${EDITOR:-vi} "],
        corner: "the queue is paused",
    },
    Fault {
        name: "a full disk",
        plant: |world| Some(watch(world)),
        shell: "cp -a m m.before && mount -t tmpfs -o size=900k,mode=0700 none m && cp -a m.before/. m/ && VIEW",
        says: ["KiB are left on its disk", "df -h "],
        corner: "",
    },
    Fault {
        name: "a disk that is mounted read-only",
        plant: |world| Some(watch(world)),
        shell: "mount --bind m m && mount -o remount,ro,bind m && VIEW",
        says: ["mounted read-only", "remount,rw"],
        corner: "",
    },
];

/// The views, as commands. Each ends by itself.
const VIEWS: [(&str, &str); 9] = [
    ("relaunch status w", "relaunch status w"),
    ("relaunch status", "relaunch status"),
    ("relaunch status --json", "relaunch status w --json"),
    ("relaunch wait w", "relaunch wait w --timeout 1s"),
    ("the answer to another question", "ask-answer other yes"),
    ("ask-answer list", "ask-answer list"),
    ("askbox doctor w", "askbox doctor w"),
    ("askbox doctor", "askbox doctor"),
    ("askbox trial", "askbox trial --wait 1s"),
];

/// What a view says of a fault, in a world of its own.
fn seen(fault: &Fault, view: &str) -> Outcome {
    let world = well();
    world.sh("relaunch pause --why later");
    answered(&world, "w");
    world.sh("ask-post -w other 'Too?' -t yes_no");
    let _kept = (fault.plant)(&world);
    match fault.shell {
        "VIEW" => world.shell(view),
        shell => world.shell(&format!("unshare -m sh -c '{}'", shell.replace("VIEW", view))),
    }
}

#[test]
fn each_view_names_the_cause_and_the_command_that_changes_it() {
    needs!("mount");
    let mut missing = Vec::new();
    for fault in &FAULTS {
        for (name, view) in VIEWS {
            // What cannot be written, cannot be answered.
            let writes = ["the answer to another question", "askbox trial"].contains(&name);
            let tells_it_with_an_answer = name == "ask-answer list" && fault.name == "no watcher";
            if (writes && fault.name.contains("disk")) || tells_it_with_an_answer {
                continue;
            }
            let out = seen(fault, view);
            if !fault.says.iter().all(|words| out.words().contains(words)) {
                missing.push(format!("{} in {name}: {}", fault.name, out.words()));
            }
        }
    }
    assert!(missing.is_empty(), "{} are missing:\n{}", missing.len(), missing.join("\n---\n"));
}

#[test]
fn the_corner_of_the_inbox_and_the_page_name_the_cause() {
    needs!("tmux");
    for fault in FAULTS.iter().filter(|fault| !fault.corner.is_empty()) {
        let world = well();
        world.sh("relaunch pause --why later");
        answered(&world, "w");
        world.sh("ask-post -w other 'Too?' -t yes_no");
        let _kept = (fault.plant)(&world);
        let terminal = Terminal::running(&world, (100, 30), &[], &["askbox", "inbox"]);
        terminal.see(fault.corner);
        let page = world.serve_page();
        let seen = page.signed_in(&world, "desk").see("/").text();
        assert!(seen.contains(fault.says[0]), "{}: {seen}", fault.name);
    }
}
