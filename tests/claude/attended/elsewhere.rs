//! A person who is not at the terminal. They answer with `ask-answer`, or on the page, whose server may be killed while it takes the answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Browser, ClaudeWorld, Dice, Page, kill, until};

/// Milliseconds that a person may need.
pub(super) fn thinks(dice: &mut Dice, most: usize) -> Duration {
    Duration::from_millis(u64::try_from(100 + dice.roll(most)).expect("small"))
}

/// What the person does about a question.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Choice {
    Allows,
    Refuses,
    Leaves,
}

/// The person, with a page that another thread may kill and start again.
pub(super) struct Elsewhere<'a> {
    world: &'a ClaudeWorld,
    browser: Browser,
    server: Mutex<Page>,
    /// True if the server is also killed while an answer is on its way to it.
    is_killed: bool,
    kills: AtomicUsize,
    /// How often a request had no reply, because the server was dead or died.
    cut: AtomicUsize,
    /// The questions that were answered on the page, and what the page said: true if it took the answer.
    told: Mutex<BTreeMap<String, (Choice, bool)>>,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn new(world: &'a ClaudeWorld, is_killed: bool) -> Self {
        let page = world.serve_page();
        let browser = page.signed_in(world, "ann's phone");
        let (kills, cut) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { world, browser, server: Mutex::new(page), is_killed, kills, cut, told: Mutex::default() }
    }

    /// Answers what comes into the mailbox, until it is over.
    pub(super) fn sits(&self, over: &AtomicBool, dice: &mut Dice) {
        let mut plans: BTreeMap<String, (Instant, Choice)> = BTreeMap::new();
        while !over.load(Ordering::Relaxed) {
            for name in self.world.names("pending") {
                let id = name.trim_end_matches(".json").to_owned();
                if plans.contains_key(&id) {
                    continue;
                }
                let Ok(text) = std::fs::read_to_string(self.world.in_mailbox(format!("pending/{name}"))) else { continue };
                let in_background = text.contains("\"in_background\"");
                let choice = match dice.roll(3) {
                    0 => Choice::Refuses,
                    1 if !in_background => Choice::Leaves,
                    _ => Choice::Allows,
                };
                plans.insert(id, (Instant::now() + thinks(dice, 900), choice));
            }
            let due: Vec<_> =
                plans.iter().filter(|(_, (at, _))| *at <= Instant::now()).map(|(id, (_, choice))| (id.clone(), *choice)).collect();
            for (id, choice) in due {
                // It is answered once. The plan stays, so that it is not made again.
                plans.insert(id.clone(), (Instant::now() + Duration::from_secs(3600), Choice::Leaves));
                match choice {
                    Choice::Leaves => {}
                    _ if dice.roll(2) == 0 => self.answers_on_the_page(&id, choice, dice),
                    _ => self.answers(&id, choice),
                }
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Answers with `ask-answer`, unless somebody was first.
    fn answers(&self, id: &str, choice: Choice) {
        let said = match choice {
            Choice::Leaves => return,
            Choice::Refuses => self.world.run("ask-answer", &["decline", id, "--note", "no"]),
            Choice::Allows => {
                let shown = self.world.run("ask-answer", &["show", id]).stdout;
                let begin = format!("ask-answer {id} once --round ");
                let Some(line) = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)) else { return };
                self.world.run("ask-answer", &line.split(' ').skip(1).collect::<Vec<_>>())
            }
        };
        assert!([0, 3, 4].contains(&said.code()), "{}", said.words());
    }

    /// Answers on the page, unless somebody was first. A browser whose connection is cut sends the form again.
    fn answers_on_the_page(&self, id: &str, choice: Choice, dice: &mut Dice) {
        let Ok(text) = std::fs::read_to_string(self.world.in_mailbox(format!("pending/{id}.json"))) else { return };
        let Ok(question) = serde_json::from_str::<Value>(&text) else { return };
        let path = format!("/q/{id}/{}", question["question_id"].as_str().expect("an id"));
        let shown = until("the page is shown", || self.counted(self.browser.try_get(&path)));
        if shown.hidden("shown").is_none() {
            return;
        }
        let fields: &[(&str, &str)] = match choice {
            Choice::Refuses => &[("act", "decline"), ("why", "no")],
            _ => &[("act", "send"), ("a0", "0")],
        };
        let request = self.browser.form_as_shown(&shown, &path, fields);
        let dies_after = (self.is_killed && dice.roll(2) == 0).then(|| Duration::from_millis(dice.roll(60) as u64));
        let reply = std::thread::scope(|scope| {
            if let Some(dies_after) = dies_after {
                scope.spawn(move || {
                    std::thread::sleep(dies_after);
                    self.kills_the_server();
                });
            }
            until("the page says what became of the answer", || self.counted(self.browser.try_send(&request)))
        });
        assert!([303, 404, 409, 422].contains(&reply.status), "{reply:?}");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(id.to_owned(), (choice, reply.status == 303));
    }

    fn counted<T>(&self, reply: Option<T>) -> Option<T> {
        self.cut.fetch_add(usize::from(reply.is_none()), Ordering::Relaxed);
        reply
    }

    /// Kills the server of the page, and starts another one at its port.
    pub(super) fn kills_the_server(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        kill(server.process.pid());
        let address = format!("127.0.0.1:{}", self.browser.port);
        *server = self.world.serve_page_as(self.world.command("askbox").args(["web", "--listen", &address]));
        self.kills.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that the page told the truth: a round has its answer exactly if the page said so. Returns a sentence with the numbers.
    pub(super) fn check(&self, rounds: &[Value]) -> String {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, (choice, is_taken)) in told.iter() {
            let round = rounds.iter().find(|round| round["workflow_id"] == id.as_str());
            let answer = round.map(|round| &round["answer"]).filter(|answer| answer["channel"] == "web");
            assert_eq!(answer.is_some(), *is_taken, "{id}: {round:?}");
            assert!(answer.is_none_or(|answer| (answer["outcome"] == "declined") == (*choice == Choice::Refuses)), "{id}: {round:?}");
        }
        let of_page = rounds.iter().filter(|round| round["answer"]["channel"] == "web").count();
        let taken = told.values().filter(|(_, is_taken)| *is_taken).count();
        assert_eq!(of_page, taken, "no answer that nobody gave");
        let (kills, cut) = (self.kills.load(Ordering::Relaxed), self.cut.load(Ordering::Relaxed));
        format!(
            "{} answers were sent on the page, which took {taken}; its server was killed {kills} times, and {cut} requests were cut",
            told.len()
        )
    }
}
