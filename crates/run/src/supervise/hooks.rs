//! The hooks that a run's agent is given with `--settings`. Two of them end its turn at a tool boundary. One
//! lets no turn follow once the workflow waits. One takes its questions, and the calls that a person has to allow.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::fence;
use crate::supervise::stop;
use askbox_config::{Answers, Approvals};
use askbox_mailbox::documents::fields::approval::Approval;
use askbox_mailbox::documents::fields::tool_call::{ASK_USER, ASK_USER_QUESTION};
use askbox_mailbox::text::shell_quote;
use askbox_mailbox::{Folder, Mailbox, Policy, WorkflowId};

/// The reason that the agent reads when a tool call is refused because the run is to stop.
pub(crate) const REFUSAL: &str = "This run is being stopped: call no more tools; your work so far is kept and can be continued.";

/// How long Claude Code waits for the hook that takes questions, in seconds.
pub const HOOK_SECONDS: u64 = 120;

/// A call is refused if its hook dies, cannot be started, fails or takes too long. Before 2.1.295, Claude Code ignores this field and lets
/// the call go on to its own rules.
const ON_FAILURE: &str = "block";

/// The settings, as JSON, for the attempt in `folder`. Once `stop.json` exists there, the hooks refuse new tool calls, and end the turn
/// after the calls in flight. Both are needed: `continue: false` of PostToolBatch keeps the results of those calls, and a refusal alone
/// would let the model go on writing (measured on Claude Code 2.1.330).
///
/// If one of the files `waits` exists at the end of a turn, the workflow waits, and no turn may follow. Then `continue: false` wins over a
/// Stop hook of the user's that blocks the end (measured on 2.1.332). `held` are the calls that `askbox hook` is to take. `path` is the
/// PATH of the agent's Bash; `None` leaves it as it is.
pub fn settings(folder: &Path, waits: &Waits, held: Option<&HeldCalls<'_>>, path: Option<&str>) -> String {
    let file = shell_quote(&stop::request_path(folder).display().to_string());
    let when = |files: &str, answer: &str| {
        let command = format!("for f in {files}; do [ ! -e \"$f\" ] || {{ printf %s {}; break; }}; done", shell_quote(answer));
        json!({ "hooks": [{ "type": "command", "command": command }] })
    };
    let denied = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": REFUSAL });
    let refusal = json!({ "hookSpecificOutput": denied }).to_string();
    let end = r#"{"continue":false,"stopReason":"stopped by askbox"}"#;
    let mut before_tools = vec![when(&file, &refusal)];
    before_tools[0]["hooks"][0]["onFailure"] = ON_FAILURE.into();
    before_tools.extend(held.map(HeldCalls::hook));
    let mut settings =
        json!({ "hooks": { "PreToolUse": before_tools, "PostToolBatch": [when(&file, end)], "Stop": [when(&waits.0, end)] } });
    if held.is_some_and(|held| !held.approvals.is_empty()) {
        // A user's or a project's settings may switch off all hooks. The settings that are made here win over both (measured on Claude
        // Code 2.1.330).
        settings["disableAllHooks"] = false.into();
        // A call that its hook says nothing about goes on to the rules of the agent program. These rules hand it to the supervisor.
        settings["permissions"] = json!({ "ask": held.map(HeldCalls::rules).unwrap_or_default() });
    }
    if let Some(path) = path {
        // These settings win over those of the user and of the project (measured on Claude Code 2.1.330).
        settings["env"] = json!({ "PATH": path });
    }
    settings.to_string()
}

/// The files of a mailbox that show that a workflow waits, as words of sh.
#[derive(Debug, Clone)]
pub struct Waits(String);

impl Waits {
    /// A question of the workflow, or a child whose end it is to be told. Behind the fence, `pending` is seen in `asks`.
    pub fn of(mailbox: &Mailbox, workflow: &WorkflowId, asks: &Path) -> Self {
        let word = |path: PathBuf| shell_quote(&path.display().to_string());
        let [pending, answered] = [Folder::Pending, Folder::Answered].map(|folder| mailbox.document(folder, workflow));
        let behind_fence = asks.join(fence::PENDING).join(pending.file_name().unwrap_or_default());
        let question = [pending, answered, behind_fence].map(word);
        let children = word(mailbox.folder(Folder::Awaits).join(workflow.as_str()));
        Self(format!("{} {children}/*.json", question.join(" ")))
    }
}

/// The calls that `askbox hook` takes before they are made.
#[derive(Debug, Clone, Copy)]
pub struct HeldCalls<'a> {
    /// The program.
    pub askbox: &'a Path,
    /// The rules of the operator. They are passed to the program directly, so that later changes have no effect while the run is live.
    pub approvals: &'a Approvals,
    /// The answers that count, passed in the same way.
    pub answers: &'a Answers,
    /// The call that waits in the session for the answer of this attempt's round, whatever the rules say by now.
    pub waiting: Option<&'a Approval>,
}

