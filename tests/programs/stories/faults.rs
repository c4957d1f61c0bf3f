//! The faults, and how each one is planted.

use askbox::mailbox::Mailbox;
use askbox::mailbox::disk::Lock;

use crate::support::files::write_program;
use crate::support::{Running, Signal, World, signal, until};

/// An agent that does what the file `does` says, and then that all went well.
const AGENT: &str = r#"#!/bin/sh
for word; do case $word in --session-id=*) session=${word#*=} ;; --resume=*) session=${session:-${word#*=}} ;; esac; done
read -r message
echo '{"type":"system","subtype":"init","claude_code_version":"2.1.0","session_id":"'$session'"}'
[ ! -e does ] || . ./does
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"completed","session_id":"'$session'"}'
cat > /dev/null
"#;

/// One fault of the round of workflow `w`.
pub(super) struct Fault {
    pub name: &'static str,
    pub cause: &'static str,
    /// Puts it in a world where all is well. Returns what has to live on.
    pub plant: fn(&World) -> Option<Running>,
    /// The shell in which a view is asked for; `VIEW` stands for the view.
    pub shell: &'static str,
    pub mends: bool,
}

const fn fault(name: &'static str, cause: &'static str, plant: fn(&World) -> Option<Running>) -> Fault {
    Fault { name, cause, plant, shell: "VIEW", mends: false }
}

/// A fault whose command, once it is run, ends the cause.
const fn mended(name: &'static str, cause: &'static str, plant: fn(&World) -> Option<Running>) -> Fault {
    Fault { mends: true, ..fault(name, cause, plant) }
}

const fn on_disk(name: &'static str, cause: &'static str, shell: &'static str) -> Fault {
    Fault { shell, ..fault(name, cause, |world| Some(answered_while_held(world))) }
}

fn configured(world: &World, more: &str) {
    let agent = world.path("agent");
    let config = format!("[relaunch]\nattempts = 1\n{more}\n[runner.claude]\nprogram = '{}'\n", agent.display());
    std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
}

/// A world where nothing holds a round up.
pub(super) fn well() -> World {
    let world = World::new();
    write_program(&world.path("agent"), AGENT);
    // An editor that mends the configuration.
    write_program(&world.path("ed"), "#!/bin/sh\ncp right \"$1\"\n");
    world.sh("mkdir -p .config/askbox");
    configured(&world, "");
    world.sh("cp .config/askbox/config.toml right; ask-post -w seed 'Make the mailbox' && ask-answer cancel seed");
    world
}

pub(super) fn put(world: &World, name: &str, content: &str) {
    std::fs::write(world.path(name), content).unwrap();
}

pub(super) fn watch(world: &World) -> Running {
    let log = std::fs::File::create(world.path("watch.log")).unwrap();
    let watcher = Running::start(world.command("relaunch").arg("watch").stderr(log));
    until("the watcher watches", || std::fs::read_to_string(world.path("watch.log")).unwrap().contains("watching").then_some(()));
    watcher
}

fn asks(world: &World) {
    world.sh("ask-post -w w 'Go?' -t yes_no");
}

pub(super) fn answered(world: &World) {
    world.sh("ask-post -w w 'Go?' -t yes_no && ask-answer w yes");
}

/// A watcher, and an answer that came while the queue was held.
fn answered_while_held(world: &World) -> Running {
    world.sh("relaunch pause --why later");
    answered(world);
    watch(world)
}

/// A watcher, and a run of `w` in this state. The agent does this.
fn run_is(world: &World, does: &str, state: &str) -> Option<Running> {
    put(world, "does", does);
    answered(world);
    let watcher = watch(world);
    world.reaches("w", state);
    Some(watcher)
}

/// An answer while the configuration, or the program, is broken like this.
fn broken(world: &World, script: &str) -> Option<Running> {
    world.sh("relaunch pause --why later");
    answered(world);
    let watcher = watch(world);
    world.sh(script);
    world.sh("rm m/pause.json");
    Some(watcher)
}

/// An answer, and supervisors that cannot read the configuration. The watcher starts them all the same.
fn misconfigured(world: &World, script: &str) -> Option<Running> {
    let watcher = broken(world, script);
    world.reaches("w", "orphaned");
    watcher
}

/// A parent that waits for its child, while the child's agent does this.
fn parent_of(world: &World, child: &str, child_is: &str) -> Option<Running> {
    put(world, "does", &format!("case $ASKBOX_RUN in w/*) relaunch spawn --background -w child --prompt Go ;; *) {child} ;; esac"));
    let watcher = watch(world);
    world.sh("relaunch run -w w --prompt Start >/dev/null");
    until("the child is there", || (world.state("child") == child_is && world.state("w") == "awaiting").then_some(()));
    Some(watcher)
}

