//! The signed-in devices and the links that can still be used, in one file beside the configuration. The file contains only hashes of
//! secrets. The page and `askbox web link` are two processes, so each change is made under a lock, and each look reads the file again.
//!
//! If the page signs with a key of its own (`answers.sign_key`), the key signs each link and each device in the file. So a program that
//! can write the file, but not read the key, adds no device whose answers are signed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::gate::session::{self, Secret};
use askbox_config as config;
use askbox_mailbox::documents::answer::{BY_DEFAULT, BY_EVENT};
use askbox_mailbox::{Error, Lock, Result, SecretKey, Time, disk, document, text, time};

/// How long a link can be used.
pub const LINK_LASTS: Duration = Duration::from_secs(600);

/// The maximum size of the file, in bytes.
const LONGEST: u64 = 256 << 10;
/// The maximum number of unused links, and of devices.
const MAX_LINKS: usize = 32;
const MAX_DEVICES: usize = 64;
/// The maximum length of a device's name, in characters.
const LONGEST_NAME: usize = 40;
/// The coarsest precision of the time when a device was last used. It is a tenth of the time after which an unused device is signed out.
const USED_EVERY: Duration = Duration::from_secs(3600);

/// The file of devices and links.
#[derive(Debug, Clone)]
pub struct Devices {
    path: PathBuf,
    /// How long a device stays signed in if it is not used.
    idle: Duration,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Book {
    links: Vec<Link>,
    devices: Vec<Device>,
}

/// A link that was not used yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Link {
    sha256: String,
    device: Option<String>,
    expires_at: Time,
    /// The signature by the key of `answers.sign_key`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// A signed-in device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    sha256: String,
    /// Its name. It is recorded with its answers.
    pub name: String,
    /// The time of its sign-in.
    pub since: Time,
    /// The time when it was last used, to the hour or finer.
    pub seen_at: Time,
    /// The hash of the browser that pressed the button. An entry without one is from before the paths of devices: its cookie went to every
    /// port of the page's host, so it does not count any more.
    browser: Option<String>,
    /// The signature by the key of `answers.sign_key`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// The first line of the bytes that the key signs. It differs from that of an answer.
const FIRST_LINE: &str = "askbox device v1\n";

fn signed_bytes(kind: &str, sha256: &str, name: Option<&str>, at: Time) -> Result<Vec<u8>> {
    let mut bytes = FIRST_LINE.as_bytes().to_vec();
    bytes.extend(document::to_json(&(kind, sha256, name, time::rfc3339(at)))?);
    Ok(bytes)
}

impl Link {
    fn signed_bytes(&self) -> Result<Vec<u8>> {
        signed_bytes("link", &self.sha256, self.device.as_deref(), self.expires_at)
    }

    fn is_signed_by(&self, key: &SecretKey) -> bool {
        is_signed(key, self.signed_bytes(), self.signature.as_deref())
    }
}

impl Device {
    fn signed_bytes(&self) -> Result<Vec<u8>> {
        signed_bytes("device", &self.sha256, Some(&self.name), self.since)
    }

    /// True if this browser signed the device in.
    pub fn is_in(&self, browser: &str) -> bool {
        self.browser.as_deref() == Some(browser)
    }

