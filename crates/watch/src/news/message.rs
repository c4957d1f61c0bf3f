//! A notice in words. It has the workflow, the project and the beginning of the question, and never its
//! context or an answer's value.

use uuid::Uuid;

use crate::news::lines::{About, AboutPrompt, AboutRound, AboutSession, Message, Notice, Urgency};
use crate::news::wanted::Facts;
use askbox_config::Event;
use askbox_mailbox::dialogs::Dialog;
use askbox_mailbox::prompts::{Prompt, Reached};
use askbox_mailbox::{Kind, text, time};

/// The most characters of a question in a message.
const LONGEST_QUESTION: usize = 120;
const LONGEST_WHY: usize = 200;
/// The most buttons of a notification.
pub(super) const MOST_BUTTONS: usize = 3;

impl Notice {
    /// The notice about one event of a round.
    pub(super) fn of_round(target: &str, (id, card): (Uuid, Uuid), event: Event, facts: &Facts, open: &str) -> Self {
        let about = about(event, facts);
        let workflow = about.workflow_id.as_str();
        let why = about.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let cost = about.cost_usd.filter(|usd| *usd > 0.0).map(|usd| format!(", ${usd:.2}")).unwrap_or_default();
        let attempt = about.attempt.unwrap_or_default();
        let (title, urgency) = match event {
            Event::Asked => {
                (if why.is_empty() { format!("{workflow} asks") } else { format!("{workflow} asks again{why}") }, Urgency::Normal)
            }
            Event::Approval => {
                (format!("{workflow} asks for a permission{}{why}", if why.is_empty() { "" } else { " again" }), Urgency::Normal)
            }
            Event::Reminder => (format!("{workflow} still waits"), Urgency::Normal),
            Event::Expiring => {
                let left = about.expires_at.and_then(|at| (at - time::now()).to_std().ok()).unwrap_or_default();
                (format!("{workflow} expires in {}", time::human(left)), Urgency::High)
            }
            Event::Overdue => (format!("{workflow} is overdue{why}"), Urgency::High),
            Event::Answered => {
                let by = about.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
                let through = about.through.as_ref().map(|through| format!(" through {through}")).unwrap_or_default();
                (format!("{workflow}: {}{by}{through}", about.outcome.as_deref().unwrap_or("answered")), Urgency::Low)
            }
            Event::Delivered => (format!("{workflow}: delivered{cost}{why}"), if why.is_empty() { Urgency::Low } else { Urgency::Normal }),
            Event::Failed => (format!("{workflow}: attempt {attempt} failed{why}"), Urgency::Low),
            Event::Parked => (format!("{workflow} needs you: parked{why}"), Urgency::High),
            Event::AtTerminal | Event::TurnEnded | Event::NotTaken => (workflow.to_owned(), Urgency::Normal),
        };
        let place = if about.project == "-" { String::new() } else { format!(" · {}", about.project) };
        let text = format!("{}{place}", about.question);
        let open =
            (!open.is_empty()).then(|| open.replace("{workflow}", workflow).replace("{question_id}", &about.question_id.to_string()));
        let buttons = if event.asks() { buttons(facts) } else { Vec::new() };
        let (schema_version, at) = (askbox_mailbox::document::SCHEMA_VERSION, time::now());
        let (event, target, title) = (event.word().to_owned(), target.to_owned(), text::excerpt(&title, LONGEST_WHY));
        let message = Message { schema_version, id, event, at, target, title, text, about: About::Round(Box::new(about)), open };
        Self { message, card, urgency, buttons, shown: None }
    }

    /// The notice about a dialog at the terminal of a session.
    pub(super) fn of_dialog(target: &str, (id, card): (Uuid, Uuid), dialog: &Dialog) -> Self {
        let (project, asks) = (dialog.project(), text::excerpt(&dialog.asks, LONGEST_QUESTION));
        let place = if project == "-" { String::new() } else { format!(" · {project}") };
        let tool = if dialog.tool.is_empty() { String::new() } else { format!("{}: ", dialog.tool) };
        let (title, text) = (format!("{} waits at its terminal", dialog.program.name()), format!("{tool}{asks}{place}"));
        let (program, session_id, tool, since) =
            (dialog.program.command().to_owned(), dialog.session_id.clone(), dialog.tool.clone(), dialog.since);
        let about = About::Session(AboutSession { program, session_id, project, tool, asks, since });
        let plain = Self::plain(target, Event::AtTerminal.word(), &title, &text);
        Self { card, message: Message { id, about, ..plain.message }, ..plain }
    }

