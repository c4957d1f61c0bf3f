//! `askbox web link`, `sessions` and `revoke`.
//!
//! `askbox web about`, for `askbox doctor` and `askbox trial`: where the page is, the devices that may answer on it, and what is wrong with
//! the file that lists them.
//!
//! The sign-in link as a code for a phone's camera, drawn with half blocks: a character holds two modules, one above the other.
//!
//! A code that is scrolled off is of no use. So it takes as few rows as it needs, and is left out if the terminal has fewer.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use qrcode::{Color, EcLevel, QrCode};
use serde_json::{Value, json};

use crate::gate::{Device, Devices, LINK_LASTS, name_of_device};
use crate::serve;
use askbox_cli::args::askbox_args::{Link, Revoke};
use askbox_cli::terminal::columns::{padded, width};
use askbox_cli::terminal::screen::Size;
use askbox_cli::{Context, program, screen};
use askbox_config::{self as config, Config, Listen};
use askbox_mailbox::{Error, Result, disk, excerpt, shell_quote, text, time};

fn devices(context: &Context) -> Result<(config::Web, Devices)> {
    let config = context.config()?.web;
    let devices = Devices::beside_the_configuration(config.session.0)?;
    Ok((config, devices))
}

/// `askbox web link`
pub fn link(args: &Link, context: &Context) -> Result<u8> {
    let (config, devices) = devices(context)?;
    let key = context.config()?.answers.own_key()?;
    let device = args.device.as_deref().map(name_of_device).transpose()?;
    let listen = config.listen(None)?;
    let base = base(&config, &listen, args.url.as_deref())?;
    let link = format!("{base}/in/{}", devices.new_link(device, key.as_ref())?.expose());
    let mut notes = format!("it signs in one device, once, within {}\n", time::human(LINK_LASTS));
    if !serve::is_served(&listen) {
        notes.push_str("note: the page does not run where the configuration says; start it: askbox web\n");
    }
    if let Some(size) = screen::size() {
        // The prompt of the shell takes a row too.
        let rows = |line: &str| width(line).div_ceil(size.columns).max(1);
        match drawn(&link, size, notes.lines().chain([link.as_str()]).map(rows).sum::<usize>() + 1) {
            Some(Drawn::Code(code)) => program::print(&code)?,
            Some(Drawn::TooSmall(rows, columns)) => {
                notes.push_str(&format!("a code for a phone's camera needs {rows} rows and {columns} columns\n"));
            }
            None => {}
        }
    }
    program::print_value(&link)?;
    program::say(&notes);
    Ok(0)
}

/// The address where a browser reaches the page, if something listens where the configuration says.
///
/// # Errors
/// If the configuration cannot be read.
pub(crate) fn served_at(context: &Context) -> Result<Option<String>> {
    let config = context.config()?.web;
    let listen = config.listen(None)?;
    let at_socket = |listen: &Listen| match listen {
        Listen::Unix(path) => path.display().to_string(),
        Listen::Tcp(address) => format!("http://{address}"),
    };
    Ok(serve::is_served(&listen).then(|| base(&config, &listen, None).unwrap_or_else(|_| at_socket(&listen))))
}

/// The address where a browser reaches the page.
fn base(config: &config::Web, listen: &Listen, given: Option<&str>) -> Result<String> {
    if let Some(url) = given {
        let url = url.trim_end_matches('/');
        if !(url.starts_with("http://") || url.starts_with("https://")) || url.contains(char::is_whitespace) {
            return Err(Error::usage(format!("`{}` is no URL", excerpt(url, 80)), "write it as in: --url https://box.example"));
        }
        return Ok(url.to_owned());
    }
    match (config.hosts.first(), listen) {
        (Some(host), _) => Ok(format!("{}://{host}", if config.tls_in_front { "https" } else { "http" })),
        (None, Listen::Tcp(address)) => Ok(format!("http://{address}")),
        (None, Listen::Unix(_)) => {
            let hint = "say how a browser reaches it: askbox web link --url https://box.example, or web.hosts in the configuration";
            Err(Error::usage("the page listens at a socket, which has no URL", hint))
        }
    }
}