    /// True if the device was signed in with this key.
    pub fn is_signed_by(&self, key: &SecretKey) -> bool {
        is_signed(key, self.signed_bytes(), self.signature.as_deref())
    }
}

fn is_signed(key: &SecretKey, bytes: Result<Vec<u8>>, signature: Option<&str>) -> bool {
    bytes.is_ok_and(|bytes| signature.is_some_and(|signature| key.public("").has_signed(&bytes, signature)))
}

/// Checks a device's name and returns it on one line, as it is recorded with answers.
///
/// # Errors
/// If it is empty or too long, or already has another meaning in an answer.
pub fn name_of_device(name: &str) -> Result<String> {
    let name = text::one_line(name).trim().to_owned();
    let wrong = |problem: &str, fix: &str| Err(Error::invalid("device", problem, fix));
    if name.is_empty() {
        return wrong("has no name", "name it, as in: ann's phone");
    }
    if name.chars().count() > LONGEST_NAME {
        return wrong("has a name of more than 40 characters", "use a shorter name");
    }
    if [BY_DEFAULT, BY_EVENT].contains(&name.to_lowercase().as_str()) {
        return wrong("has a name that stands for an answer that nobody gave", "use another name, as in: ann's phone");
    }
    Ok(name)
}

impl Devices {
    /// The file beside the configuration.
    ///
    /// # Errors
    /// If the place of the configuration is not known.
    pub fn beside_the_configuration(idle: Duration) -> Result<Self> {
        let config = config::location()
            .ok_or_else(|| Error::usage("the configuration has no place: $XDG_CONFIG_HOME and $HOME are unset", "set one of them"))?;
        let config = std::path::absolute(&config).map_err(|e| Error::failed(e.to_string(), "check $ASKBOX_CONFIG"))?;
        Ok(Self { path: config.with_file_name("web-devices.json"), idle })
    }

