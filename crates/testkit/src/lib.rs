//! The kit that the test programs share. [`World`] is the sandbox of every test: a temporary home with a mailbox for programs, watchers
//! and agents. [`ClaudeWorld`] adds the real `claude` behind a scripted API.
//!
//! | file | content |
//! |---|---|
//! | `world` | the sandbox: its folders, its environment, the programs, scripted agents, and looks into its mailbox |
//! | `watcher` | a running `relaunch watch` |
//! | `process` | how every process is started, waited for and killed; [`until`] |
//! | `approval` | the question of an approval, as askbox writes it |
//! | `dice` | choices that a seed repeats |
//! | `files` | names and contents of folders, and programs that a test writes |
//! | `server` | a server in Python that a test talks to |
//! | `tools` | what a test needs beside askbox, such as strace, and what happens where it is missing |
//! | `terminal` | a real terminal, by tmux |
//! | `machine` | another machine, by ssh |
//! | `network` | machines in network namespaces, and links that a test cuts |
//! | `claude` | the real `claude` and its scripted API |
//! | `codex` | Codex's daemon: a scripted one, and a client as a terminal is |
//! | `openai` | a scripted model API of OpenAI's two forms |
//! | `http` | as much HTTP as the scripted APIs need |
//! | `page` | a running `askbox web`, and a browser as far as a test needs one |
//! | `session_page` | a person elsewhere, who looks at the page of one session |
//! | `browser_script` | a real browser, driven by a script |
//! | `json_schema` | a small validator |
//! | `programs` | where the project and its built programs lie |
//! | `shown` | the blocks of a page, and the commands that a text shows |
//! | `clock` | a clock that a test moves |
//! | `working_day` | the questions of the pictures in the guides |
//! | `ways` | ways of a run to decide without being asked |
//! | `report` | how long each test takes, and why it fails |
//!
//! Beside `src/`: `clock/` holds the library that moves a clock, `agents/` the scripts of the scripted agents, `disk/` the disk that records
//! what it is told, and the check whether this machine can mount one.

pub mod approval;
pub mod browser_script;
pub mod claude;
pub mod clock;
pub mod codex;
pub mod dice;
pub mod files;
mod http;
pub mod json_schema;
pub mod machine;
pub mod network;
pub mod openai;
pub mod page;
pub mod process;
pub mod programs;
pub mod report;
pub mod server;
mod session_page;
pub mod shown;
pub mod terminal;
pub mod tools;
pub mod watcher;
pub mod ways;
pub mod working_day;
pub mod world;

pub use approval::approval_question;
pub use claude::ClaudeWorld;
pub use clock::Clock;
pub use dice::{Dice, number};
pub use files::{files, is_hidden, names, whole_lines};
pub use machine::Machine;
pub use network::Network;
pub use page::{Browser, Page, Reply, Stream};
pub use process::{
    LIMIT, Outcome, Running, Signal, asleep, bytes_read, end_process, feed, in_parallel, kill, output, processes, quickly, signal,
    signal_taken_in, sleeps, until, was_told,
};
pub use programs::{program, programs, root};
pub use server::Server;
pub use session_page::SessionPage;
pub use terminal::Terminal;
pub use tools::{available, points_of_every_run, strace};
pub use watcher::Watcher;
pub use world::World;