impl HeldCalls<'_> {
    fn rules(&self) -> Vec<String> {
        self.approvals.ask.iter().chain(&self.approvals.refuse).map(ToString::to_string).collect()
    }

    /// The hook. Its own time limit is shorter than Claude Code's. If Claude Code ends a hook, or the hook fails with a status other than
    /// 2, [`ON_FAILURE`] decides.
    fn hook(&self) -> Value {
        let rules = [("--ask", &self.approvals.ask), ("--refuse", &self.approvals.refuse)];
        let mut tools: Vec<_> = ASK_USER.into_iter().chain([ASK_USER_QUESTION]).map(str::to_owned).collect();
        let mut command = format!("{} hook", shell_quote(&self.askbox.display().to_string()));
        for (option, rule) in rules.into_iter().flat_map(|(option, rules)| rules.iter().map(move |rule| (option, rule))) {
            tools.push(rule.tools());
            command.push_str(&format!(" {option} {}", shell_quote(&rule.to_string())));
        }
        let Policy { accept, signed_by, permits_by_file } = self.answers.policy();
        if accept != Policy::default().accept {
            accept.iter().for_each(|way| command.push_str(&format!(" --accept {}", shell_quote(way.word()))));
        }
        if permits_by_file {
            command.push_str(" --permits-by-file");
        }
        for key in signed_by.into_iter().flatten() {
            command.push_str(&format!(" --trusted-key {}", shell_quote(&String::from(key))));
        }
        if let Some(waiting) = self.waiting {
            tools.push(waiting.tool.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '.' }).collect());
        }
        tools.sort_unstable();
        tools.dedup();
        command.push_str(" || { echo 'askbox hook failed, so this call is refused' >&2; exit 2; }");
        let matcher = format!("^({})$", tools.join("|"));
        json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command, "timeout": HOOK_SECONDS, "onFailure": ON_FAILURE }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_print_nothing_until_there_is_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("it's $(here)");
        std::fs::create_dir(&folder).unwrap();
        let mailbox = Mailbox::open_or_create(folder.join("m")).unwrap();
        let (workflow, asks) = ("w".parse().unwrap(), folder.join("asks"));
        let hooks: Value = serde_json::from_str(&settings(&folder, &Waits::of(&mailbox, &workflow, &asks), None, None)).unwrap();
        let say = |event: &str| {
            let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
            let output = std::process::Command::new("/bin/sh").args(["-c", command]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(["PreToolUse", "PostToolBatch", "Stop"].map(say), ["", "", ""]);
        let awaits = mailbox.folder(Folder::Awaits).join("w/child.json");
        let behind_fence = asks.join(fence::PENDING).join("w.json");
        for file in [mailbox.document(Folder::Pending, &workflow), mailbox.document(Folder::Answered, &workflow), behind_fence, awaits] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "{}").unwrap();
            assert_eq!(serde_json::from_str::<Value>(&say("Stop")).unwrap()["continue"], false, "{}", file.display());
            std::fs::remove_file(file).unwrap();
        }
        stop::ensure_request(&folder, "test", false).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&say("PostToolBatch")).unwrap()["continue"], false);
        let pre: Value = serde_json::from_str(&say("PreToolUse")).unwrap();
        assert_eq!(pre["hookSpecificOutput"]["permissionDecision"], "deny");
    }

    #[test]
    fn the_hook_is_called_for_the_tools_of_rules_and_gets_them() {
        let config: askbox_config::Config =
            serde_json::from_value(json!({"approvals": {"ask": ["Bash(git push:*)", "mcp__db"], "refuse": ["Bash(it's)"]}})).unwrap();
        let hook = |waiting| {
            HeldCalls { askbox: Path::new("/a b/askbox"), approvals: &config.approvals, answers: &config.answers, waiting }.hook()
        };
        assert_eq!(
            hook(None)["matcher"],
            "^(AskUserQuestion|Bash|mcp__askbox__ask_user|mcp__db(__.*)?|mcp__plugin_askbox_askbox__ask_user)$"
        );
        let held = HeldCalls { askbox: Path::new("/askbox"), approvals: &config.approvals, answers: &config.answers, waiting: None };
        let all: Value = serde_json::from_str(&settings(Path::new("/run"), &Waits(String::new()), Some(&held), Some("/bin"))).unwrap();
        assert_eq!(all["env"], json!({"PATH": "/bin"}));
        assert_eq!(all["permissions"]["ask"], json!(["Bash(git push:*)", "mcp__db", "Bash(it's)"]), "they hold where the hook fails");
        let command = hook(None)["hooks"][0]["command"].as_str().unwrap().to_owned();
        assert!(
            command.starts_with(r"'/a b/askbox' hook --ask 'Bash(git push:*)' --ask mcp__db --refuse 'Bash(it'\''s)' || {"),
            "{command}"
        );
        let waiting = Approval {
            tool: "a(b".into(),
            sha256: askbox_mailbox::documents::fields::approval::CallHash::of_bytes(&[0; 32]),
            editable: None,
        };
        assert_eq!(
            hook(Some(&waiting))["matcher"],
            "^(AskUserQuestion|Bash|a.b|mcp__askbox__ask_user|mcp__db(__.*)?|mcp__plugin_askbox_askbox__ask_user)$"
        );
    }
}
