//! The sign-in link as a code for a phone's camera, drawn with half blocks: a character holds two modules, one above the other.
//!
//! A code that is scrolled off is of no use. So it takes as few rows as it needs, and is left out if the terminal has fewer.

use qrcode::{Color, EcLevel, QrCode};

use askbox_cli::terminal::screen::Size;

/// The light margin around a code, in modules: what the standard asks for, and then what cameras still read.
const MARGINS: [usize; 3] = [4, 2, 1];

/// The code, or the number of rows and columns that it needs beside the rest.
pub enum Drawn {
    /// The lines of the code.
    Code(String),
    /// The terminal is too small: it needs this many rows and columns.
    TooSmall(usize, usize),
}

/// Draws a link for a terminal that must also show `beside` further rows. `None` if the link is too long for any code.
pub fn drawn(link: &str, size: Size, beside: usize) -> Option<Drawn> {
    // A screen damages no module, so the lowest level of error correction makes the smallest code.
    let code = QrCode::with_error_correction_level(link, EcLevel::L).ok()?;
    let needs = |margin: usize| ((code.width() + 2 * margin).div_ceil(2) + beside, code.width() + 2 * margin);
    let fits = |margin: &&usize| needs(**margin).0 <= size.rows && needs(**margin).1 <= size.columns;
    Some(match MARGINS.iter().find(fits) {
        Some(margin) => Drawn::Code(with_margin(&code, *margin)),
        None => {
            let (rows, columns) = needs(MARGINS[MARGINS.len() - 1]);
            Drawn::TooSmall(rows, columns)
        }
    })
}

fn with_margin(code: &QrCode, margin: usize) -> String {
    let (width, all) = (code.width(), code.width() + 2 * margin);
    let is_light = |x: usize, y: usize| {
        let inside = |at: usize| at.checked_sub(margin).filter(|at| *at < width);
        inside(x).zip(inside(y)).is_none_or(|at| code[at] == Color::Light)
    };
    let mut out = String::new();
    for y in (0..all).step_by(2) {
        // Most terminals are dark, so the light modules are drawn.
        out.extend((0..all).map(|x| match (is_light(x, y), y + 1 < all && is_light(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        }));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As long as `askbox web link` prints it without a configuration.
    const LINK: &str = "http://127.0.0.1:8347/in/Wpp58MRQTPa3DgZRiygwa60QwpWA8kWktVbIZNVjmzo";

    fn lines(rows: usize, columns: usize) -> Option<Vec<String>> {
        match drawn(LINK, Size { rows, columns }, 4).unwrap() {
            Drawn::Code(code) => Some(code.lines().map(str::to_owned).collect()),
            Drawn::TooSmall(rows, columns) => {
                assert_eq!((rows, columns), (22, 35));
                None
            }
        }
    }

    #[test]
    fn a_code_fits_an_ordinary_terminal_or_is_left_out() {
        let code = lines(24, 80).unwrap();
        assert!(code.len() + 4 <= 24 && code.iter().all(|line| line.chars().count() == 37), "{code:#?}");
        // The last line holds one row of modules, all of them margin.
        let (last, others) = code.split_last().unwrap();
        assert!(others[0].chars().all(|c| c == '█') && others.iter().all(|line| line.starts_with('█') && line.ends_with('█')));
        assert!(last.chars().all(|c| c == '▀'), "{last}");
        assert_eq!(lines(60, 80).unwrap().len(), 21, "with the whole margin");
        assert_eq!(lines(22, 80).unwrap().len(), 18);
        assert!(lines(21, 80).is_none() && lines(60, 34).is_none());
    }
}
