//! A file on the command line may be a regular file, or a pipe that a program writes into. Anything else is refused, and no wait is
//! endless.

use crate::support::{Running, World, in_parallel, output, until};

/// The commands that read a file, each with `FILE` where its name stands, and the content that each takes.
const READERS: [(&str, &str); 5] = [
    ("ask-post --file FILE", r#"{"workflow_id":"w","question":"How?"}"#),
    ("ask-post --batch --file FILE", r#"[{"workflow_id":"w","question":"How?"}]"#),
    ("ask-post Which? -w w >/dev/null && ask-answer w --file FILE", r#""this one""#),
    ("checkpoint save w --file FILE", r#"{"current_step":"one"}"#),
    ("relaunch run -w w FILE", "do it"),
];

#[test]
fn folders_devices_and_sockets_are_refused_in_words() {
    let world = World::new();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    for (reader, _) in READERS {
        for (file, words) in [(".", "is a folder"), ("/dev/zero", "is a device"), ("socket", "is a socket"), ("none", "does not exist")] {
            world.shell("rm -rf m");
            let out = world.shell(&reader.replace("FILE", file));
            assert!(matches!(out.code(), 3 | 5) && out.stderr.contains(words), "{reader} with {file}: {out:?}");
        }
    }
    world.shell("mkfifo pipe");
    for file in [".", "/dev/zero", "socket", "pipe"] {
        let out = world.shell(&format!("relaunch spawn {file}"));
        assert!(out.code() == 5 && out.stderr.contains("not a regular file"), "spawn {file}: {out:?}");
    }
}

#[test]
fn substitutions_and_standard_input_are_read_to_their_end() {
    in_parallel(2, &READERS, |(reader, content)| {
        // The last one would launch an agent.
        if reader.starts_with("relaunch") {
            return;
        }
        for script in [
            reader.replace("FILE", "<(printf %s \"$CONTENT\")"),
            // Slower than its reader, and in two pieces.
            reader.replace("FILE", "<(sleep 0.2; printf %s \"${CONTENT:0:5}\"; sleep 0.2; printf %s \"${CONTENT:5}\")"),
            format!("mkfifo pipe; (sleep 0.2; printf %s \"$CONTENT\" >pipe) & {}", reader.replace("FILE", "pipe")),
            format!("printf %s \"$CONTENT\" | {{ {}; }}", reader.replace("FILE", "-")),
            format!("printf %s \"$CONTENT\" | {{ {}; }}", reader.replace("FILE", "/dev/stdin")),
        ] {
            let world = World::new();
            let mut bash = world.any_command("bash");
            bash.args(["-c", &script]).env("PATH", world.path_with_programs()).env("CONTENT", content);
            let out = output(&mut bash);
            assert!(out.status.success(), "{script}: {out:?}");
        }
    });
}

#[test]
fn a_pipe_with_a_slow_writer_is_waited_for() {
    let world = World::new();
    world.ok("ask-post", &["-w", "w", "Which?"]);
    world.shell("mkfifo pipe");
    let slow = world.shell_command("exec ask-answer w --file pipe").stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut slow = Running(slow);
    // Opening for writing waits until there is a reader.
    let writer = std::fs::OpenOptions::new().write(true).open(world.path("pipe")).unwrap();
    world.ok("ask-answer", &["w", "that one"]);
    drop(writer);
    until("the reader has ended", || slow.has_ended());
}

#[test]
fn an_agents_command_reads_no_file_outside_of_its_folder() {
    let world = World::new();
    world.sh("mkdir -p work/sub tmp home && echo '{\"next_action\":\"the secret\",\"workflow_id\":\"w\",\"question\":\"the secret?\"}' >home/secret.json");
    world.sh("cp home/secret.json work/own.json; cp home/secret.json tmp/own.json; ln -s ../home/secret.json work/link.json");
    // Claude Code's mark, and the mark of a run.
    let agents = [("CLAUDECODE", "1"), ("ASKBOX_RUN", "v/01a20605-3431-7298-8d9f-05f18633a3ef/1")];
    let below = |(mark, value): (&str, &str), command: &str| {
        let mut bash = world.any_command("bash");
        bash.args(["-c", command]).env("PATH", world.path_with_programs()).env("TMPDIR", world.path("tmp")).env(mark, value);
        output(bash.current_dir(world.path("work")))
    };
    let secret = world.path("home/secret.json").display().to_string();
    for agent in agents {
        for command in [
            "checkpoint save w --file SECRET",
            "checkpoint save w --file ../home/secret.json",
            "checkpoint save w --file link.json",
            "checkpoint save w --file sub/../../home/secret.json",
            "checkpoint save w --file SECRET --step one",
            "checkpoint save w <SECRET",
            "checkpoint save w --file /dev/stdin <SECRET",
            "checkpoint save w --file /dev/fd/3 3<SECRET",
            "checkpoint set w context - <SECRET",
            "checkpoint validate SECRET",
            "ask-post -w w --file SECRET",
            "ask-post -w w - <SECRET",
            "ask-post How? -w w --attach SECRET",
            "ask-post How? -w w --attach link.json",
            "ask-post How? -w w --attach - <SECRET",
            "ask-post --batch --file SECRET",
            "ask-answer other - <SECRET",
            "ask-answer other --file link.json",
        ] {
            world.sh("ask-post -w other Which? 2>/dev/null; checkpoint save w --step one >/dev/null");
            let command = command.replace("SECRET", &format!("'{secret}'"));
            let out = below(agent, &command);
            assert_eq!(out.code(), 5, "{command}: {}", out.words());
            assert!(
                out.stderr.contains("lies outside of the working folder") && !out.words().contains("the secret"),
                "{command}: {}",
                out.words()
            );
            assert!(!world.sh("cat m/*/*.json").contains("the secret"), "{command}");
        }
        for command in [
            "checkpoint save w --file own.json",
            "checkpoint save w --file ../tmp/own.json",
            "checkpoint save w --file <(echo '{}')",
            "echo '{}' | checkpoint save w",
            "checkpoint save w <own.json",
            "checkpoint save w <<X\n{}\nX",
            "cd sub && checkpoint save w --file <(cat ../own.json)",
            "ask-post -w w --supersede --file own.json",
        ] {
            let out = below(agent, command);
            assert!(out.status.success(), "{command}: {}", out.words());
        }
        world.sh("rm -rf m");
    }
    // A person names any file.
    world.sh(&format!("checkpoint save w --file '{secret}'"));
}

mod promises {
    use super::*;

    #[test]
    fn a_pipe_that_no_program_writes_into_is_refused() {
        in_parallel(READERS.len(), &READERS, |(reader, _)| {
            let world = World::new();
            let out = world.shell(&format!("mkfifo pipe && {}", reader.replace("FILE", "pipe")));
            assert_eq!(out.code(), 5, "{reader}: {out:?}");
            assert!(out.stderr.contains("is a pipe that no program writes into"), "{reader}: {out:?}");
        });
    }
}
