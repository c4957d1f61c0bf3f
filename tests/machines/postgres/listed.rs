//! The machines in a database, as `ask-answer` and the doctor show them to a person.

use super::cluster::{Cluster, Database};
use super::host::{Host, asked};
use crate::support::{Outcome, World, needs, output, until};

/// Ann's machine: it has a mailbox of its own, and is not a host.
fn seen_from(database: &Database) -> World {
    let here = World::new();
    here.configure(&format!("[peers.team]\npostgres = \"{}\"\n", database.address("ann")));
    here
}

/// The first list from here that shows the question `docs`. A list waits only a few seconds for a database.
#[track_caller]
fn first_list(here: &World) -> Outcome {
    until("the list shows the question", || {
        let listed = output(here.command("ask-answer").arg("list").env_remove("ASKBOX_DIR")).ok();
        Some(listed).filter(|listed| listed.stdout.contains("laptop:docs"))
    })
}

/// Answers `b`, and the laptop accepts it. If the laptop is slow, the program only says that the answer was sent.
#[track_caller]
fn answered_by_laptop(here: &World, laptop: &Host, workflow: &str, more: &[&str]) {
    let address = format!("laptop:{workflow}");
    let told = here.run("ask-answer", &[&[address.as_str(), "b"][..], more].concat());
    if told.code() == 6 {
        until("the answer is accepted", || laptop.world.in_mailbox(format!("answered/{workflow}.json")).exists());
    } else {
        assert_eq!(told.ok().stdout, format!("{address}: answered: b; accepted by laptop\n"));
    }
}

#[test]
fn the_questions_of_a_database_are_listed_like_those_by_ssh() {
    needs!("postgres");
    let (database, laptop, _) = asked();
    let build = Host::new(&database, "build");
    build.ask("site");
    let _processes = [laptop.serve(), build.serve()];
    build.says("is the host");
    // The first look waits for the database, though no machine of it is known yet. It waits only a few seconds.
    let (here, listed) = until("a first look that reaches the database in time", || {
        let here = seen_from(&database);
        here.ok("ask-post", &["-w", "local-1", "Here?", "--priority", "1"]);
        let listed = here.run("ask-answer", &["list"]).ok();
        listed.stdout.contains("laptop:docs").then_some((here, listed))
    });
    let ids: Vec<_> = listed.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((ids.first(), ids.contains(&"laptop:docs")), (Some(&"local-1"), true), "{listed:?}");
    let rows = |host: &str| -> Vec<String> {
        let listed = here.run("ask-answer", &["list", "--json", "--host", host]).ok().events();
        listed.iter().map(|row| row["address"].as_str().unwrap_or("here").to_owned()).collect()
    };
    until("both are seen", || rows("team").len() == 2);
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(sorted(rows("team")), ["build:site", "laptop:docs"]);
    assert_eq!(
        (rows("laptop"), sorted(rows("all"))),
        (vec!["laptop:docs".to_owned()], sorted(vec!["build:site".into(), "here".into(), "laptop:docs".into()]))
    );
    assert!(here.ok("ask-answer", &["show", "laptop:docs"]).contains("on laptop"));
    answered_by_laptop(&here, &laptop, "docs", &[]);
    let answer = laptop.world.document("answered/docs.json")["answer"].clone();
    assert_eq!((answer["value"].as_str(), answer["by"].as_str()), (Some("b"), Some("ann")), "{answer}");
    for (words, status, problem) in [
        (["team:docs", "b"], 2, "team is a database, no machine"),
        (["tower:docs", "b"], 3, "no machine `tower` is configured"),
        (["build:other", "b"], 3, "waits for no answer on build"),
    ] {
        let refused = here.run("ask-answer", &words);
        assert!(refused.code() == status && refused.stderr.contains(problem), "{words:?}: {refused:?}");
    }
    // A machine that the owner of the database removes is forgotten.
    assert!(here.home().join(".local/state/askbox/peers/build.json").exists());
    database
        .connect("owner")
        .batch_execute("DELETE FROM askbox.question WHERE host = 'build'; DELETE FROM askbox.host WHERE host = 'build'")
        .unwrap();
    until("build is forgotten", || {
        here.ok("ask-answer", &["list"]);
        !here.home().join(".local/state/askbox/peers/build.json").exists()
    });
}

#[test]
fn of_very_many_questions_the_urgent_are_listed_each_shown() {
    needs!("postgres");
    let (database, _host, _) = asked();
    let many = "INSERT INTO askbox.question (host, question_id, workflow_id, turn, rank, state, question_hash, doc, change)
        SELECT 'laptop', q.id, 'w' || n, 1, 0, 'pending', gen_random_uuid(), json_build_object('workflow_id', 'w' || n, 'question_id', q.id,
            'question', 'Number ' || n || '?', 'priority', CASE WHEN n = 1 THEN 99 ELSE 0 END)::text, n
        FROM generate_series(1, 10100) n, LATERAL (SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id) q";
    database.connect("owner").batch_execute(many).expect("many rows");
    let here = seen_from(&database);
    let list = first_list(&here).stdout;
    assert!(list.contains("Number 1?") && list.contains("Number 10100?") && !list.contains("Number 2?"), "{}", list.len());
    assert!(here.ok("ask-answer", &["show", "laptop:w2"]).contains("Number 2?"));
    let unknown = here.run("ask-answer", &["show", "laptop:w0"]);
    assert!(unknown.code() == 3 && unknown.stderr.contains("w0 waits for no answer on laptop"), "{}", unknown.words());
}

