//! A steady load of every kind of round, for minutes: nothing is lost, nothing is doubled, and a round costs at the end what it cost at the
//! beginning. `tests/run soak MINUTES`.
//!
//! Beside the load run a watcher that tells a webhook, the page with a browser, the inbox in a terminal, followers of the status and of
//! events, and a host that brings all into a database.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the test, and what runs beside the load |
//! | `load.rs` | the kinds of rounds: who asks, who answers, and how each must end |
//! | `account.rs` | what must hold at the end, by the files and by the agents' own log |
//! | `spent.rs` | what the watcher spent on its rounds, by tenths of the time |

mod account;
mod load;
mod spent;

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use load::{AGENT, Load};
use spent::Spent;

use crate::machines::postgres::cluster::Database;
use crate::support::{Page, Running, Server, Terminal, World, needs, number, until};

/// How long the load lasts. The suite leaves it out.
const VARIABLE: &str = "ASKBOX_SOAK";
/// How many rounds are under way at once.
const AT_ONCE: usize = 4;
/// How often a person at the page looks.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// In less time the figures of a tenth are those of a few rounds, and say little.
const LONG: Duration = Duration::from_secs(600);

#[test]
#[ignore = "it lasts minutes: tests/run soak"]
fn a_long_day_of_every_kind_of_round_leaves_no_trace() {
    needs!("python3", "curl", "tmux", "postgres");
    let lasts = Duration::from_secs(60 * u64::try_from(number(VARIABLE, 2)).expect("minutes"));
    let mut world = World::stepping(AGENT);
    let (database, mut place) = (Database::new(), World::new());
    let longest = lasts + Duration::from_secs(900);
    [&mut world, &mut place].into_iter().for_each(|world| world.set_longest_life(longest));
    let receiver = Server::start(&place, "receiver.py", &["a secret"]);
    configure(&world, &database, receiver.port);
    world.make_mailbox();
    let load = Load::new(&world);
    let watcher = world.watch();
    let beside = Beside::start(&world);
    let inbox = Terminal::running(&world, (100, 40), &[], &["askbox", "inbox"]);
    let (is_over, begun) = (AtomicBool::new(false), Instant::now());
    let mut spent = Spent::new(watcher.process.pid(), lasts);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| load.go_on_until(&is_over));
        }
        scope.spawn(|| beside.look_until(&world, &is_over));
        while begun.elapsed() < lasts && !load.has_failed() {
            // The end of the pause is no event that is waited for: it is when the figures are read.
            std::thread::sleep(spent.until_next(begun));
            spent.read(begun.elapsed(), load.ended());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    until("the last supervisor is gone", || world.of_runs().is_empty() && world.processes(" supervise ").is_empty());
    let rounds = account::check(&world, &load);
    account::check_database(&database, rounds);
    account::check_news(&world, &place);
    inbox.see("No question is waiting");
    drop(watcher);
    eprintln!("{rounds} rounds in {:.0?}: {}", begun.elapsed(), load.words());
    spent.print();
    spent.check(if lasts < LONG { 1.5 } else { 1.1 });
}

fn configure(world: &World, database: &Database, port: u16) {
    std::fs::write(world.path("secret"), "a secret").expect("a secret");
    let secret = world.path("secret").display().to_string();
    world.configure(&format!(
        "attempts = 3\nbreaker_failures = 0\n[notify]\ngrace = \"0s\"\n\
         [target.hook]\nwebhook = \"http://127.0.0.1:{port}/hook\"\nsecret_file = \"{secret}\"\n\
         [sync]\ndatabase = \"{}\"\npoll = \"2s\"\n[metrics]\nfile = \"{}\"",
        database.address("laptop"),
        world.path("metrics.prom").display(),
    ));
}

/// The processes beside the load.
struct Beside {
    page: Page,
    _others: Vec<Running>,
}

impl Beside {
    fn start(world: &World) -> Self {
        let log = std::fs::File::create(world.path("beside.log")).expect("a log");
        let quietly = |program: &str, arguments: &[&str]| {
            let log = log.try_clone().expect("a log");
            Running::start(world.command(program).args(arguments).stdout(Stdio::null()).stderr(log))
        };
        let others = vec![quietly("askbox", &["sync", "run"]), quietly("relaunch", &["status", "-f", "--json"])];
        Self { page: world.serve_page(), _others: others }
    }

    /// A person at the page who looks now and then, and whose browser hears of changes.
    fn look_until(&self, world: &World, is_over: &AtomicBool) {
        let browser = self.page.signed_in(world, "desk");
        let _events = browser.follow();
        while !is_over.load(Ordering::Relaxed) {
            ["/", "/tree", "/done"].iter().for_each(|path| drop(browser.see(path)));
            std::thread::sleep(LOOKS_EVERY);
        }
    }
}
