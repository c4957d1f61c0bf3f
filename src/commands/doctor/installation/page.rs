//! What the page says of itself: the devices that may answer on it, and the file that lists them.

use crate::commands::doctor::checkup::Checkup;
use crate::commands::surfaces;

/// The problems that the page may have.
const KINDS: [&str; 3] = ["page_mode", "page_devices", "page_device_unsigned"];

/// Reports what `askbox-web` finds, if it is installed.
pub(in crate::commands) fn look(checkup: &mut Checkup) {
    let Some(about) = surfaces::web_about() else { return };
    if let Some((fact, words)) = about.devices {
        checkup.facts.add("page", &fact, words);
    }
    for finding in about.findings {
        if let Some(kind) = KINDS.into_iter().find(|kind| *kind == finding.kind) {
            checkup.report(kind, finding.file, finding.problem, finding.mend);
        }
    }
}
