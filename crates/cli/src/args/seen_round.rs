//! The round that a person names for an answer, as `ask-answer show` prints it.

use std::str::FromStr;

use askbox_mailbox::{Error, On, Question, QuestionId, Result, Shown, WorkflowId};

/// The number of digits of the hash that are printed, and that a person has to give at least.
///
/// The asker chooses every text of its question. With half as many digits, an asker could compute two questions with equal digits, show
/// the one and put the other in its place. With 32, that takes 2^64 tries.
const DIGITS: usize = 32;

/// A round, and behind a colon the beginning of a hash: of the round's id and of what was shown. With the hash, an answer is given only
/// to the question exactly as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRound {
    /// The round.
    pub id: QuestionId,
    shown: Option<String>,
}

impl SeenRound {
    /// The round of a question that is shown now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the question cannot be written as JSON.
    pub fn of(id: QuestionId, question: &Question) -> Result<Self> {
        let shown = Shown::of_question(question)?.in_round(id);
        Ok(Self { id, shown: shown.get(..DIGITS).map(str::to_owned) })
    }

    /// Returns the question that an answer to this round is about. `round` and `question` are what waits now.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the question is not as it was shown.
    pub fn of_waiting(&self, workflow: &WorkflowId, round: QuestionId, question: &Question) -> Result<On> {
        // The answer to another round is refused where it is given.
        let Some(seen) = self.shown.as_ref().filter(|_| round == self.id) else { return Ok(On::Round(self.id)) };
        let now = Shown::of_question(question)?;
        if !now.in_round(round).starts_with(seen) {
            return Err(Error::conflict(
                format!("the question of {workflow} was changed after it was shown to you; nothing was answered"),
                format!("see it as it is now: ask-answer show {workflow}"),
            ));
        }
        Ok(On::Shown(self.id, now))
    }
}

impl std::fmt::Display for SeenRound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.id)?;
        self.shown.as_ref().map_or(Ok(()), |shown| write!(f, ":{shown}"))
    }
}

impl FromStr for SeenRound {
    type Err = Error;

    /// Reads `QUESTION_ID` or `QUESTION_ID:HASH`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything else.
    fn from_str(text: &str) -> Result<Self> {
        let (id, shown) = text.split_once(':').map_or((text, None), |(id, shown)| (id, Some(shown)));
        let is_hash =
            |shown: &str| (DIGITS..=64).contains(&shown.len()) && shown.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if shown.is_some_and(|shown| !is_hash(shown)) {
            let problem = format!("has no hash of {DIGITS} to 64 digits behind its colon");
            return Err(Error::invalid("round", problem, "copy it from ask-answer show"));
        }
        Ok(Self { id: id.parse()?, shown: shown.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_with_a_hash_binds_to_what_was_shown() {
        let question = |text: &str| serde_json::from_str::<Question>(&format!(r#"{{"workflow_id":"w","question":"{text}"}}"#)).unwrap();
        let workflow: WorkflowId = "w".parse().unwrap();
        let id: QuestionId = "15c96f27-091a-5dc1-bcce-0d2e49721bc0".parse().unwrap();
        let seen: SeenRound = SeenRound::of(id, &question("Delete tmp?")).unwrap().to_string().parse().unwrap();
        assert!(matches!(seen.of_waiting(&workflow, id, &question("Delete tmp?")), Ok(On::Shown(round, _)) if round == id));
        let changed = seen.of_waiting(&workflow, id, &question("Delete prod?")).unwrap_err().to_string();
        assert!(changed.contains("was changed after it was shown"), "{changed}");
        // The digits of one round are not those of another round, though everything that is shown is the same.
        let other: QuestionId = "15c96f27-091a-5dc1-bcce-0d2e49721bc1".parse().unwrap();
        let digits = |id| SeenRound::of(id, &question("Delete tmp?")).unwrap().shown.unwrap();
        assert_ne!(digits(id), digits(other));
        assert_eq!(digits(id).len(), 32, "an asker could compute two questions with fewer equal digits");
        let plain: SeenRound = id.to_string().parse().unwrap();
        assert!(matches!(plain.of_waiting(&workflow, id, &question("Delete prod?")), Ok(On::Round(_))));
        for wrong in [":", ":12", ":xxxxxxxxxxxxxxxxxxxx", ":0123456789abcdef", ":0123456789ABCDEF0123456789ABCDEF"] {
            assert!(format!("{id}{wrong}").parse::<SeenRound>().is_err(), "{wrong}");
        }
    }
}
