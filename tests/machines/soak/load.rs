//! The kinds of rounds, and the people who ask and answer.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::support::{Running, World, until};

/// The work of the agents, by the kind in the workflow's name. A file says that the workflow was launched before.
pub const AGENT: &str = r#"
first=$AGENT_DIR/first.$ASKBOX_WORKFLOW_ID
was=; [ -e "$first" ] && was=1; : >"$first"
says() { result "$1"; log "done $ASKBOX_RUN $session"; }
case $ASKBOX_WORKFLOW_ID-$was in
retried*-) exit 3 ;;
failing*) exit 3 ;;
parent*-) says "$(relaunch spawn -w "child${ASKBOX_WORKFLOW_ID#parent}" --prompt 'The work' </dev/null 2>>"$AGENT_DIR/complaints")" ;;
child*-) says "$(ask-post 'When?' -o a=Now </dev/null 2>>"$AGENT_DIR/complaints")" ;;
back*-) says "$(ask-post 'Again: merge?' -o a=A </dev/null 2>>"$AGENT_DIR/complaints")" ;;
permitted*-)
  call='{"type":"tool_use","id":"t9","name":"Bash","input":{"command":"git push"}}'
  printf '{"type":"assistant","cwd":"/","message":{"content":[%s]}}\n' "$call" >>"$transcript"
  say "{\"type\":\"assistant\",\"message\":{\"content\":[$call]}}"
  request='{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git push"},"tool_use_id":"t9"}'
  say "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":$request}"
  while IFS= read -r reply; do case $reply in *control_response*) break ;; esac; done
  work ;;
*) work ;;
esac
"#;

/// A kind of round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Answered,
    Declined,
    /// The date of a default comes.
    Expired,
    /// The date comes, and the question is over.
    Lapsed,
    AskedBack,
    Withdrawn,
    /// The first attempt fails.
    Retried,
    /// All attempts fail, and a person drops the round.
    Failing,
    /// A workflow spawns another one, which asks.
    Chain,
    Batch,
    /// The asker waits and takes the answer.
    Waited,
    /// The agent waits for the permission of a call while it works.
    Permitted,
}

const KINDS: [Kind; 12] = [
    Kind::Answered,
    Kind::Declined,
    Kind::Expired,
    Kind::Lapsed,
    Kind::AskedBack,
    Kind::Withdrawn,
    Kind::Retried,
    Kind::Failing,
    Kind::Chain,
    Kind::Batch,
    Kind::Waited,
    Kind::Permitted,
];
const IN_A_BATCH: usize = 3;

/// How often each state must stand in `closed/`, and how many of the rounds were shown to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    pub states: BTreeMap<String, usize>,
    pub shown: usize,
}

impl Ends {
    fn new(state: &str, rounds: usize, shown: usize) -> Self {
        Self { states: BTreeMap::from([(state.to_owned(), rounds)]), shown }
    }
}

pub struct Load<'a> {
    world: &'a World,
    next: AtomicUsize,
    ended: AtomicUsize,
    has_failed: AtomicBool,
    /// How the rounds of each workflow must end.
    pub expected: Mutex<BTreeMap<String, Ends>>,
    kinds: Mutex<BTreeMap<Kind, usize>>,
}

impl<'a> Load<'a> {
    pub fn new(world: &'a World) -> Self {
        Self {
            world,
            next: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            expected: Mutex::default(),
            kinds: Mutex::default(),
        }
    }

    /// The rounds that are over so far.
    pub fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    pub fn words(&self) -> String {
        format!("{:?}", self.kinds.lock().expect("kinds"))
    }

    pub fn go_on_until(&self, is_over: &AtomicBool) {
        let _failed = Failed(self);
        while !is_over.load(Ordering::Relaxed) && !self.has_failed() {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            self.one(KINDS[n % KINDS.len()], n);
        }
    }

    fn ok(&self, program: &str, arguments: &[&str]) {
        self.world.ok(program, arguments);
    }

    fn ask(&self, id: &str, more: &[&str]) {
        self.ok("ask-post", &[&["-w", id, "Merge?", "-o", "a=A", "-o", "b=B"], more].concat());
    }

    /// Answers the question that an agent will ask.
    fn answer_once_asked(&self, id: &str, answer: &[&str]) {
        let pending = self.world.in_mailbox(format!("pending/{id}.json"));
        until(&format!("{id} asks"), || pending.exists());
        self.ok("ask-answer", &[&[id], answer].concat());
    }

