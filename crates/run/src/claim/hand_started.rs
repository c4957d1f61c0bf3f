//! An agent that a person's script starts itself, right after it has moved a question to `answered/`: `claude -p "Resume workflow from
//! checkpoint at PATH …"`, as in the first design. A second agent beside it would do the work twice.

use std::path::Path;
use std::time::Duration;

use askbox_mailbox::platform::processes;
use askbox_mailbox::{Folder, Mailbox, Question, Through, disk};

/// How long such a script may take from the move to the start.
const STARTS_WITHIN: Duration = Duration::from_secs(1);

/// The agent that has the answer to a question that was answered by hand.
#[derive(Debug)]
pub enum HandStarted {
    /// It may still be started within this time.
    Perhaps(Duration),
    /// This process is it.
    Process(i32),
}

impl HandStarted {
    /// Looks for the agent. `None` if there is none. `program` is the runner's.
    pub fn find(mailbox: &Mailbox, question: &Question, program: &Path) -> Option<Self> {
        let checkpoint = question.checkpoint.as_ref()?.to_str()?;
        if question.answer.as_ref()?.through != Some(Through::File) {
            return None;
        }
        let names = |word: &String| program.file_name() == Path::new(word).file_name();
        // The path as a word of its own: another agent's checkpoint may only end, or begin, in the same way. A path with a space is not found.
        let has_path = |word: &String| {
            word.split(|c: char| c.is_whitespace() || "\"'`(),;:".contains(c)).any(|part| part.trim_end_matches('.') == checkpoint)
        };
        let is_it = |arguments: &[String]| {
            arguments.iter().take(2).any(names)
                && arguments.iter().any(|word| word == "-p" || word == "--print")
                && arguments.iter().any(has_path)
        };
        let of_this_user = processes::all().filter(processes::Seen::is_of_this_user);
        if let Some(agent) = of_this_user.into_iter().find(|process| is_it(&process.arguments())) {
            return Some(Self::Process(agent.pid()));
        }
        let completed = disk::metadata(mailbox.document(Folder::Answered, &question.workflow_id)).and_then(|meta| meta.modified()).ok()?;
        let left = STARTS_WITHIN.checked_sub(completed.elapsed().unwrap_or(STARTS_WITHIN)).filter(|left| !left.is_zero());
        left.map(Self::Perhaps)
    }
}
