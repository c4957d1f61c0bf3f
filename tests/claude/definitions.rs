//! `askbox agents list` finds the agents that the real `claude` finds, with the same descriptions and models. This holds in a folder of
//! well-formed files, and in every folder of a tree with nested projects, a home and a linked worktree.

use crate::support::claude::live::FLAGS;
use crate::support::claude::live::Live;
use crate::support::claude::uuid;
use crate::support::{ClaudeWorld, output};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name, description and model of each agent.
type Agents = BTreeMap<String, (String, Option<String>)>;

/// Well-formed files: the name of each file, and its content.
fn well_formed() -> Vec<(&'static str, String)> {
    let head = |name: &str, rest: &str| format!("---\nname: {name}\ndescription: {rest}\n---\nbody\n");
    vec![
        ("plain", head("plain", "A plain one\nmodel: haiku\ncolor: red")),
        ("inherit", head("inherit", "d\nmodel: inherit")),
        ("quoted", head("quoted", "\"Use this when: foo. # bar\"\nmodel: haiku")),
        ("newlines", head("newlines", "Examples.\\n\\nMore.\ntools: Read, Bash")),
        ("folded", head("folded", "first line\n  second line")),
        ("block", head("block", "|\n  a: b\n  c: d")),
        ("block-folded", head("block-folded", ">-\n  a\n  b")),
        ("crlf", "---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n".to_owned()),
        ("bom", format!("\u{feff}{}", head("bom", "d"))),
        ("no-body", "---\nname: no-body\ndescription: d\n---".to_owned()),
        ("spaces", head("with spaces", "d")),
        ("upper", head("Upper_x.y/é", "d")),
        ("quoted-number", head("\"123\"", "'456'")),
        ("yes", head("yes", "no")),
        ("twice-1", head("twice", "first")),
        ("twice-2", head("twice", "second")),
        ("anchor", head("&n anchor", "*n")),
        ("merge", "---\nbase: &b\n  description: d\n<<: *b\nname: merge\n---\nbody\n".to_owned()),
        ("trailing", "---  \nname: trailing\ndescription: \"  d  \"\n---  \nbody\n".to_owned()),
        ("tools", head("tools", "d\ntools: [\"Bash(git log:*)\", Read]")),
        (".hidden", head("hidden", "d")),
        ("sub/deep/nested", head("nested", "d")),
        ("Explore", head("Explore", "in place of a built-in one")),
        ("big", head("big", &"x".repeat(1_000_000))),
        // Neither program takes these for agents.
        ("README", "# Our agents\n".to_owned()),
        ("no-description", "---\nname: no-description\n---\nbody\n".to_owned()),
        ("number", head("123", "d")),
        ("list-description", head("list-description", "[a, b]")),
        ("unclosed", "---\nname: unclosed\ndescription: d\nbody\n".to_owned()),
        ("too-big", format!("---\nname: too-big\ndescription: d\n---\n{}\n", "x".repeat(1 << 20))),
    ]
}

