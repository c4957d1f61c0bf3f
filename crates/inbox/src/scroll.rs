//! A text that may be longer than its place on the screen. It notes how much of it the person has seen.

use std::cell::Cell;

/// The maximum number of lines that a page scrolls.
const PAGE: isize = 8;

/// The place in a text, and the lines that were on the screen so far.
#[derive(Debug, Default)]
pub struct Scroll {
    /// The number of lines that are scrolled off the top.
    from: usize,
    /// The number of lines of the place and of the text, when they were last drawn.
    rows: Cell<usize>,
    total: Cell<usize>,
    /// The number of lines, from the first one on, that were all on the screen.
    seen: Cell<usize>,
    /// True once every line has been on the screen.
    pub was_seen: bool,
}

impl Scroll {
    /// Notes that the text is drawn into this many rows. Returns the first line to draw.
    pub fn draw(&self, rows: usize, total: usize) -> usize {
        if self.total.replace(total) != total {
            // The lines are broken at other places now.
            self.seen.set(0);
        }
        self.rows.set(rows);
        self.from()
    }

    /// Notes that the lines that were drawn last are on the screen.
    pub fn was_drawn(&mut self) {
        // Two keys may scroll before a picture is drawn. The lines that they skip do not count.
        if self.from() <= self.seen.get() {
            self.seen.set(self.seen.get().max(self.from() + self.rows.get()));
        }
        self.was_seen |= self.seen.get() >= self.total.get();
    }

    /// True if more of the text is below the visible part.
    pub fn has_more(&self) -> bool {
        self.from < self.most()
    }

    /// The first line that is visible.
    pub fn from(&self) -> usize {
        self.from.min(self.most())
    }

    fn most(&self) -> usize {
        self.total.get().saturating_sub(self.rows.get())
    }

    /// Scrolls by this many lines.
    pub fn step(&mut self, lines: isize) {
        self.from = self.from().saturating_add_signed(lines).min(self.most());
    }

    /// Scrolls by a page, which skips no line.
    pub fn page(&mut self, down: bool) {
        let lines = self.rows().min(PAGE);
        self.step(if down { lines } else { -lines });
    }

    /// The number of lines on the screen, at least one.
    pub fn rows(&self) -> isize {
        isize::try_from(self.rows.get().max(1)).unwrap_or(1)
    }

    /// Goes back to the beginning, for another text.
    pub fn begin(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(scroll: &mut Scroll, rows: usize, total: usize) -> (usize, bool) {
        let from = scroll.draw(rows, total);
        scroll.was_drawn();
        (from, scroll.was_seen)
    }

    #[test]
    fn a_text_was_seen_once_each_of_its_lines_was_drawn() {
        let mut scroll = Scroll::default();
        assert_eq!(draw(&mut scroll, 3, 10), (0, false));
        assert!(scroll.has_more());
        // Two keys come before a picture, so three lines are skipped.
        scroll.page(true);
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (6, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (7, false));
        assert!(!scroll.has_more());
        scroll.step(-4);
        assert_eq!(draw(&mut scroll, 3, 10), (3, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (6, false));
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 3, 10), (7, true));
        assert_eq!(draw(&mut scroll, 3, 20), (7, true), "it was seen at another width");
    }

    #[test]
    fn a_place_without_rows_shows_nothing_of_a_text() {
        let mut scroll = Scroll::default();
        assert_eq!(draw(&mut scroll, 0, 2), (0, false));
        assert_eq!(draw(&mut scroll, 2, 2), (0, true));
    }

    #[test]
    fn lines_that_are_broken_anew_are_seen_from_the_first_one_again() {
        let mut scroll = Scroll::default();
        draw(&mut scroll, 4, 12);
        scroll.page(true);
        draw(&mut scroll, 4, 12);
        assert_eq!(draw(&mut scroll, 4, 6), (2, false), "the text before them took more lines");
        scroll.page(false);
        draw(&mut scroll, 4, 6);
        scroll.page(true);
        assert_eq!(draw(&mut scroll, 4, 6), (2, true));
    }
}
