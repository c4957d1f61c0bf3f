//! `askbox web link`, `sessions` and `revoke`.

use serde_json::json;

use crate::gate::{Devices, LINK_LASTS, name_of_device};
use crate::qr::{self, Drawn};
use crate::serve;
use askbox_cli::args::askbox_args::{Link, Revoke};
use askbox_cli::program::{self, Context};
use askbox_cli::terminal::columns::{padded, width};
use askbox_cli::terminal::screen;
use askbox_config::{self as config, Listen};
use askbox_mailbox::text::{excerpt, shell_quote};
use askbox_mailbox::{Error, Result, time};

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
        match qr::drawn(&link, size, notes.lines().chain([link.as_str()]).map(rows).sum::<usize>() + 1) {
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
        let seen = time::since(device.seen_at);
        let seen = if seen.as_secs() < 2 * 3600 { "within two hours".to_owned() } else { format!("{} ago", time::human(seen)) };
        program::print(&format!("{}  since {}, last seen {seen}\n", padded(&device.name, widest), time::local(device.since)))?;
    }
    Ok(0)
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