fn fake_breaker(world: &World, ahead: &str) {
    let body = format!(
        r#"{{"schema_version":1,"state":"open","since":"'$(date -u +%FT%TZ)'","until":"'$(date -u -d '{ahead}' +%FT%TZ)'","pause":1,"why":"5 runs failed","failures":[]}}"#
    );
    world.sh(&format!("echo '{body}' > m/breaker.json; chmod 600 m/breaker.json"));
}

/// A watcher with one place, a run that takes it, and an answer.
fn all_places_taken(world: &World) -> Running {
    configured(world, "max_concurrent = 1");
    put(world, "does", "until [ -e go ]; do sleep 0.1; done");
    world.sh("ask-post -w busy 'Go?' -t yes_no && ask-answer busy yes");
    let watcher = watch(world);
    world.reaches("busy", "running");
    answered(world);
    watcher
}

const DIES: &str = "echo sorry >&2; exit 3";

pub(super) const FAULTS: &[Fault] = &[
    fault("a question waits", "person", |world| {
        asks(world);
        None
    }),
    fault("a batch of questions waits", "person", |world| {
        world.sh(r#"echo '{"workflow_id":"w","questions":[{"id":"a","question":"Which?"},{"id":"b","question":"How many?"}]}' | ask-post --file -"#);
        None
    }),
    fault("a question waits, with a watcher", "person", |world| {
        asks(world);
        Some(watch(world))
    }),
    fault("a question is overdue and kept", "person", |world| {
        world.sh("ask-post -w w 'Go?' -t yes_no --timeout 1s --on-expiry keep; sleep 1.1");
        None
    }),
    mended("a question is overdue, its default applies, and no watcher runs", "no_watcher", |world| {
        world.sh("ask-post -w w 'Go?' -t yes_no --timeout 1s --on-expiry default --default yes; sleep 1.1");
        None
    }),
    mended("a question is overdue, is to be cancelled, and no watcher runs", "no_watcher", |world| {
        world.sh("ask-post -w w 'Go?' -t yes_no --timeout 1s --on-expiry cancel; sleep 1.1");
        None
    }),
    mended("a wait for a date without a watcher", "no_watcher", |world| {
        world.sh("ask-post -w w --until 1h");
        None
    }),
    mended("a wait for a file without a watcher", "no_watcher", |world| {
        world.sh("ask-post -w w --until-file \"$PWD/built\"");
        None
    }),
    fault("a wait for a date", "date", |world| {
        world.sh("ask-post -w w --until 1h");
        Some(watch(world))
    }),
    fault("a wait for a file", "file", |world| {
        world.sh("ask-post -w w --until-file \"$PWD/built\"");
        Some(watch(world))
    }),
    mended("no watcher runs", "no_watcher", |world| {
        answered(world);
        None
    }),
    mended("a task without a watcher", "no_watcher", |world| {
        world.sh("relaunch pause; relaunch spawn --background -w w --prompt Start; relaunch go");
        None
    }),
    mended("the watcher is stopped", "watcher_stopped", |world| {
        let watcher = answered_while_held(world);
        signal(watcher.pid(), Signal::STOP);
        world.sh("relaunch go");
        Some(watcher)
    }),
    fault("a wait for a date, and the watcher is stopped", "watcher_stopped", |world| {
        world.sh("ask-post -w w --until 1h");
        let watcher = watch(world);
        signal(watcher.pid(), Signal::STOP);
        Some(watcher)
    }),
    mended("a person has paused the queue", "held", |world| Some(answered_while_held(world))),
    mended("a person has paused the queue, and no watcher runs", "held", |world| {
        world.sh("relaunch pause --why later");
        answered(world);
        None
    }),
    mended("runs failed, and the queue is paused", "failures", |world| {
        world.sh("relaunch pause");
        answered(world);
        world.sh("relaunch go");
        fake_breaker(world, "1 minute");
        None
    }),
    mended("the program is gone", "no_program", |world| {
        broken(world, "mv agent elsewhere; sed \"s|/agent'|/elsewhere'|\" right > r && mv r right")
    }),
    mended("the program is not executable", "no_program", |world| broken(world, "chmod -x agent")),
    mended("the program is a text without its first line", "no_program", |world| {
        broken(world, "cp agent good; sed -i 1d agent; sed \"s|/agent'|/good'|\" right > r && mv r right")
    }),
    mended("the program's interpreter is missing", "no_program", |world| {
        broken(world, "cp agent good; sed -i '1s|.*|#!/nowhere/sh|' agent; sed \"s|/agent'|/good'|\" right > r && mv r right")
    }),
    mended("the program is a folder", "no_program", |world| {
        broken(world, "mv agent good; mkdir agent; sed \"s|/agent'|/good'|\" right > r && mv r right")
    }),
    mended("the configuration is not TOML", "configuration", |world| misconfigured(world, "echo '[[' >> .config/askbox/config.toml")),
    mended("the configuration has an unknown key", "configuration", |world| {
        misconfigured(world, "echo 'proram = 1' >> .config/askbox/config.toml")
    }),
    mended("the configuration has a value of another type", "configuration", |world| {
        misconfigured(world, "sed -i 's/attempts = 1/attempts = \"one\"/' .config/askbox/config.toml")
    }),
    mended("the configuration names a runner that it lacks", "configuration", |world| {
        misconfigured(world, "sed -i '1i runner.default = \"fkae\"' .config/askbox/config.toml")
    }),
    mended("the configuration is a folder", "configuration", |world| {
        misconfigured(
            world,
            "rm .config/askbox/config.toml; mkdir .config/askbox/config.toml; printf '#!/bin/sh\\nrmdir \"$1\"; cp right \"$1\"\\n' > ed",
        )
    }),
    mended("the day's limit is spent", "day_cost", |world| {
        configured(world, "[limits]\nday_cost = 1.0\n");
        world.sh("relaunch pause");
        answered(world);
        let booking = r#"{"at":"'$(date -u +%FT%TZ)'","workflow_id":"other","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","attempt":1,"turn":1,"cost_usd":2.0}"#;
        world.sh(&format!("relaunch go; mkdir -p -m 700 m/costs; echo '{booking}' > m/costs/$(date -u +%F).jsonl"));
        Some(watch(world))
    }),
    mended("the watcher is older than the configuration", "older_watcher", |world| {
        let watcher = all_places_taken(world);
        configured(world, "max_concurrent = 3");
        until("the watcher has left the answer alone", || (world.status("w")["cause"] == "older_watcher").then_some(()));
        Some(watcher)
    }),
    on_disk(
        "the disk is full",
        "full_disk",
        "rm -rf m.before; cp -a m m.before && mount -t tmpfs -o size=900k,mode=0700 none m && cp -a m.before/. m/ && VIEW",
    ),
    on_disk(
        "the disk holds no more files",
        "full_disk",
        "rm -rf m.before; cp -a m m.before && n=$(find m | wc -l) && mount -t tmpfs -o size=90m,nr_inodes=$n,mode=0700 none m && cp -a m.before/. m/ && VIEW",
    ),
    on_disk("the disk is mounted read-only", "read_only", "mount --bind m m && mount -o remount,ro,bind m && VIEW"),
    fault("as many runs are live as may be", "max_concurrent", |world| Some(all_places_taken(world))),
    mended("the answer is not signed", "not_counted", |world| {
        answered(world);
        let signed = world.only_signed_answers();
        let config = format!("{}{signed}", std::fs::read_to_string(world.config()).unwrap());
        std::fs::write(world.config(), config).unwrap();
        None
    }),
    mended("the question was changed after it was answered", "not_counted", |world| {
        answered(world);
        world.sh("sed -i 's/Go?/Go on?/' m/answered/w.json");
        None
    }),
    mended("taking the answer back was interrupted", "half_done", |world| {
        answered(world);
        world.sh(
            r#"jq '.taken_back = {"at": "2026-01-01T00:00:00Z", "by": "ann", "answer": "yes"} | del(.answer)' m/answered/w.json > x && chmod 600 x && mv x m/answered/w.json"#,
        );
        None
    }),
    mended("the asker that waits is stopped", "asker_stopped", |world| {
        let asker = Running::start(world.command("ask-post").args(["-w", "w", "Go?", "-t", "yes_no", "--wait", "5m"]));
        world.appears("pending/w.json");
        let waiter = Mailbox::open(world.mailbox()).unwrap().waiter(&"w".parse().unwrap());
        until("it waits", || Lock::is_held(&waiter).is_ok_and(|is_held| is_held).then_some(()));
        signal(asker.pid(), Signal::STOP);
        world.sh("ask-answer w yes");
        Some(asker)
    }),
    fault("the session that asked takes the answer", "session", |world| {
        asks(world);
        world.sh("jq '.to_session = true' m/pending/w.json > x; chmod 600 x; mv x m/pending/w.json; ask-answer w yes");
        Some(watch(world))
    }),
    fault("the session of Codex is not told", "not_told", |world| {
        asks(world);
        let thread = "15c96f27-091a-4dc1-bcce-0d2e49721bc0";
        world.sh(&format!("jq '.continues_in = \"{thread}\"' m/pending/w.json > x; chmod 600 x; mv x m/pending/w.json; ask-answer w yes"));
        None
    }),
    fault("an attempt failed, and the next one starts later", "retry", |world| {
        configured(world, "backoff = '1h'");
        world.sh("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
        run_is(world, DIES, "retrying")
    }),
    mended("an attempt failed, and no watcher starts the next one", "no_watcher", |world| {
        configured(world, "backoff = '1h'");
        world.sh("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
        run_is(world, DIES, "retrying").into_iter().for_each(Running::kill);
        None
    }),
    mended("an attempt failed, and the queue is paused since", "held", |world| {
        configured(world, "backoff = '1h'");
        world.sh("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
        let watcher = run_is(world, DIES, "retrying");
        world.sh("relaunch pause --why later");
        watcher
    }),
    mended("the supervisor is gone, and no watcher runs", "no_watcher", |world| {
        let watcher = run_is(world, "until [ -e go ]; do sleep 0.1; done", "running");
        watcher.into_iter().for_each(Running::kill);
        put(world, "go", "");
        world.processes("supervise").iter().for_each(|pid| signal(*pid, Signal::KILL));
        world.reaches("w", "orphaned");
        None
    }),
    fault("the run failed", "failed", |world| run_is(world, DIES, "parked")),
    mended("the agent's folder is gone", "folder", |world| {
        world.sh("mkdir place; cd place; ask-post -w w 'Go?' -t yes_no; cd ..; rmdir place; ask-answer w yes");
        let watcher = watch(world);
        world.reaches("w", "parked");
        Some(watcher)
    }),
    mended("the agent's folder was renamed", "folder", |world| {
        world.sh("mkdir place; cd place; ask-post -w w 'Go?' -t yes_no && ask-answer w yes; cd ..");
        let watcher = watch(world);
        world.closed("w", "delivered", 1);
        world.sh("cd place; ask-post -w w 'On?' -t yes_no; cd ..; mv place moved; ask-answer w yes");
        world.reaches("w", "parked");
        Some(watcher)
    }),
    fault("a limit ended the run", "limit", |world| {
        run_is(
            world,
            r#"echo '{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","session_id":"'$session'"}'; exit 1"#,
            "parked",
        )
    }),
    fault("the run was stopped", "stopped", |world| {
        let watcher = run_is(world, "until [ -e go ]; do sleep 0.1; done", "running");
        world.sh("relaunch stop w --now >/dev/null");
        world.reaches("w", "interrupted");
        watcher
    }),
    mended("the run was stopped, and the queue is paused", "stopped", |world| {
        let watcher = run_is(world, "until [ -e go ]; do sleep 0.1; done", "running");
        world.sh("relaunch stop w --now >/dev/null");
        world.reaches("w", "interrupted");
        world.sh("relaunch pause; touch go");
        watcher
    }),
    fault("a person's program was stopped", "stopped", |world| {
        answered(world);
        let mut exec = world.command("relaunch");
        let run = Running::start(exec.args(["exec", "w", "--", "sleep", "600"]));
        until("the program runs", || !world.of_runs().is_empty());
        signal(run.pid(), Signal::INT);
        world.reaches("w", "interrupted");
        None
    }),
    fault("its child asks", "child", |world| parent_of(world, "ask-post -w child 'Which?'", "pending")),
    fault("its child is answered, and the queue is paused", "child", |world| {
        let watcher = parent_of(world, "ask-post -w child 'Which?'", "pending");
        world.sh("relaunch pause; ask-answer child one");
        watcher
    }),
    fault("its question cannot be read", "unreadable", |world| {
        asks(world);
        world.sh("echo '{' > m/pending/w.json; touch -d '1 hour ago' m/pending/w.json");
        None
    }),
    fault("its answer is in quarantine", "unreadable", |world| {
        let watcher = answered_while_held(world);
        world.sh("echo '{' > m/answered/w.json; touch -d '1 hour ago' m/answered/w.json; relaunch go");
        until("it is in quarantine", || (!world.names("quarantine").is_empty()).then_some(()));
        Some(watcher)
    }),
    fault("its question is of a newer askbox", "unreadable", |world| {
        asks(world);
        world.sh("jq '.schema_version = 99' m/pending/w.json > x; chmod 600 x; mv x m/pending/w.json");
        None
    }),
    fault("the record of its run cannot be read", "unreadable", |world| {
        let watcher = run_is(world, DIES, "parked");
        world.sh("for f in m/runs/w/*/1/run.json; do echo '{' > $f; done");
        watcher
    }),
    fault("it is delivered", "", |world| run_is(world, "", "delivered")),
    fault("it is withdrawn", "", |world| {
        world.sh("ask-post -w w 'Go?' && ask-answer cancel w");
        None
    }),
];