    /// The folder of the file. It is created if it is missing, so that it can be watched for changes of the devices.
    pub fn folder(&self) -> Result<&Path> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        disk::create_folder(folder)?;
        Ok(folder)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a link, signed with this key. `device` is the name that the device will get, if it is set beforehand.
    pub fn new_link(&self, device: Option<String>, key: Option<&SecretKey>) -> Result<Secret> {
        let secret = Secret::generate();
        let expires_at = time::to_the_millisecond(time::now() + LINK_LASTS);
        let mut link = Link { sha256: secret.hash(), device, expires_at, signature: None };
        if let Some(key) = key {
            link.signature = Some(key.sign(&link.signed_bytes()?));
        }
        self.change(|book| {
            if book.links.len() >= MAX_LINKS {
                return Err(Error::conflict(format!("{MAX_LINKS} links wait to be used"), "wait ten minutes, or: askbox web revoke --all"));
            }
            book.links.push(link);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Looks up a link that a browser opened. Returns the name that the device will get, if it was set. `None` if the link cannot be used
    /// (any more).
    pub fn link(&self, link: &Secret) -> Result<Option<Option<String>>> {
        let hash = link.hash();
        Ok(self.read()?.links.into_iter().find(|known| session::is_same(&known.sha256, &hash)).map(|link| link.device))
    }

    /// Uses up a link, and signs a device in. `None` if the link cannot be used (any more). The key signs the device if it has signed
    /// the link.
    pub fn sign_in(&self, link: &Secret, name: &str, browser: &str, key: Option<&SecretKey>) -> Result<Option<Secret>> {
        let name = name_of_device(name)?;
        let (hash, secret) = (link.hash(), Secret::generate());
        self.change(|book| {
            let Some(at) = book.links.iter().position(|known| session::is_same(&known.sha256, &hash)) else { return Ok(None) };
            if book.devices.len() >= MAX_DEVICES {
                return Err(Error::conflict(format!("{MAX_DEVICES} devices are signed in"), "sign one out: askbox web revoke NAME"));
            }
            let link = book.links.remove(at);
            let has_signed = |key: &SecretKey| link.is_signed_by(key);
            let name = unused(&book.devices, link.device.clone().unwrap_or(name));
            let now = time::to_the_millisecond(time::now());
            let browser = Some(browser.to_owned());
            let mut device = Device { sha256: secret.hash(), name, since: now, seen_at: now, browser, signature: None };
            if let Some(key) = key.filter(|key| has_signed(key)) {
                device.signature = Some(key.sign(&device.signed_bytes()?));
            }
            book.devices.push(device);
            Ok(Some(secret.clone()))
        })
    }

    /// The signed-in device with this cookie.
    pub fn of_cookie(&self, cookie: &Secret) -> Result<Option<Device>> {
        let hash = cookie.hash();
        Ok(self.read()?.devices.into_iter().find(|device| session::is_same(&device.sha256, &hash)))
    }

    /// Notes that a person uses this device now. Returns true if this was written: its cookie is then given again, so that both last
    /// from now on.
    pub fn is_used(&self, device: &Device) -> bool {
        if time::since(device.seen_at) <= USED_EVERY.min(self.idle / 10) {
            return false;
        }
        // If it cannot be written, as on a full disk, the device stays signed in as long as before.
        let noted = self.change(|book| {
            book.devices.iter_mut().filter(|known| known.sha256 == device.sha256).for_each(|known| known.seen_at = time::now());
            Ok(())
        });
        noted.is_ok()
    }

    /// The signed-in devices.
    pub fn all(&self) -> Result<Vec<Device>> {
        Ok(self.read()?.devices)
    }

    /// Signs out the devices for which `these` returns true. Returns their number.
    pub fn sign_out(&self, these: impl Fn(&Device) -> bool) -> Result<usize> {
        self.change(|book| {
            let before = book.devices.len();
            book.devices.retain(|device| !these(device));
            Ok(before - book.devices.len())
        })
    }

    /// Signs the device with this cookie out.
    pub fn sign_out_cookie(&self, cookie: &Secret) -> Result<()> {
        let hash = cookie.hash();
        self.sign_out(|device| session::is_same(&device.sha256, &hash)).map(drop)
    }

    /// Signs out every device, and removes every link. Returns the number of devices.
    pub fn sign_all_out(&self) -> Result<usize> {
        self.change(|book| {
            book.links.clear();
            Ok(std::mem::take(&mut book.devices).len())
        })
    }

    /// The links and devices that have not expired.
    fn read(&self) -> Result<Book> {
        let Some(bytes) = disk::if_there(disk::read(&self.path, LONGEST))? else { return Ok(Book::default()) };
        let mut book: Book = serde_json::from_slice(&bytes).map_err(|e| {
            let fix = format!("remove the file, and sign in again: {}", text::path_word(&self.path));
            Error::invalid("file", format!("is not what askbox web wrote: {e}"), fix).in_file(&self.path)
        })?;
        let now = time::now();
        // A date that is further ahead was written before the clock was set back.
        book.links.retain(|link| time::is_ahead(link.expires_at, LINK_LASTS, now));
        book.devices.retain(|device| device.browser.is_some() && time::is_near(device.seen_at, self.idle));
        Ok(book)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> Result<T>) -> Result<T> {
        self.folder()?;
        let _lock = Lock::acquire(&self.path.with_extension("lock"))?;
        let mut book = self.read()?;
        let done = change(&mut book)?;
        disk::replace(&self.path, &document::to_json(&book)?)?;
        Ok(done)
    }
}

/// The name, with a number if another device has it.
fn unused(devices: &[Device], name: String) -> String {
    let is_free = |name: &str| devices.iter().all(|device| device.name != name);
    if is_free(&name) {
        return name;
    }
    (2..).map(|n| format!("{name} {n}")).find(|name| is_free(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn devices() -> (tempfile::TempDir, Devices) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("askbox/web-devices.json");
        (folder, Devices { path, idle: Duration::from_secs(3600) })
    }

    #[test]
    fn a_link_signs_one_device_in_and_no_secret_is_written_down() {
        let (_folder, devices) = devices();
        let link = devices.new_link(None, None).unwrap();
        assert_eq!(devices.link(&link).unwrap(), Some(None));
        let cookie = devices.sign_in(&link, "ann's phone", "", None).unwrap().unwrap();
        assert!(devices.sign_in(&link, "eve", "", None).unwrap().is_none());
        assert_eq!(devices.link(&link).unwrap(), None);
        assert_eq!(devices.of_cookie(&cookie).unwrap().unwrap().name, "ann's phone");
        assert_eq!(devices.of_cookie(&link).unwrap(), None);
        let file = std::fs::read_to_string(&devices.path).unwrap();
        assert!(!file.contains(cookie.expose()) && !file.contains(link.expose()), "{file}");
        assert_eq!(std::fs::metadata(&devices.path).unwrap().permissions().mode() & 0o777, 0o600);
        devices.sign_out_cookie(&cookie).unwrap();
        assert_eq!(devices.of_cookie(&cookie).unwrap(), None);
    }

    #[test]
    fn a_device_or_link_written_by_hand_is_not_signed() {
        let (_folder, devices) = devices();
        let key = SecretKey::generate();
        let cookie = devices.sign_in(&devices.new_link(None, Some(&key)).unwrap(), "desk", "", Some(&key)).unwrap().unwrap();
        let is_signed = |cookie: &Secret| devices.of_cookie(cookie).unwrap().unwrap().is_signed_by(&key);
        assert!(is_signed(&cookie) && !devices.of_cookie(&cookie).unwrap().unwrap().is_signed_by(&SecretKey::generate()));
        let (device, link) = (Secret::generate(), Secret::generate());
        let by_hand = |change: &dyn Fn(&mut Book)| {
            let mut book: Book = serde_json::from_slice(&std::fs::read(&devices.path).unwrap()).unwrap();
            change(&mut book);
            std::fs::write(&devices.path, serde_json::to_vec(&book).unwrap()).unwrap();
        };
        by_hand(&|book| {
            let known = book.devices[0].clone();
            book.devices.push(Device { sha256: device.hash(), ..known });
            let expires_at = time::now() + LINK_LASTS;
            book.links.push(Link { sha256: link.hash(), device: None, expires_at, signature: book.devices[0].signature.clone() });
        });
        assert!(!is_signed(&device));
        let by_link = devices.sign_in(&link, "eve", "", Some(&key)).unwrap().unwrap();
        assert!(!is_signed(&by_link));
        by_hand(&|book| book.devices[0].name = "ann".into());
        assert!(!is_signed(&cookie), "the name is recorded with its answers");
    }

    #[test]
    fn old_links_and_idle_devices_are_over_also_with_a_clock_behind() {
        let (_folder, devices) = devices();
        let (link, unused) = (devices.new_link(None, None).unwrap(), devices.new_link(None, None).unwrap());
        let cookie = devices.sign_in(&link, "desk", "", None).unwrap().unwrap();
        for wrong in [-2, 2] {
            devices.change(|_| Ok(())).unwrap();
            let mut book: Book = serde_json::from_slice(&std::fs::read(&devices.path).unwrap()).unwrap();
            let by = time::now() + chrono::TimeDelta::hours(wrong);
            book.links.iter_mut().for_each(|link| link.expires_at = by);
            book.devices.iter_mut().for_each(|device| device.seen_at = by);
            std::fs::write(&devices.path, serde_json::to_vec(&book).unwrap()).unwrap();
            assert_eq!((devices.link(&unused).unwrap(), devices.of_cookie(&cookie).unwrap()), (None, None));
        }
    }

    #[test]
    fn a_device_lasts_from_its_last_use_and_a_look_is_no_use() {
        let (_folder, devices) = devices();
        let cookie = devices.sign_in(&devices.new_link(None, None).unwrap(), "desk", "", None).unwrap().unwrap();
        let known = || devices.of_cookie(&cookie).unwrap().unwrap();
        assert!(!devices.is_used(&known()), "it was used a moment ago");
        // Ten minutes of the hour after which it would be signed out.
        let before = time::to_the_millisecond(time::now() - chrono::TimeDelta::minutes(10));
        let set_back = |book: &mut Book| {
            book.devices[0].seen_at = before;
            Ok(())
        };
        devices.change(set_back).unwrap();
        assert_eq!((known().seen_at, known().seen_at), (before, before));
        assert!(devices.is_used(&known()) && !devices.is_used(&known()));
        assert!(time::since(known().seen_at) < Duration::from_secs(60));
    }

    #[test]
    fn two_devices_never_share_a_name() {
        let (_folder, devices) = devices();
        for _ in 0..3 {
            devices.sign_in(&devices.new_link(None, None).unwrap(), "desk", "", None).unwrap().unwrap();
        }
        let names: Vec<_> = devices.all().unwrap().into_iter().map(|device| device.name).collect();
        assert_eq!(names, ["desk", "desk 2", "desk 3"]);
        for bad in ["", "  ", "Default", "event", &"x".repeat(41), "\u{202e}"] {
            assert!(name_of_device(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_not_followed() {
        let (folder, devices) = devices();
        std::fs::create_dir(folder.path().join("askbox")).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "{}").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &devices.path).unwrap();
        assert!(devices.new_link(None, None).is_err());
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "{}");
    }
}
