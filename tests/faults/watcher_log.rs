//! Nobody reads the watcher's standard error, or its disk is full: answers are launched all the same.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::support::{Running, World, until};

/// A pipe that takes no byte more.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

fn watch(world: &World, stderr: impl Into<Stdio>) -> Running {
    Running::start(world.command("relaunch").arg("watch").stdout(Stdio::null()).stderr(stderr))
}

#[test]
fn a_watcher_whose_log_nobody_reads_launches_answers() {
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    let (mut reader, writer) = full_pipe();
    let _watcher = watch(&world, writer);
    for workflow in ["one", "two", "three"] {
        world.ask_and_answer(workflow);
        world.closed(workflow, "delivered", 1);
    }
    let text = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut bytes) {
            into.lock().unwrap().extend_from_slice(&bytes[..n]);
        }
    });
    until("the pipe is read", || text.lock().unwrap().len() >= 65536 / 16);
    world.ask_and_answer("four");
    let said = until("the watcher says what is lost", || {
        let text = String::from_utf8_lossy(&text.lock().unwrap()).trim_start_matches('x').to_owned();
        Some(text).filter(|text| text.contains("lines of this log are lost") && text.contains("launched  four"))
    });
    // A line that was begun is whole.
    assert!(said.lines().all(|line| line.starts_with("20")), "{said}");
    // The third launch may be said late, when the pipe is read already. The second one is said before the third begins.
    assert!(said.contains("warning: log_lost") && !said.contains("launched  two"), "{said}");
}

mod promises {
    use super::*;

    #[test]
    fn a_watcher_whose_log_lies_on_a_full_disk_launches_answers() {
        let world = World::new().with_scripted_agent();
        world.make_mailbox();
        let _watcher = watch(&world, std::fs::File::options().write(true).open("/dev/full").unwrap());
        for workflow in ["one", "two"] {
            world.ask_and_answer(workflow);
            world.closed(workflow, "delivered", 1);
        }
    }
}
