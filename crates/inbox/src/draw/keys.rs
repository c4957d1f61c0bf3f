//! The last line of the screen, which names the keys that work now. The most important keys come first. A key that does not fit is left out
//! as a whole.

use ratatui::text::{Line, Span};

use crate::app::{App, Place};
use crate::draw::pieces::{ACCENT, DIMMED};
use crate::gate::{Panel, Pending};
use crate::question::draft::Choosable;
use crate::question::opened::Opened;
use crate::sessions::View;
use crate::text_window::Purpose;
use askbox_cli::AtStake;
use askbox_cli::terminal::columns::width;
use askbox_mailbox::Kind;

type Key = (&'static str, &'static str);

/// The line, in at most this many columns.
pub fn line(app: &App<'_>, columns: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, word) in confirming(app, keys(app)) {
        let gap = if spans.is_empty() { "" } else { " · " };
        let own = width(gap) + width(key) + 1 + width(word);
        if used + own > columns {
            continue;
        }
        spans.extend([Span::styled(gap, DIMMED), Span::styled(key, ACCENT), Span::styled(format!(" {word}"), DIMMED)]);
        used += own;
    }
    Line::from(spans)
}

/// The keys while it is asked whether a decision is meant: the ones that confirm it stand in place of enter. Every other key leads back.
fn confirming(app: &App<'_>, keys: Vec<Key>) -> Vec<Key> {
    if app.gate.panel().is_some_and(Panel::hides_names) {
        return std::iter::once(("pgdn", "more names")).chain(keys).collect();
    }
    let Some(Pending { short: confirms, .. }) = app.gate.pending() else { return keys };
    let confirm = if app.gate.panel().is_some_and(|panel| panel.at.is_none()) { "decline them" } else { "confirm" };
    std::iter::once((confirms, confirm)).chain(keys.into_iter().filter(|(key, _)| *key != "enter")).collect()
}

fn keys(app: &App<'_>) -> Vec<Key> {
    match app.gate.panel().map(|panel| &panel.at_stake) {
        Some(AtStake::NearMiss { .. }) => return vec![("1-9", "choose"), ("enter", "that"), ("esc", "write it again")],
        Some(_) => return vec![("esc", "keep them")],
        None => {}
    }
    if let Some(asking) = &app.asked {
        return match asking.purpose {
            Purpose::Filter => vec![("enter", "keep"), ("esc", "all")],
            Purpose::DeclineMarked(_) => vec![("enter", "go on"), ("esc", "back"), ("alt-enter", "new line")],
            Purpose::Note => vec![("enter", "done"), ("esc", "back"), ("alt-enter", "new line")],
            Purpose::Decline if asking.is_live && asking.is_always => {
                vec![("enter", "end its turn"), ("tab", "go on without it"), ("esc", "back")]
            }
            Purpose::Decline if asking.is_live => {
                vec![("enter", "refuse"), ("tab", "end the turn too"), ("esc", "back"), ("alt-enter", "new line")]
            }
            Purpose::Decline if asking.is_always => vec![("enter", "refuse it always"), ("tab", "this one call"), ("esc", "back")],
            Purpose::Decline if asking.call.is_some() => {
                vec![("enter", "refuse this call"), ("tab", "always"), ("esc", "back"), ("alt-enter", "new line")]
            }
            Purpose::Decline => vec![("enter", "decline"), ("esc", "back"), ("alt-enter", "new line")],
            Purpose::Prompt => vec![("enter", "send"), ("esc", "back"), ("alt-enter", "new line")],
            Purpose::Stop => vec![("enter", "stop its turn"), ("esc", "back")],
            Purpose::AskBack => vec![("enter", "ask back"), ("esc", "back"), ("alt-enter", "new line")],
        };
    }
    match &app.place {
        Place::List if !app.waiting.marked.is_empty() => {
            vec![("d", "decline the marked"), ("?", "help"), ("space", "mark"), ("esc", "unmark all"), ("enter", "open")]
        }
        Place::List if app.waiting.shown.is_empty() => {
            with_undo(app, 2, vec![("tab", "answered"), ("?", "help"), ("q", "quit"), ("/", "filter"), ("S", "sessions")])
        }
        Place::List => {
            let keys = [
                ("enter", "open"),
                ("?", "help"),
                ("q", "quit"),
                ("/", "filter"),
                ("tab", "answered"),
                ("space", "mark"),
                ("d", "decline"),
                ("S", "sessions"),
            ];
            with_undo(app, 2, keys.into())
        }
        Place::Question(opened) => of_question(opened),
        Place::Gone(gone) if gone.kept.is_some() => {
            vec![("esc", "back"), ("ctrl-o", "open what is asked now, with it")]
        }
        Place::Gone(_) => vec![("esc", "back")],
        Place::Log(..) => vec![("q", "back"), ("?", "help"), ("pgup", "older"), ("G", "the newest")],
        Place::Sessions(_) => vec![("enter", "open"), ("q", "back"), ("?", "help")],
        Place::Session(view) => of_session(view),
        Place::Outcomes(_) => with_undo(app, 2, vec![("enter", "log"), ("tab", "waiting"), ("q", "quit"), ("?", "help")]),
    }
}

