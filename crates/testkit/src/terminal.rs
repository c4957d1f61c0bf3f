//! A real terminal: tmux types and reads the screen.

use std::process::Command;
use std::time::Duration;

use crate::process::{pids, stat_field};
use crate::{World, output, until};

/// The keys that decide.
const DECIDING: [&str; 3] = ["Enter", "u", "y"];

/// Fields of `/proc/PID/stat`: the state of a process, its group, and the group in the foreground of its terminal.
const STATE: usize = 0;
const GROUP: usize = 2;
const FOREGROUND: usize = 5;

/// A terminal that runs a shell, or a command. The second field is the name of its socket.
pub struct Terminal<'a>(&'a World, String);

impl<'a> Terminal<'a> {
    /// A shell in a terminal of 100 columns and 40 rows.
    #[track_caller]
    pub fn new(world: &'a World) -> Self {
        let terminal = Self::running(world, (100, 40), &["PS1=$ ", "EDITOR=./ed"], &["sh"]);
        terminal.see("$");
        terminal
    }

    /// A command in a terminal of this many columns and rows, with these variables added to those of the world.
    #[track_caller]
    pub fn running(world: &'a World, size: (u32, u32), variables: &[&str], command: &[&str]) -> Self {
        Self::beside("tmux", world, size, variables, command)
    }

