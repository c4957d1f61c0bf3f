//! The supervisor's side of the fence: takes each request once, and starts its program.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::process::Signal;

use crate::fence::request::{self, ANY, ASKED, ASKS_FOR, END, ERRORS, FENCE, INPUT, IS_TAKEN, OUTPUT, Request, TAKEN};
use crate::fence::{self, HAND_MADE};
use crate::process::poll_thread::PollSource;
use crate::process::{agent_exit, launch, programs};
use crate::supervise::stop::{self, ControlFifo};
use askbox_agent::claude::Invocation;
use askbox_mailbox::documents::question::MAX_QUESTION;
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::{Error, Folder, IoContext, Mailbox, Result, WorkflowId, disk, document, thread};

/// How many programs work at once for a run. The other requests wait.
const MOST: usize = 32;

/// How long a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// Takes requests until it is dropped. The programs that work then are ended.
#[must_use = "nobody takes requests once it is dropped"]
pub struct Desk {
    counter: Arc<Counter>,
    _control: ControlFifo,
}

impl Desk {
    /// Opens the desk in the folder `asks`. It takes requests once the source is polled. `call` is the call of the agent, and `workflow` its
    /// run's.
    ///
    /// # Errors
    /// [`Error::Io`] if the pipe cannot be made.
    pub fn open(mailbox: &Mailbox, workflow: Option<&WorkflowId>, asks: &Path, call: &Invocation) -> Result<(Self, Box<dyn PollSource>)> {
        let counter = Arc::new(Counter {
            mailbox: mailbox.clone(),
            asks: asks.to_path_buf(),
            workflow: workflow.cloned(),
            remove: call.env_remove.clone(),
            set: call.env_set.clone(),
            state: Mutex::default(),
        });
        let woken = Arc::clone(&counter);
        let (control, source) = stop::listen_for_wake_ups(asks, move || woken.look())?;
        Ok((Self { counter, _control: control }, source))
    }

