//! The places of the last picture that a click chooses.

use ratatui::layout::{Position, Rect};

use askbox_mailbox::{Address, RoundAt};

/// Something on the screen that a click chooses. It is named by what the picture showed, so a row that has moved since is not mistaken.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A row of the list.
    Row(Address),
    /// A line of the answer, by its position.
    Line(usize),
    /// A row of the answered questions.
    Outcome(RoundAt),
}

/// The places of the last picture that can be clicked.
#[derive(Debug, Default)]
pub struct Targets(pub Vec<(Rect, Target)>);

impl Targets {
    pub fn add(&mut self, area: Rect, target: Target) {
        self.0.push((area, target));
    }

    pub fn at(&self, column: u16, row: u16) -> Option<Target> {
        let position = Position { x: column, y: row };
        self.0.iter().find(|(area, _)| area.contains(position)).map(|(_, target)| target.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_means_what_the_picture_showed_there() {
        let mut targets = Targets::default();
        targets.add(Rect { x: 2, y: 3, width: 10, height: 2 }, Target::Line(1));
        targets.add(Rect { x: 0, y: 5, width: 40, height: 1 }, Target::Row("w".parse().unwrap()));
        assert_eq!((targets.at(2, 4), targets.at(12, 4), targets.at(0, 3)), (Some(Target::Line(1)), None, None));
        assert_eq!(targets.at(39, 5), Some(Target::Row("w".parse().unwrap())));
        targets.0.clear();
        assert_eq!(targets.at(2, 4), None);
    }
}
