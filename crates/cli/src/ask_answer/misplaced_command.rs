//! A command behind the id, as in `ask-answer docs-42 decline`. It would become the answer, in the person's own words.

use std::ffi::OsString;
use std::path::Path;

use crate::args::ask_answer_args::{AskAnswer, Command};
use crate::ask_answer::other_machines::PART;
use askbox_mailbox::documents::checks::match_option::{Meaning, meaning};
use askbox_mailbox::text::{excerpt, shell_quote};
use askbox_mailbox::{Error, Question, Result};

/// Refuses a command that stands behind the id, unless the question has such an option or the person says that it is an answer, with
/// `--text` or `--`.
///
/// # Errors
/// [`Error::Usage`] with the words in their right order.
pub(super) fn refuse(question: &Question, args: &AskAnswer) -> Result<()> {
    let [id, command, more @ ..] = args.reply.words.as_slice() else { return Ok(()) };
    let is_an_option = || question.parts().iter().any(|part| matches!(meaning(&part.options, command), Meaning::Option(_)));
    if !Command::NAMES.contains(&command.as_str()) || is_an_option() || args.reply.text || follows_dashes(std::env::args_os()) {
        return Ok(());
    }
    let (quoted, more) = (shell_quote(id), more.join(" "));
    let flag = match command.as_str() {
        _ if more.is_empty() => "",
        "decline" => " --note",
        "cancel" => " --why",
        _ => "",
    };
    let more = if more.is_empty() { more } else { format!(" {}", shell_quote(&excerpt(&more, 60))) };
    Err(Error::usage(
        format!("the command `{command}` stands behind the id"),
        format!("write it in front: ask-answer {command} {quoted}{flag}{more}; to answer with the word: ask-answer {quoted} -- {command}"),
    ))
}

/// True if the words follow `--`. clap does not tell.
fn follows_dashes(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    // `askbox` gets the arguments of `ask-answer` behind a `--` of its own.
    let of_askbox = |program: &String| Path::new(program).file_name().is_some_and(|name| name == "askbox");
    let own = match args.as_slice() {
        [program, part, dashes, rest @ ..] if of_askbox(program) && part == PART && dashes == "--" => rest,
        [_, rest @ ..] => rest,
        [] => &[],
    };
    own.iter().any(|word| word == "--")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn refused(question: &str, line: &str) -> Option<String> {
        let question: Question = serde_json::from_str(question).unwrap();
        let args = AskAnswer::parse_from(std::iter::once("ask-answer").chain(line.split(' ')));
        refuse(&question, &args).err().map(|e| e.hint())
    }

    #[test]
    fn a_command_behind_the_id_is_told_its_place() {
        let open = r#"{"question":"?","workflow_id":"w"}"#;
        for command in Command::NAMES {
            let hint = refused(open, &format!("w {command}")).unwrap();
            assert!(hint.starts_with(&format!("write it in front: ask-answer {command} w; ")), "{hint}");
            assert!(hint.ends_with(&format!("to answer with the word: ask-answer w -- {command}")), "{hint}");
        }
        assert!(refused(open, "w decline not mine").unwrap().contains("ask-answer decline w --note 'not mine'; "));
        assert!(refused(open, "w ask-back which?").unwrap().contains("ask-answer ask-back w 'which?'; "));
        assert!(refused(open, "build:w undo").unwrap().contains("ask-answer undo build:w; "));
        for own in ["w declined", "w decline --text", "w Decline", "list"] {
            assert_eq!(refused(open, own), None, "{own}");
        }
        assert_eq!(refused(r#"{"question":"?","workflow_id":"w","options":["cancel","keep"]}"#, "w cancel"), None);
    }

    #[test]
    fn dashes_count_only_among_the_arguments_of_ask_answer() {
        let follows = |line: &str| follows_dashes(line.split(' ').map(OsString::from));
        assert!(follows("ask-answer w -- list") && follows("/bin/askbox ask-answer -- b:w -- list"));
        assert!(!follows("ask-answer w list") && !follows("/bin/askbox ask-answer -- b:w list"));
        assert!(follows("ask-answer ask-answer -- list"));
    }
}
