//! A question that is answered here and there at the same time has one answer, and everybody is told whose.

use super::two;
use crate::support::{needs, output, until};

#[test]
fn an_answer_there_and_one_from_here_have_one_winner() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let (mut from_here, mut from_there) = (0, 0);
    for n in 0..12 {
        let w = format!("race-{n}");
        build.world.ok("ask-post", &["-w", &w, "Merge?", "-o", "merge=Yes", "-o", "drop=No"]);
        let (address, file) = (format!("build:{w}"), build.world.in_mailbox(format!("answered/{w}.json")));
        let mut remote = here.command("ask-answer");
        remote.args([&address, "merge", "--by", "ann"]);
        let (remote, local) = std::thread::scope(|scope| {
            let remote = scope.spawn(move || output(&mut remote));
            // The other person answers at another moment of the way each time.
            std::thread::sleep(std::time::Duration::from_millis(n * 40));
            let local = build.world.run("ask-answer", &[&w, "drop", "--by", "bob"]);
            (remote.join().unwrap(), local)
        });
        let answer: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        if answer["answer"]["by"] == "ann" {
            from_here += 1;
            assert!(remote.code() == 0 && remote.stdout.contains("accepted by build"), "{remote:?}");
            assert!(local.code() == 4 && local.stderr.contains("answered by ann"), "{local:?}");
        } else {
            from_there += 1;
            assert!(local.code() == 0, "{local:?}");
            // The question may have been gone before it was seen.
            let told = remote.code() == 4 && remote.stderr.contains("answered by bob");
            assert!(told || (remote.code() == 3 && remote.stderr.contains("waits for no answer")), "{remote:?}");
        }
        build.world.audit_is(&w, &["posted", "answered"]);
    }
    assert!(from_here + from_there == 12 && from_there > 0, "here {from_here}, there {from_there}");
}

#[test]
fn a_connection_cut_at_any_moment_loses_and_doubles_nothing() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let (mut accepted, mut refused) = (0, 0);
    for n in 0..16_u64 {
        let w = format!("cut-{n}");
        build.world.ok("ask-post", &["-w", &w, "Merge?", "-o", "merge=Yes", "-o", "drop=No"]);
        let mut command = here.command("ask-answer");
        command.args([&format!("build:{w}"), "merge"]);
        let outcome = std::thread::scope(|scope| {
            let running = scope.spawn(move || output(&mut command));
            std::thread::sleep(std::time::Duration::from_millis(n * 25));
            build.cut();
            std::thread::sleep(std::time::Duration::from_millis(700));
            build.set_down(false);
            running.join().unwrap()
        });
        let counts = build.world.in_mailbox(format!("answered/{w}.json")).exists();
        match outcome.code() {
            0 => {
                accepted += 1;
                assert!(counts && outcome.stdout.contains("accepted by build"), "cut {n}: {outcome:?}");
            }
            1 | 6 => {
                refused += 1;
                let is_open = outcome.stderr.contains("may have it or not");
                assert!(
                    is_open || (outcome.stderr.contains("nothing was sent") || outcome.stderr.contains("build: ")) && !counts,
                    "cut {n}: {outcome:?}"
                );
            }
            _ => panic!("cut {n}: {outcome:?}"),
        }
        let answered = build.world.audit(&w).iter().filter(|event| *event == "answered").count();
        assert_eq!(answered, usize::from(counts), "cut {n}");
        if !counts {
            until("the machine is reached again", || here.run("ask-answer", &[&format!("build:{w}"), "drop"]).code() == 0);
        }
    }
    assert_eq!(accepted + refused, 16);
}
