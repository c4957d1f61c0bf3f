//! The notifier is killed at each step between a question and its answer by a button, for fifty questions. No question is forgotten, none
//! comes under two cards, and none gets another one's answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Server;
use crate::support::needs;
use crate::support::{Signal, Watcher, World, files, output, signal, until};

const QUESTIONS: usize = 50;

/// A `curl` that kills the channel that started it, and that one's watcher: before it tells the server, or after it, whichever file is there. The names of the files
/// end with the process id of the watcher, so that a `curl` of an earlier watcher kills nobody. The stream of replies is left alone.
const CURL: &str = r#"#!/bin/sh
input=$(cat; echo x)
input=${input%x}
read -r _ _ _ watcher _ <"/proc/$PPID/stat"
kills() {
  rm "$AGENT_DIR/$1.$watcher" 2>/dev/null && kill -9 "$watcher" "$PPID"
}
case $input in
  *data-raw*)
    if kills kill-before; then exit 1; fi
    printf %s "$input" | "$REAL_CURL" "$@"
    status=$?
    kills kill-behind
    exit $status;;
esac
printf %s "$input" >"$AGENT_DIR/follow.$$"
exec "$REAL_CURL" "$@" <"$AGENT_DIR/follow.$$"
"#;

struct Phone {
    place: World,
    world: World,
    _server: Server,
}

impl Phone {
    fn new() -> Self {
        let place = World::new();
        let server = Server::start(&place, "ntfy.py", &[]);
        let mut world = World::stepping("work");
        let url = format!("http://127.0.0.1:{}", server.port);
        let target = format!("ntfy = \"{url}/cards\"\nntfy_replies = \"{url}/replies\"\nperson = \"ann\"");
        world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.phone]\n{target}\n"));
        world.make_mailbox();
        let real = world.sh("command -v curl").trim().to_owned();
        std::fs::create_dir_all(world.path("bin")).expect("a folder");
        files::write_program(&world.path("bin/curl"), CURL);
        let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").expect("a path"));
        let agents = world.agent("").display().to_string();
        world.set_env(&[("REAL_CURL", &real), ("AGENT_DIR", &agents)]);
        world.set_path(path);
        Self { place, world, _server: server }
    }

    fn ask(&self, n: usize) {
        let options = [format!("yes-{n}=Yes, {n}"), format!("no-{n}=No, {n}")];
        self.world.ok("ask-post", &["-w", &format!("w{n}"), &format!("Shall {n} be done?"), "-o", &options[0], "-o", &options[1]]);
    }

    /// The first card of a question, once it is on the phone.
    fn card(&self, n: usize) -> Value {
        let title = format!("w{n} asks");
        until(&title, || Server::lines(&self.place, "published").into_iter().find(|card| card["title"] == title.as_str()))
    }

    /// Presses the first button of an even question, the second one of an odd question.
    fn press(&self, n: usize) {
        let card = self.card(n);
        let button = &card["actions"][n % 2];
        let (url, body) = (button["url"].as_str().expect("a URL"), button["body"].as_str().expect("a body"));
        assert_eq!(output(self.world.any_command("curl").args(["-sS", "--fail", "--data-raw", body, url])).code(), 0);
    }

    /// Whether the record of a question says that its card was sent.
    fn is_noted(&self, n: usize) -> bool {
        let of_it = format!("w{n}.");
        let records = super::records(&self.world, "phone").into_iter().filter(|name| name.starts_with(&of_it));
        let text = |name: String| std::fs::read_to_string(self.world.in_mailbox(format!("news/phone/{name}"))).unwrap_or_default();
        records.map(text).any(|record| record.contains("\"sent\""))
    }

    /// Has the watcher killed by the next `curl` that tells something: `before` or `behind` that.
    fn kill_by_curl(&self, watcher: &Watcher, when: &str) {
        std::fs::write(self.world.agent(&format!("kill-{when}.{}", watcher.process.pid())), "").expect("a file");
    }

    /// Waits until the phone knows how these questions ended.
    fn all_have_ended(&self, questions: std::ops::Range<usize>) {
        until("the cards say how their questions ended", || {
            let told = Server::lines(&self.place, "published");
            let has_ended =
                |n: usize| told.iter().any(|card| card["title"].as_str().is_some_and(|t| t.starts_with(&format!("w{n}: delivered"))));
            questions.clone().all(has_ended)
        });
    }

    fn wait_for_its_death(&self, watcher: &mut Watcher) {
        until("the notifier is killed", || watcher.process.has_ended());
    }
}

