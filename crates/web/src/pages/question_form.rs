//! The page for answering a question of this or another machine, with the question in its form.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::filled_part::{FilledPart, Open};
use crate::form::Filled;
use crate::gate::{Hosts, Posted};
use crate::index::Row;
use crate::pages::{Frame, change_call, markdown};
use crate::reply;
use crate::site::{Site, Visit};
use askbox_cli::ask_answer::question_text::{self, Earlier};
use askbox_cli::ask_answer::shown_files::{self, Room, ShownFile};
use askbox_cli::person::{AtStake, DECLINE_ALWAYS, DECLINE_AND_STOP, LeftOut};
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::approval::Editable;
use askbox_mailbox::round::Round;
use askbox_mailbox::{Error, Kind, Mailbox, Part, Question, Result, Shown, text, time};

/// The room for the texts of all files on a page. A browser takes long to show more, and a phone must load it all.
const ROOM: Room = Room { lines: 4000, bytes: 256 << 10 };

/// A question in the form for its page.
#[derive(Debug)]
pub struct QuestionForm {
    /// The workflow, or `HOST:WORKFLOW` on another machine.
    pub workflow: String,
    /// The machine, if it is another one.
    pub host: Option<String>,
    /// A note to read before an answer is sent to another machine.
    pub before: Option<String>,
    pub question_id: String,
    pub question: Question,
    /// The form as the person has filled it in.
    pub filled: Filled,
    /// The hash of everything on the page that matters for a decision.
    pub shown: Shown,
    /// The first line of the question, and its other lines.
    pub title: String,
    pub rest: String,
    /// The tool whose call a person may allow.
    pub approves: Option<String>,
    /// The text of the call that the person may change, and its field.
    pub change: Option<ChangeForm>,
    /// The call as a rule of the operator's configuration, if one is written like it.
    pub rule: Option<String>,
    pub asked_by: String,
    pub project: String,
    pub folder: String,
    pub ago: String,
    /// True if the question's time is over.
    pub is_overdue: bool,
    /// When the question expires, and what happens then.
    pub expiry: Option<String>,
    /// The event that answers the question.
    pub event: Option<String>,
    /// The run that asked the question.
    pub within: Option<String>,
    pub earlier: Vec<Earlier>,
    /// The context as HTML.
    pub context: Option<String>,
    /// The files beside the question, and the room of each of them.
    pub files: Vec<ShownFile>,
    pub room: Room,
    /// A line about an answer that was taken back.
    pub taken_back: Option<String>,
    pub parts: Vec<PartForm>,
    /// True if the answer stands so far below that the page leads to it. Everything of a tool call is read first.
    pub is_long: bool,
    /// The texts that the pressed button would leave out, and a sentence on what pressing it again does.
    pub left_out: Vec<LeftOut>,
    pub goes_on: String,
}

/// The text of a call that the person may change.
#[derive(Debug)]
pub struct ChangeForm {
    pub field: String,
    pub text: String,
    /// True if the person has changed it.
    pub is_changed: bool,
    /// The reason why it cannot be changed on a page.
    pub unfit: Option<&'static str>,
}

impl ChangeForm {
    fn new(editable: &Editable, filled: &Filled) -> Self {
        Self {
            field: text::visible(&editable.field),
            text: filled.edited.clone().unwrap_or_else(|| editable.text.clone()),
            is_changed: filled.edited.is_some(),
            unfit: change_call::unfit(editable),
        }
    }
}

/// One part of a question.
#[derive(Debug)]
pub struct PartForm {
    pub n: usize,
    /// The part's text, if there are several parts.
    pub text: String,
    pub header: String,
    /// The kind of answer that is wanted.
    pub kind: Cow<'static, str>,
    pub wants: Kind,
    pub options: Vec<OptionForm>,
    /// True if the person may write their own words.
    pub takes_words: bool,
    pub filled: FilledPart,
    /// A sentence that says what is missing.
    pub open: Option<Cow<'static, str>>,
    /// True if the person is asked about the meaning of the words, or has said it.
    pub asks_what_is_meant: bool,
    /// The options that the words may mean, and the meaning that the person chose.
    pub perhaps: Vec<OptionForm>,
    pub meant: Option<String>,
}