    /// Posts the questions that the run has written by hand. A question is left out if another one of its workflow waits, or if the run may
    /// not change that workflow.
    pub fn take_hand_made(&self) {
        let Counter { mailbox, asks, workflow: Some(workflow), .. } = &*self.counter else { return };
        for entry in disk::entries(&asks.join(HAND_MADE)).into_iter().flatten().flatten() {
            let id = entry.path.file_stem().and_then(|stem| stem.to_str()?.parse::<WorkflowId>().ok());
            let Some(id) = id.filter(|id| fence::may_change(mailbox, workflow, id)) else { continue };
            let posted =
                disk::read(&entry.path, MAX_QUESTION).and_then(|bytes| disk::create(&mailbox.document(Folder::Pending, &id), &bytes));
            if posted.is_ok_and(|placed| placed == disk::Placed::Done) {
                let _ = disk::untouch(&entry.path);
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.take_hand_made();
        let helpers = {
            let mut state = thread::locked(&self.counter.state);
            state.is_closed = true;
            std::mem::take(&mut state.helpers)
        };
        helpers.iter().for_each(|helper| helper.signal(Signal::TERM));
        helpers.iter().for_each(|helper| _ = helper.wait_gone(GRACE));
        let _ = disk::remove_known(&self.counter.asks, &|depth, _, is_folder| depth < 2 && (depth == 0 || !is_folder));
    }
}

struct Counter {
    mailbox: Mailbox,
    asks: PathBuf,
    workflow: Option<WorkflowId>,
    remove: Vec<OsString>,
    set: Vec<(OsString, OsString)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// How many requests are served.
    served: usize,
    helpers: Vec<Arc<ProcessHandle>>,
}

impl Counter {
    /// Takes the requests that wait, as far as there is room.
    fn look(self: &Arc<Self>) {
        for entry in disk::entries(&self.asks).into_iter().flatten().flatten().filter(disk::Entry::is_folder) {
            {
                let mut state = thread::locked(&self.state);
                if state.is_closed || state.served >= MOST {
                    return;
                }
                // Two looks may find it, and one of them renames it.
                if !matches!(disk::begin_rename(&entry.path.join(ASKED), &entry.path.join(TAKEN)), Ok(Some(_))) {
                    continue;
                }
                state.served += 1;
            }
            let (counter, folder) = (Arc::clone(self), entry.path);
            let served = thread::start(move || {
                counter.serve(&folder);
                thread::locked(&counter.state).served -= 1;
                // Others may have waited for the room.
                counter.look();
            });
            if served.is_err() {
                thread::locked(&self.state).served -= 1;
            }
        }
    }

    /// Makes the call, and tells how it ended. A caller that is gone by then is told nothing.
    fn serve(&self, folder: &Path) {
        let Ok(mut end) = writer(folder, END) else { return };
        let status = self.call(folder, &mut end).unwrap_or_else(|error| {
            let complain = |mut to: File| to.write_all(format!("error: {error}\nhint: {}\n", error.hint()).as_bytes());
            let _ = writer(folder, ERRORS).map(complain);
            error.exit_code()
        });
        let _ = end.write_all(format!("{status}\n").as_bytes());
    }

    fn call(&self, folder: &Path, end: &mut File) -> Result<u8> {
        let request: Request = document::json(&disk::read(&folder.join(TAKEN), request::LARGEST)?)
            .ok_or_else(|| Error::usage("the request cannot be read", "let the programs of askbox write it"))?;
        if !request::may_be_asked(&request.program, &request.args) {
            let hint = "ask your user to do it, with `ask-post`";
            return Err(Error::conflict(format!("a run behind the fence may not call `{}` so", request.program), hint));
        }
        let input = match request.has_input {
            true => Stdio::from(disk::fifo::open_end(&folder.join(INPUT)).and_then(|input| pipe(input, &folder.join(INPUT)))?),
            false => Stdio::null(),
        };
        let (output, errors) = (writer(folder, OUTPUT)?, writer(folder, ERRORS)?);
        let watched = output.try_clone().io("watch", folder.join(OUTPUT))?;
        end.write_all(&[IS_TAKEN]).io("answer", folder)?;
        let mut command = launch::command_tied_to_this_thread(programs::beside(&request.program).as_os_str());
        command.args(&request.args).current_dir(&request.cwd).stdin(input).stdout(output).stderr(errors);
        self.remove.iter().for_each(|name| _ = command.env_remove(name));
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
        command.envs(request.env.into_iter().filter(|(name, _)| request::VARIABLES.contains(&name.as_str())));
        command.env_remove(FENCE).env(ASKS_FOR, self.workflow.as_ref().map_or(ANY, WorkflowId::as_str));
        let mut child = agent_exit::start_awaited(&mut command).io("start", Path::new(&request.program))?;
        drop(command);
        self.attend(&mut child, &watched).io("wait for", Path::new(&request.program))
    }

    /// Waits for the program, and ends it if its caller is gone.
    fn attend(&self, child: &mut Child, output: &File) -> std::io::Result<u8> {
        let process = ProcessHandle::open(child.id()).map(Arc::new);
        if let Some(process) = &process {
            let mut state = thread::locked(&self.state);
            state.helpers.retain(|helper| !helper.is_gone());
            state.helpers.push(Arc::clone(process));
            if state.is_closed {
                process.signal(Signal::TERM);
            }
            drop(state);
            let mut fds = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN), PollFd::new(output, PollFlags::empty())];
            while rustix::io::retry_on_intr(|| poll(&mut fds, None)).is_ok_and(|ready| ready == 0) {}
            if fds[0].revents().is_empty() {
                process.signal(Signal::TERM);
                if !process.wait_gone(GRACE) {
                    process.signal(Signal::KILL);
                }
            }
        }
        agent_exit::awaited(child).map(exit_code)
    }
}

/// The exit status of a program as a shell tells it: 128 and the number of the signal that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    u8::try_from(status.code().unwrap_or(128 + status.signal().unwrap_or_default())).unwrap_or(1)
}

/// Opens a pipe of the caller for writing.
fn writer(folder: &Path, name: &str) -> Result<File> {
    let path = folder.join(name);
    let gone = || Error::failed(format!("nobody reads {}", path.display()), "call it again");
    disk::fifo::open_writer(&path)?.ok_or_else(gone).and_then(|file| pipe(file, &path))
}

/// The pipe, whose reads and writes wait from now on. The run may have put anything else into its place.
fn pipe(file: File, path: &Path) -> Result<File> {
    if !file.metadata().io("look at", path)?.file_type().is_fifo() {
        return Err(Error::invalid("file", "is no pipe", "let the programs of askbox make it").in_file(path));
    }
    rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(std::io::Error::from).io("open", path)?;
    Ok(file)
}
