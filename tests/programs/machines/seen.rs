//! What is seen of other machines, also of those that cannot be reached.

use serde_json::Value;

use super::two;
use crate::support::machine::configure;
use crate::support::{Machine, Terminal, World, needs, quickly, until};

#[test]
fn the_list_shows_all_machines_and_addresses_answer_them() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    here.ok("ask-post", &["-w", "local-1", "Here?", "--priority", "1"]);
    let listed = here.run("ask-answer", &["list"]).ok();
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        lines[1].starts_with("local-1") && lines[2].starts_with("build:docs-42") && lines[2].contains("Merge the sections?"),
        "{listed:?}"
    );
    let shown = here.ok("ask-answer", &["show", "build:docs-42"]);
    assert!(shown.contains("on build") && shown.contains("asked by reviewer") && shown.contains("merge  Yes"), "{shown}");
    let said = here.ok("ask-answer", &["build:docs-42", "merge", "--note", "quickly"]);
    assert_eq!(said, "build:docs-42: answered: merge; accepted by build\n");
    let answer = build.world.document("answered/docs-42.json")["answer"].clone();
    assert_eq!((answer["value"].as_str(), answer["by"].as_str(), answer["note"].as_str()), (Some("merge"), Some("ann"), Some("quickly")));
    assert!(answer["channel"].as_str().unwrap().starts_with("ask-answer on ") && answer["through"] == "terminal", "{answer}");
    until("it waits no longer", || !here.ok("ask-answer", &["list"]).contains("docs-42"));
    let missing = here.run("ask-answer", &["build:docs-42", "drop"]);
    assert!(missing.code() == 3 && missing.stderr.contains("waits for no answer on build"), "{missing:?}");
}

#[test]
fn who_answers_there_too_late_is_told_who_was_first() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    build.world.ok("ask-answer", &["docs-42", "drop", "--by", "bob"]);
    let late = here.run("ask-answer", &["build:docs-42", "merge"]);
    assert!(late.code() == 4 && late.stderr.contains("build: the question of docs-42 was already answered by bob"), "{late:?}");
    assert!(late.stderr.contains("ask-answer show build:docs-42") || !late.stderr.contains("ask-answer show docs-42"), "{late:?}");
    // It waits no longer, and its machine tells how it ended.
    let shown = here.ok("ask-answer", &["show", "build:docs-42"]);
    assert!(
        shown.starts_with("on build\ndocs-42: Merge the sections?\n") && shown.contains("answered by bob through ask-answer"),
        "{shown}"
    );
    assert!(shown.contains("\n    drop\n"), "{shown}");
    let json: Value = serde_json::from_str(&here.ok("ask-answer", &["show", "build:docs-42", "--json"])).unwrap();
    assert!(json["state"] == "answered" && json["host"] == "build" && json["answer"] == "drop", "{json}");
    until("the list says so", || !here.ok("ask-answer", &["list"]).contains("build:docs-42"));
    let later = here.run("ask-answer", &["build:docs-42", "merge"]);
    assert!(later.code() == 3 && later.stderr.contains("docs-42 waits for no answer on build: answered by bob"), "{later:?}");
    let unknown = here.run("ask-answer", &["show", "build:docs-44"]);
    assert!(unknown.code() == 3 && unknown.stderr.contains("docs-44 waits for no answer on build\n"), "{unknown:?}");
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "drop");
}

#[test]
fn part_of_an_id_finds_another_machines_question_on_a_terminal() {
    needs!("sshd", "ssh", "tmux");
    let (here, build) = two();
    build.world.ok("ask-post", &["-w", "site-7", "Which port?"]);
    build.world.ok("ask-post", &["-w", "site-8", "Which host?"]);
    until("all are seen", || here.ok("ask-answer", &["list"]).contains("build:site-8"));
    assert_eq!(here.run("ask-answer", &["build:42", "merge"]).code(), 3);
    let terminal = Terminal::new(&here);
    terminal.press(&["clear; ask-answer build:site 80; echo left=$?", "Enter"]);
    let screen = terminal.see("left=2");
    assert!(screen.contains("`site` is a part of 2 ids: site-7, site-8"), "{screen}");
    terminal.press(&["clear; ask-answer build:42 merge; echo left=$?", "Enter"]);
    assert!(terminal.see("Do you mean build:docs-42? (y/N)").contains("build:docs-42: "));
    terminal.press(&["y", "Enter"]);
    assert!(terminal.see("left=0").contains("build:docs-42: answered: merge; accepted by build"));
}

