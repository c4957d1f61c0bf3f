//! Questions of other machines are seen and answered from here, by the real ssh.

mod changed_call;
mod cut;
mod hostile;
mod one_wins;
mod only_answers;
mod seen;
mod signed;

use crate::support::machine::configure;
use crate::support::{Machine, World, until};

/// The machine of a person, and one other machine that asks `docs-42`.
fn two() -> (World, Machine) {
    let here = World::new();
    let build = Machine::new(&here, "build");
    build.world.ok("ask-post", &["-w", "docs-42", "Merge the sections?", "-o", "merge=Yes", "-o", "drop=No", "--asked-by", "reviewer"]);
    configure(&here, &[&build]);
    until("build is seen", || here.ok("ask-answer", &["list", "--host", "build"]).contains("build:docs-42"));
    (here, build)
}