/// One option.
#[derive(Debug, Clone)]
pub struct OptionForm {
    pub place: usize,
    pub key: String,
    pub description: String,
    pub preview: String,
    /// The preview as HTML, if it is Markdown.
    pub drawn_preview: Option<String>,
    pub is_chosen: bool,
}

impl QuestionForm {
    /// The question of a round, with the values of a form. `mailbox` is `None` for a question of another machine.
    pub fn new(site: &Site, mailbox: Option<&Mailbox>, round: &Round, filled: &Filled) -> Result<Self> {
        let question = &round.document.typed;
        // The question of a tool call has its invisible characters written out already, unless another program made it.
        let show = |words: &str| if question.approval.is_some() { text::still_visible(words) } else { text::printable(words) };
        let (title, rest) = head(question);
        let until = question.until.as_ref().map(|until| format!("{}; you may answer first", text::one_line(&until.words())));
        let expiry = question.expires_at.map(|at| {
            let (moment, then) = (time::local(at), question_text::then_on_expiry(question, site.context.only_signed_answers_count()));
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
        let files = shown_files::read(mailbox, &round.id, question);
        Ok(Self {
            workflow: question.workflow_id.to_string(),
            host: None,
            before: None,
            question_id: round.id.question.to_string(),
            question: question.clone(),
            filled: filled.clone(),
            shown: Shown::of_question(question)?,
            title: show(&title),
            rest: show(&rest),
            approves: question.approval.as_ref().map(|approval| text::visible(&approval.tool)),
            change: question.approval.as_ref().and_then(|a| a.editable.as_ref()).map(|editable| ChangeForm::new(editable, filled)),
            rule: question.approval.as_ref().and_then(ToolRule::like_call).map(|rule| rule.to_string()),
            asked_by: match &question.live {
                Some(live) => live.words(),
                None => text::excerpt(question.asked_by.as_deref().unwrap_or_default(), 60),
            },
            project: if project == "-" { String::new() } else { project },
            folder: question.cwd.as_ref().map(text::file_name).unwrap_or_default(),
            ago: time::ago(question.asked_at()),
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
            context: question.shown_context().map(|context| markdown::to_html(&site.hosts, &context)),
            room: ROOM.shared_by(&files),
            files,
            taken_back,
            parts: parts
                .iter()
                .enumerate()
                .map(|(n, part)| PartForm::new(&site.hosts, n, part, question, filled.parts.get(n).unwrap_or(&blank)))
                .collect(),
            is_long: question.approval.is_none() && is_long(question),
            left_out: match &filled.left_out {
                Some(AtStake::LeftOut { texts, .. }) => texts.clone(),
                _ => Vec::new(),
            },
            goes_on: filled.left_out.as_ref().map_or_else(String::new, |left| left.told_of_a_list(&again(&filled.act, question))),
        })
    }

    /// True if something is missing, or the person must be asked about something.
    pub fn is_open(&self) -> bool {
        !self.left_out.is_empty() || self.parts.iter().any(|part| part.open.is_some())
    }
}

/// The words that name the pressed button, for pressing it once more.
fn again(act: &str, question: &Question) -> String {
    let label = match (act, question.approval.is_some()) {
        ("back", _) => "Ask back",
        ("decline", false) => "Decline to answer",
        ("decline", true) => "Deny the call",
        ("edit", _) => "Show the change",
        (DECLINE_ALWAYS, true) => "Deny it always",
        (DECLINE_AND_STOP, _) => "Stop the session",
        (_, false) => "Send the answer",
        (_, true) => "Allow",
    };
    format!("\"{label}\" again")
}

/// The first line of the question, and the rest. For a batch without its own text, the first line is the number of its questions.
fn head(question: &Question) -> (String, String) {
    let text = if question.is_batch() && question.question.is_empty() {
        format!("{} questions", question.questions.len())
    } else {
        question.question.trim().to_owned()
    };
    let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
    (title.to_owned(), rest.trim_end().to_owned())
}

/// True if the question and its context fill more than about a phone's screen.
fn is_long(question: &Question) -> bool {
    let texts = [Some(question.question.as_str()), question.context.as_deref()];
    let rows = |text: &str| text.lines().map(|line| 1 + line.chars().count() / 48).sum::<usize>();
    texts.into_iter().flatten().map(rows).sum::<usize>() > 24
}

fn printable(earlier: Earlier) -> Earlier {
    let back = |(by, words): (String, String)| (by, text::printable(&words));
    Earlier { asked: text::printable(&earlier.asked), asked_back: earlier.asked_back.map(back) }
}

impl PartForm {
    fn new(hosts: &Hosts, n: usize, part: &Part, question: &Question, filled: &FilledPart) -> Self {
        let kind = part.kind();
        let option = |(place, choice): (usize, &askbox_mailbox::documents::fields::options::Choice)| OptionForm {
            place,
            key: text::visible(&choice.key),
            description: text::printable(&choice.description),
            preview: choice.preview.as_deref().map(text::printable).unwrap_or_default(),
            drawn_preview: choice.preview.as_deref().and_then(|preview| markdown::to_html_if_marked_up(hosts, preview)),
            is_chosen: filled.has(&place.to_string()),
        };
        let options: Vec<_> = part.options.0.iter().enumerate().map(option).collect();
        let asks = match &filled.open {
            Some(Open::NearMiss(thing @ AtStake::NearMiss { near, .. })) => Some((thing.told(""), near)),
            _ => None,
        };
        let near = part.options.0.iter().enumerate().filter(|(_, choice)| asks.as_ref().is_some_and(|(_, near)| near.contains(choice)));
        // The meaning that the person chose is shown again with the words.
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
            wants: kind,
            takes_words: kind == Kind::Text || has_options && part.free_text != Some(false),
            options: if has_options { options } else { Vec::new() },
            filled: filled.clone(),
            open,
            asks_what_is_meant,
            perhaps,
            meant,
        }
    }

    /// True if the person chose this meaning of the words: the index of an option, or `own`.
    pub fn is_meant(&self, what: &str) -> bool {
        self.meant.as_deref() == Some(what)
    }
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    asked: QuestionForm,
    /// The problem with the form, if there is one.
    problem: Option<String>,
}

/// The page with its form. `problem` says what is missing or wrong in the form.
pub fn form_page(visit: &Visit, asked: QuestionForm, problem: Option<String>) -> Result<Response> {
    let status = if problem.is_some() || asked.is_open() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let frame = Frame::new(visit, "");
    // An answer on another machine is launched there, so this machine's queue does not matter.
    let frame = if asked.host.is_some() { frame.for_another_machine() } else { frame };
    Ok(reply::html(status, &QuestionPage { frame, asked, problem }))
}

/// The hash of the question that was shown, from the form.
pub fn shown(posted: &Posted) -> Result<Shown> {
    let shown = posted.get("shown").and_then(|shown| shown.parse().ok());
    shown.ok_or_else(|| Error::usage("the form does not say which question was shown", "load the page again"))
}

/// The next waiting question except this one: its address and its title.
pub fn next_question(visit: &Visit, but: Option<&str>) -> Result<Option<(String, String)>> {
    let rows = visit.site.rows()?;
    let is_next = |row: &&Arc<Row>| {
        let is_away = row.elsewhere.as_ref().is_some_and(|there| there.is_away);
        !row.facts.is_event && !is_away && row.facts.question.is_some() && but != Some(row.id.as_str())
    };
    let next = rows.iter().find(is_next);
    Ok(next.and_then(|row| Some((format!("/q/{}/{}", row.id, row.facts.question?), row.facts.title.clone()))))
}