#[test]
fn a_notifier_killed_at_each_step_forgets_and_doubles_nothing() {
    needs!("python3", "curl");
    let phone = Phone::new();
    let mut watcher = phone.world.watch();
    // The questions are asked five at a time, and answered in another order: while one is on its way, others are at other steps.
    for first in (0..QUESTIONS).step_by(5) {
        for n in first..first + 5 {
            match n % 5 {
                // The card is about to be sent, and was not.
                0 => phone.kill_by_curl(&watcher, "before"),
                // The card was sent, and that is not written down.
                1 => phone.kill_by_curl(&watcher, "behind"),
                _ => {}
            }
            phone.ask(n);
            match n % 5 {
                0 | 1 => phone.wait_for_its_death(&mut watcher),
                // The question was just posted: its card is perhaps wanted, perhaps being sent.
                2 => signal(watcher.process.pid(), Signal::KILL),
                // It is written down that the card was sent.
                3 => {
                    until("it is noted", || phone.is_noted(n));
                    signal(watcher.process.pid(), Signal::KILL);
                }
                _ => continue,
            }
            phone.wait_for_its_death(&mut watcher);
            watcher = phone.world.watch();
        }
        for n in [first + 3, first, first + 4, first + 2, first + 1] {
            match n % 5 {
                // The button is pressed while nobody listens.
                0 => {
                    phone.card(n);
                    signal(watcher.process.pid(), Signal::KILL);
                    phone.wait_for_its_death(&mut watcher);
                    phone.press(n);
                    watcher = phone.world.watch();
                }
                // The answer counts; how far the replies were heard is perhaps not written down, nor is anybody told.
                2 => {
                    phone.press(n);
                    phone.world.vanishes(&format!("pending/w{n}.json"));
                    signal(watcher.process.pid(), Signal::KILL);
                    phone.wait_for_its_death(&mut watcher);
                    watcher = phone.world.watch();
                }
                // The news of the answer were sent, and that is not written down.
                3 => {
                    phone.kill_by_curl(&watcher, "behind");
                    phone.press(n);
                    phone.wait_for_its_death(&mut watcher);
                    watcher = phone.world.watch();
                }
                _ => phone.press(n),
            }
        }
        // More than twenty events that wait are told as one, without a card for each question. On a slow machine that many would gather.
        phone.all_have_ended(first..first + 5);
    }
    let mut cards = BTreeMap::<String, BTreeSet<String>>::new();
    for n in 0..QUESTIONS {
        let id = format!("w{n}");
        let answer = phone.world.closed(&id, "delivered", 1).remove(0)["answer"].clone();
        let pressed = if n % 2 == 0 { format!("yes-{n}") } else { format!("no-{n}") };
        assert_eq!((answer["value"].as_str(), answer["by"].as_str()), (Some(pressed.as_str()), Some("ann")), "{id}: {answer:#}");
        assert_eq!(phone.world.rounds("closed", &id).len(), 1, "{id} was asked once and answered once");
    }
    for card in Server::lines(&phone.place, "published") {
        let title = card["title"].as_str().unwrap_or_default();
        // A watcher that is killed between an answer and the note of how far it had heard leaves the reply to the next watcher, which says
        // so.
        if title.ends_with("your button changed nothing") {
            continue;
        }
        let workflow = title.split([' ', ':']).next().unwrap_or_default().to_owned();
        cards.entry(workflow).or_default().insert(card["sequence_id"].to_string());
    }
    assert_eq!(cards.len(), QUESTIONS, "{:?}", cards.keys());
    assert!(cards.values().all(|ids| ids.len() == 1), "a question has two cards: {cards:#?}");
    assert_eq!(phone.world.logged("shown "), QUESTIONS, "each agent was told once");
}
