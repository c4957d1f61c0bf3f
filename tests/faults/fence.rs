//! The fence: a run cannot touch what decides. It goes 49 ways, with the fence and without. The table in `fence.md` beside this file
//! holds which of them are open. `ASKBOX_WRITE_DOCS=1` writes it anew.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faults::crashes::is_the_table_of;
use crate::support::files::write_program;
use crate::support::process::Running;
use crate::support::{Signal, World, in_parallel, needs, number, signal, until, ways};

/// A world at home whose agent is a script, with the fence in this mode.
fn world(mode: &str, script: &str) -> World {
    let world = World::with_home_apart();
    write_program(&world.path("host"), &format!("#!/bin/bash\ncat > ~/input\n{script}\n"));
    world.configure(&format!(
        "[fence]\nmode = \"{mode}\"\n[relaunch]\nattempts = 1\n[runner]\ndefault = \"host\"\n[runner.host]\nkind = \"program\"\nprogram = \"{}\"\n",
        world.path("host").display()
    ));
    fs::create_dir_all(world.home().join(".claude")).unwrap();
    world.make_mailbox();
    world
}

fn run(world: &World) {
    world.ask_and_answer("w");
    world.ok("relaunch", &["w"]);
}

/// Goes all ways in a run. Returns the open ones.
fn gone(mode: &str) -> Vec<&'static str> {
    let world = world(mode, "sh ~/ways");
    let outside = Running::start(Command::new("sleep").arg("600"));
    let socket = format!("askbox-{mode}-{}", outside.pid());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).unwrap()).unwrap();
    ways::prepare(&world);
    fs::write(world.home().join("ways"), ways::script(&world, &outside, &socket)).unwrap();
    run(&world);
    world.sh(&format!("tmux -S {} kill-server", world.path("outside.tmux").display()));
    if mode == "on" {
        assert_eq!(world.names("answered"), ["foreign-6.json", "foreign-8.json"], "nothing is decided but what the person did");
        let pending = world.names("pending").into_iter().filter(|name| name.starts_with("foreign-")).collect::<Vec<_>>();
        assert_eq!(pending, [1, 2, 3, 4, 5, 7].map(|n| format!("foreign-{n}.json")));
        assert!(pending.iter().all(|name| world.document(&format!("pending/{name}"))["question"] == "Merge?"));
    }
    ways::open_ways(&world)
}

#[test]
fn the_open_ways_of_a_run_are_those_of_the_table() {
    needs!("tmux", "strace");
    let modes = ["off", "on"];
    let open = modes.map(gone);
    let word = |is_open: bool| if is_open { "open" } else { "closed" };
    let mut table = String::from("| way | without the fence | behind it |\n|---|---|---|\n");
    for way in &ways::WAYS {
        let is_open = [0, 1].map(|n: usize| open[n].contains(&way.name));
        table += &format!("| {} | {} | {} |\n", way.name, word(is_open[0]), word(is_open[1]));
        assert_eq!(is_open, way.is_open, "{}: without the fence, and behind it", way.name);
    }
    is_the_table_of("tests/faults/fence.md", &table);
}