#[test]
fn scripts_and_agents_know_only_their_own_machine() {
    needs!("sshd", "ssh");
    let (here, _build) = two();
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let ids = |args: &[&str]| -> Vec<String> {
        let listed = here.run("ask-answer", args).ok().events();
        listed.iter().map(|q| q["address"].as_str().or(q["workflow_id"].as_str()).unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["list", "--json"]), ["local-1"]);
    assert_eq!(ids(&["list", "--json", "--host", "local"]), ["local-1"]);
    assert_eq!(ids(&["list", "--json", "--host", "build"]), ["build:docs-42"]);
    let mut all = ids(&["list", "--json", "--host", "all"]);
    all.sort();
    assert_eq!(all, ["build:docs-42", "local-1"]);
    assert!(!here.sh("ASKBOX_RUN=w/q/1 ask-answer list").contains("docs-42"));
}

#[test]
fn an_unreached_machine_stays_with_its_age_and_no_pretence() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let quiet = Machine::new(&here, "quiet");
    quiet.world.ok("ask-post", &["-w", "q-1", "Quiet?"]);
    configure(&here, &[&build, &quiet]);
    until("both were seen", || {
        let listed = here.ok("ask-answer", &["list"]);
        listed.contains("build:docs-42") && listed.contains("quiet:q-1")
    });
    build.cut();
    let listed = until("build is known not to be reached", || {
        Some(here.run("ask-answer", &["list"]).ok()).filter(|listed| listed.stderr.contains("build is not reached"))
    });
    assert!(listed.stdout.contains("build:docs-42") && listed.stdout.contains("(as of "), "{listed:?}");
    assert!(listed.stderr.contains("its questions as of") && !listed.stderr.contains("quiet is not"), "{listed:?}");
    let refused = here.run("ask-answer", &["build:docs-42", "merge"]);
    assert!(refused.code() == 1 && refused.stderr.contains("nothing was sent: build: "), "{refused:?}");
    assert!(refused.stderr.contains("hint: "), "{refused:?}");
    build.set_down(false);
    assert!(!build.world.in_mailbox("answered/docs-42.json").exists(), "nothing was kept to be sent later");
    assert!(here.ok("ask-answer", &["build:docs-42", "merge"]).contains("accepted by build"));
    let files = here.sh("find .local/state/askbox -type f -printf '%m\\n' -o -type d -printf '%m\\n' | sort -u");
    assert_eq!(files, "600\n700", "what is kept of other machines is private");
}

#[test]
fn a_machine_that_says_nothing_holds_up_nothing() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let slow = Machine::new(&here, "slow");
    slow.set_silent(true);
    configure(&here, &[&build, &slow]);
    until("the one that answers is seen beside the one that does not", || here.ok("ask-answer", &["list"]).contains("build:docs-42"));
    // It is known by now that it was silent: nobody waits for it again.
    let less_than_the_limit_of_ssh = std::time::Duration::from_secs(8);
    let listed = quickly("a list without the silent machine", less_than_the_limit_of_ssh, || here.run("ask-answer", &["list"]).ok());
    assert!(listed.stdout.contains("build:docs-42") && listed.stderr.contains("slow has not answered"), "{listed:?}");
}

#[test]
fn the_doctor_tries_each_machine_and_says_its_version() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let doctor = here.run("askbox", &["doctor"]).stdout;
    let version = env!("CARGO_PKG_VERSION");
    assert!(doctor.contains(&format!("Peer build (ssh): reached, askbox {version}; 1 question.\n")), "{doctor}");
    build.cut();
    let doctor = until("the doctor knows", || Some(here.run("askbox", &["doctor"])).filter(|doctor| doctor.stdout.contains("not reached")));
    assert!(doctor.stdout.contains("Peer build (ssh): not reached; 1 question as of "), "{doctor:?}");
    assert!(
        doctor.stdout.contains("unreachable: peer build: ")
            && !doctor.stdout.contains("build: build: ")
            && doctor.stdout.contains("-o 'BatchMode=yes' build.test 'ask-answer --version'\n"),
        "{doctor:?}"
    );
    let report: Value = serde_json::from_str(&here.run("askbox", &["doctor", "--json"]).stdout).unwrap();
    let peer = &report["peers"][0];
    assert!(peer["peer"] == "build" && peer["by"] == "ssh" && peer["reached"] == false && peer["machines"][0]["questions"] == 1, "{peer}");
}

