//! The field `live` of a question that an attended session puts to its user at the same moment. The dialog stays open at the terminal,
//! and the first answer counts. No agent is launched with the answer: the hook that waits beside the dialog takes it.

use serde::{Deserialize, Serialize};

use crate::documents::fields::approval::ONCE;
use crate::{Choice, Error, Options, Result, SessionId, Time, text};

/// The name of Claude Code's tool that shows a plan.
pub const EXIT_PLAN_MODE: &str = "ExitPlanMode";

/// The longest text of this field, in bytes.
const LONGEST: usize = 256;
/// The most permissions that are offered beside the call.
pub const MOST_OFFERS: usize = 6;

/// The session whose dialog shows the question.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Live {
    /// The id of the session.
    pub session: SessionId,
    /// The program of the session, such as `claude`.
    pub program: String,
    /// The session's own title, if it has one.
    pub title: Option<String>,
    /// The name of the project's folder.
    pub project: String,
    /// The branch that is checked out there, if there is one.
    pub branch: Option<String>,
    /// The kind of subagent that asks. Missing if the session itself asks.
    pub agent: Option<String>,
    /// When the dialog opened.
    pub since: Time,
    /// True if no dialog is open at the terminal, because a background agent or an MCP server asks. The dialog opens if nobody answers in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_background: bool,
    /// True if nobody attends the session. Without an answer, its program decides about the call, which mostly means that it is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// When a background agent or a server's hook stops waiting, and its dialog opens at the terminal. Missing for a dialog that is open.
    pub until: Option<Time>,
    /// Permissions that the person may give the session together with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offered>,
}

/// A permission for the rest of the session, beside the call itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// Calls that these rules name are made without asking.
    Rules(#[schemars(description = "The rules.")] Vec<Rule>),
    /// The session works in these folders as well.
    Folders(#[schemars(description = "The absolute paths.")] Vec<String>),
    /// The session goes on in this mode.
    Mode(#[schemars(description = "The mode.")] Mode),
}

/// A rule of Claude Code: all calls of a tool, or those with this content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Rule {
    /// The tool's name.
    pub tool: String,
    /// The part in the brackets of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A permission mode of Claude Code that a person may choose for the rest of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Files are edited without asking.
    AcceptEdits,
    /// Claude Code decides by itself which calls it asks about.
    Auto,
}

impl Rule {
    fn words(&self) -> String {
        let tool = text::visible(&self.tool);
        self.content.as_ref().map_or_else(|| tool.clone(), |content| format!("{tool}({})", text::visible(content)))
    }
}

impl Offered {
    /// Returns the key of the answer that gives this permission. `n` is its place among the offers, from zero.
    pub fn key(&self, n: usize) -> String {
        match self {
            Self::Rules(_) | Self::Folders(_) => format!("session-{}", n + 1),
            Self::Mode(Mode::AcceptEdits) => "accept-edits".into(),
            Self::Mode(Mode::Auto) => "auto".into(),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Rules(rules) => {
                let rules: Vec<_> = rules.iter().map(Rule::words).collect();
                format!("do not ask again in this session about: {}", rules.join(", "))
            }
            Self::Folders(folders) => {
                let folders: Vec<_> = folders.iter().map(|folder| text::visible(folder)).collect();
                format!("let this session work in these folders as well: {}", folders.join(", "))
            }
            Self::Mode(Mode::AcceptEdits) => "let this session edit files without asking from now on (mode acceptEdits)".into(),
            Self::Mode(Mode::Auto) => "let Claude Code decide from now on what it asks about in this session (mode auto)".into(),
        }
    }

    fn is_good(&self) -> bool {
        let is_good = |text: &str| !text.trim().is_empty() && text.len() <= LONGEST && !text.contains('\n');
        match self {
            Self::Rules(rules) => {
                let of_rule = |rule: &Rule| is_good(&rule.tool) && rule.content.as_deref().is_none_or(is_good);
                !rules.is_empty() && rules.len() <= MOST_OFFERS && rules.iter().all(of_rule)
            }
            Self::Folders(folders) => !folders.is_empty() && folders.len() <= MOST_OFFERS && folders.iter().all(|folder| is_good(folder)),
            Self::Mode(_) => true,
        }
    }
}

impl Live {
    /// Returns the options of the question about a call of this tool, with descriptions of what each allows. Every one allows the call.
    pub fn options(&self, tool: &str) -> Options {
        let choice = |key: String, description: String| Choice { key, description, preview: None };
        let (once, verb) = match tool {
            EXIT_PLAN_MODE => ("approve the plan; the session goes on in the mode that it had before", "approve"),
            _ => ("allow exactly this call, one time", "allow"),
        };
        let offers = self.offers.iter().enumerate().map(|(n, offer)| choice(offer.key(n), format!("{verb}, and {}", offer.words())));
        Options(std::iter::once(choice(ONCE.into(), once.into())).chain(offers).collect())
    }

    /// Returns the permission that this answer gives beside the call.
    pub fn offer(&self, key: &str) -> Option<&Offered> {
        self.offers.iter().enumerate().find_map(|(n, offer)| (offer.key(n) == key).then_some(offer))
    }

    /// Keeps the offers that a question may hold: each has a key of its own, and its words are short enough to be read.
    pub fn with_offers(self, offers: impl IntoIterator<Item = Offered>) -> Self {
        let mut kept: Vec<Offered> = Vec::new();
        for offer in offers {
            let is_new = |kept: &[Offered]| !kept.iter().enumerate().any(|(n, other)| other.key(n) == offer.key(kept.len()));
            if kept.len() < MOST_OFFERS && offer.is_good() && is_new(&kept) {
                kept.push(offer);
            }
        }
        Self { offers: kept, ..self }
    }

    /// Returns the session in a few words: `claude session "Fix the login" in shop (main), agent reviewer`. A title, and a name that could be taken
    /// for words of askbox, stands in quotes: others choose them.
    pub fn words(&self) -> String {
        let branch = self.branch.as_ref().map_or_else(String::new, |branch| format!(" ({})", name(branch)));
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!(", agent {}", name(agent)));
        let title = self.title.as_ref().map_or_else(String::new, |title| format!(" {:?}", text::excerpt(title, 40)));
        format!("{} session{title} in {}{branch}{agent}", name(&self.program), name(&self.project))
    }

    /// Checks that all texts are there and at most 256 bytes long, and that the offers differ.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `live`.
    pub fn check(&self) -> Result<()> {
        let is_good = |text: &str| !text.is_empty() && text.len() <= LONGEST;
        let texts = [Some(&self.program), Some(&self.project), self.title.as_ref(), self.branch.as_ref(), self.agent.as_ref()];
        if !texts.into_iter().flatten().all(|text| is_good(text)) {
            return Err(Error::invalid("live", format!("has a text that is empty or over {LONGEST} bytes"), "leave it out"));
        }
        if self.clone().with_offers(self.offers.clone()).offers != self.offers {
            return Err(Error::invalid("live", "has offers that cannot be right", "leave it out"));
        }
        Ok(())
    }
}

