//! Every block of README and of the pages for users is true: its commands run in the setting that the words around it tell, its TOML is a
//! configuration, and its JSON parses. The table below says where each block of commands is run.

use std::collections::HashSet;
use std::fs;

use base64::prelude::{BASE64_STANDARD as STANDARD, Engine as _};

use super::setup::home;
use crate::support::files::write_program;
use crate::support::shown::{Block, Shown, blocks, page, prompted};
use crate::support::{World, approval_question, names, needs, root};

/// Where the commands of a block are run.
enum Run {
    /// Here, in this setting. Then this line of shell must succeed, too.
    In(fn() -> World, &'static str),
    /// By the test with this name.
    By(&'static str),
    /// Nowhere, for this reason. No line of the block begins with a program of askbox.
    Not(&'static str),
}

use Run::{By, In, Not};

/// The blocks of commands: the page, the beginning of the block, and where it is run.
const COMMANDS: &[(&str, &str, Run)] = &[
    ("README", "cargo build", By("the_demo_asks_exits_is_relaunched_and_leaves_nothing")),
    ("README", "tests/run", Not("it runs this test")),
    ("README", "rustup target add", Not("a long build, with the network")),
    ("README", "askbox setup", By("setup_ends_with_a_question_that_takes_the_whole_way")),
    ("README", "Start a subagent.", Not("a sentence for Claude Code")),
    ("README", "ask-answer", By("the_inbox_lists_the_urgent_first_with_asker_and_age")),
    ("README", "relaunch status ID", In(delivered, "")),
    ("README", "$ checkpoint save docs-42", In(ann, "")),
    ("configuration", "askbox init", In(home, "grep '^#attempts = 5' ~/.config/askbox/config.toml")),
    ("guide-agent", "askbox demo --agent", By("the_demo_shows_the_small_agent_without_key_and_network")),
    ("guide-agent", "$ ask-agent", By("a_question_ends_the_process_and_its_answer_is_the_result")),
    ("guide-chains", "$ relaunch spawn review.md", By("the_commands_of_the_guide_to_chains_need_what_it_names")),
    ("guide-chains", "SGN_PEND_STARTED", By("a_chain_of_three_asks_sleeps_and_wakes")),
    ("guide-chains", "$ relaunch spawn --fork", By("a_fork_sends_its_parents_prefix_byte_by_byte")),
    ("guide-chains", "$ cat .claude/agents/reviewer.md", In(reviewer, "")),
    ("guide-chains", "$ askbox tree", In(party, "")),
    ("guide-chains", "$ relaunch stop ID", In(at_work, "test -z \"$(ls ~/.claude/questions/pending)\"")),
    ("guide-inbox", "ask-answer", By("the_inbox_lists_the_urgent_first_with_asker_and_age")),
    ("guide-live", "askbox setup --live", In(home, "")),
    ("guide-live", "- docs-42: was answered", By("an_answer_wakes_its_session_and_starts_no_agent")),
    ("guide-live", "askbox setup --only live --codex", In(home, "grep 'codex = true' ~/.config/askbox/config.toml")),
    ("guide-live", "askbox setup --only live --opencode", In(home, "test -f ~/.config/opencode/plugin/askbox.js")),
    ("guide-live", "askbox setup --only live --copilot", In(home, "test -f ~/.copilot/extensions/askbox/extension.mjs")),
    ("guide-live", "askbox setup --only live --qwen", In(home, "")),
    ("guide-machines", "$ ask-answer list", By("a_question_of_another_machine_is_seen_and_answered")),
    ("guide-main-agent", "$ ask-answer list\nWORKFLOW", In(asked, "")),
    ("guide-main-agent", "ask-answer show db-8", By("the_commands_of_the_main_agents_guide_need_what_it_names")),
    ("guide-main-agent", "echo '{\"answers\"", By("the_commands_of_the_main_agents_guide_need_what_it_names")),
    ("guide-main-agent", "relaunch status db-8", By("the_commands_of_the_main_agents_guide_need_what_it_names")),
    ("guide-main-agent", "relaunch prompt db-9", By("the_commands_of_the_main_agents_guide_need_what_it_names")),
    ("guide-main-agent", "claude --plugin-dir", By("each_way_to_install_the_plugin_brings_its_server")),
    ("guide-main-agent", "Q=~/.claude/questions", In(by_hand, "relaunch prompt docs-45 | grep 'User chose: keep'")),
    ("guide-main-agent", "jq '.answer", In(by_hand, "relaunch prompt docs-46 | grep 'User chose: keep'")),
    ("guide-main-agent", "$ ask-answer list --format ag-ui", By("a_resume_answers_each_question_as_it_was_listed")),
    ("guide-mcp", "claude mcp add", Not("a command of Claude Code")),
    ("guide-news", "$ askbox notify test", By("a_test_is_confirmed_by_its_code_and_the_doctor_says_when")),
    ("guide-news", "#!/bin/sh", In(mail, "grep '^Subject: docs-42: answered by ann through inbox' mail")),
    ("guide-operator", "askbox setup ", In(home, "")),
    ("guide-operator", "$ relaunch watch", In(asked, "")),
    ("guide-operator", "askbox setup  ", In(home, "")),
    ("guide-operator", "askbox init --service", In(empty, "grep KillMode=process ~/.config/systemd/user/askbox.service")),
    ("guide-operator", "relaunch status  ", In(delivered, "")),
    ("guide-operator", "$ relaunch pause", In(asked, "")),
    ("guide-operator", "docker run", Not("needs Docker")),
    ("guide-operator", "$ askbox doctor docs-42", In(without_a_program, "")),
    ("guide-operator", "askbox history --since 2d", In(delivered, "")),
    ("guide-operator", "$ askbox gc --dry-run", In(delivered, "")),
    ("guide-operator", "$ zcat", By("the_guide_reads_an_archive_without_askbox")),
    ("guide-operator", "$ askbox gc --keep 1y", In(delivered, "")),
    ("guide-operator", "grep '\"event\"", In(delivered, "")),
    ("guide-permissions", "$ ask-answer show docs-42", In(permission, "")),
    ("guide-permissions", "$ relaunch approve --list", By("a_call_is_refused_for_good_as_it_was_seen_and_listed")),
    ("guide-permissions", "$ askbox keygen", In(home, "")),
    ("guide-programs", "#!/bin/sh", By("the_script_of_the_guide_to_programs_runs_as_it_stands")),
    ("guide-programs", "askbox once \"charge", By("a_call_is_marked_once_in_a_round_and_told_if_the_run_dies")),
    ("guide-programs", "askbox once --of", By("a_mark_of_a_failed_attempt_is_open_until_a_person_closes_it")),
    ("guide-programs", "relaunch exec", In(billing, "test \"$(cat ran)\" = --verbose")),
    ("guide-sdks", "host billing-7", By("a_claude_session_makes_its_call_after_the_answer")),
    ("guide-sdks", "ask-answer billing-7", By("a_claude_session_makes_the_call_that_its_user_changed")),
    ("guide-subagent", "checkpoint save docs-42", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "checkpoint show docs-42", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "ask-post 'Deploy tonight?'", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "git diff", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "ask-post 'Which port?'", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "ask-post -w build", By("the_commands_of_the_subagents_guide_print_what_it_says")),
    ("guide-subagent", "eval", In(answered, "")),
    ("guide-subagent", "claude -p", By("with_a_checkpoint_an_agent_goes_on_and_its_end_wakes")),
    ("guide-subagent", "sh ask.sh save", In(with_ask_sh, "ask-answer show docs-43 | grep 'How should we proceed?'")),
    ("guide-subagent", "WORKFLOW_ID=docs-44", In(ann, "ask-answer docs-44 merge && relaunch prompt docs-44 | grep 'User chose: merge'")),
    ("guide-sync", "cargo install", Not("a long build, with the network")),
    ("guide-sync", "$ createdb askbox", By("an_offer_is_accepted_by_its_host_which_relaunches")),
    ("guide-sync", "$ echo 'db.example.org", By("an_offer_is_accepted_by_its_host_which_relaunches")),
    ("guide-sync", "$ askbox sync run --take-over", By("a_copied_mailbox_fences_the_other_one_which_stops")),
    ("guide-web", "$ askbox web\n", By("a_link_shows_a_button_and_signs_in_once")),
    ("guide-web", "$ askbox web link \"ann's phone\"\nhttp", In(asked, "")),
    ("guide-web", "$ askbox web revoke", By("a_device_that_is_signed_out_hears_nothing_from_then_on")),
    ("guide-web", "$ ssh -N", Not("needs another computer")),
    ("guide-web", "$ tailscale serve", In(asked, "")),
    ("guide-web", "box.example {", By("behind_caddy_the_page_works_over_tls_only")),
    ("install", "rustup target add", Not("a long build, with the network")),
    ("install", "askbox demo", By("the_demo_asks_exits_is_relaunched_and_leaves_nothing")),
    ("install", "eval", In(home, "man -l ~/.local/share/man/man1/ask-post.1 >man || test -f ~/.local/share/man/man1/ask-post.1")),
    ("install", "askbox setup --remove", By("the_pages_words_remove_everything_from_a_used_home")),
    ("install", "dist/build", Not("a long build; `tests/run dist` tries its packages")),
    ("install", "tar -xzf", Not("needs root; `tests/run dist` tries the archive")),
    ("install", "npm install", Not("`tests/run dist` tries the packages of npm")),
    ("install", "export PATH", Not("`tests/run dist` tries the packages of npm")),
    ("troubles", "askbox doctor", In(delivered, "")),
];

/// The blocks that are no commands: pictures, and programs that other tests compile and run.
const OTHERS: &[(&str, &str, &str)] = &[
    ("README", "an agent's bash", "a picture"),
    ("guide-chains", "party ──spawn──▶", "a picture"),
    ("guide-main-agent", "{\"questions\":", "printed by the command above"),
    ("guide-main-agent", "db-8: answered: pg", "printed by the command above"),
    ("guide-main-agent", "Resume workflow db-9.", "printed by the command above"),
    ("guide-subagent", "/home/ann/.claude/questions/", "printed by the command above"),
];

/// A home without anything of askbox, and stand-ins for programs that its commands stand beside.
fn empty() -> World {
    let world = home();
    for name in ["loginctl", "tailscale"] {
        write_program(&world.path("bin").join(name), "#!/bin/sh\n");
    }
    world
}

/// Ann's home with the mailbox at its place, and a runner.
fn ann() -> World {
    let world = empty().with_scripted_agent();
    world.sh("touch guide.md.bak proposed.md");
    world
}

/// The reviewer's question waits.
fn asked() -> World {
    let world = ann();
    world.sh("checkpoint save docs-42 --step review --file-ref proposed=proposed.md --state attempt=2");
    world.sh("ask-post 'The sections overlap. How should we proceed?' -w docs-42 --asked-by reviewer -o merge='Merge into one' -o keep='Keep both'");
    world
}

fn answered() -> World {
    let world = asked();
    world.ok("ask-answer", &["docs-42", "merge"]);
    world
}

/// The agent has ended with the answer. The audit is at hand.
fn delivered() -> World {
    let world = answered();
    world.ok("relaunch", &["docs-42"]);
    world.sh("ln -s ~/.claude/questions/audit.jsonl .");
    world
}

/// The configured runner is claude, which is not installed.
fn without_a_program() -> World {
    let world = answered();
    world.replace_config("");
    world
}

/// The agent asks for a permission.
fn permission() -> World {
    let world = ann();
    world.make_mailbox();
    let text =
        "May the agent call Bash?\n    command: git push origin main\nIn the folder /home/ann/site\nThe agent says: Publish the release";
    world.forge_question("docs-42", &approval_question("docs-42", text));
    world
}

/// Two questions, one with a checkpoint, for a person without askbox's programs.
fn by_hand() -> World {
    let mut world = ann();
    world.sh("checkpoint save docs-45 --step one; ask-post -w docs-45 'Merge?' -o keep=K; ask-post -w docs-46 'Merge?' -o keep=K");
    // The first of the two blocks sets it.
    let mailbox = world.mailbox().display().to_string();
    world.set_env(&[("Q", &mailbox)]);
    world
}

/// A program that a person starts with the answer.
fn billing() -> World {
    let world = ann();
    world.ask_and_answer("billing-7");
    write_program(&world.work().join("host.py"), "#!/bin/sh\nprintf %s \"$1\" >ran\n");
    world
}

/// A program for mail, and the event that a target's program gets.
fn mail() -> World {
    let world = ann();
    write_program(&world.path("bin/sendmail"), "#!/bin/sh\ncat >mail\n");
    let page = page("docs/guide-news.md");
    let event = blocks(&page).into_iter().find(|block| block.language == "json").expect("an event");
    fs::write(world.path("input"), event.text).expect("a file");
    world
}

fn with_ask_sh() -> World {
    let world = ann();
    fs::copy(root().join("examples/ask.sh"), world.work().join("ask.sh")).expect("a copy");
    world
}

/// An agent's file as the guide shows it, and an agent that has two findings.
fn reviewer() -> World {
    let mut world = ann();
    world.set_env(&[("AGENT_REPLY", "Two findings.")]);
    let shown = prompted(&page("docs/guide-chains.md")).into_iter().find(|shown| shown.typed.starts_with("cat ")).expect("a file");
    fs::create_dir_all(world.work().join(".claude/agents")).expect("a folder");
    fs::write(world.work().join(".claude/agents/reviewer.md"), shown.printed.join("\n") + "\n").expect("a file");
    world
}

/// Cake and guests below the party, and below cake the baker, who asks.
fn party() -> World {
    let world = ann();
    world.agent_does("guests", "echo '12 will come'");
    world.agent_does("baker", "ask-post 'When is your birthday?'");
    world.agent_does("cake", "relaunch spawn -w baker --prompt 'Bake it'");
    world.agent_does(
        "party",
        "relaunch spawn -w guests --prompt 'Invite the guests' >/dev/null; relaunch spawn -w cake --prompt 'Order a cake'",
    );
    world.ok("relaunch", &["spawn", "-w", "party", "--prompt", "Plan the party"]);
    world
}

/// A party that works beside the cake, which has asked and works, too.
fn at_work() -> World {
    let mut world = ann();
    world.set_env(&[("ID", "party")]);
    world.configure("[limits]\ngrace = \"100ms\"\n");
    world.agent_does("cake", "ask-post 'Which cake?'; exec sleep 60");
    world.agent_does("party", "relaunch spawn --background -w cake --prompt 'Order a cake'; exec sleep 60");
    world.ok("relaunch", &["spawn", "--background", "-w", "party", "--prompt", "Plan the party"]);
    world.appears("pending/cake.json");
    world
}

/// README, and the pages for users by their names below `docs/`.
fn pages() -> Vec<(String, Vec<Block>)> {
    let guides = names(&root().join("docs"));
    let guides = guides.iter().filter_map(|name| name.strip_suffix(".md")).filter(|name| *name != "README");
    let index = [("README".to_owned(), "README.md"), ("index".to_owned(), "docs/README.md")];
    let mut pages: Vec<_> = index.map(|(name, path)| (name, blocks(&page(path)))).into();
    pages.extend(guides.map(|name| (name.to_owned(), blocks(&page(&format!("docs/{name}.md"))))));
    pages
}

#[derive(PartialEq)]
enum Kind {
    Toml,
    Json,
    /// A unit of systemd, which `service.rs` tests.
    Unit,
    /// A program, which a test of the clients compares with its file.
    Host,
    Else,
}

fn kind(block: &Block) -> Kind {
    let first = block.text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    match block.language.as_str() {
        "python" | "js" => Kind::Host,
        "json" => Kind::Json,
        "toml" => Kind::Toml,
        _ if first == "[Unit]" || first == "[Service]" => Kind::Unit,
        _ if first.starts_with('[') && first.ends_with(']') => Kind::Toml,
        _ if first.starts_with('"') => Kind::Json,
        _ => Kind::Else,
    }
}

/// The names of all tests.
pub(super) fn tests() -> HashSet<String> {
    let mut names = HashSet::new();
    let mut folders = vec![root().join("tests"), root().join("crates"), root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).expect("a text");
                let named = |rest: &str| Some(rest.split_once("fn ")?.1.split_once('(')?.0.to_owned());
                names.extend(text.split("#[test]").skip(1).filter_map(named));
            }
        }
    }
    names
}

