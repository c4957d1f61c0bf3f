//! A program behind the fence of a run: the run's supervisor makes the call in its place, and this process passes its words on.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::SystemTime;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use uuid::Uuid;

use crate::program::variables::{env, working_folder};
use askbox_mailbox::{Error, IoContext, Mailbox, Result, WorkflowId, disk, document, thread};
use askbox_run::fence::may_change;
use askbox_run::fence::request::{
    ANY, ASKED, ASKS_FOR, END, ERRORS, FENCE, INPUT, IS_TAKEN, OUTPUT, Request, VARIABLES, may_be_asked, reads_input,
};
use askbox_run::supervise::stop;

/// How often the supervisor is looked for, while it says nothing.
const LOOK: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Asks the run's supervisor to make this call. Returns its exit status. `None` if this process stands behind no fence, or if a run may not
/// ask for the call.
pub(super) fn ask() -> Option<Result<u8>> {
    let asks = PathBuf::from(env(FENCE)?);
    let program = std::env::current_exe().ok()?.file_name()?.to_str()?.to_owned();
    let args = std::env::args_os().skip(1).map(|arg| arg.into_string().ok()).collect::<Option<Vec<_>>>()?;
    may_be_asked(&program, &args).then(|| Call::begin(&asks, program, args).and_then(Call::attend))
}

/// Explains an error of the system that comes from the fence.
pub(super) fn explain(error: Error) -> Error {
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::ReadOnlyFilesystem && env(FENCE).is_some() => {
            Error::conflict("this run stands behind a fence, and changes nothing here by itself", "ask your user to do it, with `ask-post`")
        }
        other => other,
    }
}

/// Refuses to change a workflow that the run behind the fence may not change. Outside of such a run, every workflow may be changed.
///
/// # Errors
/// [`Error::Conflict`] with the workflow.
pub fn check_own(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let Some(own) = env(ASKS_FOR).filter(|own| own != ANY) else { return Ok(()) };
    let own: WorkflowId = own.parse()?;
    if may_change(mailbox, &own, workflow) {
        return Ok(());
    }
    Err(Error::conflict(format!("{workflow} is not a workflow of this run"), format!("use {own}, or a new id for a part of it")))
}

/// True if this program works for a run behind a fence.
pub fn is_for_fenced_run() -> bool {
    env(ASKS_FOR).is_some()
}

/// A call that the supervisor makes.
struct Call {
    asks: PathBuf,
    folder: PathBuf,
    output: Pipe,
    errors: Pipe,
    end: Pipe,
    /// Lets go of the input once the supervisor has opened it.
    taken: mpsc::Sender<()>,
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = disk::remove_known(&self.folder, &|depth, _, _| depth == 0);
    }
}

impl Call {
    fn begin(asks: &Path, program: String, mut args: Vec<String>) -> Result<Self> {
        let folder = asks.join(Uuid::new_v4().simple().to_string());
        let pipe = |name: &str| folder.join(name);
        disk::touch_folder(&folder)?;
        for name in [INPUT, OUTPUT, ERRORS, END] {
            disk::fifo::create(&pipe(name))?;
        }
        let open = |name| disk::fifo::open_end(&pipe(name)).map(|file| Pipe { file, has_ended: false });
        let (output, errors, end) = (open(OUTPUT)?, open(ERRORS)?, open(END)?);
        let (taken, is_taken) = mpsc::channel();
        let has_input = reads_input(&program, &args) && !io::stdin().is_terminal();
        if has_input {
            // Kept open for reading too, until the program can read what is written here.
            let input = disk::fifo::open_reader(&pipe(INPUT))?;
            thread::start(move || {
                rustix::fs::fcntl_setfl(&input, OFlags::empty())?;
                copy(&mut io::stdin().lock(), &input)?;
                let _ = is_taken.recv();
                drop(input);
                io::Result::Ok(())
            })?;
        }
        // For `<(command)`, bash opens a descriptor that only this process has.
        for (n, arg) in args.iter_mut().enumerate().filter(|(_, arg)| arg.starts_with("/dev/fd/")) {
            let (from, to) = (arg.clone(), pipe(&format!("fd{n}")));
            disk::fifo::create(&to)?;
            *arg = to.display().to_string();
            #[allow(clippy::disallowed_methods, reason = "a pipe, whose opening waits for its reader")]
            thread::start(move || copy(&mut File::open(from)?, &OpenOptions::new().write(true).open(to)?))?;
        }
        let env = VARIABLES.into_iter().filter_map(|name| Some((name.to_owned(), env(name)?))).collect();
        let request = Request { program, args, cwd: working_folder()?, env, has_input };
        disk::replace_unsynced(&pipe(ASKED), &document::to_json(&request)?, SystemTime::now())?;
        stop::wake(asks)?;
        Ok(Self { asks: asks.to_path_buf(), folder, output, errors, end, taken })
    }

