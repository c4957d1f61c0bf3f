//! The needs of single tests beside askbox: programs, and rights that only root has.
//!
//! A test says so in its first line: `needs!("strace")`. If the program is missing, the test fails, and says what to install.
//! `ASKBOX_TEST_WITHOUT=strace,tmux` opts out: tests that need one of these then end at once. `tests/run` says at its end what was opted
//! out.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::{report, root};

/// Ends the test at once if it was opted out of one of these needs; fails if one is missing. See [`available`].
#[macro_export]
macro_rules! needs {
    ($($need:literal),+) => {
        $(if !$crate::tools::available($need) {
            return;
        })+
    };
}

/// The needs that the variable names.
static OPTED_OUT: LazyLock<Vec<String>> = LazyLock::new(|| {
    let variable = std::env::var("ASKBOX_TEST_WITHOUT").unwrap_or_default();
    variable.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
});

static MOUNTS: LazyLock<bool> = LazyLock::new(|| {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "sh", "-c", "mount -t tmpfs none /mnt"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
});

static NETWORKS: LazyLock<bool> = LazyLock::new(|| {
    let mut probe = Command::new("unshare");
    probe.args(["--net", "ip", "link", "add", "one", "type", "veth", "peer", "name", "other"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
});

/// Whether a disk with this filesystem can be mounted here, as a recorded one is.
fn mounts(filesystem: &str) -> bool {
    let script = root().join("crates/testkit/disk/can_mount.sh");
    Command::new("sh").arg(script).arg(filesystem).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether a test that needs this may run. False if `ASKBOX_TEST_WITHOUT` names it. Panics where it is missing.
#[track_caller]
pub fn available(need: &str) -> bool {
    report::begin();
    if OPTED_OUT.iter().any(|word| word == need) {
        eprintln!("not tested: ASKBOX_TEST_WITHOUT names {need}");
        return false;
    }
    let there = match need {
        "root" => rustix::process::geteuid().is_root(),
        "mount" => *MOUNTS,
        "network-namespace" => *NETWORKS,
        "sshd" => find("sshd").is_some() || std::path::Path::new("/usr/sbin/sshd").exists(),
        "ext4" | "xfs" | "btrfs" => mounts(need),
        "postgres" => find(need).is_some() || std::fs::read_dir("/usr/lib/postgresql").is_ok_and(|mut versions| versions.next().is_some()),
        "python-mcp" => std::env::var_os("ASKBOX_TEST_PYTHON_MCP").is_some(),
        "typescript" => std::env::var_os("ASKBOX_TEST_TYPESCRIPT").is_some(),
        "python-sdks" => std::env::var_os("ASKBOX_TEST_PYTHON_SDKS").is_some(),
        "node-sdks" => std::env::var_os("ASKBOX_TEST_NODE_SDKS").is_some(),
        "acp-agents" => std::env::var_os("ASKBOX_TEST_AGENTS").is_some(),
        program => find(program).is_some(),
    };
    let what = match need {
        "root" => "to run as root, for files of several users".to_owned(),
        "mount" => "the right to mount a filesystem in a namespace of its own, as root has it".to_owned(),
        "ext4" | "xfs" | "btrfs" => {
            format!("to mount a disk with {need}: root, /dev/fuse, a loop device, mkfs.{need} and a kernel that knows {need}")
        }
        "network-namespace" => "the right to make network namespaces and links between them, as root has it; and the program ip".to_owned(),
        "python-mcp" => "Python's MCP client, which tests/run installs and names in ASKBOX_TEST_PYTHON_MCP".to_owned(),
        "typescript" => "the compiler of TypeScript, which tests/run installs and names in ASKBOX_TEST_TYPESCRIPT".to_owned(),
        "python-sdks" => "Python's SDKs for agents, which tests/run installs and names in ASKBOX_TEST_PYTHON_SDKS".to_owned(),
        "node-sdks" => "Node's SDKs for agents, which tests/run installs and names in ASKBOX_TEST_NODE_SDKS".to_owned(),
        "acp-agents" => "agents that speak ACP, which tests/run installs and names in ASKBOX_TEST_AGENTS".to_owned(),
        program => format!("the program {program}, which tests/run installs where it can"),
    };
    assert!(there, "this test needs {what}; ASKBOX_TEST_WITHOUT={need} opts out of all tests that do");
    true
}

/// A program on `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// The points of a program, which each of its runs reaches. A program that waits for another one looks more often while the machine is
/// busy. So of three runs, this takes the one with the fewest points.
pub fn points_of_every_run<T>(one_run: impl Fn() -> Vec<T>) -> Vec<T> {
    (0..3).map(|_| one_run()).min_by_key(Vec::len).expect("three runs")
}

/// strace with these arguments, to be put before a program.
pub fn strace(args: &[&str]) -> Vec<String> {
    std::iter::once("strace").chain(args.iter().copied()).map(str::to_owned).collect()
}
