//! `askbox fence PROGRAM ARGS…`: starts a person's session behind the fence. Its dialogs and its news go on working, and its shell decides
//! nothing.

use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGQUIT};

use askbox_agent::claude::Invocation;
use askbox_cli::args::askbox_args::Fence;
use askbox_cli::program::Context;
use askbox_mailbox::disk::{Purpose, Root};
use askbox_mailbox::{Error, IoContext, Result};
use askbox_run::fence;
use askbox_run::fence::request::FENCE;
use askbox_run::launch;
use askbox_run::process::poll_thread::PollThread;
use askbox_run::supervise::desk::{Desk, exit_code};

/// Runs the program until it has ended; returns its exit status.
///
/// # Errors
/// [`Error::Failed`] if this system has no fence, or the program cannot be started.
pub fn run(args: &Fence, context: &Context) -> Result<u8> {
    let (program, words) = args.command.split_first().ok_or_else(|| Error::usage("no program is given", "askbox fence claude"))?;
    let (mailbox, config) = (args.common.open_or_create()?, context.config()?);
    let fence = fence::of_session(&mailbox, &config, std::env::current_dir().into_iter())?;
    // Outside of the mailbox, so that it goes with the session.
    let folder = tempfile::Builder::new().prefix("askbox-fence").tempdir().io("make", std::env::temp_dir())?;
    let asks = Root::open(folder.path(), Purpose::Change).map(|_| folder.path())?;
    // Its requests are an agent's, whatever it sets: a person's shell is above this process.
    let call = Invocation::plain(program.as_ref()).env("CLAUDECODE", "1").env("ASKBOX_DIR", mailbox.root());
    let (desk, requests) = Desk::open(&mailbox, None, asks, &call)?;
    let mut thread = PollThread::new()?;
    thread.start(vec![requests]);
    // A key of the terminal is for the program.
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::default()).io("watch", "signals")?;
    }
    let mut command = launch::tied(program.as_ref(), Some(&fence))?;
    let status = command.args(words).env(FENCE, asks).env("ASKBOX_DIR", mailbox.root()).status().io("start", program)?;
    drop(desk);
    Ok(exit_code(status))
}