/// Inserts the key that takes an answer back at this place, if one can be taken back now.
fn with_undo(app: &App<'_>, at: usize, mut keys: Vec<Key>) -> Vec<Key> {
    if app.can_undo {
        keys.insert(at, ("u", "take back"));
    }
    keys
}

fn of_session(view: &View) -> Vec<Key> {
    let offers = view.offers();
    let prompt = offers.words.map(|_| ("i", "prompt")).into_iter().chain(offers.stop.map(|_| ("x", "stop")));
    let back = view.kept().map(|_| ("u", "take the prompt back"));
    prompt.chain(back).chain([("q", "back"), ("?", "help"), ("enter", "results"), ("pgup", "older"), ("G", "the newest")]).collect()
}

fn of_question(opened: &Opened) -> Vec<Key> {
    let Some(part) = opened.draft.part() else {
        let enter = if opened.draft.unanswered() == 0 { "send" } else { "answer the open one" };
        return vec![("enter", enter), ("esc", "later"), ("shift-tab", "back"), ("d", "decline"), ("n", "note"), ("b", "ask back")];
    };
    let is_batch = opened.draft.parts.len() > 1;
    let send = ("enter", if is_batch { "next" } else { "send" });
    let mut keys = match part.chosen() {
        Some(Choosable::Words) => {
            let mut keys = vec![send, ("esc", "later"), ("^e", "editor"), ("^n", "note"), ("^b", "ask back"), ("^d", "decline")];
            if part.lines().len() > 1 {
                keys.insert(2, ("↑", "options"));
            }
            keys
        }
        _ if part.part.kind() == Kind::YesNo => {
            vec![("y/n", "choose"), send, ("esc", "later"), ("d", "decline"), ("N", "note"), ("b", "ask back")]
        }
        _ if part.is_multiple() => {
            vec![("space", "mark"), send, ("esc", "later"), ("d", "decline"), ("n", "note"), ("b", "ask back")]
        }
        _ => {
            let choose = if ('1'..='9').any(|digit| part.by_digit(digit).is_some()) { "1-9" } else { "↑↓" };
            vec![(choose, "choose"), send, ("esc", "later"), ("d", "decline"), ("n", "note"), ("b", "ask back")]
        }
    };
    if part.takes_words() && part.chosen() != Some(Choosable::Words) {
        keys.push(("i", "own words"));
    }
    let approval = opened.shown.question().approval.as_ref();
    if approval.is_some_and(|approval| approval.editable.is_some()) {
        keys.insert(3, ("^e", "change the call"));
    }
    if is_batch {
        keys.insert(3, ("shift-tab", "back"));
    }
    if opened.scroll.has_more() {
        keys.insert(3, ("pgdn", "more"));
    }
    keys
}
