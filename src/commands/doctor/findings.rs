//! The problems found so far. More than a few equal problems are one line, so the memory does not grow with them.
//!
//! What the checks learn that is not a problem. The report shows it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Serialize, Serializer};
use serde_json::Value;

use askbox_mailbox::{RoundId, WorkflowId, text};

/// The maximum number of lines. Problems that would need further lines are only counted.
const MOST_LINES: usize = 10_000;
/// This many equal problems are told one by one. More are one line.
const FEW: usize = 5;
/// The number of subjects that a line names for programs.
const NAMED: usize = 10;

/// One problem, or many equal ones.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// The kind of problem, as a word for programs, such as `parked`.
    pub kind: &'static str,
    /// The workflow, path or key of the configuration that has the problem. The first of them, if there are many.
    pub subject: String,
    /// The problem in words.
    pub problem: String,
    /// The command that solves it.
    pub mend: String,
    /// The number of equal problems. Missing if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// The first subjects, if there are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subjects: Vec<String>,
    /// Findings are told in the order of their sections, and those of one section in the order of their subjects.
    #[serde(skip)]
    section: u32,
    #[serde(skip)]
    number: u64,
}

impl Finding {
    pub(super) fn count(&self) -> u64 {
        self.count.unwrap_or(1)
    }

    /// The problem and its command, for people.
    pub(super) fn words(&self) -> String {
        let Self { kind, subject, problem, mend, .. } = self;
        let who = match self.count() {
            1 => subject.clone(),
            n => format!("{} and {} more, each", self.subjects[..FEW].join(", "), n - FEW as u64),
        };
        format!("\n{kind}: {who}: {problem}\n  $ {mend}\n")
    }

    fn place(&self) -> (u32, &str, u64) {
        (self.section, &self.subject, self.number)
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The first [`NAMED`] of the problems that are equal, and their number, by the hash of their words.
    equal: HashMap<u64, (Vec<Finding>, u64)>,
    /// The number of problems beyond [`MOST_LINES`].
    pub more: u64,
    section: u32,
    /// The number of all problems so far.
    number: u64,
    is_sorting: bool,
}

impl Findings {
    pub(super) fn add(&mut self, kind: &'static str, subject: &str, problem: &str, mend: &str) {
        self.section += u32::from(!self.is_sorting);
        self.number += 1;
        let [subject, problem, mend] = [subject, problem, mend].map(text::one_line);
        let words = words_without(kind, &subject, &problem, &mend);
        let finding =
            Finding { kind, subject, problem, mend, count: None, subjects: Vec::new(), section: self.section, number: self.number };
        if let Some((first, count)) = self.equal.get_mut(&words) {
            // Several questions lead to the same file.
            if first.iter().any(|known| known.subject == finding.subject && known.problem == finding.problem) {
                return;
            }
            *count += 1;
            first.insert(first.partition_point(|known| known.place() <= finding.place()), finding);
            first.truncate(NAMED);
        } else if self.equal.len() >= MOST_LINES {
            self.more += 1;
        } else {
            self.equal.insert(words, (vec![finding], 1));
        }
    }

    /// From now on, findings are sorted by their subjects, or no longer.
    pub(super) fn sort(&mut self, is_sorting: bool) {
        self.is_sorting = is_sorting;
        self.section += 1;
    }

