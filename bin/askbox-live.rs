//! `askbox live`: the dialogs of opencode and Copilot as questions. Those of Codex: the watcher starts `askbox-live codex`.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "codex") {
        return askbox_cli::program::main_of(std::env::args_os().skip(1).collect(), askbox_live::codex::run);
    }
    surfaces::main("live", |command, context| match command {
        Command::Live(args) => askbox_live::run(&args, context),
        _ => Err(surfaces::missing("live")),
    })
}
