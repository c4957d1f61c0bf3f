//! A world with a real agent, and the story that each of them is tested with.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::openai::OpenAi;
use crate::support::process::stat_field;
use crate::support::{Watcher, World, files, kill, until};

/// A world whose workflows are run by a real agent.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) api: OpenAi,
}

/// The folder of the pinned agents.
pub(crate) fn agents() -> PathBuf {
    PathBuf::from(std::env::var_os("ASKBOX_TEST_AGENTS").expect("the test needs acp-agents"))
}

/// How an agent's model calls its shell.
pub(crate) type Shell = fn(&str) -> Value;

/// Why askbox permits a call of a tool of its own.
pub(crate) const OWN_TOOL: &str = "it is a tool of askbox that asks";

/// The keys that let a person decide about each call, and end the agent's process after a second.
pub(crate) const OVERNIGHT: &str = "[limits]\nhold = \"1s\"";

/// The process that is killed in the middle of a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Killed {
    /// The agent's first process. Its own children may go on.
    Agent,
    /// The process that reads the agent.
    Supervisor,
}

/// The call that has an effect.
const CALL: &str = "echo ran >> $HOME/effects";

/// The script of a model that makes a call in the first attempt, and is killed in it. Later it makes the call again, unless it knows of the
/// call: from a result, or in words. Then it says so.
fn unless_it_knows(call: &'static str, shell: Shell) -> impl Fn(&[String]) -> Vec<Value> + Send {
    move |known| match known {
        _ if known.iter().any(|text| text.contains(call)) => vec![json!({"text": "It had run."})],
        [.., newest] if newest.contains(" attempt 1]") => vec![shell(&format!("{call}; exec sleep 600")), json!({"text": "never"})],
        _ => vec![shell(call), json!({"text": "It has run again."})],
    }
}

/// Waits until it is true, and sees it within a millisecond.
pub(crate) fn until_just_now(what: &str, is_true: impl Fn() -> bool) {
    until(what, || {
        let pause = Instant::now() + Duration::from_millis(200);
        while !is_true() && Instant::now() < pause {
            std::thread::sleep(Duration::from_micros(300));
        }
        is_true()
    });
}

/// Puts a copy of a folder in the place of another one.
fn put(from: &Path, to: &Path) {
    let script = "rm -rf \"$2\" && cp -a \"$1\" \"$2\"";
    let copied = std::process::Command::new("sh").args(["-c", script, "sh"]).args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", from.display());
}

impl Scene {
    /// `configure` returns the keys of the runner `NAME`, whose preset has the same name.
    pub(crate) fn new(name: &str, configure: impl FnOnce(&World, &OpenAi) -> String) -> Self {
        Self::with_agents_in(&agents(), name, configure)
    }

