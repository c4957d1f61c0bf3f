//! The pictures of docs/guide-inbox.md: `ASKBOX_WRITE_DOCS=1 tests/run programs inbox::pictures::` draws them from the cells of a
//! terminal.

use std::path::{Path, PathBuf};

use crate::programs::inbox::cells::picture;
use crate::support::{Terminal, World, approval_question, needs, working_day};

/// The size of the terminal, in columns and rows.
const SIZE: (u16, u16) = (96, 26);

/// Waits until the screen shows some words, and draws it.
fn draw(world: &World, folder: &Path, name: &str, terminal: &Terminal<'_>, words: &str) {
    terminal.see(words);
    let home = world.path("").display().to_string();
    let picture = picture(&terminal.with_colours().replace(home.trim_end_matches('/'), "/home/ann"), SIZE);
    assert!(picture.contains(words) && !picture.contains("askbox-test"), "{name}: {picture}");
    std::fs::write(folder.join(format!("inbox-{name}.svg")), picture).unwrap();
}

/// The folder that pictures are written into: the pages' own, if they are to be drawn anew.
pub(super) fn folder(world: &World) -> PathBuf {
    let folder = match std::env::var_os("ASKBOX_WRITE_DOCS") {
        Some(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"),
        None => world.path("pictures"),
    };
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_pictures_of_the_inbox_can_be_drawn() {
    needs!("tmux");
    let world = World::new();
    working_day::questions(&world);
    let call = "May the agent call Bash?\n    command: git push --force-with-lease origin release-2.4\nIn the folder /home/ann/shop";
    let mut approval = approval_question("release-push", call);
    approval["timestamp"] = askbox_mailbox::time::rfc3339(askbox_mailbox::time::now()).into();
    std::fs::write(world.in_mailbox("pending/release-push.json"), approval.to_string()).unwrap();
    let _watcher = world.watch();
    let folder = folder(&world);
    let terminal = Terminal::running(&world, (SIZE.0.into(), SIZE.1.into()), &[], &["ask-answer"]);
    terminal.see("5 questions are waiting");
    draw(&world, &folder, "list", &terminal, "Until both reviews are done, so Thursday");
    terminal.press(&["/", "dcs mrg"]);
    draw(&world, &folder, "filter", &terminal, "1 with \"dcs mrg\"");
    terminal.press(&["Enter", "Escape"]);
    terminal.see_no_more("dcs mrg");
    terminal.press(&["g", "Enter"]);
    terminal.see("esc later");
    terminal.press(&["3"]);
    terminal.see("> 3 split");
    draw(&world, &folder, "question", &terminal, "new_checkout = false");
    terminal.press(&["Escape"]);
    terminal.see("5 questions are waiting");
    terminal.press(&["G", "Enter"]);
    terminal.see("esc later");
    draw(&world, &folder, "approval", &terminal, "git push --force-with-lease origin release-2.4");
}

#[test]
fn the_picture_of_a_diff_in_the_inbox_can_be_drawn() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    working_day::question_with_a_diff(&world);
    let _watcher = world.watch();
    let folder = folder(&world);
    let terminal = Terminal::running(&world, (SIZE.0.into(), SIZE.1.into()), &[], &["ask-answer", "pay-fix"]);
    terminal.see("esc later");
    draw(&world, &folder, "diff", &terminal, "button.onclick = once(() => pay(order));");
}
