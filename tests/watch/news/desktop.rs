//! The desktop, with a real notification daemon on a display of its own.

use std::process::Stdio;

use serde_json::Value;

use crate::support::needs;
use crate::support::{Running, World, output, until};

/// A notification daemon; everything ends when this is dropped.
struct Desktop {
    bus: String,
    _display: Running,
    _session: Running,
}

impl Desktop {
    fn start(place: &World) -> Self {
        let (number, bus) = (place.path("display"), place.path("bus"));
        let script = format!("exec Xvfb -displayfd 3 -screen 0 800x600x8 -nolisten tcp 3>{}", number.display());
        let display = Running::start(place.shell_command(&script).stdout(Stdio::null()).stderr(Stdio::null()));
        let number = until("the display is there", || std::fs::read_to_string(&number).ok().filter(|text| text.ends_with('\n')));
        // The bus starts the daemon itself, with its own environment, when somebody speaks to it.
        let script = format!(
            "export DISPLAY=:{}\nexec 2>session.log\nexec dbus-daemon --session --nofork --nopidfile --print-address=3 3>{}",
            number.trim(),
            bus.display()
        );
        let session = Running::start(place.shell_command(&script).stdout(Stdio::null()));
        let bus = until("the session is there", || std::fs::read_to_string(&bus).ok().filter(|text| text.ends_with('\n')));
        let desktop = Self { bus: bus.trim().to_owned(), _display: display, _session: session };
        let said = || std::fs::read_to_string(place.path("session.log")).unwrap_or_default();
        until("the daemon answers", || desktop.control(place, &["count"]).is_some() || said().contains("CRITICAL"));
        assert!(!said().contains("CRITICAL"), "{}", said());
        desktop
    }

    fn control(&self, place: &World, args: &[&str]) -> Option<String> {
        let out = output(place.any_command("dunstctl").args(args).env("DBUS_SESSION_BUS_ADDRESS", &self.bus));
        (out.code() == 0).then_some(out.stdout)
    }

    /// What is on the screen: summary and body of each notification.
    fn shows(&self, place: &World) -> Vec<(String, String)> {
        self.control(place, &["close-all"]).expect("closed");
        let history = self.control(place, &["history"]).expect("the history");
        let history: Value = serde_json::from_str(&history).expect("JSON");
        let text = |item: &Value, field: &str| item[field]["data"].as_str().unwrap_or_default().to_owned();
        history["data"][0].as_array().expect("items").iter().map(|item| (text(item, "summary"), text(item, "body"))).collect()
    }

    fn count(&self, place: &World) -> usize {
        self.control(place, &["count", "displayed"]).and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    }
}

#[test]
fn without_a_desktop_the_log_says_why_nobody_is_told() {
    needs!("notify-send");
    let mut world = World::stepping("work");
    world.set_env(&[("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/such/bus")]);
    world.configure("[notify]\ngrace = \"0s\"\n[target.desk]\ndesktop = true\n");
    world.make_mailbox();
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    watcher.says("target desk: notify-send failed:");
}

#[test]
fn a_question_appears_on_the_desktop_and_then_its_end() {
    needs!("dunst", "Xvfb", "dbus-daemon", "notify-send");
    let place = World::new();
    let desktop = Desktop::start(&place);
    let mut world = World::stepping("work");
    world.set_env(&[("DBUS_SESSION_BUS_ADDRESS", &desktop.bus)]);
    world.configure("[notify]\ngrace = \"0s\"\n[target.desk]\ndesktop = true\n");
    world.make_mailbox();
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge <b>A</b> & B?"]);
    until("it is shown", || desktop.count(&place) == 1);
    world.ok("ask-answer", &["docs", "yes", "--by", "ann"]);
    watcher.says("delivered  docs");
    until("all is told", || super::records(&world, "desk").is_empty());
    assert_eq!(desktop.count(&place), 1, "one card, whose text has changed");
    let shown = desktop.shows(&place);
    assert_eq!(shown[0].0, "docs: delivered");
    assert!(shown[0].1.starts_with("Merge &lt;b&gt;A&lt;/b&gt; &amp; B?"), "markup is shown as text: {shown:?}");
}
