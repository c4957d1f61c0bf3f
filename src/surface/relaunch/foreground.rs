//! A run in the foreground: read along on standard output, stopped by a signal or by a reader that goes away.

use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::follow;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::run::events::Event;
use crate::run::ladder::Request;
use crate::run::record::{Run, State};
use crate::run::supervisor::{self, Stopper};
use crate::time;

/// Supervises a run here, its events on standard output. Returns when it is over, with the exit status that fits.
pub(super) fn foreground(mailbox: &Mailbox, config: Config, run: Run, json: bool) -> Result<u8> {
    let grace = config.limits.grace.0;
    let stopper: Arc<OnceLock<Stopper>> = Arc::default();
    let reader_gone = {
        let stopper = stopper.clone();
        move || {
            if let Some(stopper) = stopper.get() {
                stopper.stop(request("its reader went away", grace));
            }
        }
    };
    let mut gone = false;
    let mut show = |event: &Event| {
        let line = if json { follow::json_line(event) } else { follow::words(event) };
        let print = |line: &str| std::io::stdout().write_all(line.as_bytes()).and_then(|()| std::io::stdout().flush());
        // What cannot be shown any more is still recorded.
        gone = gone || (!line.is_empty() && print(&line).is_err());
    };
    let stoppable = |s: Stopper| {
        on_signal(s.clone(), grace);
        let _ = stopper.set(s);
        on_hangup(reader_gone);
    };
    let run = supervisor::supervise(mailbox, &config, run, &mut show, stoppable)?;
    ended(run)
}

fn ended(run: Run) -> Result<u8> {
    let (workflow, why) = (run.workflow_id, run.why.unwrap_or_default());
    match run.state {
        State::Delivered => Ok(0),
        State::Failed => Err(Error::failed(
            format!("{workflow} failed: {why}"),
            format!("a watcher tries again after {}; see: relaunch logs {workflow}", run.retry_at.map(time::rfc3339).unwrap_or_default()),
        )),
        State::Interrupted => {
            Err(Error::failed(format!("{workflow} was stopped: {why}"), format!("go on where it was: relaunch {workflow}")))
        }
        State::Parked => Err(Error::failed(format!("{workflow} is parked: {why}"), format!("mend that, then: relaunch retry {workflow}"))),
        State::Claimed | State::Running => {
            Err(Error::conflict(format!("somebody else runs {workflow} by now"), format!("read along: relaunch logs -f {workflow}")))
        }
    }
}

fn request(why: &str, grace: Duration) -> Request {
    Request { why: why.into(), grace, report: false, now: false }
}

/// SIGTERM, SIGINT and SIGHUP climb the ladder instead of killing us: the agent's session is kept. A second one is impatient.
pub(super) fn on_signal(stopper: Stopper, grace: Duration) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        std::thread::spawn(move || {
            for (n, signal) in signals.forever().enumerate() {
                let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
                stopper.stop(Request { now: n > 0, ..request(&format!("the supervisor got {name}"), grace) });
            }
        });
    }
}

/// Calls `gone` when whoever reads our standard output closes the pipe: also where nothing is to be written for a while.
fn on_hangup(gone: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let out = std::io::stdout();
        loop {
            // No event is asked for: only an error or a hang-up wakes it.
            let mut fds = [PollFd::new(&out, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => return gone(),
                // A file or terminal without such a notion.
                Ok(_) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    });
}
