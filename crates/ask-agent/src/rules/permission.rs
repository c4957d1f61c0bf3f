//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.

use crate::history::Call;
use crate::host::Host;
use crate::rules::hooks::Decision;
use crate::rules::pattern::{Sense, file_of, names};
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
pub(crate) fn decide(host: &Host, call: &Call, hook: Decision) -> Permission {
    let named = |rules: &[String], sense| rules.iter().find(|rule| names(rule, &call.name, &call.input, &host.cwd, sense)).cloned();
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
    let is_here =
        || file_of(&call.name, &call.input, &host.cwd).zip(host.cwd.canonicalize().ok()).is_some_and(|(file, here)| file.starts_with(here));
    let is_free = match call.name.as_str() {
        TODO | TASK | ASK_USER => true,
        READ | GLOB => is_here(),
        WRITE | EDIT => mode == "acceptEdits" && is_here(),
        _ => false,
    };
    let is_asked_about = named(&host.settings.ask, Sense::AsksOrRefuses).is_some();
    match is_asked_about || !(is_free || named(&host.settings.allow, Sense::Allows).is_some()) {
        false if hook != Decision::Ask => Permission::Allowed,
        true if mode == "dontAsk" => refused("no rule allows this call".into()),
        _ => Permission::Ask,
    }
}
