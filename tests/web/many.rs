//! Ten thousand questions that wait.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::process::{bytes_read, processor_time};
use crate::support::{World, asleep};

/// The memory in KiB that a process itself has filled. The other resident pages are those of its program file, and a debug build has 30 MiB
/// of them.
fn own_memory(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim_end_matches("kB").trim().parse().ok())
}

/// The most memory that a process has filled. The system keeps no such number, so a thread looks again and again until this is dropped.
struct MostMemory {
    pid: i32,
    most: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl MostMemory {
    fn of(pid: i32) -> Self {
        let this = Self { pid, most: Arc::default(), is_over: Arc::default() };
        let (most, is_over) = (Arc::clone(&this.most), Arc::clone(&this.is_over));
        std::thread::spawn(move || {
            while let Some(memory) = own_memory(pid).filter(|_| !is_over.load(Ordering::Relaxed)) {
                most.fetch_max(memory, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        this
    }

    fn until_now(&self) -> u64 {
        let now = own_memory(self.pid).expect("its memory");
        self.most.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

impl Drop for MostMemory {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn ten_thousand_questions_wait_and_the_page_comes_at_once() {
    let world = World::new();
    world.make_mailbox();
    for n in 0..10_000 {
        let question = serde_json::json!({
            "schema_version": 1, "workflow_id": format!("flow-{n:05}"), "question_id": format!("01a20a0d-0000-7000-8000-{n:012}"),
            "question": format!("Question number {n}: which of the two layouts is to be kept?"), "options": {"a": "The first", "b": "The second"},
            "asked_by": "reviewer", "cwd": format!("/work/project-{}", n % 7), "context": "Background. ".repeat(40),
            "timestamp": format!("2026-11-2{}T10:00:{:02}.000Z", n % 3, n % 60), "priority": i32::from(n == 4_242),
        });
        std::fs::write(world.in_mailbox(format!("pending/flow-{n:05}.json")), question.to_string()).unwrap();
    }
    let page = world.serve_page();
    let memory = MostMemory::of(page.process.pid());
    let browser = page.signed_in(&world, "desk");
    let first_byte = |path: &str| {
        let port = browser.port;
        let cookie = browser.cookie.as_deref().unwrap();
        let mut stream =
            browser.open(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"));
        stream.read_exact(&mut [0; 1]).unwrap();
    };
    let first_page = browser.see("/");
    assert!(first_page.text().contains("1–40 of 10000") && first_page.body.contains("(10000)"), "{}", first_page.text());
    assert!(first_page.body.find("number 4242").unwrap() < first_page.body.find("number 0:").unwrap(), "the urgent one is first");
    assert!(browser.see("/?page=249").text().contains("9961–10000 of 10000"));
    assert!(browser.see("/?find=number%20777:").text().contains("Question number 777:"));
    // The time on a processor hardly depends on what else the machine does, and the least of some measurements counts. The clock says
    // only what a person would see here.
    let cost = |times: u32, request: &dyn Fn(u32)| {
        let (begun, spent) = (Instant::now(), processor_time(page.process.pid()));
        (0..times).for_each(request);
        ((processor_time(page.process.pid()) - spent) / times, begun.elapsed() / times)
    };
    let least = |request: &dyn Fn(u32)| (0..3).map(|_| cost(6, request)).min().expect("three measurements");
    let inbox = least(&|_| first_byte("/"));
    let last = least(&|_| first_byte("/?page=249"));
    let found = least(&|_| first_byte("/?find=project:project-3"));
    // A change is seen although its look reads the whole folder.
    let change = |n: u32| {
        world.ok("ask-answer", &[&format!("flow-{n:05}"), "a"]);
        first_byte("/");
    };
    let changed = (0..3_u32).map(|round| cost(2, &|n| change(2 * round + n))).min().expect("three measurements");
    assert!(browser.see("/").body.contains("of 9994"));
    let most = memory.until_now();
    println!("processor and clock: inbox {inbox:?}, last page {last:?}, found {found:?}, after a change {changed:?}");
    println!("memory: at most {most} KiB");
    // A page right behind a change compares the names of all files, once for its list and once for its count.
    for (what, (processor, _), most) in
        [("inbox", inbox, 100), ("last page", last, 100), ("found", found, 100), ("after a change", changed, 250)]
    {
        assert!(processor < Duration::from_millis(most), "{what}: {processor:?}");
    }
    // It takes 11 MiB: one line of each question.
    assert!(most < 17 << 10, "{most} KiB");
    // The tree shows the oldest ones. The others are known from the list of questions.
    let tree = cost(3, &|_| first_byte("/tree"));
    assert!(browser.see("/tree").text().contains("flow-0000"), "the oldest of them are shown");
    let with_tree = memory.until_now();
    println!("tree {tree:?}, then at most {with_tree} KiB");
    assert!(tree.0 < Duration::from_millis(1_000), "{tree:?}");
    assert!(with_tree < 22 << 10, "{most} KiB, then {with_tree} KiB");
}

#[test]
fn what_was_done_is_read_without_what_was_done_before() {
    let world = World::new();
    world.make_mailbox();
    // So many that the names of the newest ones are kept in a list.
    world.past_rounds("w", 0..2_500);
    let page = world.serve_page();
    let browser = page.signed_in(&world, "desk");
    let read = || {
        // The first looks after a change list all names, and keep those of the newest.
        (0..2).for_each(|_| drop(browser.see("/done")));
        // It also reads the events of the files that were made.
        asleep(page.process.pid());
        let once = || {
            let before = bytes_read(page.process.pid());
            browser.see("/done");
            bytes_read(page.process.pid()) - before
        };
        (0..5).map(|_| once()).min().expect("a figure")
    };
    let few = read();
    world.past_rounds("w", 2_500..6_000);
    assert!(browser.see("/done").text().contains("Merge 5999?"));
    let many = read();
    println!("bytes for what was done: {few} beside 2500 rounds, {many} beside 6000");
    assert!(few > 0 && many < few + few / 10, "{few} and {many}");
}