#[test]
fn a_forged_request_changes_nothing_and_the_next_one_is_served() {
    let script = r#"
forge() { # NAME JSON: a request by hand, with pipes whose output is read
  d=$ASKBOX_FENCE/$1; mkdir $d; mkfifo $d/in $d/out $d/err $d/end
  cat $d/out > /dev/null & cat $d/err > ~/said-$1 &
  (cat $d/end > ~/end-$1) &
  sleep 0.1; printf '%s' "$2" > $d/t; mv $d/t $d/request.json; echo > $ASKBOX_FENCE/control
}
call() { printf '{"program":"%s","args":[%s],"cwd":"/","env":[["ASKBOX_ASKED_BY","x"],["ASKBOX_CONFIG","/tmp"],["LD_PRELOAD","/tmp/x.so"]],"has_input":false}' "$1" "$2"; }
forge answer "$(call ask-answer '"foreign-1","a"')"
forge mailbox "$(call ask-post '"--mailbox=/tmp/m","Evil?"')"
forge receipt "$(call askbox '"hook","--receipt","a/b"')"
forge path "$(call ../../../bin/sh '"-c","touch ~/evil"')"
forge huge "$(head -c 5000000 /dev/zero | tr '\0' 1)"
forge deep "$(head -c 100000 /dev/zero | tr '\0' '[')"
forge none '{}'
# Links and files in the place of pipes.
d=$ASKBOX_FENCE/links; mkdir $d; mkfifo $d/end; for p in in out err; do ln -s $ASKBOX_DIR/audit.jsonl $d/$p; done
(cat $d/end > ~/end-links) & sleep 0.1; call ask-post '"Evil?"' > $d/request.json; echo > $ASKBOX_FENCE/control
d=$ASKBOX_FENCE/files; mkdir $d; mkfifo $d/end; for p in in out err; do echo > $d/$p; done
(cat $d/end > ~/end-files) & sleep 0.1; call ask-post '"Evil?"' > $d/request.json; echo > $ASKBOX_FENCE/control
ln -s $ASKBOX_DIR/pending $ASKBOX_FENCE/link
for i in $(seq 300); do mkdir $ASKBOX_FENCE/junk-$i; echo junk > $ASKBOX_FENCE/junk-$i/request.json; done; echo > $ASKBOX_FENCE/control
ask-post -w w-part 'And this?' -o a=A > ~/posted; echo $? > ~/status
sleep 0.5; kill $(jobs -p)
"#;
    let world = world("on", script);
    world.ok("ask-post", &["-w", "foreign-1", "Merge?", "-o", "a=A"]);
    let audit = world.audited().len();
    run(&world);
    assert_eq!(fs::read_to_string(world.home().join("status")).unwrap().trim(), "0");
    assert_eq!(world.names("answered"), Vec::<String>::new());
    let pending = world.names("pending");
    assert_eq!(pending, ["foreign-1.json", "w-part.json"]);
    for name in ["answer", "mailbox", "receipt", "path"] {
        let end = fs::read_to_string(world.home().join(format!("end-{name}"))).unwrap();
        let said = fs::read_to_string(world.home().join(format!("said-{name}"))).unwrap();
        assert!(end.trim() == "4" && said.contains("a run behind the fence may not call"), "{name}: {end} {said}");
    }
    assert!(!world.home().join("evil").exists());
    assert!(world.audited().len() > audit, "the audit has whole lines only");
    let left = world.names(&format!("runs/w/{}/1/asks", world.names("runs/w")[0]));
    assert_eq!(left, ["link", "links"], "what may be removed is removed");
}

#[test]
fn a_caller_that_ends_takes_its_program_along() {
    let script = r#"
ask-post -w w-part --wait 60s 'And this?' -o a=A & caller=$!
until [ -e ~/seen ]; do sleep 0.05; done
kill -9 $caller; touch ~/killed
until [ -e ~/gone ]; do sleep 0.05; done
"#;
    let world = world("on", script);
    world.ask_and_answer("w");
    let mut running = Running::start(world.command("relaunch").arg("w"));
    until("it is asked", || world.in_mailbox("pending/w-part.json").exists());
    let waits = || world.processes("ask-post -w w-part").len();
    until("the caller and its program", || waits() >= 2);
    fs::write(world.home().join("seen"), "").unwrap();
    until("both are gone", || world.home().join("killed").exists() && waits() == 0);
    fs::write(world.home().join("gone"), "").unwrap();
    assert!(running.0.wait().unwrap().success());
}

#[test]
fn a_request_whose_supervisor_is_killed_is_done_once_or_told() {
    // The caller outlives its agent, which ends with the supervisor, and says what it heard.
    let script = r#"
setsid sh -c 'ask-post -w w-part "And this?" -o a=A > ~/said 2>&1; echo $? > ~/.status; mv ~/.status ~/status' &
touch ~/asking; wait
"#;
    let pauses: Vec<u64> = (0..24).collect();
    let asked = AtomicUsize::new(0);
    in_parallel(2, &pauses, |pause| {
        let world = world("on", script);
        world.ask_and_answer("w");
        let running = Running::start(world.command("relaunch").arg("w"));
        until("it asks", || world.home().join("asking").exists());
        std::thread::sleep(Duration::from_millis(pause * 2));
        signal(running.pid(), Signal::KILL);
        until("the caller has ended, or was ended", || world.home().join("status").exists() || world.processes("ask-post").is_empty());
        let status = fs::read_to_string(world.home().join("status")).unwrap_or_default();
        let said = fs::read_to_string(world.home().join("said")).unwrap_or_default();
        let is_asked = world.in_mailbox("pending/w-part.json").exists();
        assert!(status.trim() != "0" || is_asked, "what was acknowledged is there: {said}");
        assert!(
            ["", "0"].contains(&status.trim()) || said.contains("the run's supervisor ended before") || said.contains("the run is over"),
            "{status}: {said}"
        );
        asked.fetch_add(usize::from(is_asked), Ordering::Relaxed);
    });
    assert!(asked.into_inner() > 0, "some are in time");
}

