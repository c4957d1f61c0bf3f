//! The end of the inbox: what was not sent is kept, and what other machines have not decided yet is waited for a moment, and told.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;
use crate::surface::askbox::inbox::app::App;
use crate::surface::askbox::inbox::question::kept::{self, Kept};
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::askbox::machines::told::Stands;
use crate::surface::program;

/// How long the end waits for offers that are under way.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// A draft that was put into a file, or could not be.
pub struct Left(RoundAt, Result<PathBuf>);

/// What was typed and not sent goes into files, and what was sent to a machine that may not have it.
pub fn keep_unsent(app: &mut App<'_>) -> Vec<Left> {
    app.unsent().iter().map(|kept: &Kept| Left(kept.at(), kept.keep())).collect()
}

/// Waits for the offers, and tells the person what became of them, and where the drafts are.
pub fn tell(app: &mut App<'_>, drafts: &[Left]) {
    let (under_way, before) = (app.sent.under_way(), app.sent.open());
    if !under_way.is_empty() {
        program::say("waiting a moment for what was sent to other machines …\n");
        app.sender.others.settle(&under_way, DECIDED_WITHIN);
        app.follow_others();
    }
    let (mut is_accepted, mut lines) = (Vec::new(), Vec::new());
    for given in before.iter().filter_map(|n| app.sent.all().get(*n)) {
        if given.told().is_some_and(|told| told.stands == Stands::Accepted) {
            is_accepted.push(given.at.clone());
        }
        lines.extend(given.left_behind().or_else(|| given.news()));
    }
    for Left(at, kept) in drafts.iter().filter(|Left(at, _)| !is_accepted.contains(at)) {
        let stands = app.sent.offered_for(at).and_then(Given::told).map(|told| told.stands);
        let what = match stands {
            Some(Stands::Sent | Stands::Unconfirmed) => "your answer is not accepted yet",
            Some(Stands::Refused) => "your answer was not accepted",
            _ => "what you typed was not sent",
        };
        lines.push(match kept {
            Ok(path) => format!("{}: {what}; it is kept in {}", at.address(), path.display()),
            Err(e) => format!("{}: {what}, and cannot be kept: {}", at.address(), program::message(e)),
        });
    }
    is_accepted.iter().for_each(kept::forget);
    lines.iter().for_each(|line| program::say(&format!("{line}\n")));
}
