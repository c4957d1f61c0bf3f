//! A PostgreSQL cluster of the tests' own, and databases in it.
//!
//! All tests of a process share one cluster, in memory; each has a database of its own. It ends with the process. A test that kills the
//! server has a cluster of its own.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use postgres::{Client, NoTls};

use crate::support::{Running, Signal, World, output, signal, until};

/// A running server. Nothing but its socket leads to it.
pub struct Cluster {
    folder: tempfile::TempDir,
    /// The user that the server runs as: it refuses root.
    user: Option<String>,
    server: Mutex<Option<(Running, Sender<()>)>>,
    settings: Vec<String>,
    port: u16,
    /// The command that stands before its programs.
    before: Vec<String>,
}

/// The newest PostgreSQL of Debian's packages, or what `PATH` has.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|e| e.path().join("bin").join(name));
    let newest = versions.filter(|path| path.is_file()).max();
    newest.or_else(|| crate::support::tools::find(name)).unwrap_or_else(|| PathBuf::from(name))
}

impl Cluster {
    /// A cluster in memory.
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        Self::in_folder(if memory.is_dir() { memory } else { Path::new("/tmp") }, &[])
    }

    /// A cluster that is reached by TLS, too, at this port of loopback, with a certificate that its folder gets.
    pub fn with_tls(port: u16, certify: impl Fn(&Path)) -> Self {
        Self::laid_out(Path::new("/tmp"), &[&format!("port={port}"), "listen_addresses=127.0.0.1", "ssl=on"], port, Vec::new(), certify)
    }

    /// A cluster that is reached by TLS at every address of the network namespace that is entered by `before`.
    pub fn in_network(before: Vec<String>, certify: impl Fn(&Path)) -> Self {
        let certify = |data: &Path| {
            certify(data);
            let rules = data.join("pg_hba.conf");
            let text = std::fs::read_to_string(&rules).expect("the rules") + "hostssl all all all trust\n";
            std::fs::write(&rules, text).expect("writable");
        };
        Self::laid_out(Path::new("/dev/shm"), &["listen_addresses=*", "ssl=on"], 5432, before, certify)
    }

    /// A cluster in this folder, with these settings.
    pub fn in_folder(place: &Path, settings: &[&str]) -> Self {
        Self::laid_out(place, settings, 5432, Vec::new(), |_| ())
    }

    fn laid_out(place: &Path, settings: &[&str], port: u16, before: Vec<String>, certify: impl Fn(&Path)) -> Self {
        let folder = tempfile::Builder::new().prefix("askbox-pg").tempdir_in(place).expect("a temporary folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let user = rustix::process::geteuid().is_root().then(|| "postgres".to_owned());
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let cluster = Self { folder, user, server: Mutex::new(None), settings, port, before };
        let data = cluster.folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        if let Some(user) = &cluster.user {
            output(Command::new("chown").arg(format!("{user}:")).args([cluster.folder.path(), data.as_path()])).ok();
        }
        let mut initdb = cluster.command(&program("initdb"));
        output(initdb.args(["--no-sync", "-A", "trust", "-U", "owner", "-E", "UTF8", "--locale=C", "-D"]).arg(&data)).ok();
        certify(&data);
        if let Some(user) = &cluster.user {
            output(Command::new("chown").arg("-R").arg(format!("{user}:")).arg(&data)).ok();
        }
        cluster.start();
        cluster
    }

    /// A command as the server's user. It dies with the thread that starts it.
    fn command(&self, program: &Path) -> Command {
        let words = self.before.iter().map(String::as_str);
        let start = |program: &Path| {
            let mut words = words.chain([program.to_str().expect("a UTF-8 path")]);
            let mut command = Command::new(words.next().expect("a program"));
            command.args(words);
            command
        };
        let mut command = match &self.user {
            Some(user) => {
                let mut command = start(Path::new("setpriv"));
                command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--init-groups", "--pdeathsig=QUIT"]).arg(program);
                command
            }
            None => start(program),
        };
        command.current_dir("/").env_clear().env("PATH", std::env::var("PATH").unwrap_or_default()).env("LC_ALL", "C");
        command.stdin(Stdio::null());
        command
    }

    /// Starts the server, and waits until it answers.
    pub fn start(&self) {
        self.launch();
        until("the server answers", || {
            // After a crash, a child that was being started may live a little longer than its parent, and holds the next one off.
            let has_ended = self.server.lock().unwrap().as_mut().is_some_and(|(server, _)| server.has_ended());
            if has_ended {
                std::thread::sleep(Duration::from_millis(50));
                self.launch();
            }
            self.connect("owner", "postgres").is_ok()
        });
    }

    fn launch(&self) {
        let data = self.folder.path().join("data");
        let log = std::fs::File::options().create(true).append(true).open(self.folder.path().join("log")).expect("a log");
        let mut command = self.command(&program("postgres"));
        command.arg("-D").arg(data).arg("-k").arg(self.folder.path());
        command.args(["-c", "listen_addresses=", "-c", "max_connections=200", "-c", "unix_socket_permissions=0777"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.stdout(Stdio::null()).stderr(log);
        // The server dies with the thread that starts it: that thread lives as long as the cluster, and dies with the tests.
        let (started, server) = channel();
        let (alive, end) = channel::<()>();
        std::thread::spawn(move || {
            let _sent = started.send(Running::start(&mut command));
            let _ended = end.recv();
        });
        *self.server.lock().unwrap() = Some((server.recv().expect("a server"), alive));
    }

    /// Stops the server with SIGKILL, as a crash does, and all its children with it.
    pub fn crash(&self) {
        let Some((server, _alive)) = self.server.lock().unwrap().take() else { return };
        let children = children(server.pid());
        // The children of a killed postmaster end by themselves, but not at once; while one lives, no other postmaster starts.
        server.kill();
        children.iter().for_each(|child| signal(*child, Signal::KILL));
        until("the server's children are gone", || children.iter().all(|child| !crate::support::process::is_alive(*child)));
        let _removed = std::fs::remove_file(self.folder.path().join("data/postmaster.pid"));
    }

    /// The time that the server and its children, also those that have ended, have spent on a processor so far. It does not depend on what else the machine does.
    pub fn cpu(&self) -> Duration {
        let pid = self.server.lock().unwrap().as_ref().map(|(server, _)| server.pid()).expect("a server");
        children(pid).into_iter().chain([pid]).map(crate::support::process::processor_time).sum()
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &str {
        self.folder.path().to_str().expect("a UTF-8 path")
    }

    /// The log of the server.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub fn connect(&self, role: &str, database: &str) -> Result<Client, postgres::Error> {
        postgres::Config::new().host(self.socket()).port(self.port).user(role).dbname(database).connect(NoTls)
    }
}

fn children(parent: i32) -> Vec<i32> {
    let is_child = |status: &str| status.lines().any(|line| line == format!("PPid:\t{parent}"));
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| is_child(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default())).collect()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some((mut server, _alive)) = self.server.lock().unwrap().take() {
            // An immediate end: nothing of it is needed any more.
            signal(server.pid(), Signal::QUIT);
            server.wait();
        }
    }
}