#[test]
fn many_hostile_commands_keep_no_person_waiting() {
    let script = r#"
export S=$PPID; cat > ~/one <<'END'
case $(($1 % 10)) in
0) ask-post -w "w-$1" "$1?" -o a=A ;; 1) checkpoint save "w-$1" --step s ;; 2) ask-post -w foreign --supersede 'Evil?' ;;
3) ask-answer foreign a ;; 4) checkpoint set foreign user_answer a ;; 5) askbox once "$1" ;; 6) relaunch stop foreign ;;
7) echo {} > $ASKBOX_DIR/answered/e.json ;; 8) flock -n $ASKBOX_DIR/locks/00 sleep 1 ;; 9) kill -STOP $S ;;
esac
END
i=0; until [ -e ~/enough ]; do i=$((i+1)); sh ~/one $i >/dev/null 2>&1 & [ $((i % 8)) -eq 0 ] && wait && echo $i > ~/count; done; wait
"#;
    let world = world("on", script);
    world.ok("ask-post", &["-w", "foreign", "Merge?", "-o", "a=A"]);
    world.ask_and_answer("w");
    let mut running = Running::start(world.command("relaunch").arg("w"));
    until("it is at it", || world.names("pending").len() > 5);
    let most = number("ASKBOX_TEST_HOSTILE", 200);
    let count = || fs::read_to_string(world.home().join("count")).ok().and_then(|n| n.trim().parse::<usize>().ok()).unwrap_or(0);
    let (mut slowest, mut answers) = (Duration::ZERO, 0);
    while count() < most {
        let workflow = format!("person-{answers}");
        world.ok("ask-post", &["-w", &workflow, "Merge?", "-o", "a=A"]);
        let begun = Instant::now();
        world.ok("ask-answer", &[&workflow, "a"]);
        (slowest, answers) = (slowest.max(begun.elapsed()), answers + 1);
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::write(world.home().join("enough"), "").unwrap();
    assert!(running.0.wait().unwrap().success());
    println!("{} commands, {answers} answers, the slowest took {slowest:?}", count());
    assert_eq!(world.document("pending/foreign.json")["question"], "Merge?");
    assert!(!world.names("answered").iter().any(|name| !name.starts_with("person-")), "nothing but the person's answers");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}

