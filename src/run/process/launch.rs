//! Starting the agent's process, so that the kernel ends the agent if its supervisor dies.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::agent::claude::Invocation;
use crate::error::{Error, IoContext, Result};
use crate::platform::kinship;
use crate::run::claim::permitted::WorkFolder;
use crate::run::process::{programs, run_processes};

/// The first argument that makes `relaunch` become the agent: see [`become_agent`].
pub const SHIM: &str = "__agent";

/// Starts the agent in `folder`, in a process group of its own. It gets SIGTERM when the calling *thread* ends, so that thread must outlive it.
pub fn spawn(call: &Invocation, folder: &WorkFolder, stderr: File) -> Result<Child> {
    let program = programs::find(&call.program)?;
    let ours = programs::relaunch()?;
    // Instead of `pre_exec`, which is unsafe: `relaunch` sets the death signal and then becomes the agent.
    let mut command = Command::new(ours);
    command.arg(SHIM).arg(std::process::id().to_string()).arg(program).args(&call.args).current_dir(folder.to_start_in());
    call.env_remove.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env_remove(run_processes::SUPERVISES);
    command.envs(call.env_set.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
    command.spawn().io("launch", &call.program).map_err(|e| match e {
        short if short.is_shortage() => short,
        e => Error::failed(e.to_string(), "check [runner] in the configuration: askbox doctor"),
    })
}

/// `relaunch __agent PARENT PROGRAM ARGS…`: asks the kernel for SIGTERM when the supervisor (the process PARENT) dies, then becomes the
/// agent. Returns an exit status if that fails.
#[must_use]
pub fn become_agent(mut args: impl Iterator<Item = OsString>) -> u8 {
    let parent = args.next().and_then(|p| p.to_str()?.parse::<u32>().ok());
    let Some(program) = args.next() else { return 2 };
    let is_tied = kinship::end_with_parent();
    // The supervisor may have died before the signal was set.
    let orphaned = rustix::process::getppid().map(|p| p.as_raw_nonzero().get().unsigned_abs()) != parent;
    if !is_tied || orphaned {
        return 1;
    }
    let error = Command::new(&program).args(args).exec();
    // Not `eprintln!`, which panics where nobody reads standard error.
    #[allow(clippy::disallowed_methods, reason = "this standard error is the file stderr.log")]
    let _ = writeln!(std::io::stderr(), "relaunch: cannot run {}: {error}", program.to_string_lossy());
    127
}
