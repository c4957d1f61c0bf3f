//! Three mailboxes in three network namespaces: two machines are reached by ssh over links that are cut and healed.

use std::time::Duration;

use crate::support::network::address;
use crate::support::{Dice, Machine, Network, World, needs, quickly, until};

/// A hub for a person, and two machines.
struct Three {
    network: Network,
    here: World,
    build: Machine,
    tower: Machine,
    servers: [crate::support::Running; 2],
}

fn three() -> Three {
    let network = Network::new(2);
    let mut here = World::new();
    here.set_before(network.at_hub());
    let (build, tower) = (Machine::new(&here, "build"), Machine::new(&here, "tower"));
    let servers = [build.listen(&network.on(0), &address(0)), tower.listen(&network.on(1), &address(1))];
    here.configure(&format!("{}{}", build.section_at(&address(0)), tower.section_at(&address(1))));
    Three { network, here, build, tower, servers }
}

fn ask(machine: &Machine, workflow: &str) {
    machine.world.ok("ask-post", &["-w", workflow, "Merge?", "-o", "merge=Yes", "-o", "drop=No"]);
}

#[test]
fn a_machine_whose_link_is_cut_stays_seen_and_heals() {
    needs!("sshd", "ssh", "root", "network-namespace");
    let Three { network, here, build, tower, servers: _running } = three();
    ask(&build, "docs");
    ask(&build, "mine");
    ask(&tower, "site");
    here.ok("ask-post", &["-w", "local-1", "Here?"]);
    let shows = |listed: &str, ids: &[&str]| ids.iter().all(|id| listed.contains(id));
    until("all are seen", || shows(&here.ok("ask-answer", &["list"]), &["build:docs", "build:mine", "tower:site", "local-1"]));
    network.cut(0, true);
    let listed = quickly("a list that waits for no machine", Duration::from_secs(20), || here.run("ask-answer", &["list"]).ok());
    let row = |id: &str| listed.stdout.lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned();
    assert!(row("build:docs").contains("(as of ") && !row("tower:site").is_empty() && !row("tower:site").contains("(as of "), "{listed:?}");
    assert!(listed.stdout.contains("local-1") && listed.stderr.contains("build "), "{listed:?}");
    // The program sends nothing, keeps nothing to be sent later, and the machine goes on by itself.
    let refused = here.run("ask-answer", &["build:docs", "merge"]);
    assert!(refused.code() == 1 && refused.stderr.contains("hint: "), "{refused:?}");
    build.world.ok("ask-answer", &["mine", "drop", "--by", "bob"]);
    // The sender may not hear of it in time, on a busy machine. The answer counts all the same.
    until("the other machine accepts", || {
        let answered = here.run("ask-answer", &["tower:site", "merge"]);
        assert!([0, 1, 3, 4, 6].contains(&answered.code()), "{answered:?}");
        let is_told = answered.code() == 0 && answered.stdout.contains("accepted by tower");
        is_told || tower.world.in_mailbox("answered/site.json").exists()
    });
    network.cut(0, false);
    until("the answer is accepted", || {
        let answered = here.run("ask-answer", &["build:docs", "merge"]);
        assert!(answered.code() <= 1, "{answered:?}");
        answered.code() == 0 && answered.stdout.contains("accepted by build")
    });
    assert_eq!(build.world.audit("docs"), ["posted", "answered"]);
    until("both are seen as they are now", || {
        let listed = here.ok("ask-answer", &["list"]);
        !shows(&listed, &["build:mine"]) && !listed.contains("(as of ")
    });
}

#[test]
fn an_answer_with_a_cut_link_never_counts_before_it_does() {
    needs!("sshd", "ssh", "root", "network-namespace");
    let Three { network, here, build, servers: _running, .. } = three();
    let mut dice = Dice::new(7);
    let mut words = [0; 3];
    for n in 0..5 {
        let workflow = format!("docs-{n}");
        ask(&build, &workflow);
        let id = format!("build:{workflow}");
        until("the question is seen", || here.ok("ask-answer", &["list", "--host", "build"]).contains(&id));
        let pause = Duration::from_millis(u64::try_from(dice.roll(500)).unwrap_or(0));
        let told = std::thread::scope(|scope| {
            let sender = scope.spawn(|| here.run("ask-answer", &[&id, "merge"]));
            std::thread::sleep(pause);
            network.cut(0, true);
            let answered = build.world.in_mailbox(format!("answered/{workflow}.json"));
            // Some links come back while the program still asks.
            if n % 2 == 0 {
                std::thread::sleep(Duration::from_secs(5));
                network.cut(0, false);
            }
            let told = sender.join().expect("the sender");
            let is_there = answered.exists();
            match (told.code(), told.stderr.as_str()) {
                (0, _) => assert!(is_there, "{told:?}"),
                (1, said) if said.contains("nothing was sent") => assert!(!is_there, "{told:?}"),
                (6, said) if said.contains("may have it or not") => {}
                // Its first word was never heard.
                (1, _) => assert!(!is_there, "{told:?}"),
                _ => panic!("{told:?}"),
            }
            told
        });
        words[usize::from(told.code() != 0) + usize::from(told.stderr.contains("may have it or not"))] += 1;
        network.cut(0, false);
        until("it counts", || {
            let again = here.run("ask-answer", &[&id, "merge"]);
            [0, 3, 4].contains(&again.code())
        });
        assert_eq!(build.world.document(&format!("answered/{workflow}.json"))["answer"]["value"], "merge");
        build.world.audit_is(&workflow, &["posted", "answered"]);
    }
    eprintln!("told: accepted {}, not sent {}, may have it or not {}", words[0], words[1], words[2]);
}