/// A name of somebody else, short. It stands in quotes unless it is one word of letters, digits and the usual signs of names.
fn name(text: &str) -> String {
    let name = text::excerpt(text, 40);
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "-_./+@#:…".contains(c));
    if is_plain { name } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(offers: Vec<Offered>) -> Live {
        let session = "15c96f27-091a-5dc1-bcce-0d2e49721bc0".parse().unwrap();
        let (program, project, since) = ("claude".into(), "shop".into(), crate::time::now());
        let (title, branch, agent, until) = (None, None, None, None);
        Live { session, program, title, project, branch, agent, since, in_background: false, unattended: false, until, offers }
    }

    #[test]
    fn names_beside_a_dialogs_call_cannot_be_taken_for_our_words() {
        let mut live = live(Vec::new());
        (live.branch, live.agent) = (Some("fix/läuft-1".into()), Some("reviewer".into()));
        assert_eq!(live.words(), "claude session in shop (fix/läuft-1), agent reviewer");
        (live.project, live.branch) = ("shop, allowed by ann".into(), Some("main) \"safe".into()));
        live.agent = Some("x\nTo allow it, copy:".into());
        live.title = Some("a\" in docs".into());
        assert!(live.words().starts_with(r#"claude session "a\" in docs" in "shop,"#), "{}", live.words());
        live.title = None;
        assert_eq!(live.words(), r#"claude session in "shop, allowed by ann" ("main) \"safe"), agent "x To allow it, copy:""#);
    }

    #[test]
    fn each_offer_is_an_option_in_askboxs_own_words() {
        let rule = Rule { tool: "Bash".into(), content: Some("mkdir:*".into()) };
        let live = live(vec![Offered::Rules(vec![rule]), Offered::Folders(vec!["/x".into()]), Offered::Mode(Mode::AcceptEdits)]);
        live.check().unwrap();
        let options = live.options("Bash").0;
        let keys: Vec<_> = options.iter().map(|choice| choice.key.as_str()).collect();
        assert_eq!(keys, ["once", "session-1", "session-2", "accept-edits"]);
        assert_eq!(options[1].description, "allow, and do not ask again in this session about: Bash(mkdir:*)");
        assert_eq!(live.offer("session-2"), Some(&live.offers[1]));
        assert_eq!((live.offer("once"), live.offer("session-9")), (None, None));
    }

    #[test]
    fn offers_that_nobody_could_read_or_tell_apart_are_left_out() {
        let long = Offered::Folders(vec!["x".repeat(LONGEST + 1)]);
        let mode = || Offered::Mode(Mode::Auto);
        assert_eq!(live(Vec::new()).with_offers([long.clone(), mode(), mode()]).offers, [mode()]);
        assert!(live(vec![long]).check().is_err());
        assert!(live(vec![mode(), mode()]).check().is_err());
    }
}
