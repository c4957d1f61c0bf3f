//! Where the project and its built programs lie.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The names of askbox's programs.
const NAMES: [&str; 8] = ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox", "ask-agent", "askbox-acp", "askbox-agents"];

/// The folder of the programs. Cargo builds them for the tests, and puts them into the folder above the folder of the test program.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let this = std::env::current_exe().expect("the path of this test program");
    let folder = this.parent().and_then(Path::parent).expect("a test program lies in target/*/deps").to_owned();
    for name in NAMES {
        let path = folder.join(name);
        assert!(path.is_file(), "{} is missing: `cargo test --all-features` builds it beside the tests", path.display());
    }
    folder
});

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the kit lies in crates/testkit")
}

/// The folder of askbox's programs.
pub fn programs() -> &'static Path {
    &FOLDER
}

/// The path of one of askbox's programs.
pub fn program(name: &str) -> &'static str {
    static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let path = |name| FOLDER.join(name).into_os_string().into_string().expect("a UTF-8 path");
        NAMES.map(path).into()
    });
    let n = NAMES.iter().position(|known| *known == name).unwrap_or_else(|| panic!("askbox has no program {name}"));
    &PATHS[n]
}
