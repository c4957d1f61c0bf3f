//! The calls that `askbox hook` has let through in an attempt. The agent program asks about each of them once more, because it has the
//! operator's rules as rules that ask: so a call whose hook failed or took too long still meets the supervisor, which knows that nobody has
//! let it through.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::disk;
use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::run::approval::call::Call;
use crate::run::attempt::record::Run;

/// How the names of the marks begin, in the attempt's folder.
pub const PREFIX: &str = "let_through.";

/// Notes that the hook lets this call through, before it says so.
pub fn note(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> Result<()> {
    disk::touch(&mark(mailbox, run, id, tool, input))
}

/// Whether the hook has let exactly this call through. It is said once.
pub fn take(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> Result<bool> {
    let mark = mark(mailbox, run, id, tool, input);
    let is_noted = disk::exists(&mark);
    if is_noted {
        disk::untouch(&mark)?;
    }
    Ok(is_noted)
}

/// The folder of the call is left out: the hook has compared it, and the supervisor does not know that of a subagent.
fn mark(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> PathBuf {
    let hash = Call { tool, input, cwd: Path::new("") }.approval().sha256;
    let name = Uuid::new_v5(&run.plan.message_id, format!("{id}\n{hash}").as_bytes());
    run.folder(mailbox).join(format!("{PREFIX}{name}"))
}
