//! The devices that may answer on the web page, and the file that lists them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::commands::doctor::checkup::{Checkup, problem, word};
use askbox_mailbox::{disk, text, time};
use askbox_web::gate::{Device, Devices};

/// The devices for programs, and one line about them for people.
fn facts(checkup: &mut Checkup, devices: &[Device], file: &Path) {
    let Some(last) = devices.iter().max_by_key(|device| device.seen_at) else { return };
    let has_key = !checkup.config.answers.sign_key.as_os_str().is_empty();
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
    checkup.facts.add("page", &fact, words);
}

/// Reports the file of devices if it cannot be read, or if other users can read or write it.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Ok(book) = Devices::beside_the_configuration(checkup.config.web.session.0) else { return };
    let (path, all) = (book.path(), book.all());
    facts(checkup, all.as_deref().unwrap_or_default(), path);
    let Ok(meta) = disk::metadata(path) else { return };
    let shown = path.display().to_string();
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let may =
            if mode & 0o022 != 0 { "may write it, and so sign devices in that answer for you" } else { "may read which devices there are" };
        checkup.report("page_mode", &shown, format!("other users {may} (mode {mode:04o})"), format!("chmod 600 {}", word(path)));
    }
    if let Err(error) = &all {
        let said = problem(error);
        let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said);
        let said = format!("{said}; until then nobody is signed in to the page");
        checkup.report("page_devices", &shown, said, format!("rm {}", word(path)));
    }
    let Ok(Some(key)) = checkup.config.answers.own_key() else { return };
    for device in all.unwrap_or_default().iter().filter(|device| !device.is_signed_by(&key)) {
        let name = text::excerpt(&device.name, 60);
        let said = format!("the device {name} was not signed in with the key of answers.sign_key, so it cannot answer");
        let revoke = format!("askbox web revoke {}; then sign it in again: askbox web link", text::shell_quote(&device.name));
        checkup.report("page_device_unsigned", &shown, said, revoke);
    }
}
