//! Linux: a user and mount namespace, and the scopes of Landlock (Linux 6.12).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Access, CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount};
use rustix::thread::CapabilitySet;

use crate::{Fence, Obstacle};

/// The settings of the kernel that refuse a user namespace to an ordinary user: a file, the value that refuses, and a remedy.
const REFUSALS: [(&str, &str, Obstacle); 3] = [
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        obstacle_of("user.max_user_namespaces is 0", "sysctl user.max_user_namespaces=10000, as root"),
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        obstacle_of("kernel.unprivileged_userns_clone is 0", "sysctl kernel.unprivileged_userns_clone=1, as root"),
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        obstacle_of(
            "AppArmor restricts user namespaces",
            "give `relaunch` an AppArmor profile with `userns,`, or sysctl kernel.apparmor_restrict_unprivileged_userns=0, as root",
        ),
    ),
];

const fn obstacle_of(why: &'static str, todo: &'static str) -> Obstacle {
    Obstacle { why, todo, is_lasting: false }
}

pub fn obstacle() -> Option<Obstacle> {
    if scopes().is_err() {
        return Some(obstacle_of("this kernel has no scopes of Landlock", "use Linux 6.12 or newer, with Landlock on"));
    }
    let refuses = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|set| set.trim() == value);
    // Root needs no permission, but obeys the number.
    let obeyed = if rustix::process::geteuid().is_root() { &REFUSALS[..1] } else { &REFUSALS };
    obeyed.iter().find(|(path, value, _)| refuses(path, value)).map(|(_, _, obstacle)| *obstacle)
}

fn scopes() -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    let scopes = Scope::Signal | Scope::AbstractUnixSocket;
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(scopes)?.create()
}

pub fn erect(fence: &Fence) -> io::Result<bool> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let here = std::env::current_dir().and_then(|here| Ok((fs::metadata(".")?, here))).map_err(at("find the working folder"))?;
    match unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS) {
        Err(_) if !fence.is_must => return Ok(false),
        other => other.map_err(io::Error::from).map_err(at("make a namespace of users"))?,
    }
    for (file, content) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("{user} {user} 1")), ("gid_map", format!("{group} {group} 1"))]
    {
        #[allow(clippy::disallowed_methods, reason = "it writes no file, but into the kernel")]
        fs::write(Path::new("/proc/self").join(file), content).map_err(at("keep the user in the namespace"))?;
    }
    // The mounts of the new namespace are downstream of the outer ones already, so this changes nothing. It finds out whether AppArmor, which
    // allowed the namespace, allows mounts in it.
    match mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC) {
        Err(_) if !fence.is_must => return Ok(false),
        other => other.map_err(io::Error::from).map_err(at("mount in the namespace"))?,
    }
    mount_all(fence)?;
    enter_again(&here.1, &here.0).map_err(at("enter the working folder again"))?;
    drop_capabilities().map_err(at("drop capabilities"))?;
    scopes().and_then(landlock::RulesetCreated::restrict_self).map_err(io::Error::other).map_err(at("close Landlock's scopes"))?;
    Ok(true)
}

fn at(step: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |e| io::Error::new(e.kind(), format!("cannot {step}: {e}"))
}

/// Changes the mounts of this namespace.
fn mount_all(fence: &Fence) -> io::Result<()> {
    let on = |path: &Path, result: rustix::io::Result<()>| {
        result.map_err(|e| at("mount")(io::Error::new(io::Error::from(e).kind(), format!("{}: {e}", path.display()))))
    };
    for folder in above(fence.read_only.iter().chain(&fence.covered)) {
        on(&folder, mount_bind_recursive(&folder, &folder))?;
    }
    for folder in &fence.read_only {
        on(folder, mount_bind_recursive(folder, folder))?;
    }
    // Opened before their parents are covered.
    let open = |path: &PathBuf| {
        rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    };
    let shown = fence.shown.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    // A folder is shown in its further place before another one takes its own: that mount would come along.
    let moved = || fence.also.iter().chain(&fence.instead);
    let opened = moved().map(|(folder, _)| open(folder)).collect::<Result<Vec<_>, _>>()?;
    for folder in &fence.covered {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        on(folder, mount("tmpfs", folder, "tmpfs", flags, c"mode=0700,size=64k"))?;
    }
    fence.shown.iter().try_for_each(fs::create_dir_all).map_err(at("show a folder"))?;
    let bind = |opened: &OwnedFd, place: &PathBuf| on(place, mount_bind_recursive(format!("/proc/self/fd/{}", opened.as_raw_fd()), place));
    shown.iter().zip(&fence.shown).try_for_each(|(opened, place)| bind(opened, place))?;
    for folder in &fence.writable {
        on(folder, mount_bind_recursive(folder, folder))?;
    }
    opened.iter().zip(moved()).try_for_each(|(opened, (_, place))| bind(opened, place))?;
    let also = fence.also.iter().map(|(_, place)| place);
    for folder in fence.shown.iter().chain(also).chain(&fence.covered).chain(&fence.read_only) {
        on(folder, make_read_only(folder))?;
    }
    Ok(())
}

/// Mounts a mount point read-only. What the system forbids there stays forbidden: otherwise it would refuse.
fn make_read_only(folder: &Path) -> rustix::io::Result<()> {
    let set = rustix::fs::statvfs(folder)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let kept = kept.into_iter().filter(|(is_set, _)| set.contains(*is_set)).map(|(_, flag)| flag);
    mount_remount(folder, kept.fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union), c"")
}

/// The folders above these that this user could rename, the highest first.
fn above<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let may_rename = |folder: &&Path| folder.parent().is_some_and(|parent| rustix::fs::access(parent, Access::WRITE_OK).is_ok());
    let mut found: Vec<PathBuf> = folders.flat_map(|folder| folder.ancestors().skip(1)).filter(may_rename).map(Path::to_path_buf).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Enters the working folder by its path once more. The process stands in it below the new mounts, and could change from there what they
/// protect.
fn enter_again(path: &Path, before: &fs::Metadata) -> io::Result<()> {
    std::env::set_current_dir(path)?;
    let now = fs::metadata(".")?;
    if (now.dev(), now.ino()) == (before.dev(), before.ino()) { Ok(()) } else { Err(io::Error::other("another folder took its place")) }
}

/// Drops all capabilities, also for programs of root, and takes the right to get new ones by starting a program. Root needs `SETFCAP` to
/// make a namespace of users, as the sandbox of an agent program does. It reaches no mount of this one.
fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().difference(CapabilitySet::SETFCAP).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel is older than this capability.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(e) => return Err(e.into()),
        }
    }
    rustix::thread::set_no_new_privs(true)?;
    let (kept, none) = (CapabilitySet::SETFCAP, CapabilitySet::empty());
    Ok(rustix::thread::set_capabilities(None, rustix::thread::CapabilitySets { effective: kept, permitted: kept, inheritable: none })?)
}