    /// The same with an agent of another folder of packages.
    pub(crate) fn with_agents_in(folder: &Path, name: &str, configure: impl FnOnce(&World, &OpenAi) -> String) -> Self {
        let api = OpenAi::start();
        let mut world = World::beside_its_work();
        let bin = folder.join("node_modules/.bin");
        world.set_path(format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", bin.display()));
        let more = configure(&world, &api);
        world.configure(&format!(
            "[relaunch]\nmode = \"resume\"\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\nmax_concurrent = 8\n[runner]\ndefault = \"{name}\"\n\
             [runner.{name}]\nkind = \"acp\"\n{more}\n"
        ));
        world.make_mailbox();
        Self { world, api }
    }

    /// Starts the workflow `job` in the background.
    pub(crate) fn spawns(&self, prompt: &str) {
        self.world.ok("relaunch", &["spawn", "--background", "-w", "job", "--prompt", prompt]);
    }

    /// The agent asks in its shell, ends, and a new process continues its session, and reads the answer once.
    pub(crate) fn asks_and_comes_back(&self, shell: Shell) {
        let Self { world, api } = self;
        let steps = [
            shell("echo started >> $HOME/effects"),
            shell("checkpoint save job --next-action 'merge or keep'"),
            shell("ask-post -w job 'Merge or keep?' -o merge=m -o keep=k"),
            json!({"text": "I have asked."}),
        ];
        api.on("do the first part", json!(steps));
        api.on("User chose: merge", json!([shell("checkpoint get job user_answer >> $HOME/effects"), {"text": "It is merged."}]));
        let _watcher = world.watch();
        self.spawns("do the first part");
        until("it has asked", || world.in_mailbox("pending/job.json").exists());
        until("the agent is gone", || world.state("job") == "pending");
        self.nobody_is_left();
        world.ok("ask-answer", &["job", "merge"]);
        world.closed("job", "delivered", 2);
        assert_eq!(world.status("job")["result"], "It is merged.");
        assert_eq!(self.effects(), ["started", "merge"]);
        let told = api.told();
        let last = told.last().unwrap().join("\n");
        assert!(last.contains("do the first part") && last.contains("User chose: merge"), "the session goes on: {last}");
        assert_eq!(last.matches("User chose: merge").count(), 1);
        self.is_over(2);
    }

    /// A person does not decide about a call as long as the agent may wait. Its process ends. It makes the call again once the person has
    /// allowed it, and the call runs once.
    pub(crate) fn waits_overnight_for_a_permission(&self, shell: Shell) {
        let Self { world, api } = self;
        const CALL: &str = "echo ran >> $HOME/effects";
        api.on("do the first part", json!([shell(CALL), {"text": "never"}]));
        api.on("Make it again now", json!([shell(CALL), {"text": "It has run."}]));
        let _watcher = world.watch();
        self.spawns("do the first part");
        world.closed("job", "delivered", 1);
        until("it asks", || world.in_mailbox("pending/job.json").exists());
        self.nobody_is_left();
        let question = world.document("pending/job.json");
        assert!(question["question"].as_str().unwrap().contains(CALL), "{question}");
        assert!(self.effects().is_empty());
        world.ok("ask-answer", &["job", "once", "--round", &world.seen("job")]);
        world.closed("job", "delivered", 2);
        assert_eq!((self.effects(), world.status("job")["result"].as_str()), (vec!["ran".to_owned()], Some("It has run.")));
        let told = api.told();
        let last = told.last().unwrap().join("\n");
        assert!(last.contains("do the first part"), "the session goes on: {last}");
        assert_eq!(last.matches("Make it again now").count(), 1, "{last}");
        self.is_over(2);
    }

    /// One of its processes is killed while its tool runs, as soon as that has had its effect. The next attempt knows that the tool has
    /// run: from the session, or from askbox. If the model were told nothing of its call, it would make it again.
    pub(crate) fn is_killed_at_work(&self, shell: Shell, killed: Killed) {
        let Self { world, api } = self;
        api.on_knowing("[askbox round", unless_it_knows(CALL, shell));
        let _watcher = world.watch();
        self.spawns("do the first part");
        let agent = until("its agent runs", || self.agents().pop()).0;
        let doomed = match killed {
            Killed::Supervisor => world.processes("relaunch supervise").pop().unwrap(),
            Killed::Agent => agent,
        };
        // A few milliseconds later, kimi has written its call down.
        until_just_now("its tool runs", || !self.effects().is_empty());
        kill(doomed);
        world.closed("job", "delivered", 1);
        // copilot puts a warning before the text: a call has no result.
        let status = world.status("job");
        assert!(status["result"].as_str().is_some_and(|text| text.ends_with("It had run.")), "it repeats unknowingly: {status}");
        assert_eq!(self.effects(), ["ran"]);
        let last = api.told().pop().unwrap().join("\n");
        assert!(last.contains("do the first part"), "the session goes on: {last}");
        self.is_over(1);
    }

    /// The first process of each agent, with its environment.
    pub(crate) fn agents(&self) -> Vec<(i32, String)> {
        let supervisors = self.world.processes("relaunch supervise");
        let is_agent =
            |pid: i32| stat_field(pid, 1).and_then(|parent| parent.parse().ok()).is_some_and(|parent| supervisors.contains(&parent));
        self.world.of_runs().into_iter().filter(|(pid, _)| is_agent(*pid)).collect()
    }

    /// The agent is killed while its tool runs. Then `store` is put back to the state when its model made the call, as if the agent had written
    /// its message and not yet its call. The model reads its call from askbox. `transcript` is the name of the file with the session.
    pub(crate) fn has_written_only_its_message(&self, shell: Shell, store: &str, transcript: &'static str) {
        let Self { world, api } = self;
        const TASK: &str = "do the first part";
        let (store, kept) = (world.home().join(store), world.path("kept"));
        let (from, to) = (store.clone(), kept.clone());
        let script = unless_it_knows(CALL, shell);
        api.on_knowing("[askbox round", move |known| {
            if !to.exists() {
                // kimi writes the prompt down before it writes the message of the session. A line may be half written.
                let is_message = |line: &str| line.ends_with('\n') && line.contains(TASK) && line.contains(r#""role":"user""#);
                let has_it = |bytes: &[u8]| String::from_utf8_lossy(bytes).split_inclusive('\n').any(is_message);
                until("its message is written", || files(&from).iter().any(|(path, bytes)| path.ends_with(transcript) && has_it(bytes)));
                put(&from, &to);
            }
            script(known)
        });
        let watcher = world.watch();
        self.spawns(TASK);
        until("its tool runs", || !self.effects().is_empty());
        self.all_is_killed(watcher);
        put(&kept, &store);
        let _watcher = world.watch();
        world.closed("job", "delivered", 1);
        assert_eq!((self.effects(), world.status("job")["result"].as_str()), (vec!["ran".to_owned()], Some("It had run.")));
        let told = api.told().pop().unwrap().join("\n");
        assert!(told.contains("Continue where you left off") && !told.contains("You may have had this message before"), "{told}");
        assert!(told.matches(CALL).count() == 1 && told.contains("This session may lack these calls"), "it reads its call: {told}");
    }

    /// Kills the watcher, the supervisors and the agents, and waits until nobody is left.
    fn all_is_killed(&self, watcher: Watcher) {
        watcher.kill();
        self.world.processes("relaunch supervise").into_iter().for_each(kill);
        self.world.of_runs().into_iter().for_each(|(pid, _)| kill(pid));
        self.nobody_is_left();
    }

    fn nobody_is_left(&self) {
        until("nobody is left", || self.world.of_runs().is_empty());
    }

    /// The workflow had so many rounds, all are delivered, and no process of it is left.
    fn is_over(&self, rounds: usize) {
        self.nobody_is_left();
        let open: Vec<_> = ["pending", "answered", "running", "parked"].iter().flat_map(|folder| self.world.names(folder)).collect();
        assert!(open.is_empty(), "{open:?}");
        let closed = self.world.rounds("closed", "job");
        assert!(closed.len() == rounds && closed.iter().all(|round| round["closed"]["state"] == "delivered"), "{closed:?}");
    }

    /// The agent is killed while its tool runs. Then `store`, the folder below the home with its sessions, is put back to the state before the
    /// turn, as if the agent had not written its transcript yet. The agent reads its message and its call again.
    pub(crate) fn loses_its_last_words(&self, shell: Shell, store: &str) {
        let Self { world, api } = self;
        api.on("do the first part", json!([shell("ask-post -w job 'Merge or keep?' -o merge=m -o keep=k"), {"text": "I have asked."}]));
        api.on("User chose: merge", json!([shell("echo ran >> $HOME/effects; exec sleep 600"), {"text": "never"}]));
        api.on("An earlier attempt at this began", json!([{"text": "It had run."}]));
        let watcher = world.watch();
        world.ok("relaunch", &["spawn", "--background", "-w", "job", "--prompt", "do the first part"]);
        until("it has asked", || world.in_mailbox("pending/job.json").exists());
        until("the agent is gone", || world.state("job") == "pending");
        let (store, kept) = (world.home().join(store), world.path("kept"));
        put(&store, &kept);
        world.ok("ask-answer", &["job", "merge"]);
        until("its tool runs", || !self.effects().is_empty() && !world.processes("sleep 600").is_empty());
        self.all_is_killed(watcher);
        put(&kept, &store);
        let _watcher = world.watch();
        world.closed("job", "delivered", 2);
        assert_eq!((self.effects(), world.status("job")["result"].as_str()), (vec!["ran".to_owned()], Some("It had run.")));
        let told = api.told().pop().unwrap();
        let last = told.last().unwrap();
        assert!(told.join("\n").contains("do the first part"), "the session goes on: {told:?}");
        assert!(last.contains("User chose: merge") && last.contains("You may have had this message before"), "{last}");
        assert!(last.contains("echo ran"), "it reads its call: {last}");
    }

    /// The agent asks with its own tool. A person answers while it waits, and then, in a second workflow, after its process has ended.
    pub(crate) fn asks_with_its_own_tool(&self, ask: &Value) {
        let Self { world, api } = self;
        api.on("ask at once", json!([ask, {"text": "Thank you."}]));
        api.on("ask and wait", json!([ask, {"text": "never"}]));
        api.on("User chose: merge", json!([{"text": "It is merged."}]));
        let _watcher = world.watch();
        let asks = |workflow: &str, prompt: &str| {
            world.ok("relaunch", &["spawn", "--background", "-w", workflow, "--prompt", prompt]);
            until("it has asked", || world.in_mailbox(format!("pending/{workflow}.json")).exists());
            let question = world.document(&format!("pending/{workflow}.json"));
            let text = question["question"].as_str().unwrap_or_default();
            assert!(text.contains("Merge or keep?") && text.contains("for itself or for an MCP server"), "{question}");
        };
        asks("live", "ask at once");
        world.ok("ask-answer", &["live", "merge"]);
        world.closed("live", "delivered", 2);
        let told = api.told().pop().unwrap().join("\n");
        assert!(told.contains("merge") && world.status("live")["result"] == "Thank you.", "{told}");
        asks("later", "ask and wait");
        // An agent that is killed before it has written its session has nothing to continue.
        until("its session is written", || self.has_written("ask and wait"));
        world.processes("relaunch supervise").into_iter().for_each(kill);
        until("the agent is gone", || world.state("later") == "pending");
        world.ok("ask-answer", &["later", "merge"]);
        world.closed("later", "delivered", 2);
        assert_eq!(world.status("later")["result"], "It is merged.");
        let told = api.told().pop().unwrap().join("\n");
        assert!(told.contains("ask and wait") && told.contains("your user did not do that"), "the session goes on: {told}");
    }

    /// The agent asks with `ask_user` of `askbox mcp`, and a person answers while it waits. `permitted` says why askbox permits
    /// the call. It is empty if the agent asks for no permission.
    pub(crate) fn asks_with_a_tool_of_askbox(&self, ask: &Value, permitted: &str) {
        let Self { world, api } = self;
        api.on("ask with the tool", json!([ask, {"text": "Thank you."}]));
        let _watcher = world.watch();
        world.ok("relaunch", &["spawn", "--background", "-w", "job", "--prompt", "ask with the tool"]);
        until("it has asked", || world.in_mailbox("pending/job.json").exists());
        let question = world.document("pending/job.json");
        assert_eq!((&question["question"], &question["approval"]), (&"Merge or keep?".into(), &Value::Null), "no person permits the call");
        assert_eq!(question["cwd"], world.work().display().to_string(), "{question}");
        assert_eq!(question["session_id"], world.status("job")["session_id"], "{question}");
        world.ok("ask-answer", &["job", "merge"]);
        // The agent may end before its answer counts as heard, so either round may be the last one. Nobody is started with the answer again.
        world.closed("job", "delivered", 2);
        let told = api.told().pop().unwrap().join("\n");
        assert!(told.contains("merge") && !told.contains("QUESTION_POSTED"), "{told}");
        let is_events = |path: &Path| path.file_name().is_some_and(|name| name == "events.jsonl");
        let events = files(world.mailbox()).into_iter().filter(|(path, _)| is_events(path)).map(|(_, bytes)| bytes).collect::<Vec<_>>();
        let events = String::from_utf8_lossy(&events.concat()).into_owned();
        assert!(events.contains(r#""text":"Thank you."#), "{events}");
        assert_eq!(events.matches(r#""type":"started""#).count(), 1, "one agent: {events}");
        assert_eq!(events.matches(r#""type":"permission""#).count(), usize::from(!permitted.is_empty()), "{events}");
        assert!(events.contains(permitted), "the agent asked for a permission: {events}");
    }

    /// True if a transcript below the home has these words. Both agents write JSON lines; kimi writes the session's title long before.
    fn has_written(&self, words: &str) -> bool {
        let is_transcript = |path: &Path| path.extension().is_some_and(|end| end == "jsonl") && !path.starts_with(self.world.mailbox());
        files(self.world.home()).iter().any(|(path, bytes)| is_transcript(path) && String::from_utf8_lossy(bytes).contains(words))
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.world.home().join("effects")).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

/// The command of [`answers_itself`].
pub(crate) const ANSWERS: &str = "sh answers";

/// Writes a script into the working folder. It asks a question in a mailbox of its own, and answers it.
pub(crate) fn answers_itself(world: &World) {
    let script = "export ASKBOX_DIR=$HOME/other\nask-post -w whose 'Which?' -o a -o b\nask-answer whose a\n";
    std::fs::write(world.work().join("answers"), script).unwrap();
}

/// The answer of that script is known as one of an agent.
pub(crate) fn is_known_as_an_agents(world: &World) {
    let answer = until("it is answered", || std::fs::read(world.home().join("other/answered/whose.json")).ok());
    let question: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(question["answer"]["through"], "agent", "{question}");
}