#[test]
fn an_mcp_server_behind_the_fence_answers_nothing() {
    let world = world("on", "true");
    world.reconfigure("[relaunch]", "[mcp]\nanswer = true\n[relaunch]");
    world.ok("ask-post", &["-w", "foreign", "Merge?", "-o", "a=A"]);
    let call = |id: u8, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = json!({"name": "answer_question", "arguments": {"workflow_id": "foreign", "answer": "a"}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let calls = [call(1, "initialize", client), ready, call(2, "tools/call", answer)].join("\n");
    fs::write(world.work().join("calls"), calls + "\n").unwrap();
    let said = world.sh("askbox fence sh -c 'askbox mcp < calls'");
    assert!(said.contains("an agent behind a fence answers no question"), "{said}");
    assert!(world.names("answered").is_empty());
    // Without the fence, the same words answer.
    world.sh("askbox mcp < calls");
    assert_eq!(world.names("answered"), ["foreign.json"]);
}

#[test]
fn beside_other_programs_a_run_installs_and_replaces_no_own() {
    let world = world(
        "on",
        "cd $(dirname $(command -v ask-post)); echo new > installed; rm ask-answer; mv installed relaunch; : >> askbox; mv ../shared ../moved; true",
    );
    let shared = world.path("shared");
    fs::create_dir(&shared).unwrap();
    for name in ["relaunch", "askbox", "ask-post", "ask-answer"] {
        let (from, to) = (crate::support::program(name), shared.join(name));
        fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).unwrap();
    }
    write_program(&shared.join("other"), "#!/bin/sh\n");
    let sizes = || ["relaunch", "askbox", "ask-answer"].map(|name| fs::metadata(shared.join(name)).map(|file| file.len()).ok());
    let before = sizes();
    world.ask_and_answer("w");
    world.sh("PATH=$PWD/../shared:$PATH relaunch w");
    assert_eq!(fs::read_to_string(shared.join("installed")).unwrap(), "new\n");
    assert_eq!(sizes(), before);
}

#[test]
fn a_system_without_fences_runs_nothing_if_it_must_have_one() {
    needs!("root");
    for (mode, state) in [("on", "parked"), ("auto", "delivered")] {
        let world = world(mode, "echo done");
        world.ask_and_answer("w");
        // In a namespace that may make no further one.
        let none = "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec relaunch w'";
        let outcome = world.shell(none);
        let status = world.status("w");
        assert_eq!(status["state"], state, "{mode}: {status} {outcome:?}");
        let why = "there is no fence for this run: user.max_user_namespaces is 0";
        assert_eq!(status["why"].as_str().unwrap_or_default().contains(why), mode == "on", "{status}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_run_behind_the_fence_asks_spawns_and_marks_as_ever() {
        let script = r#"
set -e
{ checkpoint save w-part --step one; checkpoint get w-part current_step
ask-post -w w-part 'And this?' -o a=A; ask-post -w w-file --file <(echo '{"question":"From a pipe?"}')
printf '{"workflow_id":"w-in","question":"From the input?"}' | ask-post --file -
printf '1\n2\n' | while read n; do checkpoint set w-part context "$n"; done; checkpoint get w-part context
askbox once charge; askbox once charge || echo "marked $?"
relaunch spawn --prompt 'Do a part.' --timeout 30s; } > ~/said 2>~/errors
"#;
        let world = world("on", &format!("case $WORKFLOW_ID in w) {script} ;; *) echo part; ;; esac"));
        run(&world);
        let said = fs::read_to_string(world.home().join("said")).unwrap();
        let errors = fs::read_to_string(world.home().join("errors")).unwrap();
        let expected = ["one", "QUESTION_POSTED:w-part", "QUESTION_POSTED:w-file", "QUESTION_POSTED:w-in", "2", "marked 4", "part"];
        let lines: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(lines, expected, "{errors}");
        assert_eq!(world.document("pending/w-part.json")["parent"], "w", "the parent is the run");
    }

    #[test]
    fn a_fenced_run_answers_nothing_and_writes_nothing() {
        let script = "ask-answer foreign a 2> ~/said; echo $? > ~/status; echo {} > ~/.claude/questions/answered/e.json && touch ~/escaped; \
            ls $ASKBOX_FENCE/mailbox-pending > ~/seen; rm -f $ASKBOX_FENCE/mailbox-pending/*; touch $ASKBOX_FENCE/mailbox-pending/e && touch ~/escaped; :";
        let world = world("on", script);
        world.ok("ask-post", &["-w", "foreign", "Merge?", "-o", "a=A"]);
        run(&world);
        let said = fs::read_to_string(world.home().join("said")).unwrap();
        assert!(said.contains("this run stands behind a fence"), "{said}");
        assert_eq!(fs::read_to_string(world.home().join("status")).unwrap().trim(), "4");
        assert!(!world.home().join("escaped").exists() && world.names("answered").is_empty());
        assert_eq!(fs::read_to_string(world.home().join("seen")).unwrap(), "foreign.json\n");
        assert_eq!(world.names("pending"), ["foreign.json"]);
    }

    #[test]
    fn a_question_written_by_hand_behind_the_fence_is_posted() {
        let world = world("on", r#"echo '{"workflow_id":"w","question":"By hand?"}' > ~/.claude/questions/pending/w.json"#);
        run(&world);
        assert_eq!(world.document("pending/w.json")["question"], "By hand?");
    }
}
