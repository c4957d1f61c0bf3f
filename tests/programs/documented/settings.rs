//! The settings that the words around the blocks tell.

use std::fs;

use super::super::setup::home;
use crate::support::files::write_program;
use crate::support::shown::{blocks, page, prompted};
use crate::support::{World, approval_question, root};

/// A home without anything of askbox, and stand-ins for programs that its commands stand beside.
pub(super) fn empty() -> World {
    let world = home();
    for name in ["loginctl", "tailscale"] {
        write_program(&world.path("bin").join(name), "#!/bin/sh\n");
    }
    world
}

/// Ann's home with the mailbox at its place, and a runner.
pub(super) fn ann() -> World {
    let world = empty().with_scripted_agent();
    world.sh("touch guide.md.bak proposed.md");
    world
}

/// The reviewer's question waits.
pub(super) fn asked() -> World {
    let world = ann();
    world.sh("checkpoint save docs-42 --step review --file-ref proposed=proposed.md --state attempt=2");
    world.sh("ask-post 'The sections overlap. How should we proceed?' -w docs-42 --asked-by reviewer -o merge='Merge into one' -o keep='Keep both'");
    world
}

pub(super) fn answered() -> World {
    let world = asked();
    world.ok("ask-answer", &["docs-42", "merge"]);
    world
}

/// The agent has ended with the answer. The audit is at hand.
pub(super) fn delivered() -> World {
    let world = answered();
    world.ok("relaunch", &["docs-42"]);
    world.sh("ln -s ~/.claude/questions/audit.jsonl .");
    world
}

/// The configured runner is claude, which is not installed.
pub(super) fn without_a_program() -> World {
    let world = answered();
    world.replace_config("");
    world
}

/// The agent asks for a permission.
pub(super) fn permission() -> World {
    let world = ann();
    world.make_mailbox();
    let text =
        "May the agent call Bash?\n    command: git push origin main\nIn the folder /home/ann/site\nThe agent says: Publish the release";
    world.forge_question("docs-42", &approval_question("docs-42", text));
    world
}

/// Two questions, one with a checkpoint, for a person without askbox's programs.
pub(super) fn by_hand() -> World {
    let mut world = ann();
    world.sh("checkpoint save docs-45 --step one; ask-post -w docs-45 'Merge?' -o keep=K; ask-post -w docs-46 'Merge?' -o keep=K");
    // The first of the two blocks sets it.
    let mailbox = world.mailbox().display().to_string();
    world.set_env(&[("Q", &mailbox)]);
    world
}

/// A program that a person starts with the answer.
pub(super) fn billing() -> World {
    let world = ann();
    world.ask_and_answer("billing-7");
    write_program(&world.work().join("host.py"), "#!/bin/sh\nprintf %s \"$1\" >ran\n");
    world
}

/// A program for mail, and the event that a target's program gets.
pub(super) fn mail() -> World {
    let world = ann();
    write_program(&world.path("bin/sendmail"), "#!/bin/sh\ncat >mail\n");
    let page = page("docs/guide-news.md");
    let event = blocks(&page).into_iter().find(|block| block.language == "json").expect("an event");
    fs::write(world.path("input"), event.text).expect("a file");
    world
}

pub(super) fn with_ask_sh() -> World {
    let world = ann();
    fs::copy(root().join("examples/ask.sh"), world.work().join("ask.sh")).expect("a copy");
    world
}

/// An agent's file as the guide shows it, and an agent that has two findings.
pub(super) fn reviewer() -> World {
    let mut world = ann();
    world.set_env(&[("AGENT_REPLY", "Two findings.")]);
    let shown = prompted(&page("docs/guide-chains.md")).into_iter().find(|shown| shown.typed.starts_with("cat ")).expect("a file");
    fs::create_dir_all(world.work().join(".claude/agents")).expect("a folder");
    fs::write(world.work().join(".claude/agents/reviewer.md"), shown.printed.join("\n") + "\n").expect("a file");
    world
}

/// Cake and guests below the party, and below cake the baker, who asks.
pub(super) fn party() -> World {
    let world = ann();
    world.agent_does("guests", "echo '12 will come'");
    world.agent_does("baker", "ask-post 'When is your birthday?'");
    world.agent_does("cake", "relaunch spawn -w baker --prompt 'Bake it'");
    world.agent_does(
        "party",
        "relaunch spawn -w guests --prompt 'Invite the guests' >/dev/null; relaunch spawn -w cake --prompt 'Order a cake'",
    );
    world.ok("relaunch", &["spawn", "-w", "party", "--prompt", "Plan the party"]);
    world
}

/// A party that works beside the cake, which has asked and works, too.
pub(super) fn at_work() -> World {
    let mut world = ann();
    world.set_env(&[("ID", "party")]);
    world.configure("[limits]\ngrace = \"100ms\"\n");
    world.agent_does("cake", "ask-post 'Which cake?'; exec sleep 60");
    world.agent_does("party", "relaunch spawn --background -w cake --prompt 'Order a cake'; exec sleep 60");
    world.ok("relaunch", &["spawn", "--background", "-w", "party", "--prompt", "Plan the party"]);
    world.appears("pending/cake.json");
    world
}
