//! The limit on how many answers the model gives.

/// How many answers the model has given, and how many it may give.
#[derive(Debug)]
pub(super) struct ModelAnswers {
    given: u32,
    most: Option<u32>,
}

impl ModelAnswers {
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { given: 0, most }
    }

    /// Counts an answer. Returns the limit if it goes past that.
    pub(super) fn count(&mut self) -> Option<u32> {
        self.given = self.given.saturating_add(1);
        self.most.filter(|most| self.given > *most)
    }
}
