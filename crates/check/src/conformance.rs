//! `askbox conformance`: drives another implementation of the protocol, and prints what it violates. `docs/dev/conformance.md` describes
//! the lines that both exchange.
//!
//! | file | idea |
//! |---|---|
//! | `mod.rs` | the command: which checks run, and how their results are printed |
//! | `checks` | the list of all checks, with the clause of the protocol that each stands for |
//! | `harness` | a process of the implementation, and its replies |
//! | `case`, `verdict` | the place of one check, and its result |
//! | `vectors` | the files of `docs/vectors`, which any implementation may use |
//! | `names`, `documents`, `answers`, `strangers`, `locks`, `races` | groups of checks |
//! | `order`, `crashes` | checks of the order of writes, and of processes that are killed |
//! | `strace` | the system calls of the implementation |

mod answers;
mod case;
mod checks;
mod crashes;
mod documents;
mod harness;
mod locks;
mod names;
mod order;
mod races;
mod strace;
mod strangers;
mod vectors;
mod verdict;

use serde_json::{Value, json};

use crate::conformance::case::Runner;
use crate::conformance::checks::Check;
use crate::conformance::verdict::Stop;
use askbox_cli::args::askbox_args::Conformance;
use askbox_cli::program;
use askbox_mailbox::{Error, IoContext, Result, text};

/// The page of the protocol, whose sections are the clauses.
const PAGE: &str = "docs/dev/protocol.md";

/// Runs the checks. The exit status is 1 if one is violated.
///
/// # Errors
/// [`Error::Usage`] if a check is not known. [`Error::Failed`] if the command cannot be started.
pub fn run(args: &Conformance) -> Result<u8> {
    let chosen = chosen(&args.only)?;
    if args.list {
        return list(&chosen, args.json);
    }
    let folder = tempfile::Builder::new().prefix("askbox-conformance-").tempdir().io("make a folder in", std::env::temp_dir())?;
    let root = folder.path().canonicalize().io("find", folder.path())?;
    let mut runner = Runner::new(args, root);
    runner.probe()?;
    let mut counts = [0_usize; 3];
    let mut rows = Vec::new();
    for check in chosen {
        let verdict = runner.case().map_err(Stop::from).and_then(|mut case| (check.run)(&mut case));
        let (result, why) = match verdict {
            Ok(()) => (0, None),
            Err(Stop::Violated(words)) => (1, Some(words)),
            Err(Stop::Skipped(words)) => (2, Some(words)),
            Err(Stop::Failed(error)) => return Err(error),
        };
        counts[result] += 1;
        let result = ["kept", "violated", "skipped"][result];
        if args.json {
            let mut row = described(check);
            row["result"] = result.into();
            if let Some(why) = why {
                row["why"] = why.into();
            }
            rows.push(row);
        } else {
            let why = why.map_or_else(String::new, |why| format!(": {}", text::one_line(&why)));
            program::print(&format!("{result:<9}{:<18} {PAGE}#{}{why}\n", check.name, check.clause))?;
        }
    }
    let [kept, violated, skipped] = counts;
    let all = json!({"kept": kept, "violated": violated, "skipped": skipped, "checks": rows});
    program::print_result(args.json, &all, &format!("{kept} kept, {violated} violated, {skipped} skipped\n"))?;
    Ok(u8::from(violated > 0))
}

fn described(check: &Check) -> Value {
    json!({"check": check.name, "clause": format!("{PAGE}#{}", check.clause), "rule": check.rule})
}

fn chosen(only: &[String]) -> Result<Vec<&'static Check>> {
    if let Some(unknown) = only.iter().find(|name| !checks::ALL.iter().any(|check| check.name == name.as_str())) {
        return Err(Error::usage(format!("`{unknown}` is not a check"), "askbox conformance --list prints the checks"));
    }
    Ok(checks::ALL.iter().filter(|check| only.is_empty() || only.iter().any(|name| name == check.name)).collect())
}

fn list(chosen: &[&Check], as_json: bool) -> Result<u8> {
    for check in chosen {
        let words = format!("{:<18} {PAGE}#{:<24} {}\n", check.name, check.clause, check.rule);
        program::print_result(as_json, &described(check), &words)?;
    }
    Ok(0)
}

/// The names of the checks, for the completions of a shell.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    checks::ALL.iter().map(|check| (check.name, check.rule))
}