#[test]
fn the_doctor_says_that_the_role_of_a_host_can_only_look() {
    needs!("postgres");
    let (database, _laptop, _) = asked();
    let here = seen_from(&database);
    assert!(!here.run("askbox", &["doctor"]).stdout.contains("only_looks"), "ann is a person");
    here.configure(&format!("[peers.team]\npostgres = \"{}\"\n", database.address("build")));
    let doctor = here.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("Peer team (postgres): reached, "), "{doctor:?}");
    assert!(doctor.stdout.contains("only_looks: peer team: the role build may not send answers there, only look"), "{doctor:?}");
}

#[test]
fn an_answer_for_a_sleeping_machine_is_said_to_be_sent() {
    needs!("postgres");
    let (database, laptop, _) = asked();
    let asleep = "UPDATE askbox.host SET seen_at = now() - interval '2 hours'";
    database.connect("owner").batch_execute(asleep).expect("the owner may");
    let here = seen_from(&database);
    let listed = first_list(&here);
    assert!(listed.stdout.contains("(as of 2h ago)"), "{listed:?}");
    assert!(listed.stderr.contains("laptop is not reached: heard last 2h ago"), "{listed:?}");
    let doctor = here.run("askbox", &["doctor"]);
    assert!(
        doctor.stdout.contains("Peer team (postgres): reached, schema 1.001_questions_and_offers; laptop: 1 question as of 2h ago."),
        "{doctor:?}"
    );
    assert!(!doctor.stdout.contains("unreachable: "), "a machine may sleep: {doctor:?}");
    let begun = std::time::Instant::now();
    let sent = here.run("ask-answer", &["laptop:docs", "b"]);
    assert!(sent.code() == 6 && sent.stderr.contains("the answer was sent; laptop has not decided yet; last seen 2h ago"), "{sent:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nobody waits for a machine that sleeps: {:?}", begun.elapsed());
    assert!(laptop.world.in_mailbox("pending/docs.json").exists());
    laptop.sync();
    assert_eq!(laptop.world.document("answered/docs.json")["answer"]["by"], "ann");
    // What is hinted at tells how it ended.
    assert!(sent.stderr.contains("ask-answer show laptop:docs"), "{sent:?}");
    let shown = here.ok("ask-answer", &["show", "laptop:docs"]);
    assert!(shown.contains("answered by ann through ask-answer on ") && shown.contains("\n    b\n"), "{shown}");
}