#[test]
fn the_list_follows_each_change_and_ends_with_its_reader() {
    let world = World::new();
    world.ok("ask-post", &["-w", "one", "First?", "-o", "a=A"]);
    let out = world.path("feed");
    let mut feed = crate::support::Running::start(
        world.command("ask-answer").args(["list", "--json", "--watch"]).stdout(std::fs::File::create(&out).unwrap()),
    );
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let kinds = |wanted: &[&str]| {
        until(&format!("{wanted:?}"), || {
            let found: Vec<_> =
                lines().iter().map(|line| line["line"].as_str().unwrap().to_owned()).filter(|kind| kind != "alive").collect();
            found == wanted
        })
    };
    kinds(&["hello", "question", "listed"]);
    world.ok("ask-post", &["-w", "two", "Second?"]);
    kinds(&["hello", "question", "listed", "question"]);
    world.ok("ask-answer", &["one", "a", "--by", "bob"]);
    kinds(&["hello", "question", "listed", "question", "gone"]);
    let last = lines().into_iter().rfind(|line| line["line"] == "gone").unwrap();
    assert!(last["workflow_id"] == "one" && last["fate"].as_str().unwrap().contains("answered by bob"), "{last}");
    std::fs::write(world.in_mailbox("pending/torn.json"), "{\n").unwrap();
    // Soon after, the torn file goes to quarantine, which is a line of its own.
    until("the torn file is told", || lines().iter().any(|line| line["line"] == "unreadable"));
    world.ok("ask-answer", &["undo", "one"]);
    until("the question is back", || lines().iter().filter(|line| line["line"] == "question").count() == 3);
    drop(feed.0.kill());
    // Its reader goes: it ends, though nothing changes.
    let mut pipe = world.command("ask-answer");
    let mut piped = crate::support::Running::start(pipe.args(["list", "--json", "--watch"]).stdout(std::process::Stdio::piped()));
    drop(piped.0.stdout.take());
    assert!(piped.wait().success());
    let refused = world.run("ask-answer", &["list", "--watch"]);
    assert!(refused.code() == 2 && refused.stderr.contains("--json --watch"), "{refused:?}");
}

#[test]
fn a_mailbox_that_does_not_exist_yet_is_followed_once_it_does() {
    needs!("sshd", "ssh");
    let here = World::new();
    let build = Machine::new(&here, "build");
    configure(&here, &[&build]);
    // It is named there, so it may be misspelt or not mounted.
    let missing = format!("build has no mailbox at {}: it is misspelt or not mounted", build.world.mailbox().display());
    let listed = until("build is heard", || {
        Some(here.run("ask-answer", &["list"]).ok()).filter(|listed| listed.stderr.contains(&format!("warning: {missing}")))
    });
    assert!(listed.stderr.contains("no question is pending"), "{listed:?}");
    let doctor = here.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains(&format!("no_mailbox: peer build: {missing}")), "{doctor:?}");
    assert!(doctor.stdout.contains(&format!("build.test 'ls -ld {}'\n", build.world.mailbox().display())), "{doctor:?}");
    build.world.ok("ask-post", &["-w", "new", "Now?"]);
    until("the first question is seen", || here.ok("ask-answer", &["list"]).contains("build:new"));
    let listed = here.run("ask-answer", &["list"]).ok();
    assert!(!listed.stderr.contains("build has no mailbox"), "{listed:?}");
}

#[test]
fn a_followed_list_says_that_the_mailbox_is_missing() {
    let world = World::new();
    let out = world.path("feed");
    let mut command = world.command("ask-answer");
    let file = std::fs::File::create(&out).unwrap();
    let _feed = crate::support::Running::start(command.args(["list", "--json", "--watch"]).stdout(file));
    let hellos = || -> Vec<Value> {
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|line| line["line"] == "hello").collect()
    };
    until("it greets", || hellos().len() == 1);
    assert_eq!(hellos()[0]["no_mailbox"], world.mailbox().display().to_string());
    world.ok("ask-post", &["-w", "one", "First?"]);
    until("it is there", || hellos().len() == 2);
    assert!(hellos()[1].get("no_mailbox").is_none());
}