/// A command as the test can run it: one that goes on has a terminal and is interrupted, setup is agreed to, and doctor may find something.
fn runnable(typed: &str) -> String {
    let line = |line: &str| {
        let command = line.split(" #").next().unwrap_or_default().trim_end();
        let goes_on = command == "relaunch watch" || command.split(' ').any(|word| word == "-f");
        if goes_on {
            format!("{{ script -qec 'timeout --foreground -s INT 1 {command}' /dev/null || test $? = 124; }}")
        } else if command.starts_with("askbox doctor") {
            format!("{{ {command} || test $? = 1; }}")
        } else if command.starts_with("askbox setup") && !command.contains("--yes") {
            command.replacen("askbox setup", "askbox setup --yes", 1)
        } else {
            line.to_owned()
        }
    };
    typed.lines().map(line).collect::<Vec<_>>().join("\n").replace(" ID", " ${ID:-docs-42}").replace("/tmp/workflows", "$HOME/workflows")
}

/// What is not the same each time, as one word: an age, a time, an id, an amount of money.
fn settled(line: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', ':', '.', ')']);
        let is_age =
            |last| bare.strip_suffix(last).is_some_and(|number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
        if is_age('s') || is_age('m') || is_age('h') || is_age('d') {
            word.replace(bare, "AGE")
        } else if bare.starts_with("20") && bare.ends_with('Z') {
            "TIME".into()
        } else if bare.starts_with('$') && bare.len() > 2 {
            "COST".into()
        } else {
            let id = |part: &str| {
                if part.len() >= 32 && part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') { "ID".into() } else { part.to_owned() }
            };
            word.split(':').map(id).collect::<Vec<_>>().join(":")
        }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A page's line is among these lines. `…` stands for anything.
fn is_among(shown: &str, lines: &[String]) -> bool {
    let pieces: Vec<&str> = shown.split('…').map(str::trim).collect();
    let fits = |line: &String| {
        let mut rest = line.as_str();
        let in_order = pieces.iter().all(|piece| rest.split_once(piece).map(|(_, behind)| rest = behind).is_some());
        in_order && (pieces.len() > 1 || line == shown)
    };
    lines.iter().any(fits)
}

/// Runs a block in its setting. What it prints is what the page shows.
fn run(block: &Block, world: &World, then: &str) -> Result<(), String> {
    // A prompt further in is printed.
    let indented: String = block.text.lines().map(|line| format!("    {}\n", line.replace("  $ ", "  $\u{a0}"))).collect();
    let mut shown = prompted(&indented);
    if shown.is_empty() {
        shown.push(Shown { typed: block.text.clone(), printed: Vec::new() });
    }
    let input = world.path("input");
    let input = if input.exists() { input.display().to_string() } else { "/dev/null".into() };
    for Shown { typed, printed } in &shown {
        let shell = if typed.contains(" bash)") { "bash" } else { "sh" };
        fs::write(world.path("script"), runnable(typed)).expect("a script");
        let ran = world.shell(&format!("{shell} -e '{}' <'{input}'", world.path("script").display()));
        if !ran.status.success() {
            return Err(format!("{typed}\n{}\n{}", ran.status, ran.words()));
        }
        let path = |path: &std::path::Path| path.display().to_string();
        let words = ran.words().replace(&path(world.work()), "/home/ann/work").replace(&path(world.home()), "/home/ann");
        let lines: Vec<String> = words.lines().map(settled).collect();
        let mut shown = printed.iter().filter(|line| !line.trim().is_empty());
        if let Some(line) = shown.find(|line| !is_among(&settled(line), &lines)) {
            return Err(format!("{typed}\nprints no line {line:?}:\n{words}"));
        }
    }
    let ran = world.shell(then);
    if ran.status.success() { Ok(()) } else { Err(format!("{then}\n{}", ran.words())) }
}

#[test]
fn each_command_of_the_pages_runs_in_its_setting() {
    needs!("jq", "script");
    let (pages, mut wrong) = (pages(), Vec::new());
    for (name, beginning, way) in COMMANDS {
        let In(setting, then) = way else { continue };
        let blocks = &pages.iter().find(|(page, _)| page == name).expect("a page").1;
        let block = blocks.iter().find(|block| block.text.starts_with(beginning)).expect("a block");
        if let Err(why) = run(block, &setting(), then) {
            wrong.push(format!("{name}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The second word of the public key of a security key.
fn a_security_key() -> String {
    // The base point of the curve.
    let mut point = [0x66; 32];
    point[0] = 0x58;
    let fields: [&[u8]; 3] = [b"sk-ssh-ed25519@openssh.com", &point, b"ssh:"];
    let length = |field: &[u8]| u32::try_from(field.len()).expect("short").to_be_bytes();
    STANDARD.encode(fields.iter().flat_map(|field| [&length(field)[..], field].concat()).collect::<Vec<_>>())
}

/// A file with the keys of a block put below the headers that it has. The other headers come at its end.
fn below_headers(file: &str, block: &str) -> String {
    let mut file = file.to_owned();
    let sections = format!("\n{block}");
    for section in sections.split("\n[").skip(1) {
        let (header, keys) = section.split_once("]\n").expect("a header and its keys");
        match file.find(&format!("\n[{header}]\n")) {
            Some(at) => file.insert_str(at + header.len() + 4, &format!("{keys}\n")),
            None => file.push_str(&format!("\n[{section}\n")),
        }
    }
    file
}

mod promises {
    use super::*;

    #[test]
    fn each_block_of_a_page_is_run_read_or_has_its_reason() {
        let (pages, tests) = (pages(), tests());
        assert!(pages.len() > 20, "{}", pages.len());
        let mut wrong = Vec::new();
        let known = COMMANDS
            .iter()
            .map(|(page, beginning, _)| (*page, *beginning))
            .chain(OTHERS.iter().map(|(page, beginning, _)| (*page, *beginning)));
        let known: Vec<(&str, &str)> = known.collect();
        for (name, blocks) in &pages {
            for block in blocks.iter().filter(|block| kind(block) == Kind::Else) {
                if known.iter().filter(|(page, beginning)| page == name && block.text.starts_with(beginning)).count() == 0 {
                    wrong.push(format!("{name}: where is this block run? {:?}", block.first_line()));
                }
            }
        }
        for (name, beginning) in known {
            let blocks = pages.iter().find(|(page, _)| page == name).map(|(_, blocks)| blocks);
            if !blocks.is_some_and(|blocks| blocks.iter().any(|block| block.text.starts_with(beginning))) {
                wrong.push(format!("{name}: no block begins with {beginning:?}"));
            }
        }
        for (name, beginning, way) in COMMANDS {
            match way {
                By(test) if !tests.contains(*test) => wrong.push(format!("{name}: there is no test {test}")),
                Not(reason) => {
                    let blocks = pages.iter().filter(|(page, _)| page == name).flat_map(|(_, blocks)| blocks);
                    let lines = blocks.filter(|block| block.text.starts_with(beginning)).flat_map(|block| block.text.lines());
                    let of_askbox = |line: &str| {
                        ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox"]
                            .iter()
                            .any(|p| line.trim_start_matches("$ ").split(' ').next() == Some(p))
                    };
                    wrong.extend(
                        lines.filter(|line| of_askbox(line)).map(|line| format!("{name}: askbox's command is not run ({reason}): {line}")),
                    );
                }
                _ => (),
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn each_toml_block_of_a_page_fits_alone_and_below_setups_headers() {
        let written = home().ok("askbox", &["init", "--print"]);
        let mut read = 0;
        for (name, blocks) in pages() {
            for block in blocks.iter().filter(|block| kind(block) == Kind::Toml) {
                read += 1;
                // A key alone stands in the section that the words above it name.
                let is_whole = block.text.starts_with(['[', '#']);
                let header = if is_whole { "" } else { "[target.phone]\nntfy = \"https://ntfy.sh/topic\"\n" };
                let alone = format!("{header}{}", block.text).replace("AAAA…", &a_security_key());
                for toml in [below_headers(&written, &alone), alone] {
                    if let Err(error) = askbox::config::parse(toml.as_bytes(), "config.toml".as_ref()) {
                        panic!("{name}: {error:?}\n{}", block.text);
                    }
                }
            }
        }
        assert!(read > 15, "{read}");
    }

    #[test]
    fn each_json_block_of_a_page_parses() {
        let mut read = 0;
        for (name, blocks) in pages() {
            for block in blocks.iter().filter(|block| kind(block) == Kind::Json) {
                read += 1;
                // Members alone stand in a file that has others.
                let json = if block.text.starts_with('{') { block.text.clone() } else { format!("{{{}}}", block.text) };
                let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
                assert!(parsed.is_ok(), "{name}: {parsed:?}\n{json}");
            }
        }
        assert!(read > 2, "{read}");
    }
}