/// `askbox web sessions`
pub fn sessions(context: &Context, json: bool) -> Result<u8> {
    let all = devices(context)?.1.all()?;
    if json {
        for device in &all {
            program::print_json(&json!({"device": device.name, "since": device.since, "seen_at": device.seen_at}))?;
        }
        return Ok(0);
    }
    if all.is_empty() {
        program::say("no device is signed in; one signs in with: askbox web link\n");
        return Ok(0);
    }
    let widest = all.iter().map(|device| width(&device.name)).max().unwrap_or(0);
    for device in &all {
        let seen = seen(device);
        program::print(&format!("{}  since {}, last seen {seen}\n", padded(&device.name, widest), time::local(device.since)))?;
    }
    Ok(0)
}

/// When a device was last seen. `seen_at` is only exact to the hour.
fn seen(device: &Device) -> String {
    let since = time::since(device.seen_at);
    if since.as_secs() < 2 * 3600 { "within two hours".into() } else { format!("{} ago", time::human(since)) }
}

/// `askbox web revoke`
pub fn revoke(args: &Revoke, context: &Context) -> Result<u8> {
    let (_, devices) = devices(context)?;
    if args.all {
        let count = devices.sign_all_out()?;
        program::print(&format!("{count} signed out; links that nobody has used do not sign in any more\n"))?;
        return Ok(0);
    }
    for name in &args.devices {
        if devices.sign_out(|device| device.name == *name)? == 0 {
            let known: Vec<_> = devices.all()?.iter().map(|device| shell_quote(&device.name)).collect();
            let hint = if known.is_empty() { "no device is".into() } else { format!("these are: {}", known.join(", ")) };
            return Err(Error::not_found(format!("no device with the name {} is signed in", shell_quote(name)), hint));
        }
        program::print(&format!("{name}: signed out\n"))?;
    }
    Ok(0)
}

/// Prints it as JSON.
pub(crate) fn print(context: &Context) -> Result<u8> {
    let (place, config) = (served_at(context)?, context.config()?);
    let book = Devices::beside_the_configuration(config.web.session.0);
    let (devices, findings) = book.map_or_else(|_| (None, Vec::new()), |book| look(&config, &book));
    program::print_json(&json!({ "place": place, "devices": devices, "findings": findings })).map(|()| 0)
}

/// The devices, and the problems.
fn look(config: &Config, book: &Devices) -> (Option<(Value, String)>, Vec<Value>) {
    let (path, all) = (book.path(), book.all());
    let devices = in_words(config, all.as_deref().unwrap_or_default(), path);
    let mut findings = Vec::new();
    let Ok(meta) = disk::metadata(path) else { return (devices, findings) };
    let file = path.display().to_string();
    let mut report = |kind: &str, problem: String, mend: String| {
        findings.push(json!({ "kind": kind, "file": file, "problem": problem, "mend": mend }));
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let may =
            if mode & 0o022 != 0 { "may write it, and so sign devices in that answer for you" } else { "may read which devices there are" };
        report("page_mode", format!("other users {may} (mode {mode:04o})"), format!("chmod 600 {}", text::path_word(path)));
    }
    if let Err(error) = &all {
        let said = format!("{}; {}", program::message(error), error.hint());
        let said = said.strip_prefix(&format!("{file}: ")).unwrap_or(&said);
        report("page_devices", format!("{said}; until then nobody is signed in to the page"), format!("rm {}", text::path_word(path)));
    }
    if let Ok(Some(key)) = config.answers.own_key() {
        for device in all.unwrap_or_default().iter().filter(|device| !device.is_signed_by(&key)) {
            let name = text::excerpt(&device.name, 60);
            let said = format!("the device {name} was not signed in with the key of answers.sign_key, so it cannot answer");
            let revoke = format!("askbox web revoke {}; then sign it in again: askbox web link", text::shell_quote(&device.name));
            report("page_device_unsigned", said, revoke);
        }
    }
    (devices, findings)
}

fn in_words(config: &Config, devices: &[Device], file: &Path) -> Option<(Value, String)> {
    let last = devices.iter().max_by_key(|device| device.seen_at)?;
    let has_key = !config.answers.sign_key.as_os_str().is_empty();
    let known = devices.iter().map(|device| json!({ "name": device.name, "since": device.since, "seen_at": device.seen_at }));
    let fact = json!({ "devices": known.collect::<Vec<_>>(), "has_key": has_key });
    let count = if devices.len() == 1 { "1 device is".to_owned() } else { format!("{} devices are", devices.len()) };
    let ago = seen(last);
    let mut words = format!("The page: {count} signed in, last seen {ago}: {}.\n", text::excerpt(&last.name, 60));
    if !has_key {
        let file = file.display();
        words += &format!("  Any program that can write {file} can add a device, because answers.sign_key is not set.\n");
    }
    Some((fact, words))
}

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
