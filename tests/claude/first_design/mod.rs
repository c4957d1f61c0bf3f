//! The five documents of the first design, gone through with the real `claude`: what they say is typed verbatim, and what has to come
//! of it stands beside it. What works unchanged and what does not is told to users in `docs/guide-first-design.md`.
//!
//! | file | document |
//! |---|---|
//! | `article.rs` | the article on chains: CLAUDE.md, `agent-cli`, four instruction files, the signals |
//! | `snippets.rs` | "Subagent User Communication": three snippets for bash |
//! | `child.rs` | how the Task tool starts agents; streaming and stopping a child; the lesson on subagents |
//! | `lesson.rs` | that lesson's other prompts |

mod article;
mod child;
mod lesson;
mod snippets;

/// A file of `tests/fixtures/seed`.
fn seed(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seed").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
