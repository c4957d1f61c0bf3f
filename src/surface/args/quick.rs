//! The commonest calls, read without the parser.
//!
//! Building the parser with all its help texts costs more than a durable post. So what is plainly spelled (known flags
//! apart from their values, nothing twice, no value that begins with `-`) is read here, and everything else, every mistake
//! included, goes to the parser: [`Quick::quick`] returns what the parser would, or nothing.

use std::ffi::OsString;
use std::path::PathBuf;

use super::ask_answer::{AskAnswer, Reply};
use super::ask_post::AskPost;
use super::checkpoint::{Checkpoint, Command, Save};
use crate::surface::program::Common;

/// Arguments that have a quick way beside the parser's.
pub trait Quick: Sized {
    /// The arguments, without the program's name, if their spelling is plain.
    fn quick(_words: Words<'_>) -> Option<Self> {
        None
    }
}

/// What is left of a command line.
#[derive(Debug)]
pub struct Words<'a>(std::slice::Iter<'a, OsString>);

impl<'a> Words<'a> {
    /// All words of a command line.
    #[must_use]
    pub fn new(args: &'a [OsString]) -> Self {
        Self(args.iter())
    }

    #[cfg(feature = "relaunch")]
    pub(in crate::surface) fn first(&self) -> Option<&'a str> {
        self.0.as_slice().first()?.to_str()
    }

    fn next(&mut self) -> Option<Option<&'a str>> {
        let word = self.0.next()?.to_str().filter(|w| !w.is_empty());
        Some(word)
    }

    fn value(&mut self) -> Option<&'a str> {
        self.next()?.filter(|w| is_plain(w))
    }
}

pub(in crate::surface) fn is_plain(word: &str) -> bool {
    word == "-" || !word.starts_with('-')
}

/// Calls `take` for each word with what follows it; nothing where it does not know one.
pub(in crate::surface) fn each<'a>(
    mut words: Words<'a>,
    common: &mut Common,
    mut take: impl FnMut(&'a str, &mut Words<'a>) -> Option<()>,
) -> Option<()> {
    while let Some(word) = words.next() {
        match word? {
            "--mailbox" => once(&mut common.mailbox, PathBuf::from(words.value()?))?,
            "--json" if !common.json => common.json = true,
            word => take(word, &mut words)?,
        }
    }
    Some(())
}

fn once<T>(place: &mut Option<T>, value: impl Into<T>) -> Option<()> {
    place.replace(value.into()).is_none().then_some(())
}

impl Quick for AskPost {
    fn quick(words: Words<'_>) -> Option<Self> {
        let (mut args, mut common) = (Self::default(), Common::default());
        each(words, &mut common, |word, words| {
            match word {
                "-w" | "--workflow" => once(&mut args.workflow, words.value()?)?,
                "-o" | "--option" => args.option.push(words.value()?.into()),
                "-c" | "--checkpoint" => once(&mut args.checkpoint, words.value()?)?,
                "--context" => once(&mut args.context, words.value()?)?,
                "--asked-by" => once(&mut args.asked_by, words.value()?)?,
                word if is_plain(word) => once(&mut args.question, word)?,
                _ => return None,
            }
            Some(())
        })?;
        args.common = common;
        args.question.is_some().then_some(args)
    }
}

impl Quick for AskAnswer {
    fn quick(words: Words<'_>) -> Option<Self> {
        let (mut reply, mut common) = (Reply::default(), Common::default());
        each(words, &mut common, |word, words| {
            match word {
                "--by" => once(&mut reply.by, words.value()?)?,
                "--round" => once(&mut reply.round, words.value()?)?,
                "--note" => once(&mut reply.note, words.value()?)?,
                word if is_plain(word) && reply.id.is_some() => reply.answer.push(word.into()),
                word if is_plain(word) && !Self::WORDS.contains(&word) => once(&mut reply.id, word)?,
                _ => return None,
            }
            Some(())
        })?;
        reply.id.is_some().then_some(Self { command: None, reply, common })
    }
}

impl Quick for Checkpoint {
    fn quick(words: Words<'_>) -> Option<Self> {
        let mut common = Common::default();
        let (mut command, mut prefix, mut given) = (None, None::<&str>, Vec::new());
        each(words, &mut common, |word, words| {
            match (word, command) {
                ("--prefix", Some("env")) => once(&mut prefix, words.value()?)?,
                (word, None) if is_plain(word) => command = Some(word),
                (word, Some(_)) if is_plain(word) => given.push(word.to_owned()),
                _ => return None,
            }
            Some(())
        })?;
        let mut given = given.into_iter();
        let (first, second) = (given.next(), given.next());
        let command = match (command?, first, second) {
            ("save", id, None) => Command::Save(Box::new(Save { id, ..Save::default() })),
            ("get", Some(id), Some(field)) => Command::Get { id, field },
            ("step", Some(id), Some(name)) => Command::Step { id, name },
            ("show", id, None) => Command::Show { id },
            ("env", id, None) => Command::Env { id, prefix: prefix.unwrap_or_default().into() },
            ("path", id, None) => Command::Path { id },
            _ => return None,
        };
        given.next().is_none().then_some(Self { command, common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fmt::Debug;

    /// Every line of up to `length` of these words: the quick way returns what the parser does, or nothing.
    fn agree<A: Quick + Parser + Debug>(length: u32, words: &[&str]) -> usize {
        let mut quick_ones = 0;
        for n in 0..words.len().pow(length) {
            let mut line = vec![OsString::from("program")];
            let mut rest = n;
            while rest > 0 {
                line.push(words[rest % words.len()].into());
                rest /= words.len();
            }
            let Some(quick) = A::quick(Words::new(&line[1..])) else { continue };
            quick_ones += 1;
            match A::try_parse_from(&line) {
                Ok(parsed) => assert_eq!(format!("{quick:?}"), format!("{parsed:?}"), "{line:?}"),
                Err(e) => panic!("{line:?} was taken, but: {e}"),
            }
        }
        quick_ones
    }

    #[test]
    fn the_quick_way_agrees_with_the_parser() {
        let common = ["", "x", "-", "--", "--json", "--mailbox", "-x", "-1", "a=b", "--no"];
        let with = |own: &[&'static str]| [&common[..], own].concat();
        assert!(agree::<AskPost>(3, &with(&["-w", "-o", "--option", "-c", "--context", "--asked-by", "-wx", "-t", "--file"])) > 100);
        assert!(agree::<AskAnswer>(4, &with(&["list", "help", "--by", "--note", "--round", "-f"])) > 500);
        assert!(agree::<Checkpoint>(4, &with(&["save", "get", "step", "env", "path", "show", "help", "--prefix"])) > 100);
    }

    #[cfg(feature = "relaunch")]
    #[test]
    fn the_quick_way_of_relaunch_agrees_with_the_parser() {
        use crate::surface::relaunch::args::Args;
        let words = ["", "x", "-", "--", "--json", "--mailbox", "-x", "watch", "supervise", "status", "help", "--poll", "1"];
        assert!(agree::<Args>(4, &words) > 100);
    }

    #[test]
    fn words_that_are_no_text_are_left_to_the_parser() {
        use std::os::unix::ffi::OsStringExt;
        assert!(AskPost::quick(Words::new(&[OsString::from_vec(vec![0xff])])).is_none());
    }
}