    /// Everything that was found, in order.
    pub(super) fn told(self) -> Vec<Finding> {
        let told = |(mut first, count): (Vec<Finding>, u64)| {
            if first.len() > FEW {
                let subjects = first.iter().map(|finding| finding.subject.clone()).collect();
                first.truncate(1);
                (first[0].count, first[0].subjects) = (Some(count), subjects);
            }
            first
        };
        let mut all: Vec<Finding> = self.equal.into_values().flat_map(told).collect();
        all.sort_by(|one, other| one.place().cmp(&other.place()));
        all
    }
}

/// The hash of a finding's words without its subject. Numbers in the problem, such as ages, make no difference.
fn words_without(kind: &str, subject: &str, problem: &str, mend: &str) -> u64 {
    let name = subject.rsplit('/').next().unwrap_or(subject);
    let mut parts = vec![subject.to_owned(), name.to_owned()];
    if let Some(round) = RoundId::from_file_name(name) {
        parts.extend([round.workflow.to_string(), round.question.to_string()]);
    }
    parts.extend(WorkflowId::from_file_name(name).map(|id| id.to_string()));
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let without = |words: &str| parts.iter().fold(words.to_owned(), |words, part| without_part(&words, part));
    let problem: String = without(problem).chars().filter(|c| !c.is_ascii_digit()).collect();
    let mut hasher = DefaultHasher::new();
    (kind, problem, without(mend)).hash(&mut hasher);
    hasher.finish()
}

/// The words without this part, wherever it stands by itself.
fn without_part(words: &str, part: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let (mut out, mut rest) = (String::new(), words);
    while let Some(at) = rest.find(part).filter(|_| !part.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + part.len()..]);
        out.push_str(before);
        out.push_str(if is_word(out.chars().next_back()) || is_word(after.chars().next()) { part } else { "\0" });
        rest = after;
    }
    out + rest
}

/// The keys of the facts, in the order in which the report shows them.
const ORDER: [&str; 9] = ["agent", "acp_agents", "codex", "targets", "traces", "peers", "page", "sync", "history"];

/// The facts, by their places in [`ORDER`]. A fact has a value for programs, and a line or more for people. There is none if only one
/// workflow was checked.
#[derive(Debug, Default)]
pub(super) struct Facts(BTreeMap<usize, (Value, String)>);

impl Facts {
    pub(super) fn add(&mut self, key: &str, fact: &impl Serialize, words: String) {
        let place = ORDER.iter().position(|known| *known == key);
        debug_assert!(place.is_some(), "{key} has no place");
        self.0.extend(place.map(|place| (place, (serde_json::to_value(fact).unwrap_or_default(), words))));
    }

    pub(super) fn words(&self) -> String {
        self.0.values().map(|(_, words)| words.as_str()).collect()
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(place, (value, _))| (ORDER[*place], value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(findings: &[(&str, &str, &str)]) -> Vec<Finding> {
        let mut all = Findings::default();
        findings.iter().for_each(|(subject, problem, mend)| all.add("kind", subject, problem, mend));
        all.told()
    }

    #[test]
    fn equal_problems_differ_only_by_their_subject_and_numbers() {
        let of = |id: &str, age: u32| (id.to_owned(), format!("asked {age}h ago (drop: x {id})"), format!("x {id} --all"));
        let many: Vec<_> = (0..40).map(|n| of(&format!("w{n:02}"), n)).collect();
        let many: Vec<_> = many.iter().map(|(id, problem, mend)| (id.as_str(), problem.as_str(), mend.as_str())).collect();
        let one = told(&many);
        assert_eq!((one.len(), one[0].count(), one[0].subjects.len(), one[0].mend.as_str()), (1, 40, NAMED, "x w00 --all"));
        assert!(
            one[0].words().starts_with("\nkind: w00, w01, w02, w03, w04 and 35 more, each: asked 0h ago (drop: x w00)\n"),
            "{}",
            one[0].words()
        );
        assert_eq!(told(&many[..FEW]).len(), FEW, "a few are told one by one");
        assert_eq!(
            told(&[("a", "p", "kill 1"), ("b", "p", "kill 2"), ("c", "p", "kill 3"), ("d", "p", "kill 4"), ("e", "p", "kill 5")]).len(),
            5
        );
    }

    #[test]
    fn a_file_is_recognized_by_its_name_and_by_its_ids() {
        let round = |n: u32| format!("w{n}.01a1ff87-0000-7000-8000-00000000000{n}");
        let of = |n: u32| (format!("closed/{}.json", round(n)), format!("mkdir /m/runs/{}", round(n).replace('.', "/")));
        let all: Vec<_> = (0..9).map(of).collect();
        let all: Vec<_> = all.iter().map(|(subject, mend)| (subject.as_str(), "lost", mend.as_str())).collect();
        assert_eq!(told(&all).len(), 1);
    }
}
