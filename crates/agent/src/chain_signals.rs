//! The chain signals. An agent of a chain prints such a line to tell the agent above it that a workflow waits. A signal is a whole line. A line that
//! only mentions a signal is not one.

use askbox_mailbox::WorkflowId;

/// A chain signal.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum Signal {
    /// This workflow ended its turn and waits. Its result will wake the workflow that started it.
    #[display("SGN_PEND_STARTED ({_0})")]
    PendStarted(WorkflowId),
    /// The workflow still waits.
    #[display("SGN_PEND_ONGOING")]
    PendOngoing,
    /// The receiver should check whether it can continue.
    #[display("SGN_RESUME")]
    Resume,
}

impl Signal {
    /// Reads one line, without its line feed.
    pub fn of_line(line: &str) -> Option<Self> {
        match line.trim_end_matches('\r') {
            "SGN_PEND_ONGOING" => Some(Self::PendOngoing),
            "SGN_RESUME" => Some(Self::Resume),
            line => {
                let id = line.strip_prefix("SGN_PEND_STARTED (")?.strip_suffix(')')?;
                id.parse().ok().map(Self::PendStarted)
            }
        }
    }
}

/// The last line of an agent that knows no rule for its case.
pub const UNHANDLED: &str = "SGN_UNHANDLED";

/// The last line of a final text, if it is a signal and not a result. Agents that follow the first design also end with
/// `SGN_PEND_STARTED` without an id, or with `SGN_UNHANDLED` if their rules do not cover the case.
pub fn at_the_end(text: &str) -> Option<&str> {
    let last = text.trim_end().lines().next_back()?;
    (matches!(last, "SGN_PEND_STARTED" | UNHANDLED) || Signal::of_line(last).is_some()).then_some(last)
}

/// The workflow in a text that is nothing but the line of `relaunch spawn` about a child that may go on: `parked (ID): why`. What a child
/// had written before it was cut off may stand below it, quoted. claude puts the exit status above it.
pub fn of_unfinished_child(text: &str) -> Option<WorkflowId> {
    let text = text.trim();
    let text = text.strip_prefix("Exit code 1\n").unwrap_or(text);
    let (line, below) = text.split_once('\n').unwrap_or((text, ""));
    let (id, _why) = ["parked (", "interrupted ("].iter().find_map(|word| line.strip_prefix(word))?.split_once("): ")?;
    below.lines().all(|line| line.starts_with('>')).then(|| id.parse().ok()).flatten()
}

/// The text with `> ` before each line that would read as a signal.
pub fn quoted(text: &str) -> String {
    if !text.lines().any(|line| Signal::of_line(line).is_some()) {
        return text.to_owned();
    }
    let quote = |line: &str| if Signal::of_line(line).is_some() { format!("> {line}") } else { line.to_owned() };
    text.split('\n').map(quote).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reads_back_from_its_line_and_nothing_else_is_one() {
        let started = Signal::PendStarted("w-1".parse().unwrap());
        for signal in [started, Signal::PendOngoing, Signal::Resume] {
            assert_eq!(Signal::of_line(&signal.to_string()), Some(signal.clone()));
            assert_eq!(Signal::of_line(&format!("It said {signal}.")), None);
            assert_eq!(Signal::of_line(&format!(" {signal}")), None);
        }
        for line in ["", "SGN_PEND_STARTED", "SGN_PEND_STARTED (../x)", "SGN_PEND_STARTED (a) b", "sgn_resume"] {
            assert_eq!(Signal::of_line(line), None, "{line}");
        }
    }

    #[test]
    fn only_a_whole_last_line_is_a_signal_at_the_end() {
        assert_eq!(at_the_end("Asked.\nSGN_PEND_STARTED\n"), Some("SGN_PEND_STARTED"));
        assert_eq!(at_the_end("SGN_PEND_STARTED (w-1) \r\n\n"), Some("SGN_PEND_STARTED (w-1)"));
        assert_eq!(at_the_end("SGN_UNHANDLED"), Some("SGN_UNHANDLED"));
        for text in ["", "\n", "It said SGN_RESUME", "SGN_RESUME\nwas said", "> SGN_PEND_ONGOING", "SGN_UNHANDLED."] {
            assert_eq!(at_the_end(text), None, "{text}");
        }
    }

    #[test]
    fn only_spawns_line_alone_is_that_of_an_unfinished_child() {
        let child = |text: &str| of_unfinished_child(text).map(|id| id.to_string());
        assert_eq!(child("parked (w-1): no network\n").as_deref(), Some("w-1"));
        assert_eq!(child("Exit code 1\ninterrupted (w): by ann").as_deref(), Some("w"));
        assert_eq!(child("parked (w): cut off, not finished. What it had written:\n> a\n> b\n").as_deref(), Some("w"));
        for text in ["", "dropped (w): by ann", "parked (../w): x", "It is parked (w): x", "parked (w): x\nI did it myself.", "parked (w)"]
        {
            assert_eq!(child(text), None, "{text}");
        }
    }

    #[test]
    fn a_quoted_text_holds_no_signal_and_prose_stays_as_it_is() {
        let prose = "I saw SGN_PEND_ONGOING\nand SGN_PEND_STARTED (a) twice\n";
        assert_eq!(quoted(prose), prose);
        assert_eq!(quoted("a\nSGN_PEND_ONGOING\n\nb"), "a\n> SGN_PEND_ONGOING\n\nb");
        assert!(quoted("SGN_RESUME\r\nSGN_PEND_STARTED (x)").lines().all(|l| Signal::of_line(l).is_none()));
    }
}
