//! The five documents of the first design, gone through with the real `claude`. The tests type what the documents say, verbatim, beside
//! the result that has to come. `docs/guide-first-design.md` tells users what works unchanged and what does not.
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
