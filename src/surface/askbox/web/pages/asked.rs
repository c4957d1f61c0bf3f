//! A question as its page shows it.

use std::borrow::Cow;

use crate::error::Result;
use crate::mailbox::documents::asked::{Kind, Part};
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::round::Round;
use crate::mailbox::{Mailbox, Question};
use crate::surface::ask_answer::question_text::{self, Earlier};
use crate::surface::askbox::web::form::{Filled, FilledPart, Open};
use crate::surface::askbox::web::pages::markdown;
use crate::surface::person::left_out::LeftOut;
use crate::surface::person::press_again::AtStake;
use crate::text;
use crate::time;

/// A question.
#[derive(Debug)]
pub struct Asked {
    /// The workflow; on another machine `HOST:WORKFLOW`.
    pub workflow: String,
    /// The machine, if it is another one.
    pub host: Option<String>,
    /// What is to be known before an answer is sent to another machine.
    pub before: Option<String>,
    pub question_id: String,
    /// The hash of all of this that a person goes by.
    pub shown: Shown,
    /// The first line of the question, and its other lines.
    pub title: String,
    pub rest: String,
    pub is_batch: bool,
    /// The tool that a person may allow to be called.
    pub approves: Option<String>,
    pub asked_by: String,
    pub project: String,
    pub folder: String,
    pub ago: String,
    pub priority: i32,
    /// Whether its time is over.
    pub is_overdue: bool,
    /// When it expires, and what happens then.
    pub expiry: Option<String>,
    /// The event that answers it.
    pub event: Option<String>,
    /// In whose run it was asked.
    pub within: Option<String>,
    pub earlier: Vec<Earlier>,
    /// The context as HTML.
    pub context: Option<String>,
    /// An answer that was taken back.
    pub taken_back: Option<String>,
    pub parts: Vec<AskedPart>,
    pub note: String,
    pub why: String,
    pub back: String,
    /// The texts that the button that was pressed would leave out, and what it does when it is pressed again.
    pub left_out: Vec<LeftOut>,
    pub goes_on: String,
    /// What the person was told of.
    pub told: String,
}

/// One part of a question.
#[derive(Debug)]
pub struct AskedPart {
    pub n: usize,
    /// Its text, where there are several.
    pub text: String,
    pub header: String,
    /// What kind of answer is asked for.
    pub kind: Cow<'static, str>,
    pub is_yes_no: bool,
    pub is_number: bool,
    pub is_several: bool,
    pub options: Vec<AskedOption>,
    /// Whether words of one's own may be written.
    pub takes_words: bool,
    pub words: String,
    pub chosen: Chosen,
    /// What is missing.
    pub open: Option<Cow<'static, str>>,
    /// True if the person is asked what the words mean, or has said it.
    pub asks_what_is_meant: bool,
    /// The options that the words may mean, and what the person said of that.
    pub perhaps: Vec<AskedOption>,
    pub meant: Option<String>,
}

/// What is chosen beside options.
#[derive(Debug, Default)]
pub struct Chosen {
    pub yes: bool,
    pub no: bool,
    pub words: bool,
}

/// One option.
#[derive(Debug, Clone)]
pub struct AskedOption {
    pub place: usize,
    pub key: String,
    pub description: String,
    pub preview: String,
    pub is_chosen: bool,
}

impl Asked {
    /// The question of a round, with what was filled in. Of another machine there is no mailbox here.
    pub fn of(mailbox: Option<&Mailbox>, round: &Round, filled: &Filled, only_signed: bool) -> Result<Self> {
        let question = &round.document.typed;
        // A call is shown with everything that cannot be seen in it.
        let show = |words: &str| if question.asked.approval.is_some() { text::visible(words) } else { text::printable(words) };
        let (title, rest) = head(question);
        let until = question.asked.until.as_ref().map(|until| format!("{}; you may answer first", text::one_line(&until.words())));
        let expiry = question.asked.expires_at.map(|at| {
            let (moment, then) = (time::local(at), question_text::then_on_expiry(question, only_signed));
            match (at - time::now()).to_std() {
                Ok(ahead) => format!("expires in {} ({moment}), {then}", time::human(ahead)),
                Err(_) => format!("overdue since {moment}; {then}"),
            }
        });
        let taken_back = question.taken_back.as_ref().map(|back| {
            format!("{}; taken back by {} {}", text::excerpt(&back.answer, 200), text::excerpt(&back.by, 60), time::ago(Some(back.at)))
        });
        let project = question.project();
        let blank = FilledPart::default();
        let parts = question.parts();
        Ok(Self {
            workflow: question.workflow_id.to_string(),
            host: None,
            before: None,
            question_id: round.id.question.to_string(),
            shown: Shown::of(question)?,
            title: show(&title),
            rest: show(&rest),
            is_batch: question.is_batch(),
            approves: question.asked.approval.as_ref().map(|approval| text::visible(&approval.tool)),
            asked_by: text::excerpt(question.asked.asked_by.as_deref().unwrap_or_default(), 60),
            project: if project == "-" { String::new() } else { project },
            folder: question.cwd.as_ref().map(text::file_name).unwrap_or_default(),
            ago: time::ago(question.asked_at()),
            priority: question.asked.priority.unwrap_or(0),
            is_overdue: question_text::is_overdue(question, time::now()),
            expiry,
            event: until,
            within: question.parent.as_ref().map(|parent| match mailbox {
                Some(mailbox) => question_text::within(mailbox, round, parent),
                None => format!("says it was asked within {parent}"),
            }),
            earlier: mailbox
                .map_or_else(Vec::new, |mailbox| question_text::earlier(mailbox, question))
                .into_iter()
                .map(printable)
                .collect(),
            context: question.asked.context.as_deref().map(markdown::to_html),
            taken_back,
            parts: parts
                .iter()
                .enumerate()
                .map(|(n, part)| AskedPart::of(n, part, question, filled.parts.get(n).unwrap_or(&blank)))
                .collect(),
            note: filled.note.clone(),
            why: filled.why.clone(),
            back: filled.back.clone(),
            left_out: match &filled.left_out {
                Some(AtStake::LeftOut { texts, .. }) => texts.clone(),
                _ => Vec::new(),
            },
            goes_on: filled.left_out.as_ref().map_or_else(String::new, |left| left.told_of_a_list(&again(&filled.act, question))),
            told: filled.told.to_form(),
        })
    }

