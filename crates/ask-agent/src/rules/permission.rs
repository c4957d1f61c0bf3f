//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.

use std::path::Path;

use crate::history::Call;
use crate::host::Host;
use crate::place::{Place, real};
use crate::rules::hooks::Decision;
use crate::rules::pattern::{Sense, names, names_found};
use crate::rules::protected::is_protected;
use crate::tool_names::{ASK_USER, BASH, EDIT, GLOB, READ, TASK, TODO, WRITE};

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permission {
    Allowed,
    /// A person decides.
    Ask,
    /// The model reads these words.
    Refused(String),
}

/// Decides about a call. If a hook has allowed it, only rules that refuse still count.
pub(crate) fn decide(host: &Host, call: &Call, place: Option<&Place>, hook: Decision) -> Permission {
    let named = |rules: &[String], sense| rules.iter().find(|rule| names(rule, call, place, &host.cwd, sense)).cloned();
    let refused = |why: String| Permission::Refused(format!("Permission to use {} has been denied: {why}.", call.name));
    if let Some(rule) = named(&host.settings.deny, Sense::AsksOrRefuses) {
        return refused(format!("the rule `{rule}` refuses it"));
    }
    let mode = host.args.mode();
    if hook == Decision::Allow || mode == "bypassPermissions" {
        return if hook == Decision::Ask { Permission::Ask } else { Permission::Allowed };
    }
    if mode == "plan" && matches!(call.name.as_str(), BASH | WRITE | EDIT) {
        return refused("this session only plans (--permission-mode plan)".into());
    }
    let is_here = || place.is_some_and(|place| place.path.starts_with(real(&host.cwd)));
    let is_free = match call.name.as_str() {
        TODO | TASK | ASK_USER => true,
        READ | GLOB => is_here(),
        WRITE | EDIT => mode == "acceptEdits" && is_here(),
        _ => false,
    };
    let is_asked_about = named(&host.settings.ask, Sense::AsksOrRefuses).is_some();
    let is_allowed = !is_asked_about && (is_free || named(&host.settings.allow, Sense::Allows).is_some());
    let writes = matches!(call.name.as_str(), WRITE | EDIT);
    let is_protected = is_allowed && writes && place.is_some_and(|place| is_protected(host, place));
    match is_allowed && !is_protected {
        true if hook != Decision::Ask => Permission::Allowed,
        false if mode == "dontAsk" && is_protected => refused("the path is protected, and nobody is asked".into()),
        false if mode == "dontAsk" => refused("no rule allows this call".into()),
        _ => Permission::Ask,
    }
}

/// True if a rule refuses to show this file in the result of a search.
pub(crate) fn is_hidden(host: &Host, path: &Path) -> bool {
    host.settings.deny.iter().any(|rule| names_found(rule, path, &host.cwd))
}
