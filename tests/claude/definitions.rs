//! `askbox agents list` finds the agents that the real `claude` finds, with the same descriptions and models: in a folder of all
//! the mistakes that people make, and in every folder of a tree with nested projects, a home and a linked worktree.

use crate::support::api::Api;
use crate::support::claude::{ClaudeHome, LIMIT, run, uuid};
use crate::support::live::{FLAGS, Live};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name, description and model of each agent.
type Agents = BTreeMap<String, (String, Option<String>)>;

/// Files with a name each: what people write, and what they should not.
fn assorted() -> Vec<(&'static str, Vec<u8>)> {
    let big = format!("---\nname: big\ndescription: {}\n---\nbody\n", "x".repeat(1_000_000));
    let too_big = format!("---\nname: too-big\ndescription: d\n---\n{}\n", "x".repeat(1 << 20));
    let long = format!("---\nname: {}\ndescription: d\n---\nbody\n", "n".repeat(257));
    let head = |name: &str, rest: &str| format!("---\nname: {name}\ndescription: {rest}\n---\nbody\n");
    let texts = vec![
        ("plain", head("plain", "A plain one\nmodel: haiku\ncolor: red")),
        ("inherit", head("inherit", "d\nmodel: INHERIT")),
        ("no-model", head("no-model", "d\nmodel: 3")),
        ("colon", head("colon", "Use this when: foo. user: \"x\" assistant: \"y\\z\" # hash\nmodel: haiku")),
        ("newlines", head("newlines", "Examples: <example>user: \"bar\"</example>\\n\\nmore\ntools: Read, Bash")),
        ("examples", head("examples", "Use this. Examples:\n<example>\nuser: \"bar\"\n</example>")),
        ("continued", head("continued", "first line\n  second: line")),
        ("folded", head("folded", "first line\n  second line")),
        ("block", head("block", "|\n  a: b\n  c: d")),
        ("block-folded", head("block-folded", ">-\n  a\n  b")),
        ("crlf", "---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n".to_owned()),
        ("crlf-colon", "---\r\nname: crlf-colon\r\ndescription: d: e\r\n---\r\nbody\r\n".to_owned()),
        ("bom", format!("\u{feff}{}", head("bom", "d"))),
        ("no-name", "---\ndescription: d\n---\nbody\n".to_owned()),
        ("no-description", "---\nname: no-description\n---\nbody\n".to_owned()),
        ("no-head", "just text\n".to_owned()),
        ("unclosed", "---\nname: unclosed\ndescription: d\nbody\n".to_owned()),
        ("late", format!("\n{}", head("late", "d"))),
        ("four", "----\nname: four\ndescription: d\n----\nbody\n".to_owned()),
        ("empty", String::new()),
        ("empty-head", "---\n---\nbody\n".to_owned()),
        ("no-body", "---\nname: no-body\ndescription: d\n---".to_owned()),
        ("spaces", head("with spaces", "d")),
        ("upper", head("Upper_x.y/é", "d")),
        ("number", head("123", "d")),
        ("quoted-number", head("\"123\"", "'456'")),
        ("number-description", head("number-description", "42")),
        ("list-description", head("list-description", "[a, b]")),
        ("boolean", head("true", "yes")),
        ("yes", head("yes", "no")),
        ("null", head("~", "d")),
        ("empty-name", head("\"\"", "d")),
        ("empty-description", head("empty-description", "\"\"")),
        ("dash", head("-dash", "d")),
        ("plugin", head("plugin:x", "d")),
        ("wide-colon", head("wide：x", "d")),
        ("long", long),
        ("twice-1", head("twice", "first")),
        ("twice-2", head("twice", "second")),
        ("twice-key", "---\nname: a\nname: twice-key\ndescription: d\n---\nbody\n".to_owned()),
        ("case", "---\nName: case\nDescription: d\n---\nbody\n".to_owned()),
        ("indented", "---\n  name: indented\n  description: d\n---\nbody\n".to_owned()),
        ("tab", "---\nname:\ttab\ndescription: a\n\tb\n---\nbody\n".to_owned()),
        ("anchor", head("&n anchor", "*n")),
        ("merge", "---\nbase: &b\n  description: d\n<<: *b\nname: merge\n---\nbody\n".to_owned()),
        ("star", head("star", "*not an alias")),
        ("at", head("at", "@at")),
        ("percent", head("percent", "%pct `tick`")),
        ("brace", head("brace", "{a} b\ntools: *")),
        ("hash", head("hash", "use c# and #tags")),
        ("open-quote", head("open-quote", "\"never closed")),
        ("behind-quote", head("behind-quote", "\"done\" and more")),
        ("single-quote", head("single-quote", "'a: b' and: c")),
        ("middle", head("middle", "this --- and that")),
        ("dots", "---\nname: dots\ndescription: d\n...\nbody\n".to_owned()),
        ("list", "---\n- name: list\n---\nbody\n".to_owned()),
        ("scalar", "---\njust a scalar\n---\nbody\n".to_owned()),
        ("trailing", "---  \nname: trailing\ndescription: \"  d  \"\n---  \nbody\n".to_owned()),
        ("escape", head("escape", "\"a \\e[31mred\"")),
        ("nul", head("nul", "a\0b")),
        ("tools-colon", head("tools-colon", "d\ntools: Bash(git: *), Read")),
        ("bomb", head("bomb", "d\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]")),
        (".hidden", head("hidden", "d")),
        ("sub/deep/nested", head("nested", "d")),
        ("Explore", head("Explore", "in place of a built-in one")),
        ("big", big),
        ("too-big", too_big),
    ];
    let mut files: Vec<(&str, Vec<u8>)> = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    files.push(("latin1", b"---\nname: latin1\ndescription: caf\xe9\n---\nbody\n".to_vec()));
    files
}

fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// What `claude` says it knows in a folder, by its list with descriptions and by the names of the event `init`.
fn known(home: &ClaudeHome, dir: &Path) -> (Agents, Vec<String>) {
    let mut command = home.command();
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

/// What we find there.
fn listed(home: &ClaudeHome, dir: &Path) -> Agents {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askbox"));
    command.args(["agents", "list", "--json"]).env_clear().envs(home.env()).current_dir(dir);
    let outcome = run(command, b"", LIMIT);
    let list: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {outcome:?}"));
    agents(&list["agents"])
}

/// The agents that claude has where nobody defined any.
fn built_in(home: &ClaudeHome) -> Agents {
    let empty = home.home().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    known(home, &empty).0
}

#[track_caller]
fn assert_agreed(home: &ClaudeHome, dir: &Path, built_in: &Agents) -> Agents {
    let ours = listed(home, dir);
    let (theirs, names) = known(home, dir);
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
fn of_a_folder_with_every_mistake_we_list_what_claude_knows() {
    let api = Api::start();
    let home = ClaudeHome::new(&api);
    let built_in = built_in(&home);
    assert!(built_in.contains_key("general-purpose"));
    let agents = home.work().join(".claude/agents");
    for (name, content) in assorted() {
        write(&agents.join(format!("{name}.md")), &content);
    }
    write(&agents.join("other.markdown"), b"---\nname: other\ndescription: d\n---\nbody\n");
    write(&agents.join("upper.MD"), b"---\nname: upper-md\ndescription: d\n---\nbody\n");
    write(&home.work().join("outside/linked.md"), b"---\nname: linked\ndescription: d\n---\nbody\n");
    let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, agents.join(name)).unwrap();
    link(home.work().join("outside/linked.md"), "zlink.md");
    link(home.work().join("outside"), "zfolder");
    link(agents.clone(), "zloop");
    link("/nonexistent".into(), "zdangling.md");
    let ours = assert_agreed(&home, &home.work(), &built_in);
    // Neither nothing nor everything.
    for name in ["plain", "colon", "crlf", "nested", "hidden", "linked", "twice", "Explore", "with spaces"] {
        assert!(ours.contains_key(name), "{name}");
    }
    for name in ["examples", "crlf-colon", "too-big", "unclosed", "other", "upper-md"] {
        assert!(!ours.contains_key(name), "{name}");
    }
}

#[test]
fn in_every_folder_of_a_tree_we_look_where_claude_looks() {
    let api = Api::start();
    let home = ClaudeHome::new(&api);
    let built_in = built_in(&home);
    let root = home.work();
    let define = |folder: PathBuf, name: &str, words: &str| {
        write(&folder.join(format!("{name}.md")), format!("---\nname: {name}\ndescription: {words}\n---\nbody\n").as_bytes());
    };
    define(home.config().join("agents"), "users", "user");
    define(home.config().join("agents"), "both", "user");
    define(home.home().join(".claude/agents"), "not-seen", "the home's, where CLAUDE_CONFIG_DIR names another");
    define(home.home().join("project/.claude/agents"), "at-home", "a project in the home");
    define(root.join("above/.claude/agents"), "above", "above the repository");
    for name in ["repo", "both", "near"] {
        define(root.join("above/repo/.claude/agents"), name, "the repository's");
    }
    define(root.join("above/repo/sub/.claude/agents"), "near", "the nearer");
    std::fs::create_dir_all(root.join("above/repo/sub/deep")).unwrap();
    let git = |script: &str| {
        let git = "git -c user.email=a@example.com -c user.name=a";
        let mut command = Command::new("sh");
        command
            .args(["-ec", &script.replace("git ", &format!("{git} "))])
            .env_clear()
            .envs(home.env())
            .current_dir(root.join("above/repo"));
        run(command, b"", LIMIT).ok();
    };
    git("git init -q . && git commit -q --allow-empty -m x && git worktree add -q ../linked && git worktree add -q inner");
    let mut seen = 0;
    for dir in ["above/repo", "above/repo/sub", "above/repo/sub/deep", "above", "above/linked", "above/repo/inner"] {
        seen += assert_agreed(&home, &root.join(dir), &built_in).len();
    }
    for dir in [home.home().join("project"), home.home(), home.config()] {
        seen += assert_agreed(&home, &dir, &built_in).len();
    }
    assert_eq!(seen, 4 * 4 + 4 + 3 + 3 + 2 + 2, "the tree was not what it should be");
    // Without a repository it goes on up.
    std::fs::rename(root.join("above/repo/.git"), root.join("above/repo/no-git")).unwrap();
    assert!(assert_agreed(&home, &root.join("above/repo/sub/deep"), &built_in).contains_key("above"));
}
