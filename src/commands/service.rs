//! The service that keeps the watcher running: `askbox init --service` runs the watcher as a service of the user, with a unit for systemd
//! or a property list for launchd.
//!
//! Both let runs outlive a restart of the watcher: systemd kills the watcher alone (`KillMode=process`), launchd leaves its process group
//! alone (`AbandonProcessGroup`). The service is hardened only as far as agents still work. An agent must be able to write wherever its
//! user can, run compilers, containers and debuggers, and use the network.
//!
//! The credentials that a shell has and a service lacks are never copied into the service's file. The person puts them into a separate
//! file, which the service reads.

use std::path::{Path, PathBuf};

use askbox_cli::program;
use askbox_config as config;
use askbox_mailbox::platform::means::{SERVICE_MANAGER, ServiceManager};
use askbox_mailbox::{Error, IoContext, Mailbox, Placed, Result, disk, layout, text};

/// Variables that say how `claude` reaches its API. A name that ends in `_` is a prefix.
const NAMES: [&str; 5] = ["ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CONFIG_DIR"];
/// Such variables of the cloud providers. They count only together with a variable `CLAUDE_CODE_USE_…`.
const CLOUDS: [&str; 3] = ["AWS_", "GOOGLE_", "CLOUD_ML_"];

/// The file that the service reads, beside the configuration: `service.env`.
pub(crate) fn variables_file() -> Option<PathBuf> {
    let path = config::location()?.with_file_name("service.env");
    std::path::absolute(path).ok()
}

/// Warns which of this shell's variables the service does not get, and says how to pass them to it.
pub(crate) fn warn_about_missing(file: Option<&Path>, service: &Path) {
    let known = file.and_then(|f| std::fs::read_to_string(f).ok()).unwrap_or_default();
    let is_known = |name: &String| known.lines().any(|line| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('=')));
    let missing: Vec<String> = credentials().into_iter().filter(|name| !is_known(name)).collect();
    if missing.is_empty() {
        return;
    }
    program::say(&format!("warning: the service does not get these variables of this shell: {}\n", missing.join(", ")));
    match file {
        Some(file) if SERVICE_MANAGER == ServiceManager::Systemd => {
            let (file, names) = (text::path_word(file), missing.join("|"));
            program::say(&format!("hint: it reads {file}; write them there with: (umask 077; env | grep -E '^({names})=' >> {file})\n"));
        }
        _ => program::say(&format!("hint: add them to EnvironmentVariables in {0}, and then: chmod 600 {0}\n", text::path_word(service))),
    }
}

/// The names of this shell's credentials, in alphabetical order.
fn credentials() -> Vec<String> {
    let set = || std::env::vars_os().filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.into_string().ok());
    let is_among = |names: &[&str], name: &str| names.iter().any(|n| if n.ends_with('_') { name.starts_with(n) } else { name == *n });
    let in_cloud = set().any(|name| name.starts_with("CLAUDE_CODE_USE_"));
    // The name becomes part of a command, so only plain names are accepted.
    let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut found: Vec<String> =
        set().filter(is_plain).filter(|name| is_among(&NAMES, name) || (in_cloud && is_among(&CLOUDS, name))).collect();
    found.sort();
    found
}

/// How to let the service outlive the session of its user.
pub(crate) const LINGER: &str = "keep it running while you are logged out with: loginctl enable-linger\n";
/// The service's name.
const LABEL: &str = "askbox.watch";

/// The service's program and its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The `relaunch` program.
    pub relaunch: PathBuf,
    /// `PATH`, so that the agent is found.
    pub path: String,
    /// The mailbox, if it is not the default.
    pub mailbox: Option<PathBuf>,
    /// The configuration, if it is not the default.
    pub config: Option<PathBuf>,
    /// The file with more variables, such as credentials. It may be missing.
    pub variables: Option<PathBuf>,
}

impl Service {
    /// The service with this shell's environment.
    pub fn here() -> Result<Self> {
        let ours = std::env::current_exe()
            .map_err(|e| Error::failed(format!("cannot find this program itself: {e}"), "call it by its full path"))?;
        let relaunch = ours.with_file_name("relaunch");
        if !relaunch.is_file() {
            return Err(Error::failed(format!("{} does not exist", relaunch.display()), "install relaunch beside askbox"));
        }
        let absolute = |name: &str| program::env(name).and_then(|p| std::path::absolute(p).ok());
        Ok(Self {
            relaunch,
            path: program::env("PATH").unwrap_or_default(),
            mailbox: program::env("ASKBOX_DIR").map(|_| Mailbox::locate(None)).transpose()?,
            config: absolute("ASKBOX_CONFIG"),
            variables: variables_file(),
        })
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let paths = [("ASKBOX_DIR", &self.mailbox), ("ASKBOX_CONFIG", &self.config)];
        let paths = paths.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?.to_str()?.to_owned())));
        std::iter::once(("PATH", self.path.clone())).chain(paths).collect()
    }

    /// The unit for `systemctl --user`.
    pub fn systemd(&self) -> Result<String> {
        let mut environment = String::new();
        for (name, value) in self.environment() {
            environment.push_str(&format!("Environment={}\n", systemd_word(&format!("{name}={value}"))?));
        }
        if let Some(file) = &self.variables {
            // systemd takes the rest of the line as the path. A leading `-` allows the file to be missing.
            let file = file.to_str().ok_or_else(|| no_text("the file of variables"))?;
            environment.push_str(&format!("EnvironmentFile=-{}\n", systemd_text(file)?));
        }
        let program = self.relaunch.to_str().ok_or_else(|| no_text("relaunch"))?;
        // `$` is not escaped in the program's path: systemd expands it only in arguments, and no argument comes from here.
        let program = systemd_word(program)?;
        Ok(include_str!("askbox.service").replace("{program}", &program).replace("{environment}", &environment))
    }

    /// The property list for `launchctl`.
    pub fn launchd(&self, log: &Path) -> Result<String> {
        let mut environment = String::new();
        for (name, value) in self.environment() {
            environment.push_str(&format!("\t\t<key>{name}</key>\n\t\t<string>{}</string>\n", xml(&value)?));
        }
        let program = xml(self.relaunch.to_str().ok_or_else(|| no_text("relaunch"))?)?;
        let log = xml(log.to_str().ok_or_else(|| no_text("the log"))?)?;
        let list = include_str!("askbox.watch.plist").replace("{label}", LABEL).replace("{program}", &program).replace("{log}", &log);
        Ok(list.replace("{environment}\n", &environment))
    }
}

