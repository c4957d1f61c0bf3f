//! The mouse: the wheel scrolls, and a click chooses. Neither decides anything. `m` gives the mouse back to the terminal, for copying.

use std::fmt;

use crossterm::Command;
use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};

use crate::app::{App, Place, Wish};
use crate::gate::Heard;
use crate::targets::Target;
use askbox_cli::AtStake;

/// The number of lines that one step of the wheel scrolls.
const WHEEL: isize = 3;

/// Asks the terminal to report clicks and the wheel, or no longer. It is not asked for movements: each of them would wake the inbox.
#[derive(Debug, Clone, Copy)]
pub struct Report(pub bool);

impl Command for Report {
    fn write_ansi(&self, f: &mut impl fmt::Write) -> fmt::Result {
        // Presses and the wheel, with positions in decimal numbers (SGR), as xterm's manual names them.
        f.write_str(if self.0 { "\x1b[?1000h\x1b[?1006h" } else { "\x1b[?1006l\x1b[?1000l" })
    }
}

impl App<'_> {
    /// Handles a click or a step of the wheel.
    pub fn mouse(&mut self, event: MouseEvent) -> Wish {
        self.before_a_key();
        // For every check, this is a key of no meaning: what the person was told before it no longer counts.
        if let Heard::Other { told: Some(_), .. } = self.gate.key(KeyEvent::from(KeyCode::Null)) {
            self.said.clear();
        }
        if self.gate.panel().is_some_and(|panel| matches!(panel.at_stake, AtStake::DeclinedTogether { .. })) {
            // The panel stays, and still asks.
            self.ask_about_marked();
        }
        self.letters.forget();
        if let Place::Question(opened) = &mut self.place {
            opened.letters.forget();
        }
        match event.kind {
            MouseEventKind::ScrollUp => self.wheel(-WHEEL),
            MouseEventKind::ScrollDown => self.wheel(WHEEL),
            MouseEventKind::Down(MouseButton::Left) => self.click(event.column, event.row),
            _ => {}
        }
        self.after_a_key();
        Wish::Nothing
    }

    fn wheel(&mut self, lines: isize) {
        if let Some(scrolled) = self.help {
            self.help = Some(scrolled.saturating_add_signed(lines));
            return;
        }
        if let Some(panel) = self.gate.panel_mut()
            && matches!(panel.at_stake, AtStake::DeclinedTogether { .. })
        {
            panel.names.step(lines);
            return;
        }
        match &mut self.place {
            Place::List => self.waiting.step(lines),
            Place::Question(opened) => opened.scroll.step(lines),
            Place::Outcomes(outcomes) => outcomes.step(self.sender.mailbox, lines),
            Place::Log(log, _) => log.step(lines),
            Place::Sessions(list) => list.step(lines),
            Place::Session(view) => view.step(lines),
            Place::Gone(_) => {}
        }
    }

    fn click(&mut self, column: u16, row: u16) {
        // In a window or a panel, only keys choose.
        if self.help.take().is_some() || self.asked.is_some() || self.gate.panel().is_some() {
            return;
        }
        let target = self.targets.borrow().at(column, row);
        match (target, &mut self.place) {
            (Some(Target::Row(address)), Place::List) => {
                if self.waiting.chosen().is_some_and(|chosen| chosen.address == address) {
                    match self.gate.may_choose() {
                        Ok(()) => self.open(&address),
                        Err(why) => self.said = why,
                    }
                } else {
                    self.waiting.choose_address(&address);
                }
            }
            (Some(Target::Line(n)), Place::Question(opened)) => opened.choose_line(n),
            (Some(Target::Outcome(at)), Place::Outcomes(outcomes)) => outcomes.choose(self.sender.mailbox, &at),
            _ => {}
        }
    }
}