/// Files that are not valid YAML, or end their front matter in an odd place: the beginning of each file, and its other lines. Nearly
/// all of them are agents for claude.
fn odd() -> Vec<(&'static str, String)> {
    let head = |name: &str, rest: &str| format!("---\nname: {name}\ndescription: {rest}\n---\nbody\n");
    let described = [
        ("colon", "Use this when: foo\nmodel: haiku"),
        ("list", "Use this when: foo\ntools:\n  - Read\n  - Bash(git log:*)\nmodel: haiku"),
        ("inline-list", "Use this when: foo\ntools: [Read, Bash]"),
        ("tools-colon", "Use: x\ntools: Bash(git log: *), Read"),
        ("tools-star", "d\ntools: *"),
        ("example", "Use when. <example>user: \"hi\"</example>"),
        ("escaped", r#"Use this: a\n\nb "c" \d"#),
        ("unclosed-quote", "\"unclosed quote\nmodel: haiku"),
        ("two-quotes", r#""a" and "b""#),
        ("quote-inside", "'it's here'"),
        ("mixed-quotes", "\"a: b' "),
        ("apostrophe", "it's: fine"),
        ("star", "*bold* words"),
        ("no-anchor", "*nope"),
        ("at", "@mention"),
        ("tick", "`code` here"),
        ("bang", "!important"),
        ("percent", "%x"),
        ("map", "{a: b}"),
        ("braces", "{a} b"),
        ("brackets", "[a] b"),
        ("open-bracket", "[a b c"),
        ("close-bracket", "]x"),
        ("comma", ", a"),
        ("ampersand", "& more"),
        ("greater", "> quoted"),
        ("pipe", "| piped: x"),
        ("dash-item", "- item"),
        ("colon-at-end", "Use when:"),
        ("second-line", "first line\n  second: line"),
        ("hash", "a # b"),
        ("bad-escape", r#""a\d: b""#),
        ("dashes", "a --- b\nmodel: haiku"),
        ("dashes-in-a-word", "a---b"),
        ("model-colon", "d\nmodel: foo: bar"),
        ("model-case", "d\nmodel: Inherit"),
        ("empty", "\"\""),
        ("number", "12"),
        ("other-key", "d\nallowed_tools: a: b"),
        ("key-with-digit", "d\nk1: a: b"),
        ("twice", "first\ndescription: second"),
        ("emoji", "🎉: x"),
    ];
    let whole = [
        ("rule", "---\nname: rule\ndescription: |\n  a\n  ----\n  b\n---\nb\n"),
        ("four-dashes", "---\nname: four-dashes\ndescription: d\n----\nb\n"),
        ("indented-end", "---\nname: indented-end\ndescription: d\n  ---\nb\n"),
        ("one-line", "---\nname: one-line\ndescription: d ---"),
        ("blank-first", "---\n\nname: blank-first\ndescription: d\n---\nb\n"),
        ("blank-before", "\n---\nname: blank-before\ndescription: d\n---\nb\n"),
        ("opens-with-four", "----\nname: opens-with-four\ndescription: d\n---\nb\n"),
        ("tab", "---\nname: tab\ndescription: d\ntools:\n\t- Read\n---\nb\n"),
        ("windows", "---\r\nname: windows\r\ndescription: Use: this\r\n---\r\nb\r\n"),
        ("indented", "---\n  name: indented\n  description: d: e\n---\nb\n"),
        ("key-space", "---\nname : key-space\ndescription : d\n---\nb\n"),
        ("two-names", "---\nname: one\nname: two-names\ndescription: d\n---\nb\n"),
        ("wrong-name", "---\nname: -dash\ndescription: d\n---\nb\n"),
        ("plugin-name", "---\nname: \"a:b\"\ndescription: d\n---\nb\n"),
        ("empty-name", "---\nname: \"\"\ndescription: d\n---\nb\n"),
    ];
    let described = described.into_iter().map(|(name, rest)| (name, head(name, rest)));
    let whole = whole.into_iter().map(|(name, content)| (name, content.to_owned()));
    let long_names = [256, 257].map(|length| (["longest", "too-long"][length - 256], head(&"n".repeat(length), "d")));
    described.chain(whole).chain(long_names).collect()
}

fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The agents that `claude` knows in a folder, by its list with descriptions and by the names in the event `init`.
fn known(world: &ClaudeWorld, dir: &Path) -> (Agents, Vec<String>) {
    let mut command = world.claude();
    command.args(FLAGS).current_dir(dir);
    let mut live = Live::spawn(command);
    live.send(&json!({"type": "control_request", "request_id": "q", "request": {"subtype": "initialize"}}));
    let reply = live.expect_type("control_response");
    live.say(&uuid(), r#"@@[{"text":"ok"}]"#);
    let init = live.expect("init", |e| e["subtype"] == "init");
    live.expect_type("result");
    live.finish();
    let names = init["agents"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect();
    (agents(&reply["response"]["response"]["agents"]), names)
}

fn agents(list: &Value) -> Agents {
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let entries = list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter();
    entries.map(|a| (text(&a["name"]).unwrap(), (text(&a["description"]).unwrap(), text(&a["model"])))).collect()
}

/// The agents that askbox finds there.
fn listed(world: &ClaudeWorld, dir: &Path) -> Agents {
    let outcome = output(world.command("askbox").args(["agents", "list", "--json"]).current_dir(dir));
    let list: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {outcome:?}"));
    agents(&list["agents"])
}

/// The agents that claude has where nobody defined any.
fn built_in(world: &ClaudeWorld) -> Agents {
    let empty = world.home().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    known(world, &empty).0
}

#[track_caller]
fn assert_agreed(world: &ClaudeWorld, dir: &Path, built_in: &Agents) -> Agents {
    let ours = listed(world, dir);
    let (theirs, names) = known(world, dir);
    let defined: Agents = theirs.into_iter().filter(|(name, what)| built_in.get(name) != Some(what)).collect();
    let mut shown: Vec<&String> = defined.keys().chain(built_in.keys().filter(|b| !defined.contains_key(*b))).collect();
    let mut names: Vec<&String> = names.iter().collect();
    shown.sort();
    names.sort();
    assert_eq!(names, shown, "the event `init` names others than the reply");
    assert_eq!(ours.keys().collect::<Vec<_>>(), defined.keys().collect::<Vec<_>>(), "in {}", dir.display());
    for (name, what) in &defined {
        let short = |(d, m): &(String, Option<String>)| (d.chars().take(200).collect::<String>(), d.len(), m.clone());
        assert_eq!(short(&ours[name]), short(what), "{name}");
    }
    ours
}

#[test]
fn askbox_lists_the_agents_that_claude_knows() {
    let world = ClaudeWorld::without_askbox();
    let built_in = built_in(&world);
    assert!(built_in.contains_key("general-purpose"));
    let agents = world.work().join(".claude/agents");
    for (name, content) in well_formed() {
        write(&agents.join(format!("{name}.md")), content.as_bytes());
    }
    write(&agents.join("other.markdown"), b"---\nname: other\ndescription: d\n---\nbody\n");
    write(&agents.join("upper.MD"), b"---\nname: upper-md\ndescription: d\n---\nbody\n");
    write(&world.work().join("outside/linked.md"), b"---\nname: linked\ndescription: d\n---\nbody\n");
    let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, agents.join(name)).unwrap();
    link(world.work().join("outside/linked.md"), "zlink.md");
    link(world.work().join("outside"), "zfolder");
    link(agents.clone(), "zloop");
    link("/nonexistent".into(), "zdangling.md");
    let ours = assert_agreed(&world, world.work(), &built_in);
    // The two did not agree on nothing or on everything.
    for name in ["plain", "quoted", "crlf", "nested", "hidden", "linked", "twice", "Explore", "with spaces"] {
        assert!(ours.contains_key(name), "{name}");
    }
    for name in ["no-description", "too-big", "unclosed", "other", "upper-md"] {
        assert!(!ours.contains_key(name), "{name}");
    }
}

#[test]
fn askbox_reads_odd_agent_files_as_claude_does() {
    let world = ClaudeWorld::without_askbox();
    let built_in = built_in(&world);
    let agents = world.work().join(".claude/agents");
    for (name, content) in odd() {
        write(&agents.join(format!("{name}.md")), content.as_bytes());
    }
    write(&agents.join("latin.md"), b"---\nname: latin\ndescription: caf\xe9\n---\nb\n");
    // The file that counts for a name is one that is not valid YAML.
    write(&agents.join("one-name-1.md"), b"---\nname: one-name\ndescription: first\n---\nb\n");
    write(&agents.join("one-name-2.md"), b"---\nname: one-name\ndescription: Second: this\n---\nb\n");
    std::fs::hard_link(agents.join("one-name-1.md"), agents.join("one-name-3.md")).unwrap();
    let ours = assert_agreed(&world, world.work(), &built_in);
    assert_eq!(ours["one-name"].0, "Second: this");
    assert!(ours.len() > 40, "{:?}", ours.keys());
    for name in ["two-quotes", "unclosed-quote", "windows", "key-with-digit", "-dash", "a:b", "empty"] {
        assert!(!ours.contains_key(name), "{name}");
    }
}

#[test]
fn in_every_folder_of_a_tree_askbox_looks_where_claude_looks() {
    let world = ClaudeWorld::without_askbox();
    let built_in = built_in(&world);
    let root = world.work();
    let define = |folder: PathBuf, name: &str, words: &str| {
        write(&folder.join(format!("{name}.md")), format!("---\nname: {name}\ndescription: {words}\n---\nbody\n").as_bytes());
    };
    define(world.claude_config().join("agents"), "users", "user");
    define(world.claude_config().join("agents"), "both", "user");
    define(world.home().join(".claude/agents"), "not-seen", "the home's, where CLAUDE_CONFIG_DIR names another");
    define(world.home().join("project/.claude/agents"), "at-home", "a project in the home");
    define(root.join("above/.claude/agents"), "above", "above the repository");
    for name in ["repo", "both", "near"] {
        define(root.join("above/repo/.claude/agents"), name, "the repository's");
    }
    define(root.join("above/repo/sub/.claude/agents"), "near", "the nearer");
    std::fs::create_dir_all(root.join("above/repo/sub/deep")).unwrap();
    let git = |script: &str| {
        let git = "git -c user.email=a@example.com -c user.name=a";
        let mut command = world.any_command("sh");
        command.args(["-ec", &script.replace("git ", &format!("{git} "))]).current_dir(root.join("above/repo"));
        output(&mut command).ok();
    };
    git("git init -q . && git commit -q --allow-empty -m x && git worktree add -q ../linked && git worktree add -q inner");
    let mut seen = 0;
    for dir in ["above/repo", "above/repo/sub", "above/repo/sub/deep", "above", "above/linked", "above/repo/inner"] {
        seen += assert_agreed(&world, &root.join(dir), &built_in).len();
    }
    for dir in [world.home().join("project"), world.home().to_owned(), world.claude_config()] {
        seen += assert_agreed(&world, &dir, &built_in).len();
    }
    assert_eq!(seen, 4 * 4 + 4 + 3 + 3 + 2 + 2, "the tree was not what it should be");
    // Without a repository it goes on up.
    std::fs::rename(root.join("above/repo/.git"), root.join("above/repo/no-git")).unwrap();
    assert!(assert_agreed(&world, &root.join("above/repo/sub/deep"), &built_in).contains_key("above"));
}
