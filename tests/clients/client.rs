//! How a script is run with one of the clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::support::{Outcome, World, output};

/// The language of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Client {
    Python,
    Node,
}

/// The folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program behind a name. `python3` may be a script that looks for the version to use, which takes longer than a harness needs.
pub fn interpreter(name: &str) -> String {
    static PYTHON: LazyLock<String> = LazyLock::new(|| {
        let said = output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]));
        said.ok().stdout.trim().to_owned()
    });
    if name == "python3" { PYTHON.clone() } else { name.to_owned() }
}

impl Client {
    /// The folder of the client's sources.
    pub fn sources(self) -> PathBuf {
        project().join(match self {
            Self::Python => "clients/python",
            Self::Node => "clients/typescript",
        })
    }

    /// A script of this name, brought to where it finds the client.
    pub fn script(self, world: &World, name: &str) -> PathBuf {
        let (folder, file) = match self {
            Self::Python => ("python", format!("{name}.py")),
            Self::Node => ("node", format!("{name}.mjs")),
        };
        self.bring(world, &file, &fs::read_to_string(project().join("tests/clients").join(folder).join(&file)).expect("the script"))
    }

    /// Writes a script to where it finds the client.
    pub fn bring(self, world: &World, file: &str, text: &str) -> PathBuf {
        // Node looks for packages beside the script, and a script named like a module of Python would hide it.
        let scripts = world.path("scripts");
        let packages = scripts.join("node_modules/@askbox");
        fs::create_dir_all(&packages).expect("a folder");
        if !packages.join("client").exists() {
            std::os::unix::fs::symlink(Self::Node.sources(), packages.join("client")).expect("a link");
        }
        fs::write(scripts.join(file), text).expect("the script");
        scripts.join(file)
    }

    /// The interpreter and what it needs before the script.
    pub fn words(self) -> Vec<String> {
        let python = format!("PYTHONPATH={}", Self::Python.sources().join("src").display());
        match self {
            Self::Python => vec!["env".into(), python, "PYTHONDONTWRITEBYTECODE=1".into(), "python3".into()],
            Self::Node => vec!["node".into()],
        }
    }

    /// A script to be run, with askbox's programs on `PATH`.
    pub fn command(self, world: &World, script: &Path) -> Command {
        let words = self.words();
        let mut command = world.any_command(&words[0]);
        command.args(&words[1..]).arg(script).env("PATH", world.path_with_programs());
        command
    }

    /// Runs a script to its end, which must be good. Returns what it printed.
    #[track_caller]
    pub fn ok(self, world: &World, name: &str, args: &[&str]) -> String {
        let outcome: Outcome = output(self.command(world, &self.script(world, name)).args(args));
        assert!(outcome.status.success(), "{self:?} {name}: {}\n{}", outcome.status, outcome.words());
        outcome.stdout
    }
}

/// Brings these packages to where Node looks for them: beside the script.
pub fn link_modules(world: &World, modules: &str) {
    for entry in fs::read_dir(modules).expect("the modules").flatten() {
        let to = world.path("scripts/node_modules").join(entry.file_name());
        if !entry.file_name().to_string_lossy().starts_with('.') && !to.exists() {
            std::os::unix::fs::symlink(entry.path(), to).expect("a link");
        }
    }
}