    /// The notice about a person's prompt. It opens the page of the session.
    pub(super) fn of_prompt(target: &str, (id, card): (Uuid, Uuid), event: Event, prompt: &Prompt, open: &str) -> Self {
        let (words, why) = (text::excerpt(&prompt.words, LONGEST_QUESTION), text::excerpt(&prompt.why, LONGEST_WHY));
        let said = match prompt.reached {
            Reached::Refused => "your prompt was refused",
            Reached::Held => "your prompt waits at its terminal",
            Reached::NotArrived => "your prompt has not arrived",
            // Its sender may say how the turn has ended.
            _ if why.is_empty() => "its turn has ended",
            _ => "",
        };
        let said = [said, &why].into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(": ");
        let name = if prompt.title.is_empty() { &prompt.session } else { &prompt.title };
        let plain = Self::plain(target, event.word(), &format!("{}: {said}", text::excerpt(name, 60)), &words);
        let (program, session_id, reached) = (prompt.agent, prompt.session.clone(), prompt.reached);
        let open = (!open.is_empty()).then(|| session_of(open, &session_id));
        let about = About::Prompt(AboutPrompt { program, session_id, prompt: words, reached, why });
        Self { card, message: Message { id, about, open, ..plain.message }, ..plain }
    }

    /// The notice about several events at once.
    pub(super) fn of_several(target: &str, id: Uuid, events: &[Event], waiting: usize, open: &str) -> Self {
        let count = |event: Event| events.iter().filter(|e| **e == event).count();
        let at_terminals = count(Event::AtTerminal);
        let ends = [Event::Delivered, Event::Failed, Event::Parked].map(|event| (count(event), event.word()));
        let of_prompts = [(count(Event::TurnEnded), "turn ended"), (count(Event::NotTaken), "not taken")];
        let ends = ends.into_iter().chain([(at_terminals, "at a terminal")]).chain(of_prompts);
        let ends: Vec<String> = ends.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let wait = if waiting == 1 { "1 question waits".to_owned() } else { format!("{waiting} questions wait") };
        let title = match at_terminals {
            n if n == events.len() => format!("{n} sessions wait at their terminals"),
            _ if events.iter().all(|event| event.is_of_session()) => format!("{} sessions have news", events.len()),
            _ => format!("{wait} for an answer"),
        };
        let text = if ends.is_empty() { "ask-answer list".to_owned() } else { format!("{}; ask-answer list", ends.join(", ")) };
        let open = (!open.is_empty()).then(|| list_of(open));
        let plain = Self::plain(target, "several", &title, &text);
        Self { card: id, message: Message { id, about: About::Several { several: events.len() }, open, ..plain.message }, ..plain }
    }

    /// A notice in askbox's own words, such as the code of a test.
    pub fn plain(target: &str, event: &str, title: &str, text: &str) -> Self {
        let message = Message {
            schema_version: askbox_mailbox::document::SCHEMA_VERSION,
            id: Uuid::new_v4(),
            event: event.to_owned(),
            at: time::now(),
            target: target.to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
            about: About::Nothing {},
            open: None,
        };
        Self { card: message.id, message, urgency: Urgency::Normal, buttons: Vec::new(), shown: None }
    }
}

/// The address of the list of questions, made from the address of one question. It is the part before the first placeholder, without the
/// name of the page that a question, a run or a tree has below the list.
fn list_of(open: &str) -> String {
    let before = open.split('{').next().unwrap_or_default();
    let list = ["/q/", "/run/", "/tree/"].iter().find_map(|page| before.strip_suffix(page));
    list.map_or_else(|| before.to_owned(), |list| format!("{list}/"))
}

