//! Another machine, reached by the real ssh: an OpenSSH server with keys of its own, one process for each connection, over a pipe. So it
//! needs neither a port nor a network, and each connection can be cut, stopped and refused by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::stat_field;
use crate::{Running, Signal, World, output, signal};

/// Where a server listens in its network namespace.
const PORT: u16 = 2222;

/// Fields of `/proc/PID/stat`: the parent of a process, and the time of its start.
const PARENT: usize = 1;
const BEGUN: usize = 19;

/// A machine: a world of its own behind ssh, and the world that sees it.
pub struct Machine {
    pub world: World,
    pub name: String,
    folder: PathBuf,
}

impl Machine {
    /// Makes the machine `name`, with a mailbox of its own. `seen_from` gets the keys.
    pub fn new(seen_from: &World, name: &str) -> Self {
        Self::of(World::new(), seen_from, name)
    }

    /// The same with this world behind it.
    pub fn of(world: World, seen_from: &World, name: &str) -> Self {
        let folder = seen_from.path(format!("ssh.{name}"));
        std::fs::create_dir(&folder).expect("a folder");
        let keygen = |file: &str| {
            let path = folder.join(file);
            let mut command = seen_from.any_command("ssh-keygen");
            output(command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path)).ok();
            std::fs::read_to_string(path.with_extension("pub")).expect("a key")
        };
        let (host_key, key) = (keygen("host"), keygen("user"));
        write(&folder.join("authorized"), &key);
        write(&folder.join("known"), &format!("{name}.test {host_key}"));
        let dir = folder.display();
        let environment =
            format!("HOME={} ASKBOX_DIR={} PATH={}", world.home().display(), world.mailbox().display(), world.path_with_programs());
        write(
            &folder.join("sshd_config"),
            &format!(
                "HostKey {dir}/host\nAuthorizedKeysFile {dir}/authorized\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n\
                 LogLevel ERROR\nSetEnv {environment}\n"
            ),
        );
        // Root's server looks for this folder; the server of any other user does not.
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir_all("/run/sshd").expect("the folder of sshd");
        }
        let sshd = sshd();
        write(
            &folder.join("connect"),
            &format!(
                "read -r stat < /proc/$$/stat\nset -- $stat\necho \"$$ ${{22}}\" >> {dir}/pids\n\
                 test ! -e {dir}/down || exit 1\ntest ! -e {dir}/silent || exec sleep 1000\n\
                 exec {sshd} -i -f {dir}/sshd_config 2>>{dir}/sshd.log\n"
            ),
        );
        Self { world, name: name.into(), folder }
    }

    /// Its section of the configuration.
    pub fn section(&self) -> String {
        self.section_with(&format!("{}.test", self.name), &format!("'ProxyCommand=sh {}/connect'", self.folder.display()))
    }

    /// The same, for the server of [`Machine::listen`].
    pub fn section_at(&self, address: &str) -> String {
        self.section_with(address, &format!("'Port={PORT}', '-o', 'HostKeyAlias={}.test'", self.name))
    }

    fn section_with(&self, host: &str, options: &str) -> String {
        let (dir, name) = (self.folder.display(), &self.name);
        format!(
            "[peers.{name}]\nssh = '{host}'\nssh_options = ['-F', 'none', '-i', '{dir}/user', '-o', 'IdentitiesOnly=yes', '-o', \
             'UserKnownHostsFile={dir}/known', '-o', 'GlobalKnownHostsFile=none', '-o', {options}]\n"
        )
    }

    /// A server that listens at this address of its machine, which is entered by `before`.
    pub fn listen(&self, before: &[String], address: &str) -> Running {
        let mut command = Command::new(&before[0]);
        command.args(&before[1..]).arg(sshd()).args(["-D", "-e", "-f"]).arg(self.folder.join("sshd_config"));
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("sshd.log")).expect("a log");
        command.args(["-o", &format!("ListenAddress={address}"), "-o", &format!("Port={PORT}")]).stdin(Stdio::null()).stderr(log);
        Running::start(&mut command)
    }

    /// Whether new connections are refused.
    pub fn set_down(&self, is_down: bool) {
        self.mark("down", is_down);
    }

    /// Whether new connections say nothing.
    pub fn set_silent(&self, is_silent: bool) {
        self.mark("silent", is_silent);
    }

    fn mark(&self, name: &str, is_set: bool) {
        let file = self.folder.join(name);
        if is_set { write(&file, "") } else { std::fs::remove_file(file).expect("the mark") }
    }

    /// Cuts every connection: new ones are refused, those that there are die. A new one writes its number first, so none is missed.
    pub fn cut(&self) {
        self.set_down(true);
        let servers = self.servers();
        servers.into_iter().for_each(|pid| signal(pid, Signal::KILL));
    }

    /// Stops the servers of all connections, or lets them go on.
    pub fn stop(&self, is_stopped: bool) {
        self.servers().into_iter().for_each(|pid| signal(pid, if is_stopped { Signal::STOP } else { Signal::CONT }));
    }

    /// The servers of its connections, also those that are about to begin. A server names itself anew, so that its number and the time of
    /// its start are all that is known of it. The number alone may belong to another process by now.
    pub fn servers(&self) -> Vec<i32> {
        let is_server = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("sshd"));
        let parent = |pid: i32| -> Option<i32> { stat_field(pid, PARENT)?.parse().ok() };
        let lives = |line: &str| -> Option<i32> {
            let (pid, begun) = line.split_once(' ')?;
            let pid = pid.parse().ok()?;
            (stat_field(pid, BEGUN)? == begun).then_some(pid)
        };
        let started = std::fs::read_to_string(self.folder.join("pids")).unwrap_or_default();
        let mut found: Vec<i32> = started.lines().filter_map(lives).collect();
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
        let children: Vec<i32> = pids.filter(|pid| is_server(*pid) && parent(*pid).is_some_and(|parent| found.contains(&parent))).collect();
        found.extend(children);
        found
    }

    /// The log of its servers.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("sshd.log")).unwrap_or_default()
    }
}

/// The server, which needs its whole path.
fn sshd() -> &'static str {
    let sshd = ["/usr/sbin/sshd", "/usr/lib/ssh/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
    sshd.expect("sshd: the package openssh-server")
}

/// Makes the configuration of a world from these machines.
pub fn configure(world: &World, machines: &[&Machine]) {
    world.configure(&machines.iter().map(|machine| machine.section()).collect::<String>());
}

fn write(path: &Path, text: &str) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