/// The cluster that the tests share, and the pipe of the process that removes it when this process is gone.
static SHARED: LazyLock<(Arc<Cluster>, Child)> = LazyLock::new(|| {
    let cluster = Cluster::new();
    let script = r#"cat; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"; sleep 1; rm -rf "$1""#;
    let mut end = Command::new("sh");
    end.args(["-c", script, "sh", cluster.socket()]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    (Arc::new(cluster), end.spawn().expect("a shell"))
});
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// A database with askbox's schema.
pub struct Database {
    pub cluster: Arc<Cluster>,
    pub name: String,
}

impl Database {
    /// A database in the cluster that all tests share.
    pub fn new() -> Self {
        Self::in_cluster(SHARED.0.clone())
    }

    /// A database in this cluster.
    pub fn in_cluster(cluster: Arc<Cluster>) -> Self {
        let database = Self::empty_in(cluster);
        let world = World::new();
        world.ok("askbox", &["sync", "migrate", "--database", &database.address("owner")]);
        database.roles(&world, "sync roles --host laptop --host build --host tower --person ann --person bob");
        database
    }

    /// A database without a schema.
    pub fn empty_in(cluster: Arc<Cluster>) -> Self {
        let name = format!("askbox{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        cluster.connect("owner", "postgres").expect("a connection").batch_execute(&format!("CREATE DATABASE {name}")).expect("a database");
        Self { cluster, name }
    }

    /// Makes roles. Those of another database of the cluster are these too.
    pub fn roles(&self, world: &World, command: &str) {
        let statements = world.ok("askbox", &command.split(' ').collect::<Vec<_>>());
        let mut owner = self.connect("owner");
        for statement in statements.lines() {
            match owner.batch_execute(statement) {
                Err(e) if ["42710", "23505", "XX000"].contains(&e.code().map_or("", |code| code.code())) => {}
                other => other.unwrap_or_else(|e| panic!("{statement}: {e}")),
            }
        }
    }

    /// The address for a role.
    pub fn address(&self, role: &str) -> String {
        format!("host={} user={role} dbname={}", self.cluster.socket(), self.name)
    }

    #[track_caller]
    pub fn connect(&self, role: &str) -> Client {
        self.cluster.connect(role, &self.name).unwrap_or_else(|e| panic!("{role}: {e}: {}", self.cluster.log()))
    }

    /// The only value of the only row, as text.
    #[track_caller]
    pub fn value(&self, query: &str) -> Option<String> {
        let row = self.connect("owner").query_opt(query, &[]).unwrap_or_else(|e| panic!("{query}: {e:?}"));
        row.and_then(|row| row.get(0))
    }
}
