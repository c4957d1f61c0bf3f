//! Dialogs of the real kimi and gemini, each in a real terminal with a scripted model, which are told as news. The hooks are those that
//! `askbox setup` shows.

use std::path::Path;

use serde_json::{Value, json};

use crate::acp::scene::{self, agents};
use crate::support::openai::OpenAi;
use crate::support::{Terminal, World, files, kill, needs, program, until, whole_lines};

/// A program in a terminal, and a target that notes what it is told.
struct Attended {
    world: World,
    api: OpenAi,
}

impl Attended {
    /// `file` is the program's file with its hooks, below the home. `contents` returns its text with the lines that setup shows.
    fn begin(packages: &Path, head: &str, file: &str, contents: impl FnOnce(&str) -> String) -> Self {
        let mut world = World::beside_its_work();
        let (bin, own) = (packages.join("node_modules/.bin"), Path::new(program("askbox")).parent().unwrap().to_owned());
        let path = format!("{}:{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", own.display(), bin.display());
        world.set_path(path);
        let desk = world.path("desk.sh");
        let told = world.path("told");
        files::write_program(&desk, &format!("#!/bin/sh\ncat >> '{0}' && echo >> '{0}'\n", told.display()));
        world
            .configure(&format!("[live]\nnews = [\"kimi\", \"gemini\"]\ngrace = \"0s\"\n[target.desk]\nexec = [\"{}\"]\n", desk.display()));
        world.make_mailbox();
        // Setup shows the lines for a file that has other keys.
        let file = world.home().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "{}\n").unwrap();
        let shown = world.ok("askbox", &["setup", "--dry-run"]);
        let behind = shown.split_once(head).unwrap_or_else(|| panic!("{shown}")).1;
        let lines = behind.lines().skip(1).map_while(|line| line.strip_prefix("      | "));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        std::fs::write(file, contents(&lines)).unwrap();
        Self { world, api: OpenAi::start() }
    }

    /// The person at the terminal says something, and the model makes this call.
    fn says(&self, terminal: &Terminal<'_>, text: &str, call: &Value) {
        self.api.on(text, json!([call, {"text": format!("That is all about {text}.")}]));
        terminal.paste(text);
        terminal.see(text);
        terminal.press(&["Enter"]);
    }

    /// The news that the target has, as `PROGRAM TOOL ASKS`.
    fn told(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.path("told")).unwrap_or_default();
        let all = whole_lines(&text).filter(|line| !line.is_empty()).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        all.map(|news| {
            assert_eq!(news["event"], "at_terminal", "{news}");
            ["program", "tool", "asks"].map(|name| news[name].as_str().unwrap_or_default().to_owned()).join(" ")
        })
        .collect()
    }

    fn dialog(&self) -> Option<Value> {
        let name = self.world.names("dialogs").first()?.clone();
        std::fs::read(self.world.in_mailbox("dialogs").join(name)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    fn is_over(&self) {
        until("the dialog is over", || self.world.names("dialogs").is_empty());
    }

    /// Only this dialog is left, and it is told.
    fn is_left(&self, asks: &str) {
        until("the dialog of a killed program is swept", || {
            self.world.names("dialogs").len() == 1 && self.dialog().is_some_and(|dialog| dialog["asks"] == asks)
        });
        until("it is told", || self.told().last().is_some_and(|last| last.ends_with(asks)));
    }

    /// The dialog is there, names the program's process, and is told.
    fn is_told(&self, words: &str) {
        let dialog = until("the dialog is noted", || self.dialog());
        assert!(dialog["process"]["pid"].is_number(), "{dialog}");
        let line = crate::support::process::command_line(i32::try_from(dialog["process"]["pid"].as_i64().unwrap()).unwrap());
        assert!(words.split(' ').next().is_some_and(|program| line.contains(program)), "{line}");
        until("the dialog is told", || self.told().last().is_some_and(|last| last == words));
    }

    /// The program is killed while its dialog waits.
    fn is_killed(&self, pattern: &str) {
        self.world.processes(pattern).into_iter().for_each(kill);
        until("the program is gone", || self.world.processes(pattern).is_empty());
    }
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_dialog_of_gemini_at_its_terminal_is_told() {
    let settings = |lines: &str| {
        format!(
            "{{\"security\": {{\"auth\": {{\"selectedType\": \"gemini-api-key\"}}}}, \"general\": {{\"enableAutoUpdate\": false}},\n\
             \"privacy\": {{\"usageStatisticsEnabled\": false}}, \"telemetry\": {{\"enabled\": false}},\n{lines}}}\n"
        )
    };
    let gemini = Attended::begin(&crate::acp::more::folder(), "Gemini: ", ".gemini/settings.json", settings);
    let _watcher = gemini.world.watch();
    let url = format!("GOOGLE_GEMINI_BASE_URL={}", gemini.api.root_url());
    let model = ["GEMINI_API_KEY=dummy", "GEMINI_CLI_TRUST_WORKSPACE=true", url.as_str()];
    let terminal = Terminal::running(&gemini.world, (140, 45), &model, &["gemini", "-m", "gemini-2.5-pro"]);
    terminal.see("Type your message");
    let shell = |command: &str| json!({"tool": "run_shell_command", "input": {"command": command, "description": "a command"}});
    scene::answers_itself(&gemini.world);
    gemini.says(&terminal, "the first part", &shell("touch f1; sh answers"));
    terminal.see("Allow once");
    gemini.is_told("gemini shell touch f1; sh answers");
    terminal.burst(&["Enter"]);
    terminal.see("all about the first part");
    gemini.is_over();
    assert!(gemini.world.work().join("f1").exists());
    scene::is_known_as_an_agents(&gemini.world);
    // Esc has no event of its own. The next prompt ends the dialog.
    gemini.says(&terminal, "the second part", &shell("touch f2"));
    terminal.see("Allow once");
    gemini.is_told("gemini shell touch f2");
    let second = gemini.dialog();
    terminal.burst(&["Escape"]);
    terminal.see("Request cancelled");
    assert_eq!(gemini.dialog(), second);
    gemini.says(&terminal, "the third part", &json!({"tool": "write_file", "input": {"file_path": "a.txt", "content": "hello"}}));
    terminal.see("Apply this change?");
    gemini.is_told("gemini edit a.txt");
    terminal.burst(&["Enter"]);
    terminal.see("all about the third part");
    gemini.is_over();
    gemini.says(&terminal, "the last part", &shell("touch f4"));
    gemini.is_told("gemini shell touch f4");
    assert!(gemini.world.ok("askbox", &["sessions"]).contains("waits at its terminal: shell touch f4"));
    gemini.is_killed("gemini");
    until("the session is gone", || gemini.world.ok("askbox", &["sessions", "--json"]).is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn a_dialog_of_kimi_at_its_terminal_is_told() {
        needs!("acp-agents", "tmux");
        let kimi = Attended::begin(&agents(), "Kimi: ", ".kimi-code/config.toml", str::to_owned);
        let _watcher = kimi.world.watch();
        let url = format!("KIMI_MODEL_BASE_URL={}", kimi.api.url());
        let model = [
            "KIMI_MODEL_NAME=scripted",
            "KIMI_MODEL_API_KEY=dummy",
            "KIMI_MODEL_PROVIDER_TYPE=openai",
            "KIMI_CODE_NO_AUTO_UPDATE=1",
            url.as_str(),
        ];
        let terminal = Terminal::running(&kimi.world, (140, 45), &model, &["kimi"]);
        terminal.see("Trust this folder");
        terminal.press(&["Enter"]);
        terminal.see("context: 0%");
        let shell = |command: &str| json!({"tool": "Bash", "input": {"command": command}});
        scene::answers_itself(&kimi.world);
        for (part, command, key) in [
            ("the first part", "touch f1; sh answers", "1"),
            ("the second part", "touch f2", "Escape"),
            ("the third part", "touch f3", "C-c"),
        ] {
            kimi.says(&terminal, part, &shell(command));
            terminal.see("Approve once");
            kimi.is_told(&format!("kimi Bash {command}"));
            terminal.burst(&[key]);
            kimi.is_over();
            terminal.see_no_more("Approve once");
        }
        scene::is_known_as_an_agents(&kimi.world);
        assert!(kimi.world.work().join("f1").exists() && !kimi.world.work().join("f2").exists());
        kimi.says(&terminal, "the last part", &shell("touch f4"));
        kimi.is_told("kimi Bash touch f4");
        kimi.is_killed("kimi");
        // The watcher sweeps when something happens in the folder, and once a minute.
        let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "cwd": "/", "id": "other", "tool_name": "Bash", "action": "next"});
        kimi.world.run_with("askbox", &["hook", "--from", "kimi"], event.to_string().as_bytes()).ok();
        kimi.is_left("next");
        assert_eq!(kimi.told().len(), 5);
    }
}