fn no_text(what: &str) -> Error {
    Error::failed(format!("the path of {what} is not valid UTF-8"), "install it under another path")
}

/// One word in systemd's syntax: quoted, with `%` and escapes disarmed.
fn systemd_word(text: &str) -> Result<String> {
    Ok(format!("\"{}\"", systemd_text(&text.replace('\\', "\\\\").replace('"', "\\\""))?))
}

/// Escapes `%`, so that it stands for itself.
fn systemd_text(text: &str) -> Result<String> {
    Ok(on_one_line(text)?.replace('%', "%%"))
}

fn xml(text: &str) -> Result<String> {
    Ok(on_one_line(text)?.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

fn on_one_line(text: &str) -> Result<&str> {
    if text.chars().any(char::is_control) {
        let problem = "a path or variable for the service contains a control character";
        return Err(Error::failed(problem, "remove it from $PATH or from the path"));
    }
    Ok(text)
}

/// The service's file for this system.
pub(crate) struct ServiceFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The `relaunch` program that it runs.
    pub(crate) relaunch: PathBuf,
    /// The command that starts the service.
    start: String,
    variables: Option<PathBuf>,
}

/// The service's file for this shell's environment. Writes nothing.
pub(crate) fn service_file() -> Result<ServiceFile> {
    let (service, home) = (Service::here()?, layout::home()?);
    let (path, text, start) = match SERVICE_MANAGER {
        ServiceManager::Launchd => {
            let path = home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
            let text = service.launchd(&home.join("Library/Logs/askbox.log"))?;
            let start = format!("launchctl bootstrap gui/$(id -u) {}", askbox_mailbox::text::shell_quote(&path.display().to_string()));
            (path, text, start)
        }
        ServiceManager::Systemd => {
            let base = program::env("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
            let start = "systemctl --user daemon-reload && systemctl --user enable --now askbox.service";
            (base.join("systemd/user/askbox.service"), service.systemd()?, start.to_owned())
        }
    };
    let path = std::path::absolute(&path).io("find", &path)?;
    Ok(ServiceFile { path, text, relaunch: service.relaunch, start, variables: service.variables })
}

/// Writes the service's file, and says where it is and how to start it.
pub fn write_service(force: bool) -> Result<()> {
    let ServiceFile { path, text, start, variables, .. } = service_file()?;
    disk::create_folder(path.parent().unwrap_or(Path::new("/")))?;
    if force {
        disk::replace(&path, text.as_bytes())?;
    } else if disk::create(&path, text.as_bytes())? == Placed::NameExists && std::fs::read(&path).io("read", &path)? != text.as_bytes() {
        let hint = "replace it: askbox init --service --force";
        return Err(Error::conflict(format!("{} exists with another content; it was not changed", path.display()), hint));
    }
    program::print_value(&path.display().to_string())?;
    warn_about_missing(variables.as_deref(), &path);
    program::say(&format!("start the service with: {start}\n"));
    if SERVICE_MANAGER == ServiceManager::Systemd {
        program::say(LINGER);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(relaunch: &str) -> Service {
        Service {
            relaunch: relaunch.into(),
            path: "/a b:/100%/bin".into(),
            mailbox: Some("/q\"x\\y".into()),
            config: None,
            variables: Some("/a b/100%".into()),
        }
    }

    #[test]
    fn runs_outlive_the_watcher_and_a_bad_config_is_not_restarted() {
        let unit = service("/opt/askbox/relaunch").systemd().unwrap();
        for line in [
            "Type=notify",
            "TimeoutStartSec=5min",
            "KillMode=process",
            "Restart=on-failure",
            "RestartPreventExitStatus=2 5",
            "NoNewPrivileges=yes",
        ] {
            assert!(unit.lines().any(|l| l == line), "{line}");
        }
        // Settings that would keep an agent from its user's files or from its tools.
        for setting in
            ["ProtectHome", "ProtectSystem", "PrivateTmp", "PrivateNetwork", "MemoryDenyWriteExecute", "RestrictNamespaces", "UMask"]
        {
            assert!(!unit.contains(setting), "{setting}");
        }
        let list = service("/opt/askbox/relaunch").launchd(Path::new("/l&l")).unwrap();
        assert!(list.contains("<key>AbandonProcessGroup</key>\n\t<true/>") && list.contains("/l&amp;l"), "{list}");
    }

    #[test]
    fn paths_are_quoted_so_that_they_mean_themselves() {
        let unit = service("/o $HOME/50%/relaunch").systemd().unwrap();
        assert!(unit.contains("ExecStart=\"/o $HOME/50%%/relaunch\" watch\n"), "{unit}");
        assert!(unit.contains("Environment=\"PATH=/a b:/100%%/bin\"\n"), "{unit}");
        assert!(unit.contains("Environment=\"ASKBOX_DIR=/q\\\"x\\\\y\"\n"), "{unit}");
        assert!(service("/a\nExecStartPre=/bin/evil").systemd().is_err());
    }
}
