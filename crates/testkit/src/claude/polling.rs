//! Polling, the scheme of the first sketch of askbox, with the real `claude` on every level. A chain of four waits for its user, and
//! `SGN_RESUME` goes down through every level's model until `SGN_PEND_ONGOING` comes back up. The API counts the requests.

use serde_json::json;

use crate::claude::api::Request;
use crate::claude::bash;
use crate::{ClaudeWorld, output, root};

const FILES: [&str; 4] = ["ins1-a.md", "ins2-sa.md", "ins3-ssa.md", "ins4-sssa.md"];

/// The sketch's `agent-cli`, in sh. `spawn FILE` starts the next level; `forward` resumes the level below by its kept session, as
/// the sketch's CLAUDE.md tells an agent to do on `SGN_RESUME`. The root is below level 0. `FORK` is `--fork-session` for the
/// sketch's better scheme, and empty for its first one.
const AGENT_CLI: &str = r#"
level=$((${LEVEL:-0} + 1)); export LEVEL=$level
kept=$HOME/kept.$level
new=$(cat /proc/sys/kernel/random/uuid)
case $1 in
spawn) out=$(claude -p --session-id "$new" "--allowedTools=Bash(agent-cli:*)" -- "Read $PWD/$2 and follow its instructions.") ;;
forward)
  # The leaf looks whether its question has an answer.
  if [ ! -e "$kept" ]; then echo SGN_PEND_ONGOING; exit; fi
  if [ -n "$FORK" ]; then
    out=$(claude -p --resume "$(cat "$kept")" --fork-session --session-id "$new" "--allowedTools=Bash(agent-cli:*)" -- SGN_RESUME)
  else
    new=$(cat "$kept")
    out=$(claude -p --resume "$new" "--allowedTools=Bash(agent-cli:*)" -- SGN_RESUME)
  fi ;;
esac
case $out in
*SGN_PEND_ONGOING*) echo SGN_PEND_ONGOING ;;
*SGN_PEND_STARTED*) echo "$new" >"$kept"; echo "SGN_PEND_STARTED ($new)" ;;
*) printf '%s\n' "$out" ;;
esac
"#;

/// The requests of one poll.
pub struct Poll {
    pub requests: usize,
    /// Bytes of all request bodies.
    pub bytes: usize,
    /// Bytes of the conversations in them.
    pub messages: usize,
}

fn count(requests: &[Request]) -> Poll {
    let sent: Vec<_> = requests.iter().filter(|r| r.path == "/v1/messages").collect();
    Poll {
        requests: sent.len(),
        bytes: sent.iter().map(|r| r.body.to_string().len()).sum(),
        messages: sent.iter().map(|r| r.body["messages"].to_string().len()).sum(),
    }
}

/// Starts the chain, which then waits for its user; what each of `n` polls after that sent. `fork` is `--fork-session` or empty.
pub fn polls(n: usize, fork: &str) -> Vec<Poll> {
    let world = ClaudeWorld::new();
    world.add_script("agent-cli", AGENT_CLI);
    let seed = root().join("tests/fixtures/seed");
    for (n, file) in FILES.iter().enumerate() {
        let path = world.work().join(file);
        std::fs::copy(seed.join(file), &path).expect("a copy");
        let read = json!({"tool": "Read", "input": {"file_path": path}});
        let steps = match FILES.get(n + 1) {
            Some(next) => json!([read, bash(&format!("agent-cli spawn {next}"))]),
            None => json!([read, {"text": "SGN_PEND_STARTED"}]),
        };
        world.api.on(&format!("{file} and follow its instructions."), steps);
    }
    world.api.on("SGN_RESUME", json!([bash("agent-cli forward")]));
    let call = |args: &[&str]| output(world.any_command(world.path("bin/agent-cli")).env("FORK", fork).args(args)).ok().stdout;
    let said = call(&["spawn", FILES[0]]);
    assert!(said.starts_with("SGN_PEND_STARTED ("), "{said}");
    let mut seen = world.api.requests().len();
    let poll = |_| {
        assert_eq!(call(&["forward"]), "SGN_PEND_ONGOING\n");
        let all = world.api.requests();
        let poll = count(&all[seen..]);
        seen = all.len();
        poll
    };
    (0..n).map(poll).collect()
}
