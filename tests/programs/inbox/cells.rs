//! Draws the cells of a terminal as an SVG picture. Its colours follow the reader's light or dark scheme.

use std::fmt::Write;

use vt100::{Cell, Color, Parser};

/// The size of a cell in the picture.
const WIDTH: f32 = 8.4;
const HEIGHT: u16 = 18;
const MARGIN: u16 = 10;

const STYLE: &str = "
  svg { --fg: #1f2328; --bg: #ffffff; --dim: #6e7781; --red: #b3202c; --green: #11632a; --yellow: #8a5500; --cyan: #0f6a78; --blue: #0850ae; }
  @media (prefers-color-scheme: dark) {
    svg { --fg: #d1d7e0; --bg: #151b23; --dim: #9198a1; --red: #ff7b72; --green: #57ab5a; --yellow: #d9a441; --cyan: #56c7d6; --blue: #6cb6ff; }
  }
  text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 14px; white-space: pre; }
";

/// The look of a run of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    ink: &'static str,
    ground: Option<&'static str>,
    bold: bool,
    italic: bool,
    underline: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let ink = if cell.dim() { "dim" } else { name(cell.fgcolor()).unwrap_or("fg") };
        let ground = name(cell.bgcolor());
        let (ink, ground) = if cell.inverse() { (ground.unwrap_or("bg"), Some(ink)) } else { (ink, ground) };
        Self { ink, ground, bold: cell.bold(), italic: cell.italic(), underline: cell.underline() }
    }
}

fn name(colour: Color) -> Option<&'static str> {
    let Color::Idx(n) = colour else { return None };
    Some(match n {
        1 | 9 => "red",
        2 | 10 => "green",
        3 | 11 => "yellow",
        4 | 5 | 12 | 13 => "blue",
        6 | 14 => "cyan",
        8 => "dim",
        _ => "fg",
    })
}

/// A run of cells of one look: its first column, its number of columns, and its text.
type Run = (u16, u16, String, Look);

fn runs(row: impl Iterator<Item = (u16, String, Look)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (column, text, look) in row {
        match runs.last_mut().filter(|(from, columns, _, last)| *last == look && from + columns == column) {
            Some((_, columns, words, _)) => {
                *columns += 1;
                words.push_str(&text);
            }
            None => runs.push((column, 1, text, look)),
        }
    }
    runs
}

/// The picture of a screen of this many columns and rows. `screen` has the codes that colour it.
pub fn picture(screen: &str, size: (u16, u16)) -> String {
    let mut out = begin(size, "");
    draw_screen(&mut out, screen, size);
    out + "</svg>\n"
}

/// A moving picture, which begins anew at its end: each screen is shown for so many seconds. If the reader wants no motion, or the viewer
/// cannot move pictures, the last screen is shown.
pub fn movie(screens: &[(String, f32)], size: (u16, u16)) -> String {
    let length: f32 = screens.iter().map(|(_, seconds)| seconds).sum();
    let mut style =
        format!("  .s {{ visibility: hidden; animation: {length:.1}s step-end infinite }} .s:last-of-type {{ visibility: visible }}\n");
    let (mut from, mut groups) = (0.0, String::new());
    for (n, (screen, seconds)) in screens.iter().enumerate() {
        let to = from + seconds;
        let (start, end) = (100.0 * from / length, 100.0 * to / length);
        let hidden = if n == 0 { "" } else { "0% { visibility: hidden } " };
        let after = if n + 1 == screens.len() { String::new() } else { format!(" {end:.2}% {{ visibility: hidden }}") };
        let _ = writeln!(style, "  @keyframes s{n} {{ {hidden}{start:.2}% {{ visibility: visible }}{after} }}");
        let _ = writeln!(groups, "<g class=\"s\" style=\"animation-name: s{n}\">");
        draw_screen(&mut groups, screen, size);
        groups.push_str("</g>\n");
        from = to;
    }
    style.push_str("  @media (prefers-reduced-motion: reduce) { .s { animation: none !important } }\n");
    begin(size, &style) + &groups + "</svg>\n"
}

/// The beginning of a picture: its size, its styles and its ground.
fn begin((columns, rows): (u16, u16), more: &str) -> String {
    let (width, height) = (f32::from(columns) * WIDTH + 2.0 * f32::from(MARGIN), rows * HEIGHT + 2 * MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" width=\"{width:.0}\">\n\
         <style>{STYLE}{more}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"var(--bg)\"/>\n"
    )
}

fn draw_screen(out: &mut String, screen: &str, (columns, rows): (u16, u16)) {
    let mut parser = Parser::new(rows, columns, 0);
    parser.process(screen.trim_end().replace('\n', "\r\n").as_bytes());
    for row in 0..rows {
        let cells = (0..columns).filter_map(|column| Some((column, parser.screen().cell(row, column)?)));
        let text = |cell: &Cell| if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
        for (column, columns, words, look) in runs(cells.map(|(column, cell)| (column, text(cell), Look::of(cell)))) {
            draw(out, (row, column, columns), &words, look);
        }
    }
}

fn draw(out: &mut String, (row, column, columns): (u16, u16, u16), words: &str, look: Look) {
    let (x, y) = (f32::from(column) * WIDTH + f32::from(MARGIN), row * HEIGHT + MARGIN);
    let width = f32::from(columns) * WIDTH;
    if let Some(ground) = look.ground {
        let _ = writeln!(out, "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"var(--{ground})\"/>");
    }
    if words.trim().is_empty() {
        return;
    }
    let mut about = format!("x=\"{x:.1}\" y=\"{}\" textLength=\"{width:.1}\" fill=\"var(--{})\"", y + 14, look.ink);
    for (is_so, style) in
        [(look.bold, " font-weight=\"bold\""), (look.italic, " font-style=\"italic\""), (look.underline, " text-decoration=\"underline\"")]
    {
        about.push_str(if is_so { style } else { "" });
    }
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text {about}>{words}</text>");
}
