//! The devices that may answer on the web page, and the file that lists them.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde::Serialize;

use crate::commands::doctor::checkup::{Checkup, problem, word};
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::{disk, text};
use askbox_web::gate::{Device, Devices};

/// The signed-in devices.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct PageDevices {
    devices: Vec<KnownDevice>,
    /// True if the page has a key of its own, which signs each device in.
    has_key: bool,
    #[serde(skip)]
    file: PathBuf,
}

#[derive(Debug, Serialize)]
struct KnownDevice {
    name: String,
    since: Time,
    seen_at: Time,
}

/// The devices, if any is signed in.
fn known(checkup: &Checkup) -> Option<PageDevices> {
    let file = Devices::beside_the_configuration(checkup.config.web.session.0).ok()?;
    let (devices, has_key) = (file.all().ok()?, !checkup.config.answers.sign_key.as_os_str().is_empty());
    let file = file.path().to_owned();
    let known = |Device { name, since, seen_at, .. }: Device| KnownDevice { name, since, seen_at };
    Some(PageDevices { devices: devices.into_iter().map(known).collect(), has_key, file }).filter(|known| !known.devices.is_empty())
}

impl PageDevices {
    /// One line about the devices, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let devices = if self.devices.len() == 1 { "1 device is".to_owned() } else { format!("{} devices are", self.devices.len()) };
        let last = self.devices.iter().max_by_key(|device| device.seen_at);
        let seen = |device: &KnownDevice| {
            let since = time::since(device.seen_at);
            // `seen_at` is only exact to the hour.
            let ago = if since.as_secs() < 2 * 3600 { "within two hours".into() } else { format!("{} ago", time::human(since)) };
            format!(", last seen {ago}: {}", text::excerpt(&device.name, 60))
        };
        let by_hand = match self.has_key {
            true => String::new(),
            false => {
                format!("  Any program that can write {} can add a device, because answers.sign_key is not set.\n", self.file.display())
            }
        };
        format!("The page: {devices} signed in{}.\n{by_hand}", last.map(seen).unwrap_or_default())
    }
}

/// Reports the file of devices if it cannot be read, or if other users can read or write it.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    checkup.facts.page = known(checkup);
    let Ok(devices) = Devices::beside_the_configuration(checkup.config.web.session.0) else { return };
    let path = devices.path().to_owned();
    let Ok(meta) = disk::metadata(&path) else { return };
    let shown = path.display().to_string();
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let may =
            if mode & 0o022 != 0 { "may write it, and so sign devices in that answer for you" } else { "may read which devices there are" };
        checkup.report("page_mode", &shown, format!("other users {may} (mode {mode:04o})"), format!("chmod 600 {}", word(&path)));
    }
    if let Err(error) = devices.all() {
        let said = problem(&error);
        let said = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said);
        checkup.report(
            "page_devices",
            &shown,
            format!("{said}; until then nobody is signed in to the page"),
            format!("rm {}", word(&path)),
        );
    }
    let Ok(Some(key)) = checkup.config.answers.own_key() else { return };
    for device in devices.all().unwrap_or_default().iter().filter(|device| !device.is_signed_by(&key)) {
        let name = text::excerpt(&device.name, 60);
        checkup.report(
            "page_device_unsigned",
            &shown,
            format!("the device {name} was not signed in with the key of answers.sign_key, so it cannot answer"),
            format!("askbox web revoke {}; then sign it in again: askbox web link", text::shell_quote(&device.name)),
        );
    }
}