    /// The same beside other terminals of the world, each with a name of its own.
    #[track_caller]
    pub fn beside(name: &str, world: &'a World, (columns, rows): (u32, u32), variables: &[&str], command: &[&str]) -> Self {
        let terminal = Self(world, name.to_owned());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let begin = ["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, "env", "-i", "TERM=screen", "LANG=C.UTF-8"];
        let path = format!("PATH={}", world.path_with_programs());
        let env: Vec<String> = world.env().iter().map(|(name, value)| format!("{name}={value}")).chain([path]).collect();
        let env: Vec<&str> = env.iter().map(String::as_str).collect();
        let words = [&begin, &env[..], variables, command].concat();
        // The server of an earlier terminal of this world may still be on its way out.
        let begun = until("the terminal begins", || {
            let begun = output(terminal.command().args(&words));
            (!begun.stderr.contains("server exited")).then_some(begun)
        });
        begun.ok();
        terminal
    }

    fn command(&self) -> Command {
        let mut command = self.0.any_command("tmux");
        command.arg("-S").arg(self.0.path(&self.1)).arg("-u");
        command
    }

    #[track_caller]
    fn tmux(&self, words: &[&str]) -> String {
        output(self.command().args(words)).ok().stdout
    }

    /// Presses keys, by tmux's names, as a person does: who presses enter has seen the effect of the keys before.
    #[track_caller]
    pub fn press(&self, keys: &[&str]) {
        let mut rest = keys;
        while !rest.is_empty() {
            let deciding = rest.iter().skip(1).position(|key| DECIDING.contains(key)).map_or(rest.len(), |n| n + 1);
            let (now, later) = rest.split_at(deciding);
            if DECIDING.contains(&now[0]) {
                self.settle();
            }
            self.burst(now);
            rest = later;
        }
    }

    /// Sends keys at once, as a program does that types into the wrong terminal.
    #[track_caller]
    pub fn burst(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Sends keys at once, if the terminal is still there.
    pub fn try_burst(&self, keys: &[&str]) {
        let _ = self.command().arg("send-keys").args(keys).output();
    }

    /// The screen as it is now. `None` if the terminal's program has ended.
    pub fn try_screen(&self) -> Option<String> {
        let shown = output(self.command().args(["capture-pane", "-p"]));
        (shown.code() == 0).then_some(shown.stdout)
    }

    /// Closes the terminal, as a person does with its window.
    pub fn close(&self) {
        let _ = self.command().arg("kill-server").output();
    }

    /// Waits until the programs in the terminal have handled all keys and wait for the next one.
    #[track_caller]
    pub fn settle(&self) {
        let shell: i32 = self.tmux(&["display", "-p", "#{pane_pid}"]).trim().parse().expect("a process");
        let mut asleep = 0;
        until("the programs in the terminal wait for a key", || {
            std::thread::sleep(Duration::from_millis(15));
            let foreground = stat_field(shell, FOREGROUND);
            // One program may have started another one, and waits for it.
            let mut job = pids().filter(|pid| stat_field(*pid, GROUP) == foreground);
            let is_busy = job.any(|pid| stat_field(pid, STATE).is_some_and(|state| matches!(state.as_str(), "R" | "D")));
            asleep = if is_busy { 0 } else { asleep + 1 };
            asleep >= 3
        });
    }

    /// Presses enter once more if the inbox says that it came together with other keys. On a busy machine it may have.
    fn press_again_if_together(&self, screen: &str) {
        let is_told = |screen: &str| screen.contains("this key came together with others");
        if is_told(screen) {
            std::thread::sleep(Duration::from_secs(1));
            // A test may have pressed it by itself.
            if is_told(&self.screen()) {
                self.burst(&["Enter"]);
            }
        }
    }

    /// Presses enter once more, as a person does after reading the result of the first press. An enter that comes at once counts as a key
    /// that is held down.
    #[track_caller]
    pub fn enter_again(&self) {
        std::thread::sleep(Duration::from_millis(400));
        self.press(&["Enter"]);
    }

    /// Confirms what the inbox asks about: `ok`, then enter. The last line of the screen names these keys.
    #[track_caller]
    pub fn confirm(&self) {
        self.type_ok();
        std::thread::sleep(Duration::from_millis(400));
        self.press(&["Enter"]);
    }

    /// Types the letters that confirm what the inbox asks about.
    #[track_caller]
    pub fn type_ok(&self) {
        self.see("ok, enter ");
        // A person reads the sentence before. A key that comes at once confirms nothing. A busy inbox takes its time from a picture to the
        // next key, and a letter that comes in that time is hasty as well.
        std::thread::sleep(Duration::from_millis(400));
        self.settle();
        self.press(&["o"]);
        until("the letter `o` counts", || {
            let screen = self.screen();
            screen.contains("k, enter ") && !screen.contains("ok, enter ")
        });
        self.press(&["k"]);
        self.see_no_more("k, enter ");
    }

    /// Sends what was written or chosen. Enter asks about it first.
    #[track_caller]
    pub fn send_asked(&self) {
        self.press(&["Enter"]);
        self.confirm();
    }

    /// Takes the last answer back. The second `u` comes after the first one was read, and not as in one word.
    #[track_caller]
    pub fn take_back(&self) {
        self.press(&["u"]);
        self.see("u again takes back ");
        std::thread::sleep(Duration::from_millis(400));
        self.press(&["u"]);
    }

    /// Types a line as a person does: each key alone, and its effect is on the screen before the next one.
    #[track_caller]
    pub fn type_slowly(&self, line: &str) {
        for letter in line.chars() {
            self.burst(&["-l", &letter.to_string()]);
            self.settle();
        }
    }

    /// Types a line that is not on the screen yet, and presses enter once it is there.
    #[track_caller]
    pub fn say(&self, line: &str) {
        self.burst(&["-l", line]);
        self.see(line);
        self.press(&["Enter"]);
    }

    /// Presses enter until the screen fits, or the program has ended. Presses it again only after a while: a busy terminal may lose a key.
    #[track_caller]
    pub fn enter_until(&self, what: &str, fits: impl Fn(&str) -> bool) {
        let mut looks = 0..;
        until(what, || {
            let is_done = self.try_screen().is_none_or(|screen| fits(&screen));
            if !is_done && looks.next().is_some_and(|n: usize| n.is_multiple_of(100)) {
                self.try_burst(&["Enter"]);
            }
            is_done
        });
    }

    /// Gives the terminal another size.
    #[track_caller]
    pub fn resize(&self, columns: u32, rows: u32) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Pastes a text, as a terminal does that marks pasted text.
    #[track_caller]
    pub fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// The screen as it is now.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen no longer shows a text; the whole screen.
    #[track_caller]
    pub fn see_no_more(&self, text: &str) -> String {
        until(&format!("the screen shows {text:?} no more"), || Some(self.screen()).filter(|screen| !screen.contains(text)))
    }

    /// Waits until the screen shows a text; the whole screen.
    #[track_caller]
    pub fn see(&self, text: &str) -> String {
        until(&format!("the screen shows {text:?}"), || {
            let screen = self.screen();
            if screen.contains(text) {
                return Some(screen);
            }
            self.press_again_if_together(&screen);
            None
        })
    }
}

impl Terminal<'_> {
    /// Opens the question under the cursor of the inbox. The inbox ignores enter for a moment after a row came there by itself.
    #[track_caller]
    pub fn open_chosen(&self) {
        self.press(&["Enter"]);
        until("the chosen question is open", || {
            let screen = self.screen();
            if screen.contains("another question has just come under the cursor") {
                self.press(&["Enter"]);
            }
            screen.contains("esc later").then_some(())
        });
    }

    /// The screen with the codes that colour it.
    #[track_caller]
    pub fn with_colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(screen) = self.command().args(["capture-pane", "-p"]).output()
        {
            eprintln!("the screen:\n{}", String::from_utf8_lossy(&screen.stdout));
        }
        self.close();
    }
}
