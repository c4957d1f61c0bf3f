//! `askbox mcp`, as the MCP server that an agent starts in a run.

use askbox_agent::acp::OwnServer;
use askbox_agent::claude::{self, Invocation};
use askbox_config::Runner;
use askbox_mailbox::Mailbox;

use crate::attempt::record::Run;
use crate::process::launch::{self, Handed};
use crate::process::programs;

/// The further variables that the server reads: the user's folders, and the operator's configuration.
const FURTHER: [&str; 7] = ["HOME", "PATH", "USER", "LOGNAME", "ASKBOX_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// The server for the agent of this `call`, or the reason why there is none. `None` if the runner offers none. The server gets the
/// variables of the agent's shell, so that a question is asked in the same run whichever way it is asked.
pub fn of_run(mailbox: &Mailbox, run: &Run, runner: &Runner, handed: &Handed, call: &Invocation) -> Option<Result<OwnServer, String>> {
    runner.mcp.then(|| {
        let program = programs::askbox().ok_or("the program `askbox` is not installed")?;
        let program = std::path::absolute(program).ok().and_then(|path| path.to_str().map(str::to_owned));
        let program = program.ok_or("the path of the program `askbox` is not UTF-8")?;
        let of_run = launch::environment(mailbox, run, handed);
        let names = of_run.iter().map(|(name, _)| *name).chain(FURTHER).chain([claude::CONFIG_DIR]);
        let env = names.filter_map(|name| Some((name, value(call, name)?))).map(|(name, value)| match value.into_string() {
            Ok(value) => Ok((name.to_owned(), value)),
            Err(_) => Err(format!("the variable {name} is not UTF-8")),
        });
        Ok(OwnServer { program, env: env.collect::<Result<_, _>>()? })
    })
}

/// The value of a variable in the agent's environment.
fn value(call: &Invocation, name: &str) -> Option<std::ffi::OsString> {
    let set = call.env_set.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone());
    set.or_else(|| std::env::var_os(name).filter(|_| !call.env_remove.iter().any(|removed| removed == name)))
}