#[test]
fn an_answer_for_a_lost_host_is_not_waited_for_long() {
    needs!("postgres");
    // The host was there a moment ago, so it is not known to be away, and its process is gone.
    let (database, laptop, _) = asked();
    let here = seen_from(&database);
    let begun = std::time::Instant::now();
    let sent = here.run("ask-answer", &["laptop:docs", "b", "--json"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(40), "{:?}", begun.elapsed());
    let told = sent.json();
    assert!(sent.code() == 6 && told["state"] == "sent" && told["exit_code"] == 6, "{sent:?}");
    assert!(sent.stderr.starts_with("laptop:docs: the answer was sent; laptop has not decided yet; last heard "), "{sent:?}");
    assert!(sent.stderr.contains("\nhint: see later how it ended: ask-answer show laptop:docs"), "{sent:?}");
    // Once the host is back, the answer counts.
    laptop.sync();
    assert_eq!(laptop.world.document("answered/docs.json")["answer"]["value"], "b");
}

#[test]
fn a_machine_without_a_mailbox_lists_others_without_complaint() {
    needs!("postgres");
    let (database, _laptop, _) = asked();
    let here = seen_from(&database);
    let listed = first_list(&here);
    assert!(!listed.stderr.contains("there is no mailbox"), "{listed:?}");
    // A mailbox that was named may be misspelt.
    let listed = here.run("ask-answer", &["list"]).ok();
    assert!(listed.stderr.contains("there is no mailbox at"), "{listed:?}");
}

#[test]
fn a_database_that_is_not_reached_is_named_and_holds_up_nothing() {
    needs!("postgres");
    let database = Database::in_cluster(std::sync::Arc::new(Cluster::new()));
    let laptop = Host::new(&database, "laptop");
    laptop.ask("docs");
    laptop.sync();
    let here = seen_from(&database);
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let known = here.home().join(".local/state/askbox/peers/laptop.json");
    until("the question is seen and kept", || {
        let is_seen = here.ok("ask-answer", &["list"]).contains("laptop:docs");
        is_seen && std::fs::read_to_string(&known).is_ok_and(|text| text.contains("\"docs\""))
    });
    database.cluster.crash();
    let listed = here.run("ask-answer", &["list"]).ok();
    assert!(listed.stdout.contains("local-1") && listed.stdout.contains("laptop:docs") && listed.stdout.contains("(as of "), "{listed:?}");
    assert!(listed.stderr.contains("team is not reached: the database ann@"), "{listed:?}");
    assert!(listed.stderr.matches("the database ann@").count() == 1, "one reason is told once: {listed:?}");
    let refused = here.run("ask-answer", &["laptop:docs", "b"]);
    assert!(refused.code() == 1 && refused.stderr.contains("nothing was sent: the database"), "{refused:?}");
    let doctor = here.run("askbox", &["doctor"]);
    assert!(doctor.code() == 1 && doctor.stdout.contains("Peer team (postgres): not reached; laptop: 1 question as of "), "{doctor:?}");
    assert!(doctor.stdout.contains("unreachable: peer team: the database ann@"), "{doctor:?}");
    // A person who has never seen the database is told so, and does not get an empty list.
    let elsewhere = seen_from(&database);
    let listed = elsewhere.run("ask-answer", &["list", "--host", "team"]).ok();
    assert!(listed.stderr.contains("team is not reached"), "{listed:?}");
    let refused = elsewhere.run("ask-answer", &["laptop:docs", "b"]);
    assert!(
        refused.code() == 1 && refused.stderr.contains("nothing was sent: ") && refused.stderr.contains("cannot be reached"),
        "{refused:?}"
    );
}

#[test]
fn an_answer_signed_elsewhere_counts_on_a_databases_host() {
    needs!("postgres");
    let (database, laptop, _) = asked();
    let here = seen_from(&database);
    let keys = here.only_signed_answers();
    let (trusted, own) = keys.split_at(keys.find("sign_key").unwrap());
    let config = std::fs::read_to_string(laptop.world.config()).unwrap();
    std::fs::write(laptop.world.config(), format!("{config}\n{trusted}")).unwrap();
    // What does not leave the machine is signed all the same.
    laptop.world.ok("checkpoint", &["save", "site", "--step", "one"]);
    laptop.world.sh("ask-post -w site 'Publish?' -o a=A -o b=B --asked-by reviewer --context 'The **site**.' --priority 2");
    let _process = laptop.serve();
    laptop.says("is the host");
    until("it is seen", || here.run("ask-answer", &["show", "laptop:site"]).code() == 0);
    let refused = here.run("ask-answer", &["laptop:site", "b"]);
    assert!(refused.code() == 5 && refused.stderr.contains("laptop: this answer does not count there: it is not signed"), "{refused:?}");
    let config = std::fs::read_to_string(here.config()).unwrap();
    std::fs::write(here.config(), format!("{config}\n[answers]\n{own}")).unwrap();
    // The name that is signed stays, whatever the role is called.
    answered_by_laptop(&here, &laptop, "site", &["--by", "ann the reviewer"]);
    let answered = laptop.world.document("answered/site.json");
    assert!(answered["checkpoint"].is_string() && answered["cwd"].is_string(), "{answered}");
    laptop.world.sh("relaunch prompt site");
    let closed = laptop.world.closed("site", "delivered", 1)[0]["answer"].clone();
    assert_eq!((closed["by"].as_str(), &closed["signature"]), (Some("ann the reviewer"), &answered["answer"]["signature"]), "{closed}");
    assert!(closed["signature"].is_string(), "{closed}");
}

mod promises {
    use super::*;

    #[test]
    fn the_running_process_reads_for_each_offer_what_counts() {
        needs!("postgres");
        let (database, laptop, _) = asked();
        let _process = laptop.serve();
        laptop.says("is the host");
        let here = seen_from(&database);
        let before = std::fs::read_to_string(laptop.world.config()).expect("a configuration");
        let accept = |ways: &str| std::fs::write(laptop.world.config(), format!("{before}\n[answers]\naccept = {ways}\n")).expect("a file");
        accept("['web', 'message']");
        let refused = here.run("ask-answer", &["laptop:docs", "b"]);
        let words = &refused.stderr;
        assert!(refused.code() == 5 && words.contains("which answers.accept does not name"), "{words}");
        assert!(words.contains("there an answer counts only through `web`, `message`") && !words.contains("sign it"), "{words}");
        assert!(words.lines().all(|line| line.trim_end() != "hint:"), "{words}");
        assert!(laptop.world.in_mailbox("pending/docs.json").exists());
        // An unreadable configuration decides nothing, and the offer waits.
        accept("3");
        let waits = here.run("ask-answer", &["laptop:docs", "b"]);
        assert_eq!((waits.code(), laptop.world.in_mailbox("pending/docs.json").exists()), (6, true), "{}", waits.words());
        accept("['terminal', 'agent']");
        until("the answer is accepted", || laptop.world.in_mailbox("answered/docs.json").exists());
    }
}