    /// Goes through the rounds of one or several workflows, and waits until they are over.
    fn one(&self, kind: Kind, n: usize) {
        let id = format!("{}{n}", format!("{kind:?}").to_lowercase());
        let id = match kind {
            Kind::AskedBack => format!("back{n}"),
            Kind::Chain => format!("parent{n}"),
            _ => id,
        };
        match kind {
            Kind::Answered => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &[&id, "a"]);
                let follower = self.world.run("relaunch", &["events", "-f", &id]);
                assert!(follower.status.success() && follower.stdout.contains("\"result\""), "{}", follower.words());
                self.over(&id, Ends::new("delivered", 1, 1));
            }
            Kind::Declined => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &["decline", &id]);
                self.over(&id, Ends::new("delivered", 1, 1));
            }
            Kind::Expired => {
                self.ask(&id, &["--timeout", "1s", "--default", "a"]);
                self.over(&id, Ends::new("delivered", 1, 1));
            }
            Kind::Lapsed => {
                self.ask(&id, &["--timeout", "1s", "--on-expiry", "cancel"]);
                self.over(&id, Ends::new("expired", 1, 0));
            }
            Kind::AskedBack => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &["ask-back", &id, "Why?"]);
                self.answer_once_asked(&id, &["a"]);
                self.over(&id, Ends::new("delivered", 2, 2));
            }
            Kind::Withdrawn => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &["cancel", &id]);
                self.over(&id, Ends::new("withdrawn", 1, 0));
            }
            Kind::Retried => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &[&id, "a"]);
                self.over(&id, Ends::new("delivered", 1, 1));
            }
            Kind::Failing => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &[&id, "a"]);
                until(&format!("{id} is parked"), || self.world.only("parked", &format!("{id}.")).is_some());
                self.ok("relaunch", &["drop", &id]);
                self.over(&id, Ends::new("dropped", 1, 1));
            }
            Kind::Chain => {
                let child = format!("child{n}");
                self.ask(&id, &[]);
                self.ok("ask-answer", &[&id, "a"]);
                // Until its own run has ended, the parent waits for its child within that run.
                self.until_over(&id, 1);
                self.answer_once_asked(&child, &["a"]);
                // The parent is told of the end of its child in a round of its own.
                self.over(&id, Ends::new("delivered", 2, 2));
                self.over(&child, Ends::new("delivered", 2, 2));
            }
            Kind::Batch => {
                let ids: Vec<String> = (0..IN_A_BATCH).map(|part| format!("{id}-{part}")).collect();
                let questions = ids.iter().map(|id| json!({ "workflow_id": id, "question": "Merge?", "options": { "a": "A" } }));
                let questions = serde_json::Value::from_iter(questions).to_string();
                self.world.run_with("ask-post", &["--batch", "--file", "-"], questions.as_bytes()).ok();
                ids.iter().for_each(|id| self.ok("ask-answer", &[id, "a"]));
                ids.iter().for_each(|id| self.over(id, Ends::new("delivered", 1, 1)));
            }
            Kind::Waited => {
                let mut asker = self.world.command("ask-post");
                asker.args(["-w", &id, "Merge?", "-o", "a=A", "--wait", "60s"]).stdout(Stdio::null()).stderr(Stdio::null());
                let mut asker = Running::start(&mut asker);
                self.answer_once_asked(&id, &["a"]);
                assert!(asker.wait().success(), "{id}");
                self.over(&id, Ends::new("delivered", 1, 0));
            }
            Kind::Permitted => {
                self.ask(&id, &[]);
                self.ok("ask-answer", &[&id, "a"]);
                let pending = self.world.in_mailbox(format!("pending/{id}.json"));
                until(&format!("{id} asks"), || pending.exists());
                let shown = self.world.ok("ask-answer", &["show", &id]);
                let allow = shown.lines().map(str::trim).find(|line| line.starts_with(&format!("ask-answer {id} once --round ")));
                self.world.sh(allow.unwrap_or_else(|| panic!("no command to copy: {shown}")));
                self.over(&id, Ends::new("delivered", 2, 1));
            }
        }
        *self.kinds.lock().expect("kinds").entry(kind).or_default() += 1;
    }

    /// Waits until its rounds are closed, and notes how they must have ended.
    fn over(&self, id: &str, ends: Ends) {
        let rounds: usize = ends.states.values().sum();
        self.until_over(id, rounds);
        self.ended.fetch_add(rounds, Ordering::Relaxed);
        self.expected.lock().expect("expected").insert(id.to_owned(), ends);
    }

    fn until_over(&self, id: &str, rounds: usize) {
        let closed = |question: &String| self.world.in_mailbox(format!("closed/{id}.{question}.json")).exists();
        until(&format!("{rounds} rounds of {id} are over"), || {
            self.world.names(&format!("runs/{id}")).iter().filter(|question| closed(question)).count() >= rounds
        });
    }
}

/// Ends the load if one of its threads fails.
struct Failed<'a>(&'a Load<'a>);

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
        }
    }
}