    /// Passes on what the program says until it has ended. Returns its exit status.
    fn attend(mut self) -> Result<u8> {
        let mut word = Vec::new();
        while !word.ends_with(b"\n") {
            let has_supervisor = self.wait()? || disk::fifo::open_writer(&stop::control_path(&self.asks))?.is_some();
            self.end.pass(&mut word).io("read", &self.folder)?;
            if word.first() == Some(&IS_TAKEN) {
                word.remove(0);
                let _ = self.taken.send(());
            }
            #[allow(clippy::disallowed_methods, reason = "the program has filtered its words")]
            let (mut out, mut err) = (io::stdout(), io::stderr());
            self.output.pass(&mut out).and_then(|()| self.errors.pass(&mut err)).io("write", "standard output")?;
            if (self.end.has_ended && !word.ends_with(b"\n")) || !has_supervisor {
                // A request that can be taken back was not taken.
                if matches!(disk::begin_rename(&self.folder.join(ASKED), &self.folder.join("back.json")), Ok(Some(_))) {
                    return Err(Error::usage("the run is over, so nothing was done", "call it while the run works"));
                }
                let hint = "look whether it was done before you call it again: relaunch status";
                return Err(Error::failed("the run's supervisor ended before it said what became of this call", hint));
            }
        }
        Ok(String::from_utf8_lossy(&word).trim().parse().unwrap_or(1))
    }

    /// Waits until one of the pipes has something to say. False if none has, for a while.
    fn wait(&self) -> Result<bool> {
        let open = [&self.output, &self.errors, &self.end].into_iter().filter(|pipe| !pipe.has_ended);
        let mut fds: Vec<_> = open.map(|pipe| PollFd::new(&pipe.file, PollFlags::IN)).collect();
        let ready = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&LOOK))).map_err(io::Error::from);
        ready.map(|ready| ready > 0).io("wait for", &self.folder)
    }
}

/// A pipe that the supervisor or the program writes into.
struct Pipe {
    file: File,
    has_ended: bool,
}

impl Pipe {
    /// Passes on everything that it holds now. Nothing at all is held, too, before its writer comes.
    fn pass(&mut self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = [0; 1 << 16];
        loop {
            match self.file.read(&mut bytes) {
                Ok(0) => {
                    let mut now = [PollFd::new(&self.file, PollFlags::IN)];
                    let polled = poll(&mut now, Some(&Timespec::default()))?;
                    self.has_ended = polled > 0 && now[0].revents().contains(PollFlags::HUP);
                    return to.flush();
                }
                Ok(n) => to.write_all(&bytes[..n])?,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return to.flush(),
                Err(e) => return Err(e),
            }
        }
    }
}

/// Copies until the end of the input. Nobody may read it any more.
fn copy(from: &mut impl Read, mut to: &File) -> io::Result<()> {
    // Not `io::copy`: its `splice` waits on a socket until the buffer is full.
    let mut bytes = [0; 1 << 16];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(n) => to.write_all(&bytes[..n])?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
