//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.

use crate::history::Call;
use crate::host::Host;
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

/// Decides about a call. `by_hook` is true if a hook allowed it: only rules that refuse still count then.
pub(crate) fn decide(host: &Host, call: &Call, by_hook: bool) -> Permission {
    let named = |rules: &[String], sense| rules.iter().find(|rule| names(rule, &call.name, &call.input, &host.cwd, sense)).cloned();
    if let Some(rule) = named(&host.settings.deny, Sense::AsksOrRefuses) {
        return Permission::Refused(format!("Permission to use {} has been denied: the rule `{rule}` refuses it.", call.name));
    }
    let mode = host.args.mode();
    if by_hook || mode == "bypassPermissions" {
        return Permission::Allowed;
    }
    let changes = matches!(call.name.as_str(), BASH | WRITE | EDIT);
    if mode == "plan" && changes {
        return Permission::Refused(format!(
            "Permission to use {} has been denied: this session only plans (--permission-mode plan).",
            call.name
        ));
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
        false => Permission::Allowed,
        true if mode == "dontAsk" => {
            Permission::Refused(format!("Permission to use {} has been denied: no rule allows this call.", call.name))
        }
        true => Permission::Ask,
    }
}