#[test]
fn the_hints_for_a_closed_machine_hold_its_ssh_options() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    std::fs::write(here.path("ssh.build/known"), "").unwrap();
    build.servers().into_iter().for_each(|pid| crate::support::signal(pid, crate::support::Signal::KILL));
    let refused = until("its key is not known", || {
        Some(here.run("ask-answer", &["build:docs-42", "merge"])).filter(|refused| refused.stderr.contains("verification failed"))
    });
    assert!(refused.code() == 1 && refused.stderr.contains("nothing was sent: "), "{refused:?}");
    let hint = refused.stderr.lines().find_map(|line| line.strip_prefix("hint: compare its key once by hand: ")).unwrap_or_default();
    assert!(hint.starts_with("ssh -F none -i ") && hint.contains("/connect'") && hint.ends_with(" build.test"), "{refused:?}");
}

mod promises {
    use super::*;

    #[test]
    fn a_mistake_in_a_machines_section_leaves_the_local_list() {
        let here = World::new();
        here.configure("[peers.build]\nsssh = \"build.example.org\"\n");
        here.ok("ask-post", &["-w", "local-1", "Here?"]);
        let listed = here.run("ask-answer", &["list"]).ok();
        assert!(listed.stdout.contains("local-1"), "{listed:?}");
        let mistake = "peers.build.sssh: unknown key";
        assert!(listed.stderr.starts_with("warning: no other machines are listed: ") && listed.stderr.contains(mistake), "{listed:?}");
        assert_eq!(listed.stderr.lines().count(), 1, "{listed:?}");
        let named: [&[&str]; 3] = [&["list", "--host", "build"], &["list", "--host", "all", "--json"], &["build:w", "a"]];
        for words in named {
            let refused = here.run("ask-answer", words);
            assert_eq!((refused.code(), refused.stderr.matches(mistake).count()), (5, 1), "{words:?}: {refused:?}");
        }
    }

    #[test]
    fn declining_and_asking_back_work_on_another_machine() {
        needs!("sshd", "ssh");
        let (here, build) = two();
        assert_eq!(here.ok("ask-answer", &["ask-back", "build:docs-42", "Which ones?"]), "build:docs-42: asked back; accepted by build\n");
        let answer = build.world.document("answered/docs-42.json")["answer"].clone();
        assert!(answer["asks_back"] == true && answer["note"] == "Which ones?", "{answer}");
        build.world.ok("ask-answer", &["undo", "docs-42"]);
        assert_eq!(here.ok("ask-answer", &["decline", "build:docs-42", "--note", "no"]), "build:docs-42: declined; accepted by build\n");
        for command in ["undo", "cancel"] {
            let refused = here.run("ask-answer", &[command, "build:docs-42"]);
            assert!(refused.code() == 2 && refused.stderr.contains("works on the machine that has the question"), "{refused:?}");
        }
        let near = here.run("ask-answer", &["build:other", "x"]);
        assert_eq!(near.code(), 3, "{near:?}");
        let unknown = here.run("ask-answer", &["prod:docs-42", "x"]);
        assert!(unknown.code() == 3 && unknown.stderr.contains("no machine `prod` is configured"), "{unknown:?}");
    }

    #[test]
    fn an_answer_close_to_an_option_is_refused_before_it_is_sent() {
        needs!("sshd", "ssh");
        let (here, build) = two();
        let refused = here.run("ask-answer", &["build:docs-42", "mergd"]);
        assert!(refused.code() == 5 && refused.stderr.contains("did you mean `merge`?"), "{refused:?}");
        assert!(!build.world.in_mailbox("answered/docs-42.json").exists());
        let said = here.ok("ask-answer", &["build:docs-42", "--text", "mergd"]);
        assert!(said.contains("in your own words: mergd") && said.contains("accepted by build"), "{said}");
    }

    #[test]
    fn a_question_of_an_unreached_machine_is_shown_with_its_age() {
        needs!("sshd", "ssh");
        let (here, build) = two();
        let json = |here: &World| -> Value { serde_json::from_str(&here.ok("ask-answer", &["show", "build:docs-42", "--json"])).unwrap() };
        assert_eq!((&json(&here)["reachable"], here.ok("ask-answer", &["show", "build:docs-42"]).contains("as of")), (&true.into(), false));
        build.cut();
        build.world.ok("ask-answer", &["docs-42", "drop"]);
        let shown = here.ok("ask-answer", &["show", "build:docs-42"]);
        assert!(shown.starts_with("on build\nbuild is not reached: ") && shown.contains("its questions as of "), "{shown}");
        assert!(json(&here)["reachable"] == false && json(&here)["as_of"].is_string());
    }
}