/// The event of a prompt that is news, and its number among several.
pub(super) fn event_of(prompt: &Prompt) -> (Event, u32) {
    let event = if prompt.reached == Reached::Answered { Event::TurnEnded } else { Event::NotTaken };
    (event, prompt.reached as u32)
}

/// The address of a session, made from the address of one question, if that is one of our page.
fn session_of(open: &str, session: &str) -> String {
    let (list, is_plain) = (list_of(open), |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if list.ends_with('/') && session.chars().all(is_plain) { format!("{list}session/{session}") } else { list }
}

fn about(event: Event, facts: &Facts) -> AboutRound {
    let question = &facts.question;
    let answer = question.answer.as_ref().filter(|_| event == Event::Answered);
    let closing = question.closed.as_ref().filter(|_| event == Event::Answered && answer.is_none());
    let run = facts.run.as_ref().filter(|_| matches!(event, Event::Delivered | Event::Failed | Event::Parked));
    let short = |text: &str| text::excerpt(text, 60);
    AboutRound {
        workflow_id: facts.round.workflow.clone(),
        question_id: facts.round.question,
        project: question.project(),
        question: text::excerpt(&question.title(), LONGEST_QUESTION),
        expires_at: question.expires_at.filter(|_| event.asks()),
        outcome: answer.map(|answer| answer.word()).or(closing.map(|closing| closing.state.word())).map(str::to_owned),
        by: answer.map(|a| short(&a.by)).or(closing.map(|c| short(&c.by))).filter(|by| !by.is_empty()),
        through: answer.map(|a| short(&a.channel)).filter(|through| !through.is_empty()),
        attempt: run.map(|run| run.attempt),
        why: run.and_then(|run| run.why.clone()).or_else(|| facts.why_it_waits(event)).map(|why| text::excerpt(&why, LONGEST_WHY)),
        cost_usd: run.and_then(|run| run.cost_usd),
    }
}

/// The options, if a button can answer: one choice among a few. A button never gives a permission, because the notification does not
/// show everything that the person would permit.
fn buttons(facts: &Facts) -> Vec<String> {
    let question = &facts.question;
    if question.approval.is_some() || question.is_batch() {
        return Vec::new();
    }
    let kinds: Vec<_> = question.parts().iter().map(|part| (part.kind(), part.options.0.clone())).collect();
    let keys = match kinds.as_slice() {
        [(Kind::YesNo, _)] => vec!["yes".to_owned(), "no".to_owned()],
        [(Kind::Choice, options)] => options.iter().map(|choice| choice.key.clone()).collect(),
        _ => Vec::new(),
    };
    if keys.len() <= MOST_BUTTONS { keys } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_several_questions_opens_the_list() {
        for (open, list) in [
            ("https://box.example/q/{workflow}/{question_id}", "https://box.example/"),
            ("https://box.example/run/{workflow}", "https://box.example/"),
            ("https://box.example/", "https://box.example/"),
            ("https://other.example/asks?id={workflow}", "https://other.example/asks?id="),
        ] {
            let notice = Notice::of_several("phone", Uuid::nil(), &[Event::Asked, Event::Asked], 2, open);
            assert_eq!(notice.message.open.as_deref(), Some(list), "{open}");
        }
        assert_eq!(Notice::of_several("phone", Uuid::nil(), &[Event::Asked], 1, "").message.open, None);
    }

    #[test]
    fn news_of_several_terminals_counts_them_and_the_questions() {
        let of = |events: &[Event]| {
            let notice = Notice::of_several("phone", Uuid::nil(), events, 1, "");
            (notice.message.title, notice.message.text)
        };
        let both = [Event::AtTerminal, Event::AtTerminal];
        assert_eq!(of(&both), ("2 sessions wait at their terminals".into(), "2 at a terminal; ask-answer list".into()));
        let mixed = [Event::Asked, Event::AtTerminal];
        assert_eq!(of(&mixed), ("1 question waits for an answer".into(), "1 at a terminal; ask-answer list".into()));
        let ended = [Event::AtTerminal, Event::TurnEnded, Event::TurnEnded];
        assert_eq!(of(&ended), ("3 sessions have news".into(), "1 at a terminal, 2 turn ended; ask-answer list".into()));
    }
}
