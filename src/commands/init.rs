//! `askbox init`: the configuration file, shell completions and man pages. All of them are generated from the data that the programs
//! themselves use: [`config::keys`] and the argument types.

#![allow(clippy::disallowed_methods, reason = "man pages go to a folder that the caller names, outside of any mailbox")]

use std::path::{Path, PathBuf};

use clap::Command;

use crate::commands::args::{Init, programs};
use crate::commands::{claude_md, complete, service};
use askbox_cli::program;
use askbox_config as config;
use askbox_mailbox::{Error, IoContext, Placed, Result, disk};

/// Does what the flags ask for.
pub fn run(args: &Init) -> Result<u8> {
    match (args.completions, &args.man) {
        _ if args.print => program::print(&config::template())?,
        _ if args.claude_md => program::print(claude_md::SECTION)?,
        _ if args.service => service::write_service(args.force)?,
        (Some(shell), _) => program::print(&completions(shell)?)?,
        (None, Some(dir)) => man(dir)?.iter().try_for_each(|page| program::print_value(&page.display().to_string()))?,
        (None, None) => program::print_value(&write(args.force)?.display().to_string())?,
    }
    Ok(0)
}

/// Writes the configuration file to the path where the programs look for it.
fn write(force: bool) -> Result<PathBuf> {
    let path = config::location().ok_or_else(|| {
        let hint = "set one of them, or: askbox init --print > FILE";
        Error::usage("the configuration file has no place: $ASKBOX_CONFIG, $XDG_CONFIG_HOME and $HOME are all unset", hint)
    })?;
    let path = std::path::absolute(&path).io("find", &path)?;
    disk::create_folder(path.parent().unwrap_or(Path::new("/")))?;
    if force {
        keep_old(&path)?;
    }
    match disk::create(&path, config::template().as_bytes())? {
        Placed::Done => Ok(path),
        Placed::NameExists => Err(Error::conflict(
            format!("{} exists already and was not changed", path.display()),
            "print all keys: askbox init --print; write a new file and keep the old one beside it: askbox init --force",
        )),
    }
}

/// Renames an old configuration file to `config.toml.old`, `config.toml.old.1` …
fn keep_old(path: &Path) -> Result<()> {
    for n in 0_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(if n == 0 { ".old".to_owned() } else { format!(".old.{n}") });
        let old = PathBuf::from(name);
        match disk::rename(path, &old) {
            Ok(Placed::Done) => {
                program::say(&format!("note: the old file is now {}\n", old.display()));
                return Ok(());
            }
            Ok(Placed::NameExists) => {}
            Err(e) if e.is_missing_file() => return Ok(()),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The completions of all programs in one script.
pub fn completions(shell: clap_complete::Shell) -> Result<String> {
    let mut out = Vec::new();
    for command in programs() {
        let (mut command, name) = (without_hidden(&command), command.get_name().to_owned());
        clap_complete::generate(shell, &mut command, name, &mut out);
    }
    out.extend_from_slice(complete::script(shell).as_bytes());
    String::from_utf8(out).map_err(|_| Error::failed("the completions are not valid UTF-8", "report this"))
}

/// The command without its hidden commands, which only askbox itself calls.
fn without_hidden(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).map(without_hidden);
    // clap wants names that live as long as the process, which ends soon.
    let name: &'static str = command.get_name().to_owned().leak();
    let copy = Command::new(name).about(command.get_about().cloned().unwrap_or_default()).disable_help_subcommand(true).subcommands(shown);
    let copy = match command.get_version() {
        Some(version) => copy.version(&*version.to_owned().leak()),
        None => copy,
    };
    copy.args(command.get_arguments().cloned()).groups(command.get_groups().cloned())
}

/// Writes a man page for each program and each of its commands. Returns the paths of the pages.
pub fn man(dir: &Path) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(dir).io("create", dir)?;
    let mut written = Vec::new();
    for command in programs() {
        let mut command = command.disable_help_subcommand(true);
        // Gives every command its full name, such as `relaunch-watch`.
        command.build();
        pages(&command, dir, &mut written)?;
    }
    Ok(written)
}

fn pages(command: &Command, dir: &Path, written: &mut Vec<PathBuf>) -> Result<()> {
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages(sub, dir, written)?;
    }
    // No date, so that a page depends only on the program. The blank keeps the place of the date.
    let page =
        clap_mangen::Man::new(command.clone()).date(" ").source(concat!("askbox ", env!("CARGO_PKG_VERSION"))).manual("askbox manual");
    let path = dir.join(page.get_filename());
    let mut bytes = Vec::new();
    page.render(&mut bytes).io("render", &path)?;
    std::fs::write(&path, bytes).io("write", &path)?;
    written.push(path);
    Ok(())
}
