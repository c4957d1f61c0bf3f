//! Ways for a run to decide, or to reach what decides, without being asked. Each is a line of sh that succeeds if the way is open, and that
//! leaves everything as it was.

use crate::World;
use crate::process::Running;

/// A way, its line of sh, and whether it is open: to any program of the user, and behind the fence.
pub struct Way {
    pub name: &'static str,
    pub line: &'static str,
    pub is_open: [bool; 2],
}

const fn way(name: &'static str, line: &'static str) -> Way {
    Way { name, line, is_open: [true, false] }
}

/// A way that the fence does not close.
const fn open(name: &'static str, line: &'static str) -> Way {
    Way { name, line, is_open: [true, true] }
}

/// The variables: `M` the mailbox, `OUT` a process outside, `A` the name of an abstract socket outside, `T` a tmux server outside.
pub const WAYS: [Way; 49] = [
    way("write into `answered/`", r#"echo {} > $M/answered/e.json && rm $M/answered/e.json"#),
    way("move a file there", r#"echo {} > ~/e; mv ~/e $M/answered/e.json && rm $M/answered/e.json"#),
    way("link a file there", r#"echo {} > ~/e; ln ~/e $M/answered/e.json && rm $M/answered/e.json"#),
    way(
        "the same in a session and an environment of its own",
        r#"setsid -w env -i sh -c "echo {} > $M/answered/e.json" && rm $M/answered/e.json"#,
    ),
    way("the same in a terminal of its own", r#"script -qec "echo {} > $M/answered/e.json" /dev/null && rm $M/answered/e.json"#),
    way("the same in a tmux server of its own", r#"tmux -L e$$ new -d "touch $M/answered/e.tmp"; sleep 1; rm $M/answered/e.tmp"#),
    way("`ask-answer`", "ask-answer foreign-1 a"),
    way(
        "`ask-answer` in a terminal and an environment of its own",
        r#"env -i HOME=$HOME PATH=$PATH ASKBOX_DIR=$M script -qec "ask-answer foreign-2 a" /dev/null"#,
    ),
    way("`ask-answer` without the variable of the fence", "env -u ASKBOX_FENCE ask-answer foreign-3 a"),
    way("`mv pending/ID.json answered/`", r#"mv $M/pending/foreign-4.json $M/answered/ && mv $M/answered/foreign-4.json $M/pending/"#),
    way("rewrite a question of others", "sed -i s/Merge/Evil/ $M/pending/foreign-5.json"),
    way("remove a question of others", r#"mv $M/pending/foreign-5.json ~/e && mv ~/e $M/pending/foreign-5.json"#),
    way("ask for others", r#"ask-post -w foreign-6 "Evil?" -o a=A"#),
    way("supersede a question of others", r#"ask-post -w foreign-7 --supersede "Evil?" -o a=A"#),
    way("`checkpoint set` of others", "checkpoint set foreign-8 user_answer a"),
    way("rewrite a checkpoint of others", ": >> $M/checkpoints/foreign-8.json"),
    way("write the audit", ": >> $M/audit.jsonl"),
    way("take a round into `running/`", "touch $M/running/e.json && rm $M/running/e.json"),
    way("write a timer", "touch $M/timers/e && rm $M/timers/e"),
    way("`chmod 0 answered`", "chmod 0 $M/answered && chmod 700 $M/answered"),
    way("`chmod 777` the mailbox", "chmod 777 $M && chmod 700 $M"),
    way("change a time that decides", "touch -d 2001-01-01 $M/answered"),
    way("hold a lock", r#"for f in $M/locks/*; do flock -n $f true && exit 0; done; exit 1"#),
    way("hold the lock of a round of others", "flock -n $M/runs/foreign-9/*/lock true"),
    way("move the records of others", "mv $M/runs/foreign-9 $M/runs/e && mv $M/runs/e $M/runs/foreign-9"),
    way("rewrite its own record", "for f in $M/runs/$WORKFLOW_ID/*/1/run.json; do : >> $f || exit 1; done"),
    way("rewrite its own events", "for f in $M/runs/$WORKFLOW_ID/*/1/events.jsonl; do : >> $f || exit 1; done"),
    way("`relaunch pause`", "relaunch pause && relaunch go"),
    way("move the mailbox away", "mv $M $M.e && mv $M.e $M"),
    way("move the folder above it", "mv ~/.claude ~/.e && mv ~/.e ~/.claude"),
    way("move the folder above the configuration", "mv ~/.config ~/.e && mv ~/.e ~/.config"),
    way("write the configuration", ": >> ~/.config/askbox/config.toml"),
    way("replace the configuration", r#"cp ~/.config/askbox/config.toml ~/e && mv ~/e ~/.config/askbox/config.toml"#),
    way("read the key", r#"grep -q . ~/.config/askbox/answer.key"#),
    way("link the key into the working folder", "ln ~/.config/askbox/answer.key ~/e && rm ~/e"),
    way(
        "attach the key to a question",
        r#"cd ~/.config && cd askbox; ask-post -w "$WORKFLOW_ID-e" --attach ~/.config/askbox/answer.key "Evil?""#,
    ),
    way("write beside the programs", r#"d=$(dirname $(command -v relaunch)); touch $d/e && rm $d/e"#),
    way(
        "mount the mailbox writable, in a namespace of its own",
        r#"unshare -Urm sh -c "mount -o remount,rw,bind $M && touch $M/answered/e.tmp" || { touch $M/answered/e.tmp && rm $M/answered/e.tmp; }"#,
    ),
    way("`/proc/PID/root` of a process outside", r#"touch /proc/$OUT/root$M/answered/e.tmp && rm $M/answered/e.tmp"#),
    way("`/proc/PID/cwd` of a process outside", "cd /proc/$OUT/cwd/."),
    way("`/proc/PID/fd` of a process outside", "ls /proc/$OUT/fd/0"),
    way("`/proc/PID/environ` of a process outside", "grep -q . /proc/$OUT/environ"),
    way("`/proc/PID/mem` of a process outside", "exec 3< /proc/$OUT/mem"),
    way("debug a process outside", "timeout -s INT 1 strace -qq -p $OUT; [ $? -eq 124 ]"),
    way("a signal to a process outside", "kill -CONT $OUT"),
    way("an abstract socket outside", r#"python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect("\0" + os.environ["A"])'"#),
    open(
        "a tmux server outside",
        r#"tmux -S $T new-window "touch $M/answered/e.tmp; sleep 4; rm $M/answered/e.tmp"; sleep 2; [ -e $M/answered/e.tmp ]; e=$?; sleep 4; exit $e"#,
    ),
    open("files that the user's next shell runs", ": >> ~/.bashrc"),
    open("new files in the home folder, and beside the mailbox", "touch ~/e ~/.claude/e && rm ~/e ~/.claude/e"),
];

/// A script that goes all ways, and writes the open ones into `~/open`, a number a line.
pub fn script(world: &World, outside: &Running, socket: &str) -> String {
    let mut script = format!(
        "M={}; OUT={}; A={socket}; T={}; export M OUT A T; cd ~\n",
        world.mailbox().display(),
        outside.pid(),
        world.path("outside.tmux").display()
    );
    for (n, way) in WAYS.iter().enumerate() {
        let file = world.path(format!("way-{n}"));
        std::fs::write(&file, way.line).expect("the way's line");
        script += &format!("timeout 20 sh {} </dev/null >>~/ways.log 2>&1 && echo {n} >> ~/open\n", file.display());
    }
    script + "echo all >> ~/open\n"
}

/// Makes what the ways reach for: questions, a checkpoint, a closed round, a key, and a tmux server outside.
pub fn prepare(world: &World) {
    for n in [1, 2, 3, 4, 5, 7] {
        world.ok("ask-post", &["-w", &format!("foreign-{n}"), "Merge?", "-o", "a=A"]);
    }
    world.ok("checkpoint", &["save", "foreign-8", "--step", "one"]);
    world.ask_and_answer("foreign-6");
    world.ask_and_answer("foreign-8");
    std::fs::create_dir_all(world.in_mailbox("runs/foreign-9/0")).expect("a record");
    std::fs::write(world.in_mailbox("runs/foreign-9/0/lock"), "").expect("a lock");
    std::fs::write(world.config().with_file_name("answer.key"), "secret\n").expect("a key");
    let server = format!("tmux -S {} -f /dev/null new -d 'sleep 600'", world.path("outside.tmux").display());
    world.sh(&server);
}

/// The names of the open ways.
pub fn open_ways(world: &World) -> Vec<&'static str> {
    let found = std::fs::read_to_string(world.home().join("open")).expect("the script has run");
    assert!(found.ends_with("all\n"), "it went all ways: {found}");
    found.lines().filter_map(|line| Some(WAYS[line.parse::<usize>().ok()?].name)).collect()
}
