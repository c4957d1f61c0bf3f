//! `askbox web about`, for `askbox doctor` and `askbox trial`: where the page is, the devices that may answer on it, and what is wrong with
//! the file that lists them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::served_at;
use crate::gate::{Device, Devices};
use askbox_cli::program::{self, Context};
use askbox_config::Config;
use askbox_mailbox::{Result, disk, text, time};

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
    let since = time::since(last.seen_at);
    // `seen_at` is only exact to the hour.
    let ago = if since.as_secs() < 2 * 3600 { "within two hours".into() } else { format!("{} ago", time::human(since)) };
    let mut words = format!("The page: {count} signed in, last seen {ago}: {}.\n", text::excerpt(&last.name, 60));
    if !has_key {
        let file = file.display();
        words += &format!("  Any program that can write {file} can add a device, because answers.sign_key is not set.\n");
    }
    Some((fact, words))
}