    /// Whether something is missing, or is to be asked about.
    pub fn is_open(&self) -> bool {
        !self.left_out.is_empty() || self.parts.iter().any(|part| part.open.is_some())
    }
}

/// The button that was pressed, to be pressed once more.
fn again(act: &str, question: &Question) -> String {
    let label = match (act, question.asked.approval.is_some()) {
        ("back", _) => "Ask back",
        ("decline", false) => "Decline to answer",
        ("decline", true) => "Deny the call",
        (_, false) => "Send the answer",
        (_, true) => "Allow",
    };
    format!("\"{label}\" again")
}

/// The first line of what is asked, and the rest. Of a batch without a text of its own, its number of questions.
fn head(question: &Question) -> (String, String) {
    let text = if question.is_batch() && question.question.is_empty() {
        format!("{} questions", question.asked.questions.len())
    } else {
        question.question.trim().to_owned()
    };
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    (title.to_owned(), rest.trim_end().to_owned())
}

fn printable(earlier: Earlier) -> Earlier {
    let back = |(by, words): (String, String)| (by, text::printable(&words));
    Earlier { asked: text::printable(&earlier.asked), asked_back: earlier.asked_back.map(back) }
}

impl AskedPart {
    fn of(n: usize, part: &Part, question: &Question, filled: &FilledPart) -> Self {
        let kind = part.kind();
        let option = |(place, choice): (usize, &crate::mailbox::documents::fields::options::Choice)| AskedOption {
            place,
            key: text::visible(&choice.key),
            description: text::printable(&choice.description),
            preview: choice.preview.as_deref().map(text::printable).unwrap_or_default(),
            is_chosen: filled.has(&place.to_string()),
        };
        let options: Vec<_> = part.options.0.iter().enumerate().map(option).collect();
        let asks = match &filled.open {
            Some(Open::NearMiss(thing @ AtStake::NearMiss { near, .. })) => Some((thing.told(""), near)),
            _ => None,
        };
        let near = part.options.0.iter().enumerate().filter(|(_, choice)| asks.as_ref().is_some_and(|(_, near)| near.contains(choice)));
        // What the person said of the words is shown again with them.
        let meant = filled.meant.clone().filter(|_| filled.open.is_none());
        let said = meant.as_deref().and_then(|place| place.parse::<usize>().ok());
        let perhaps = near.map(|(place, _)| place).chain(said).filter_map(|place| options.get(place)).cloned().collect();
        let open = match (&filled.open, &asks) {
            (Some(Open::Because(why)), _) => Some(Cow::Borrowed(*why)),
            (_, Some((asked, near))) if near.is_empty() => {
                Some(Cow::Owned(format!("{asked} Choose it above; or say below that these are your own words.")))
            }
            (_, Some((asked, _))) => Some(Cow::Owned(asked.clone())),
            (_, None) => None,
        };
        let asks_what_is_meant = meant.is_some() || asks.is_some();
        let has_options = matches!(kind, Kind::Choice | Kind::MultiChoice);
        Self {
            n,
            text: if question.is_batch() { text::printable(&part.question) } else { String::new() },
            header: part.header.as_deref().map(text::one_line).unwrap_or_default(),
            kind: question_text::kind(part),
            is_yes_no: kind == Kind::YesNo,
            is_number: kind == Kind::Number,
            is_several: kind == Kind::MultiChoice,
            takes_words: kind == Kind::Text || has_options && part.free_text != Some(false),
            options: if has_options { options } else { Vec::new() },
            words: filled.words.clone(),
            chosen: Chosen { yes: filled.has("yes"), no: filled.has("no"), words: filled.has("words") },
            open,
            asks_what_is_meant,
            perhaps,
            meant,
        }
    }

    /// Whether the person said that the words mean this: the place of an option, or `own`.
    pub fn is_meant(&self, what: &str) -> bool {
        self.meant.as_deref() == Some(what)
    }
}
