//! The seed's own scheme beside ours, with the real `claude` on every level: a chain of four waits for its user, who is asked
//! about fifty times. `SGN_RESUME` goes down through every level's model, `SGN_PEND_ONGOING` comes back up. What that sends is
//! counted at the API. Ours sends nothing: `birthday.rs`.

use crate::support::api::Request;
use crate::support::service::{Service, bash};
use serde_json::json;

const FILES: [&str; 4] = ["ins1-a.md", "ins2-sa.md", "ins3-ssa.md", "ins4-sssa.md"];

/// The seed's `agent-cli`, in sh: `spawn FILE` and `resume` of the level below, by the session that was kept for it; the root is
/// below level 0. `FORK` is `--fork-session` for its better scheme, and empty for its first one. What `forward` does is what its
/// CLAUDE.md tells an agent to do on `SGN_RESUME`.
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

struct Poll {
    requests: usize,
    /// Of all request bodies.
    bytes: usize,
    /// Of the conversations in them.
    messages: usize,
}

fn count(requests: &[Request]) -> Poll {
    let sent: Vec<_> = requests.iter().filter(|r| r.path == "/v1/messages").collect();
    Poll {
        requests: sent.len(),
        bytes: sent.iter().map(|r| r.body.to_string().len()).sum(),
        messages: sent.iter().map(|r| r.body["messages"].to_string().len()).sum(),
    }
}

/// The chain, asleep; then what each of `n` polls sent.
fn polls(n: usize, fork: &str) -> Vec<Poll> {
    let service = Service::new();
    service.home.add_script("agent-cli", AGENT_CLI);
    let seed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seed");
    for (n, file) in FILES.iter().enumerate() {
        let path = service.home.work().join(file);
        std::fs::copy(seed.join(file), &path).expect("a copy");
        let read = json!({"tool": "Read", "input": {"file_path": path}});
        let steps = match FILES.get(n + 1) {
            Some(next) => json!([read, bash(&format!("agent-cli spawn {next}"))]),
            None => json!([read, {"text": "SGN_PEND_STARTED"}]),
        };
        service.api.on(&format!("{file} and follow its instructions."), steps);
    }
    service.api.on("SGN_RESUME", json!([bash("agent-cli forward")]));
    let call = |args: &[&str]| {
        let mut command = std::process::Command::new(service.home.bin().join("agent-cli"));
        command.env_clear().envs(service.home.env()).env("FORK", fork).args(args).current_dir(service.home.work());
        crate::support::claude::run(command, b"", crate::support::claude::LIMIT).ok().stdout
    };
    let said = call(&["spawn", FILES[0]]);
    assert!(said.starts_with("SGN_PEND_STARTED ("), "{said}");
    let mut seen = service.api.requests().len();
    let poll = |_| {
        assert_eq!(call(&["forward"]), "SGN_PEND_ONGOING\n");
        let all = service.api.requests();
        let poll = count(&all[seen..]);
        seen = all.len();
        poll
    };
    (0..n).map(poll).collect()
}

#[test]
fn the_seeds_scheme_asks_every_levels_model_twice_a_poll_and_without_a_fork_the_conversations_grow() {
    let forked = polls(2, "--fork-session");
    assert!(forked.iter().all(|p| p.requests == 8), "a tool call and a word on each of four levels");
    assert!(forked[1].bytes.abs_diff(forked[0].bytes) * 100 < forked[0].bytes, "as much each time");
    let grown = polls(3, "");
    assert!(grown.iter().all(|p| p.requests == 8));
    let steps: Vec<_> = grown.windows(2).map(|w| w[1].messages - w[0].messages).collect();
    assert!(steps.iter().all(|s| *s > 1000) && steps[0].abs_diff(steps[1]) * 5 < steps[0], "more each time, by as much: {steps:?}");
}

/// For the table in `docs/guide-chains.md`: `cargo test --test claude seed -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes: the figures of docs/guide-chains.md"]
fn fifty_polls_of_the_seeds_scheme() {
    for fork in ["--fork-session", ""] {
        let polls = polls(50, fork);
        for n in [1, 10, 50] {
            let sum = |part: fn(&Poll) -> usize| polls[..n].iter().map(part).sum::<usize>();
            eprintln!(
                "{fork:15} {n:2} polls: {} requests, {} bytes, {} of conversation",
                sum(|p| p.requests),
                sum(|p| p.bytes),
                sum(|p| p.messages)
            );
        }
    }
}
