//! The server is killed at each step of an answer, and the browser sends the form again.

use crate::support::{Browser, World, needs, strace, until};

/// The system calls that write an answer.
const CALLS: [&str; 5] = ["fsync", "fdatasync", "linkat", "renameat2", "unlinkat"];

mod promises {
    use super::*;

    #[test]
    fn an_answer_counts_once_wherever_the_server_is_killed() {
        needs!("strace");
        for call in CALLS {
            let mut died = 0;
            for n in 1.. {
                assert!(n < 60, "{call}: the server dies for ever");
                let world = World::new();
                world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=One", "-o", "keep=Both"]);
                let path = format!("/q/docs/{}", world.round("docs"));
                let quiet = world.serve_page();
                let mut browser = quiet.signed_in(&world, "ann's phone");
                let shown = browser.see(&path);
                drop(quiet);
                let kill =
                    ["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &format!("inject={call}:signal=KILL:when={n}")];
                let mut page = world.serve_page_as(world.wrapped(&strace(&kill), "askbox").args(["web", "--listen", "127.0.0.1:0"]));
                browser.move_to(page.port);
                let fields = [("form", shown.hidden("form").unwrap()), ("shown", shown.hidden("shown").unwrap())];
                let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let fields = [&fields[..], &[("a0", "0"), ("note", "so"), ("act", "send")]].concat();
                let request = |browser: &Browser| browser.form(&path, &format!("Origin: {}\r\n", browser.origin()), &fields);
                let replied = browser.try_send(&request(&browser));
                let is_last = replied.as_ref().is_some_and(|reply| reply.status == 303);
                if !is_last {
                    assert!(replied.is_none(), "{call} {n}: {replied:?}");
                    until("the server is dead", || page.process.has_ended());
                    died += 1;
                }
                drop(page);
                // The browser sends the same form again.
                let again = world.serve_page();
                browser.move_to(again.port);
                let reply = browser.send(&request(&browser));
                assert_eq!(reply.status, 303, "{call} {n}: {}", reply.text());
                let receipt = browser.see(&path);
                assert!(receipt.text().contains("answered by ann's phone through web"), "{call} {n}: {}", receipt.text());
                let answer = &world.document("answered/docs.json")["answer"];
                assert_eq!((&answer["value"], &answer["note"]), (&"merge".into(), &"so".into()), "{call} {n}");
                assert!(world.names("pending").is_empty() && world.names("closed").is_empty(), "{call} {n}");
                if is_last {
                    break;
                }
            }
            println!("{call}: killed at {died} calls");
        }
    }
}
